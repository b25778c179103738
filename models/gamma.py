"""A gamma prior on a Dirichlet's concentration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Gamma"]


@block("gamma")
class Gamma(Block):
    """A concentration with a gamma distribution, in shape and rate.

    Attributes
    ----------
    shape, rate : float
        Mean ``shape / rate``, variance ``shape / rate**2``.
    per : {"topic", None}
        None: one value for all elements of the row (symmetric); ``topic``: one for each topic (asymmetric).
    """

    seams: ClassVar[frozenset[str]] = frozenset({"concentration"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"shape": 1.7, "rate": 2.4}

    block: Literal["gamma"] = "gamma"
    shape: float = pydantic.Field(gt=0)
    rate: float = pydantic.Field(gt=0)
    per: Literal["topic"] | None = None

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if role == "beta" and self.per == "topic":
            return "phi has one concentration for all topics; drop `per: topic`, or use it for theta"
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
        return np.asarray(rng.gamma(self.shape, 1 / self.rate, size=size))

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density, summed over the elements."""
        from scipy.stats import gamma

        return float(gamma.logpdf(value, self.shape, scale=1 / self.rate).sum())
