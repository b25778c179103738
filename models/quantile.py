"""A quantile of real targets: asymmetric Laplace errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositiveNumber
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, RealResponse
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_inverse_gaussian
from ppl_topics.models.targets import encode_numbers

__all__ = ["Quantile"]


@block("quantile")
class Quantile(RealResponse):
    """Real targets whose q-quantile is the linear predictor s, with asymmetric Laplace errors r = y - s.

    Their density is q (1 - q) / sigma exp(-(|r| + (2 q - 1) r) / (2 sigma)) (Yu, Moyeed 2001). As for the hinge, the
    absolute value becomes a square given xi ~ InvGauss(2 sigma / |r|, 1): the mixture of Kozumi, Kobayashi (2011), with
    2 q (1 - q) sigma / xi for its exponential variable. With ``quantile: 0.5`` it is the regression of the median.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    quantile : float
        q, between 0 and 1.
    sigma : float or str
        Scale of the errors of a standardised target, or the name of a prior, which all targets share.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    standardise : bool
        Whether each target is given mean 0 and standard deviation 1 over the training documents.

    References
    ----------
    K. Yu, R. A. Moyeed (2001). Bayesian quantile regression. Statistics and Probability Letters 54(4).
    H. Kozumi, G. Kobayashi (2011). Gibbs sampling methods for Bayesian quantile regression. Journal of Statistical
    Computation and Simulation 81(11).
    """

    references: ClassVar[Mapping[str, str]] = {**RealResponse.references, "sigma": "positive"}
    augmentation: ClassVar[str] = "xi"
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"quantile": 0.3, "sigma": 0.3}
    tiny_with_scales: ClassVar[Mapping[str, Any]] = {"sigma": 0.8}

    block: Literal["quantile"] = "quantile"
    quantile: float = pydantic.Field(default=0.5, gt=0, lt=1)
    sigma: PositiveNumber = 1.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets as they are."""
        return encode_numbers(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return omega = xi / (4 sigma^2) and b = omega y + (q - 1/2) / sigma."""
        known = ~np.isnan(targets)
        omega = np.where(known, augmentation / (4.0 * self._scale**2), 0.0)
        tilt = np.where(known, (self.quantile - 0.5) / self._scale, 0.0)
        return Potential(omega * np.where(known, targets, 0.0) + tilt, omega)

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the means of xi, infinite where the error is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 * self._scale / np.abs(targets - scores))

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw xi given the linear predictors."""
        return simulate_inverse_gaussian(self.augmentation_arguments(targets, scores), rng)

    def errors(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> tuple[float, float]:
        """Return the number of known targets, and the sum of their errors, those on either side times q and 1 - q."""
        known = ~np.isnan(targets)
        return float(known.sum()), float(self._weighted(np.where(known, targets - scores, 0.0)).sum())

    def log_likelihood_given(self, sigma: float, number: float, total: float) -> float:
        """Return the log likelihood of sigma, up to a constant, given what `errors` returns for all documents."""
        return float(-number * np.log(sigma) - total / sigma)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return the log density of the targets."""
        constant = np.log(self.quantile * (1.0 - self.quantile)) - np.log(self._scale)
        value = constant - self._weighted(targets - scores) / self._scale
        return np.where(np.isnan(targets), 0.0, value)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the quantile of the targets, which is what is predicted."""
        return scores

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw targets: the difference of two exponential variates, on either side of the quantile."""
        above, below = rng.exponential(size=(2, *np.shape(scores)))
        errors = above / self.quantile - below / (1.0 - self.quantile)
        return np.asarray(scores + self._scale * errors)

    def _weighted(self, errors: FloatArray) -> FloatArray:
        """Return q r for r above 0, (q - 1) r below."""
        return np.asarray(np.maximum(self.quantile * errors, (self.quantile - 1.0) * errors))

    @property
    def _scale(self) -> Any:
        """Sigma, a number once `at` has put it in the place of its prior's name."""
        return self.sigma
