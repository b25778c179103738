"""The hinge loss: max-margin supervision, as in Gibbs MedLDA."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.response import LabelResponse, Potential
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_inverse_gaussian
from ppl_topics.models.normal import Normal
from ppl_topics.models.targets import encode_signs

__all__ = ["Hinge"]

SHARE = 1.0 / 3.0
"""What a document has of the topic that tells its label, about."""


@block("hinge")
class Hinge(LabelResponse):
    """Labels y = -1 or +1 with pseudo-likelihood exp(-2 cost max(0, margin - y s)): a loss, not a distribution.

    Given xi ~ InvGauss(1 / (cost |margin - y s|), 1) it is quadratic in s (Zheng, Yu, Xing 2015, section 2.2; Zhu,
    Chen, Perkins, Zhang 2014, Gibbs max-margin topic models with data augmentation, lemma 2).

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    cost : float
        Weight of the loss; at 0 the model is a plain topic model.
    margin : float
    intercept : bool
        Whether a coefficient of a constant feature is added.
    one_vs_all : bool
        Whether each of several classes or labels gets its own model, instead of all sharing the topics.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each label from its own topics, all alike, or either way in turn.
    """

    augmentation: ClassVar[str] = "xi"
    probabilistic: ClassVar[bool] = False
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"cost": 1.5, "margin": 0.7}
    tiny_with_scales: ClassVar[Mapping[str, Any]] = {"cost": 0.8}

    block: Literal["hinge"] = "hinge"
    cost: float = pydantic.Field(default=1.0, ge=0)
    margin: float = pydantic.Field(default=1.0, gt=0)

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the labels as -1 and +1."""
        return encode_signs(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = cost y (1 + cost margin xi) and omega = cost^2 xi."""
        known = ~np.isnan(targets)
        b = self.cost * np.where(known, targets, 0.0) * (1.0 + self.cost * self.margin * augmentation)
        return Potential(b, self.cost**2 * np.where(known, augmentation, 0.0))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the mean of each xi; infinite where the loss has its kink."""
        with np.errstate(divide="ignore"):
            return 1.0 / (self.cost * np.abs(self.margin - targets * scores))

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw xi given the linear predictors."""
        return simulate_inverse_gaussian(self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return -2 cost max(0, margin - y s)."""
        return np.where(np.isnan(targets), 0.0, -2.0 * self.cost * np.maximum(0.0, self.margin - targets * scores))

    def advice(self, labels: Labels, prior: Block) -> list[str]:
        """Return what decides how well labels are predicted, and how many are too rare to be."""
        if labels.kind not in ("class", "multi_label") or self.cost == 0.0:
            return []
        advice = [
            "cost weighs the labels against the words, and the best value depends on the corpus: choose it by "
            "cross-validation, a grid with 5 folds"
        ]
        # A coefficient of margin / share lifts documents from 0 to the margin. Under the prior it loses
        # (margin / share)^2 / (2 variance); n documents gain 2 cost margin each.
        if labels.kind == "multi_label" and isinstance(prior, Normal) and not isinstance(prior.variance, str):
            least = self.margin / (4.0 * self.cost * prior.variance * SHARE**2)
            held = (self.encode(labels)[0] > 0.0).sum(axis=0)
            rare = held[(held > 0) & (held < least)]
            if len(rare):
                enough = 10.0 ** math.ceil(math.log10(prior.variance * least / rare.min()))
                advice.append(
                    f"{len(rare):,} of {len(held):,} labels hold for fewer than {math.ceil(least):,} documents, too "
                    "few to outweigh the prior of their coefficients, so they will seldom be predicted: set the "
                    f"variance of the coefficients to {enough:g}, or give them a horseshoe prior"
                )
        return advice

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        return float(np.mean(targets * scores <= 0))
