"""Real targets with Student errors, among which outliers weigh little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from scipy.special import gammaln

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositiveNumber
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, RealResponse
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.targets import encode_numbers

__all__ = ["StudentT"]


@block("student_t")
class StudentT(RealResponse):
    """Real targets y = s + sigma t, t with a Student distribution of ``df`` degrees of freedom.

    Given weights g ~ Gamma(df / 2, rate df / 2) errors are normal with variance sigma^2 / g (Lange, Little, Taylor
    1989, section 2); given the errors r, g ~ Gamma((df + 1) / 2, rate (df + r^2 / sigma^2) / 2).

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    df : float
        Degrees of freedom: 1 is the Cauchy distribution, and beyond 30 it is nearly the normal one.
    sigma : float or str
        Scale of the errors of a standardised target, or the name of a prior, which all targets share.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    standardise : bool
        Whether each target is given mean 0 and standard deviation 1 over the training documents.

    References
    ----------
    K. L. Lange, R. J. A. Little, J. M. G. Taylor (1989). Robust statistical modeling using the t distribution. JASA
    84(408).
    """

    references: ClassVar[Mapping[str, str]] = {**RealResponse.references, "sigma": "positive"}
    augmentation: ClassVar[str] = "weight"
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"df": 3.4, "sigma": 0.6}
    tiny_with_scales: ClassVar[Mapping[str, Any]] = {"sigma": 0.8}

    block: Literal["student_t"] = "student_t"
    df: float = pydantic.Field(default=4.0, gt=0)
    sigma: PositiveNumber = 1.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets as they are."""
        return encode_numbers(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = g y / sigma^2 and omega = g / sigma^2."""
        known = ~np.isnan(targets)
        omega = np.where(known, augmentation / self._scale**2, 0.0)
        return Potential(omega * np.where(known, targets, 0.0), omega)

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape and rate of the gamma distribution of each weight, shape 0 where the target is missing."""
        known = ~np.isnan(targets)
        squares = (np.where(known, targets - scores, 0.0) / self._scale) ** 2
        return np.where(known, (self.df + 1.0) / 2.0, 0.0), np.asarray((self.df + squares) / 2.0)

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the weights given the linear predictors."""
        shape, rate = self.augmentation_arguments(targets, scores)
        return np.where(shape > 0.0, rng.gamma(np.where(shape > 0.0, shape, 1.0)) / rate, 1.0)

    def errors(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> tuple[float, float]:
        """Return the number of known targets, and the weighted sum of their squared errors."""
        known = ~np.isnan(targets)
        return float(known.sum()), float((augmentation * np.where(known, targets - scores, 0.0) ** 2).sum())

    def log_likelihood_given(self, sigma: float, number: float, total: float) -> float:
        """Return the log likelihood of sigma, up to a constant, given what `errors` returns for all documents."""
        return float(-number * np.log(sigma) - 0.5 * total / sigma**2)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return the log density of the targets."""
        half = (self.df + 1.0) / 2.0
        constant = gammaln(half) - gammaln(self.df / 2.0) - 0.5 * np.log(np.pi * self.df) - np.log(self._scale)
        value = constant - half * np.log1p(((targets - scores) / self._scale) ** 2 / self.df)
        return np.where(np.isnan(targets), 0.0, value)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the middle of the distribution of the targets, which is its mean where that exists."""
        return scores

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw targets with Student errors."""
        return np.asarray(scores + self._scale * rng.standard_t(self.df, size=np.shape(scores)))

    @property
    def _scale(self) -> Any:
        """Sigma, a number once `at` has put it in the place of its prior's name."""
        return self.sigma
