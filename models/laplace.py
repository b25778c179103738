"""The Laplace prior of coefficients: the Bayesian lasso."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.models.scale_mixture import ScaleMixture

__all__ = ["Laplace"]


@block("laplace")
class Laplace(ScaleMixture):
    """Slopes of density exp(-|eta| / scale) / (2 scale): most near zero, larger ones shrunk by a constant.

    They are Normal(0, scale^2 lambda^2) with lambda^2 ~ Exponential(1/2), that is, lambda ~ Rayleigh(1) (Park, Casella
    2008, equation 4). The variable ``lambda`` is the block's. An intercept is Normal(0, intercept_variance).

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    scale : float or str
        Mean of |eta|, or the name of a block that is its prior.
    intercept_variance : float

    References
    ----------
    T. Park, G. Casella (2008). The Bayesian lasso. JASA 103(482).
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"scale": 0.8, "intercept_variance": 3.7}

    block: Literal["laplace"] = "laplace"

    def squares(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the exponential distribution of lambda^2, whose mean is 2."""
        return np.asarray(-2.0 * np.log1p(-probability))

    def log_prior(self, lambdas: FloatArray) -> FloatArray:
        """Return the log density of each lambda."""
        return np.asarray(np.log(lambdas) - 0.5 * lambdas**2)

    def log_likelihood_of_scale(self, scale: float, slopes: FloatArray) -> float:
        """Return the log density of slopes, lambda integrated out, up to what does not depend on the scale."""
        return float(-slopes.size * np.log(scale) - np.abs(slopes).sum() / scale)
