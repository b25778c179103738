"""Counts with a negative binomial distribution: supervised LDA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import gammaln

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositiveNumber
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, Response
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_polya_gamma
from ppl_topics.models.targets import encode_counts

__all__ = ["NegativeBinomial"]


@block("negative_binomial")
class NegativeBinomial(Response):
    """Counts y with the distribution NB(y; r, p), logit p = s, mean r exp(s).

    It is the distribution of the counts. Given omega ~ PG(y + r, s) it is quadratic in s (Polson, Scott, Windle 2013;
    proposed for topic models in Zhu, Zheng, Zhang 2013).

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    dispersion : float or str
        r, the number of failures: the variance is the mean plus its square over r. Or the name of a block that is its
        prior.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    """

    references: ClassVar[Mapping[str, str]] = {**Response.references, "dispersion": "positive"}
    augmentation: ClassVar[str] = "omega"
    numeric: ClassVar[bool] = True
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"dispersion": 2.6}

    block: Literal["negative_binomial"] = "negative_binomial"
    dispersion: PositiveNumber = 1.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the counts as they are."""
        return encode_counts(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = (y - r) / 2 and omega."""
        known = ~np.isnan(targets)
        return Potential(np.where(known, (targets - self._r) / 2.0, 0.0), np.where(known, augmentation, 0.0))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape y + r and tilt s of the Polya-Gamma distribution, shape 0 where the count is missing."""
        return np.where(np.isnan(targets), 0.0, targets + self._r), scores

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw omega given the linear predictors."""
        return simulate_polya_gamma(*self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return the log probability of the counts."""
        r = self._r
        constant = gammaln(targets + r) - gammaln(r) - gammaln(targets + 1.0)
        value = constant + targets * scores - (targets + r) * np.logaddexp(0.0, scores)
        return np.where(np.isnan(targets), 0.0, value)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the mean of the counts."""
        with np.errstate(over="ignore"):
            return np.asarray(self._r * np.exp(scores))

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw counts: Poisson with a gamma mean, none above 1e18."""
        with np.errstate(over="ignore"):
            means = rng.gamma(self._r, np.exp(scores))
        return rng.poisson(np.minimum(means, 1e18)).astype(np.float64)

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        return float(np.mean((targets - self.expectation(scores)) ** 2))

    @property
    def _r(self) -> Any:
        """The dispersion, a number once `at` has put it in the place of its prior's name."""
        return self.dispersion
