"""An inverse gamma prior of a positive number, such as a variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from scipy.special import gammainccinv

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositivePrior
from ppl_topics.core.registry import block

__all__ = ["InverseGamma"]


@block("inverse_gamma")
class InverseGamma(PositivePrior):
    """A positive number whose inverse has a gamma distribution.

    Attributes
    ----------
    shape, rate : float
        The density falls as exp(-rate / x); the mode is ``rate / (shape + 1)``.
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"shape": 2.6, "rate": 1.9}

    block: Literal["inverse_gamma"] = "inverse_gamma"
    shape: float = pydantic.Field(gt=0)
    rate: float = pydantic.Field(gt=0)

    def log_prior(self, value: float) -> float:
        """Return the log density at a positive number."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant - (self.shape + 1.0) * math.log(value) - self.rate / value

    def quantile(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.rate / gammainccinv(self.shape, probability))
