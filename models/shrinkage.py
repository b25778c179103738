"""What priors of coefficients with global and local scales have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import ScaleNumber
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE, CoefficientPrior
from ppl_topics.core.state import ChainState

__all__ = ["Shrinkage"]


class Shrinkage(CoefficientPrior):
    """Base of the normal priors whose variances are made of scales: tau of each row, lambda of each slope.

    Both are half-Cauchy: tau ~ C+(0, scale), lambda ~ C+(0, 1). The intercept has its own variance and no scale.

    Attributes
    ----------
    per : {"response", "topic"}
        What there is one row of coefficients for: each response, or each topic whose concentration they make.
    scale : float or str
        Median of tau a priori, or the name of a block that is its prior.
    intercept_variance : float
    """

    references: ClassVar[Mapping[str, str]] = {"scale": "positive"}

    per: Literal["response", "topic"] = "response"
    scale: ScaleNumber = 1.0

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if role == "alpha" and self.numbers:
            return "the scale of the coefficients of concentrations must be a number"
        return super().check(role, topics)

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the scales, with their roles and dims; those of concentrations have roles of their own."""
        dims = {"tau": ("topic",), "lambda": ("topic", "prevalence_slope")}
        if not self.of_topics:
            dims = {"tau": ("response",), "lambda": ("response", "slope")}
        return {self.called(scale): (self.called(scale), of_scale) for scale, of_scale in dims.items()}

    def called(self, scale: str) -> str:
        """Return the name and role of ``tau`` or ``lambda``."""
        return f"prevalence_{scale}" if self.of_topics else scale

    @abstractmethod
    def slope_precision(self, scales: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return the precision of each slope, shape (C, slopes), given the scales by role."""

    def precision(self, state: ChainState) -> FloatArray:
        """Return the precision of each coefficient given the scales, that of the intercept apart."""
        return self.with_intercept(self.slope_precision(state.arrays), self.seen(state))

    def quantile(self, role: str, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior of tau or lambda, cut to the range of scales."""
        scale: Any = {self.called("tau"): self.scale, self.called("lambda"): 1.0}[role]
        return np.asarray(np.clip(scale * np.tan(0.5 * np.pi * probability), SMALLEST_SCALE, LARGEST_SCALE))

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw scales, or coefficients given the scales in ``values``, from the prior."""
        for own, dims in self.auxiliaries().values():
            if own == role:
                uniform = rng.random([state.sizes.of(dim) for dim in dims])
                return self.at(values, by_role=True).quantile(role, uniform)
        precision = self.with_intercept(self.slope_precision(values), self.seen(state))
        return rng.normal(size=precision.shape) / np.sqrt(precision)

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the coefficients and of their scales together."""
        known = self.at(state.arrays)
        return super().log_density(value, state) + sum(
            known.log_prior(role, state.arrays[name]) for name, (role, _) in self.auxiliaries().items()
        )

    def log_prior(self, role: str, value: FloatArray) -> float:
        """Return the log density of tau or lambda, summed over the elements."""
        scale: Any = {self.called("tau"): self.scale, self.called("lambda"): 1.0}[role]
        return float((np.log(2.0 / (np.pi * scale)) - np.log1p((value / scale) ** 2)).sum())
