"""Numbers that blocks take, such as a variance or cut points, and the blocks that may stand in their place: priors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.state import ChainState

__all__ = ["LARGEST", "SCALE_RANGE", "SMALLEST", "CutPointPrior", "PositiveNumber", "PositivePrior", "ScaleNumber"]

PositiveNumber: TypeAlias = Annotated[float, pydantic.Field(gt=0)] | str
"""A field that takes a positive number, or the name of the block that is its prior; its key is in ``references``."""

SCALE_RANGE = 1e-20, 1e20
"""Of the scale of a prior of coefficients, given or drawn."""

ScaleNumber: TypeAlias = Annotated[float, pydantic.Field(ge=SCALE_RANGE[0], le=SCALE_RANGE[1])] | str
"""A field that takes such a scale, or the name of its prior."""

SMALLEST, LARGEST = 1e-100, 1e100
"""Where priors of positive numbers are cut, so that neither they nor their squares leave floating point."""

FIRST = 1e-6, 1e6
"""Between which chains start."""


class PositivePrior(Block):
    """Base of the priors of one positive number.

    Kernels that know nothing more of a prior take it by the form ``positive``: they ask for `log_prior`.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"positive"})
    handled_as: ClassVar[frozenset[str]] = frozenset({"positive"})

    @abstractmethod
    def log_prior(self, value: float) -> float:
        """Return the log density at a positive number."""

    @abstractmethod
    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior, by which `verify` sums over it."""

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (): it is one number."""
        return ()

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return the prior median, or where that is extreme the nearest of 1e-6 and 1e6."""
        return np.full([state.sizes.of(dim) for dim in self.dims(role)], np.clip(self.quantile(np.array(0.5)), *FIRST))

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        uniform = np.asarray(rng.random([state.sizes.of(dim) for dim in self.dims(role)]))
        return np.asarray(np.clip(self.quantile(uniform), SMALLEST, LARGEST))

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density, or minus infinity for a number that is not positive."""
        return self.log_prior(float(value)) if value > 0.0 else -math.inf


class CutPointPrior(Block):
    """Base of the priors of the cut points between L levels: the first is 0, and L - 2 are above it, ascending.

    Kernels that know nothing more of a prior take it by the form ``cutpoints``: they ask for `log_prior`.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"cutpoints"})
    handled_as: ClassVar[frozenset[str]] = frozenset({"cutpoints"})

    @abstractmethod
    def log_prior(self, cut_points: NDArray[Any]) -> float:
        """Return the log density at cut points in ascending order."""

    @abstractmethod
    def quantile(self, probabilities: FloatArray) -> FloatArray:
        """Return the cut points that points of the unit cube, shape (n, L - 2), stand for; `verify` sums over them."""

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (cutpoint,)."""
        return ("cutpoint",)

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return what the prior has between its quantiles."""
        number = state.sizes.of("cutpoint")
        return np.asarray(self.quantile(np.arange(1.0, number + 1.0)[None] / (number + 1.0))[0])

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        return np.asarray(self.quantile(rng.random((1, state.sizes.of("cutpoint"))))[0])

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density, or minus infinity for numbers that do not ascend from 0."""
        return self.log_prior(value) if (np.diff(value, prepend=0.0) > 0.0).all() else -math.inf
