"""A prior of cut points: the sizes of normal variates in ascending order."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import CutPointPrior
from ppl_topics.core.registry import block

__all__ = ["OrderedHalfNormal"]


@block("ordered_half_normal")
class OrderedHalfNormal(CutPointPrior):
    """Cut points above 0 that are the sizes of independent normal variates of mean 0, sorted.

    Attributes
    ----------
    scale : float
        Standard deviation of these variates, in that of the errors of the response, which is 1.
    """

    tiny_parameters: ClassVar[dict[str, Any]] = {"scale": 1.3}

    block: Literal["ordered_half_normal"] = "ordered_half_normal"
    scale: float = pydantic.Field(default=3.0, gt=0)

    def log_prior(self, cut_points: NDArray[Any]) -> float:
        """Return the log density at cut points in ascending order."""
        number = len(cut_points)
        constant = gammaln(number + 1.0) + number * np.log(2.0 / (self.scale * np.sqrt(2.0 * np.pi)))
        return float(constant - 0.5 * np.sum((cut_points / self.scale) ** 2))

    def quantile(self, probabilities: FloatArray) -> FloatArray:
        """Return the cut points that points of the unit cube stand for, each row sorted."""
        return np.asarray(self.scale * np.sort(ndtri(0.5 + 0.5 * probabilities), axis=-1))
