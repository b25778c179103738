"""What coefficient priors offer to kernels: a normal distribution given its precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.state import ChainState
from ppl_topics.errors import SpecError

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "CoefficientPrior"]


SMALLEST_SCALE, LARGEST_SCALE = 1e-50, 1e50
"""Where distributions of scales are cut, so that neither they nor their squares and products leave floating point.

Half-Cauchy distributions have 1e-50 of their mass beyond each: no run of any length ever sees the difference.
"""


class CoefficientPrior(Block):
    """Base of the priors of coefficients: normal given a precision.

    Attributes
    ----------
    intercept_variance : float
        Prior variance of an intercept, which is not shrunk.
    """

    handled_as: ClassVar[frozenset[str]] = frozenset({"conditional_normal"})
    seams: ClassVar[frozenset[str]] = frozenset({"coefficients"})

    intercept_variance: float = pydantic.Field(default=100.0, gt=0)

    @property
    def of_topics(self) -> bool:
        """Whether there is a row of coefficients for each topic, of its concentration, and not for each response."""
        return bool(getattr(self, "per", "response") == "topic")

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if self.of_topics != (role == "alpha"):
            use, per = ("concentrations", "topic") if role == "alpha" else ("responses", "response")
            return f"as the prior of the coefficients of {use}, it must be `per: {per}`"
        return None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (response, coefficient), or (topic, prevalence) for the coefficients of concentrations."""
        return ("topic", "prevalence") if self.of_topics else ("response", "coefficient")

    def seen(self, state: ChainState) -> ChainState:
        """Return a state in which each topic takes the place of a response, if the coefficients are of topics."""
        if not self.of_topics:
            return state
        sizes = state.sizes
        rows = {"responses": sizes.topics, "coefficients": sizes.prevalence, "slopes": sizes.prevalence - 1}
        return replace(state, sizes=sizes._replace(**rows))

    @abstractmethod
    def precision(self, state: ChainState) -> FloatArray:
        """Return the prior precision of each coefficient, shape (C, F)."""

    def scaled(self, normals: FloatArray, state: ChainState) -> FloatArray:
        """Return draws of the coefficients, given what their precision depends on, made of standard normal variates.

        The last dims of both are those of the coefficients.
        """
        return np.asarray(normals / np.sqrt(self.precision(state)))

    def check_features(self, columns: Sequence[str]) -> None:
        """Refuse the features of concentrations, by their names, if they are not what the prior is about.

        Raises
        ------
        SpecError
        """

    def quantile(self, role: str, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior of a scale that the precision depends on, whose elements are independent.

        Parameters
        ----------
        role : str
            Of one of the auxiliary variables.
        probability : ndarray of float64
            Between 0 and 1, of any shape.

        Raises
        ------
        SpecError
            If the block has no such scale.
        """
        raise SpecError(f"block {self.kind!r} gives no quantiles of {role!r}, so `verify` cannot sum over it")

    def with_intercept(self, precision: FloatArray, state: ChainState) -> FloatArray:
        """Return precisions of shape (C, F): those of the slopes, and of the intercept where there is one."""
        if state.sizes.coefficients == state.sizes.slopes:
            return precision
        return np.hstack([precision, np.full((len(precision), 1), 1.0 / self.intercept_variance)])

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the coefficients given what their precision depends on."""
        precision = self.precision(state)
        return float(-0.5 * (value.size * np.log(2.0 * np.pi) - np.log(precision).sum() + (precision * value**2).sum()))

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return ones for what the precision depends on, zeros for the coefficients.

        At zero the response says nothing of topics: documents are a plain topic model's.
        """
        for own, dims in self.auxiliaries().values():
            if own == role:
                return np.ones([state.sizes.of(dim) for dim in dims])
        return np.zeros([state.sizes.of(dim) for dim in self.dims(role)])
