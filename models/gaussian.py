"""Real targets with normal errors: supervised LDA."""

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

__all__ = ["Gaussian"]


@block("gaussian")
class Gaussian(RealResponse):
    """Real targets y ~ Normal(s, sigma2), with sigma2 ~ InvGamma(shape, rate) for each (Blei, McAuliffe 2008).

    It is the distribution of the targets.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    shape, rate : float, and float or str
        Of the prior of the error variance of a standardised target, whose density falls as exp(-rate / sigma2); the
        rate may be the name of a prior, which all targets share. With ``shape: 0.5`` and a gamma prior of shape 0.5 and
        rate 1 / A^2, the error standard deviation is half-Cauchy with scale A (Gelman 2006).
    intercept : bool
        Whether a coefficient of a constant feature is added.
    standardise : bool
        Whether each target is given mean 0 and standard deviation 1 over the training documents.
    """

    handled_as: ClassVar[frozenset[str]] = frozenset({"quadratic_response", "shared_curvature"})
    references: ClassVar[Mapping[str, str]] = {**RealResponse.references, "rate": "positive"}
    augmentation: ClassVar[str] = "sigma2"
    augmentation_dims: ClassVar[tuple[str, ...]] = ("response",)
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"shape": 2.8, "rate": 0.8}

    block: Literal["gaussian"] = "gaussian"
    shape: float = pydantic.Field(default=1.0, gt=0)
    rate: PositiveNumber = 1.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets as they are."""
        return encode_numbers(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = y / sigma2 and omega = 1 / sigma2."""
        known = ~np.isnan(targets)
        omega = np.where(known, 1.0 / augmentation, 0.0)
        return Potential(np.where(known, targets, 0.0) * omega, omega)

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape and rate of the distribution of each sigma2."""
        return self.arguments_given(*self.errors(targets, scores))

    def errors(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the number of known targets of each response, and the sum of their squared errors."""
        known = ~np.isnan(targets)
        squares = np.where(known, targets - scores, 0.0) ** 2
        return known.sum(axis=0).astype(np.float64), squares.sum(axis=0)

    def arguments_given(self, number: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape and rate of the distribution of each sigma2, given what `errors` returns for all documents."""
        return self.shape + number / 2.0, self._b + squares / 2.0

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw sigma2 given the linear predictors."""
        shape, rate = self.augmentation_arguments(targets, scores)
        return np.asarray(rate / rng.gamma(shape))

    def log_evidence(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the log density of the targets of each response, sigma2 integrated out."""
        known = ~np.isnan(targets)
        number = known.sum(axis=0)
        squares = (np.where(known, targets - scores, 0.0) ** 2).sum(axis=-2)
        shape = self.shape + number / 2.0
        # Where it has values along the first dim, the sum over documents has a dim less than these.
        rate = self._b if np.ndim(self._b) < 2 else np.squeeze(self._b, axis=-2)
        constant = self.shape * np.log(rate) - gammaln(self.shape) - number / 2.0 * np.log(2.0 * np.pi)
        return np.asarray(constant + gammaln(shape) - shape * np.log(rate + squares / 2.0))

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return the log density of the targets given sigma2."""
        squares = (targets - scores) ** 2
        return np.where(np.isnan(targets), 0.0, -0.5 * (np.log(2.0 * np.pi * augmentation) + squares / augmentation))

    def log_joint(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> float:
        """Return the log likelihood of all targets with the log prior of sigma2."""
        from scipy.stats import invgamma

        prior = invgamma.logpdf(augmentation, self.shape, scale=self._b).sum()
        return float(self.log_likelihood(targets, scores, augmentation).sum() + prior)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the mean of the targets."""
        return scores

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw targets with errors of variance sigma2."""
        return np.asarray(scores + np.sqrt(augmentation) * rng.normal(size=scores.shape))

    @property
    def _b(self) -> Any:
        """The rate, a number once `at` has put it in the place of its prior's name."""
        return self.rate
