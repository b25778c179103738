"""The regularised horseshoe prior of coefficients: a horseshoe whose large coefficients have a slab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaln

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE
from ppl_topics.core.registry import block
from ppl_topics.models.shrinkage import Shrinkage

__all__ = ["RegularisedHorseshoe"]


@block("regularised_horseshoe")
class RegularisedHorseshoe(Shrinkage):
    """Slopes of a horseshoe, times a Normal(0, slab_c^2) density, normalised given the scales (Piironen, Vehtari 2017).

    Their variance is tau^2 slab^2 lambda^2 / (slab^2 + tau^2 lambda^2), that is, 1 / variance = 1 / (tau lambda)^2 +
    1 / slab^2: where tau lambda is small that of the horseshoe, and never above slab^2, so that coefficients that the
    data do not bound, such as those of separable classes, stay finite. slab^2 ~ InvGamma(df / 2, df slab_scale^2 / 2)
    for each response, which gives large coefficients a Student distribution of ``slab_df`` degrees of freedom and that
    scale. The variables ``tau``, ``lambda`` and ``slab`` are the block's. An intercept is Normal(0,
    intercept_variance).

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    scale : float or str
        Median of tau a priori, or the name of a block that is its prior.
    slab_scale, slab_df : float
    intercept_variance : float
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        "scale": 0.9,
        "slab_scale": 1.4,
        "slab_df": 3.0,
        "intercept_variance": 3.7,
    }

    block: Literal["regularised_horseshoe"] = "regularised_horseshoe"
    slab_scale: float = pydantic.Field(default=2.0, ge=1e-20, le=1e20)
    slab_df: float = pydantic.Field(default=4.0, ge=1.0, le=1e6)

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if self.of_topics:
            return "coefficients of concentrations can have the priors normal, horseshoe and random_walk"
        return super().check(role, topics)

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the scales, with their roles and dims."""
        return {**super().auxiliaries(), "slab": ("slab", ("response",))}

    def slope_precision(self, scales: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return 1 / (tau lambda)^2 + 1 / slab^2."""
        precision: FloatArray = (scales["tau"][:, None] * scales["lambda"]) ** -2.0 + scales["slab"][:, None] ** -2.0
        return precision

    def quantile(self, role: str, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior of a scale, cut to the range of scales."""
        if role != "slab":
            return super().quantile(role, probability)
        with np.errstate(divide="ignore"):
            square = self._rate / gammainccinv(self.slab_df / 2.0, probability)
        return np.asarray(np.clip(np.sqrt(square), SMALLEST_SCALE, LARGEST_SCALE))

    def log_prior(self, role: str, value: FloatArray) -> float:
        """Return the log density of a scale, summed over the elements."""
        if role != "slab":
            return super().log_prior(role, value)
        shape = self.slab_df / 2.0
        constant = np.log(2.0) + shape * np.log(self._rate) - gammaln(shape)
        return float((constant - (2.0 * shape + 1.0) * np.log(value) - self._rate * value**-2.0).sum())

    @property
    def _rate(self) -> float:
        return self.slab_df * self.slab_scale**2 / 2.0
