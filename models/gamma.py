"""A gamma prior of a Dirichlet's concentration, or of another positive number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy.special import gammaincinv

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositivePrior
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Gamma"]


@block("gamma")
class Gamma(PositivePrior):
    """A concentration, or another positive number, with a gamma distribution, in shape and rate.

    Attributes
    ----------
    shape, rate : float
        Mean ``shape / rate``, variance ``shape / rate**2``.
    per : {"topic", None}
        Of a concentration. None: one value for all elements of the row (symmetric); ``topic``: one for each topic
        (asymmetric).
    """

    seams: ClassVar[frozenset[str]] = frozenset({"concentration", "positive"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"shape": 1.7, "rate": 2.4}

    block: Literal["gamma"] = "gamma"
    shape: float = pydantic.Field(gt=0)
    rate: float = pydantic.Field(gt=0)
    per: Literal["topic"] | None = None

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if role == "beta" and self.per == "topic":
            return "phi has one concentration for all topics; drop `per: topic`, or use it for theta"
        if role != "alpha" and self.per == "topic":
            return f"the {role} is one number; drop `per: topic`"
        return None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return () or (topic,)."""
        return () if self.per is None else (self.per,)

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return the prior mean, or where that is extreme the nearest of 1e-6 and 1e6."""
        mean = min(max(self.shape / self.rate, 1e-6), 1e6)
        return np.full([state.sizes.of(dim) for dim in self.dims(role)], mean)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        size = [state.sizes.of(dim) for dim in self.dims(role)]
        # A variate of a tiny shape rounds to 0.
        return np.maximum(rng.gamma(self.shape, 1 / self.rate, size=size), np.finfo(np.float64).tiny)

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density, summed over the elements."""
        from scipy.stats import gamma

        return float(gamma.logpdf(value, self.shape, scale=1 / self.rate).sum())

    def log_prior(self, value: float) -> float:
        """Return the log density at a positive number."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + (self.shape - 1.0) * math.log(value) - self.rate * value

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior."""
        return np.asarray(gammaincinv(self.shape, probability) / self.rate)
