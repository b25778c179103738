"""The logistic loss: supervised LDA with labels of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from scipy.special import expit

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.response import LabelResponse, Potential
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_polya_gamma
from ppl_topics.models.targets import encode_signs

__all__ = ["Logistic"]


@block("logistic")
class Logistic(LabelResponse):
    """Labels y = 0 or 1 with (exp(y s) / (1 + exp(s)))^c, at c = 1 the distribution of each label.

    Given omega ~ PG(c, s) it is quadratic in s (Zhu, Zheng, Zhang 2013, equations 6 to 8; Polson, Scott, Windle 2013).
    At c = 1 it is the distribution of two classes, or of several labels that a document may have at once. With another
    c it is a pseudo-likelihood; so is, at any c, the product over three or more exclusive classes, which also gives
    weight to no class and to several. For a distribution of those, see `stick_breaking_logistic`.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    c : float
        Weight of the likelihood.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    one_vs_all : bool
        Whether each of several classes or labels gets its own model, instead of all sharing the topics.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each label from its own topics, all alike, or either way in turn.
    """

    augmentation: ClassVar[str] = "omega"
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"c": 3.2}
    tiny_with_scales: ClassVar[Mapping[str, Any]] = {"c": 1.5}
    generative_parameters: ClassVar[Mapping[str, Any]] = {"c": 1.0}

    block: Literal["logistic"] = "logistic"
    c: float = pydantic.Field(default=1.0, gt=0)

    @property
    def generative(self) -> bool:
        """Whether the likelihood has its own weight."""
        return self.c == 1.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the labels as 0 and 1."""
        signs, names = encode_signs(labels)
        return (signs + 1.0) / 2.0, names

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = c (y - 1/2) and omega."""
        known = ~np.isnan(targets)
        return Potential(self.c * np.where(known, targets - 0.5, 0.0), np.where(known, augmentation, 0.0))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape c and tilt s of the Polya-Gamma distribution, shape 0 where the label is missing."""
        return np.where(np.isnan(targets), 0.0, self.c), scores

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw omega given the linear predictors."""
        return simulate_polya_gamma(*self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return c (y s - log(1 + exp(s)))."""
        return np.where(np.isnan(targets), 0.0, self.c * (targets * scores - np.logaddexp(0.0, scores)))

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the probability that the label is 1."""
        return np.asarray(expit(scores))

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the linear predictors, which they are."""
        return scores

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw labels 0 and 1 by the logistic distribution, whatever c."""
        return (rng.random(scores.shape) < self.expectation(scores)).astype(np.float64)

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        return float(np.mean((2.0 * targets - 1.0) * scores <= 0))
