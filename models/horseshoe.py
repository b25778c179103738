"""The horseshoe prior of coefficients: most near zero, some as large as they need to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.models.shrinkage import Shrinkage

__all__ = ["Horseshoe"]


@block("horseshoe")
class Horseshoe(Shrinkage):
    """Slopes eta_cj ~ Normal(0, tau_c^2 lambda_cj^2), with tau_c ~ C+(0, scale) and lambda_cj ~ C+(0, 1).

    C+ is the half-Cauchy distribution (Carvalho, Polson, Scott 2010; Magnusson, Jonsson, Villani 2020, section 2). The
    variables ``tau`` and ``lambda`` are the block's; for the coefficients of concentrations, ``prevalence_tau`` and
    ``prevalence_lambda``. An intercept is Normal(0, intercept_variance), not shrunk.

    Attributes
    ----------
    per : {"response", "topic"}
        What there is one row of coefficients for: each response, or each topic whose concentration they make.
    scale : float or str
        Median of tau a priori, or the name of a block that is its prior.
    intercept_variance : float
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"scale": 0.6, "intercept_variance": 3.7}

    block: Literal["horseshoe"] = "horseshoe"

    def slope_precision(self, scales: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return 1 / (tau lambda)^2."""
        precision: FloatArray = (scales[self.called("tau")][:, None] * scales[self.called("lambda")]) ** -2.0
        return precision
