"""A half-Cauchy prior of a positive number, such as a scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositivePrior
from ppl_topics.core.registry import block

__all__ = ["HalfCauchy"]


@block("half_cauchy")
class HalfCauchy(PositivePrior):
    """A positive number with the distribution of the absolute value of a Cauchy variate (Gelman 2006).

    Attributes
    ----------
    scale : float
        The median.

    References
    ----------
    A. Gelman (2006). Prior distributions for variance parameters in hierarchical models. Bayesian Analysis 1(3).
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"scale": 0.7}

    block: Literal["half_cauchy"] = "half_cauchy"
    scale: float = pydantic.Field(default=1.0, ge=1e-20, le=1e20)

    def log_prior(self, value: float) -> float:
        """Return the log density at a positive number."""
        return math.log(2.0 / (math.pi * self.scale)) - math.log1p((value / self.scale) ** 2)

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior."""
        return np.asarray(self.scale * np.tan(0.5 * np.pi * probability))
