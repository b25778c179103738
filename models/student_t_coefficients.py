"""A Student prior of coefficients: like a normal one, but a few may be large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from scipy.special import gammainccinv, gammaln

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.models.scale_mixture import ScaleMixture

__all__ = ["StudentTCoefficients"]


@block("student_t_coefficients")
class StudentTCoefficients(ScaleMixture):
    """Slopes eta = scale t, t with a Student distribution of ``df`` degrees of freedom.

    They are Normal(0, scale^2 lambda^2) with lambda^2 ~ InvGamma(df / 2, df / 2) (Gelman et al. 2008, section 2). The
    variable ``lambda`` is the block's. An intercept is Normal(0, intercept_variance).

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    df : float
        Degrees of freedom: 1 is the Cauchy distribution, and beyond 30 it is nearly the normal one.
    scale : float or str
        Of all slopes, or the name of a block that is its prior.
    intercept_variance : float

    References
    ----------
    A. Gelman, A. Jakulin, M. G. Pittau, Y.-S. Su (2008). A weakly informative default prior distribution for logistic
    and other regression models. Annals of Applied Statistics 2(4).
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"df": 3.4, "scale": 0.8, "intercept_variance": 3.7}

    block: Literal["student_t_coefficients"] = "student_t_coefficients"
    df: float = pydantic.Field(default=4.0, gt=0)

    def squares(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the inverse gamma distribution of lambda^2."""
        half = 0.5 * self.df
        with np.errstate(divide="ignore"):
            return np.asarray(half / gammainccinv(half, probability))

    def log_prior(self, lambdas: FloatArray) -> FloatArray:
        """Return the log density of each lambda."""
        half = 0.5 * self.df
        constant = half * np.log(half) - gammaln(half) + np.log(2.0)
        return np.asarray(constant - (self.df + 1.0) * np.log(lambdas) - half / lambdas**2)

    def log_likelihood_of_scale(self, scale: float, slopes: FloatArray) -> float:
        """Return the log density of slopes, lambda integrated out, up to what does not depend on the scale."""
        tails = np.log1p((slopes / scale) ** 2 / self.df).sum()
        return float(-slopes.size * np.log(scale) - 0.5 * (self.df + 1.0) * tails)
