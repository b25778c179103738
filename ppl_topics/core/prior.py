"""What coefficient priors offer to kernels: a normal distribution given its precision."""

from __future__ import annotations

from abc import abstractmethod
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

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (response, coefficient)."""
        return ("response", "coefficient")

    @abstractmethod
    def precision(self, state: ChainState) -> FloatArray:
        """Return the prior precision of each coefficient, shape (C, F)."""

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
        return np.zeros((state.sizes.responses, state.sizes.coefficients))
