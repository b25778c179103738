"""Numbers that blocks take, such as a variance, and the blocks that may stand in the place of one: its prior."""

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

__all__ = ["LARGEST", "SCALE_RANGE", "SMALLEST", "PositiveNumber", "PositivePrior", "ScaleNumber"]

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
