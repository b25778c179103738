"""What priors of independent coefficients have in common, each normal given a scale of its own."""

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

__all__ = ["ScaleMixture"]


class ScaleMixture(CoefficientPrior):
    """Base of the priors of independent slopes eta_cj ~ Normal(0, scale^2 lambda_cj^2), each with its own lambda_cj.

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    scale : float or str
        Of all slopes, or the name of a block that is its prior.
    intercept_variance : float
    """

    references: ClassVar[Mapping[str, str]] = {"scale": "positive"}

    per: Literal["response"] = "response"
    scale: ScaleNumber = 1.0

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the scales of slopes, with their role and dims."""
        return {"lambda": ("lambda", ("response", "slope"))}

    def precision(self, state: ChainState) -> FloatArray:
        """Return 1 / (scale lambda)^2 of each slope, and the precision of the intercept."""
        return self.with_intercept(self.at(state.arrays)._precision(state.arrays["lambda"]), state)

    def quantile(self, role: str, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior of lambda, cut to the range of scales."""
        return np.asarray(np.clip(np.sqrt(self.squares(probability)), SMALLEST_SCALE, LARGEST_SCALE))

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw lambda, or coefficients given the lambda in ``values``, from the prior."""
        if role == "lambda":
            return self.quantile(role, rng.random((state.sizes.responses, state.sizes.slopes)))
        precision = self.with_intercept(self.at(values, by_role=True)._precision(values["lambda"]), state)
        return rng.normal(size=precision.shape) / np.sqrt(precision)

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the coefficients and of their lambda together."""
        return super().log_density(value, state) + float(self.log_prior(state.arrays["lambda"]).sum())

    @abstractmethod
    def squares(self, probability: FloatArray) -> FloatArray:
        """Return quantiles of the prior of lambda^2."""

    @abstractmethod
    def log_prior(self, lambdas: FloatArray) -> FloatArray:
        """Return the log density of each lambda."""

    @abstractmethod
    def log_likelihood_of_scale(self, scale: float, slopes: FloatArray) -> float:
        """Return the log density of slopes, lambda integrated out, up to what does not depend on the scale."""

    def _precision(self, lambdas: FloatArray) -> FloatArray:
        scale: Any = self.scale
        return np.asarray((np.reshape(scale, (-1, 1)) * lambdas) ** -2.0)
