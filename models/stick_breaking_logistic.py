"""The stick-breaking logistic distribution of exclusive classes: a normalised one, of binary decisions in turn."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, Response, Start
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import CorpusError
from ppl_topics.models.augmentation import simulate_polya_gamma
from ppl_topics.models.targets import encode_signs

__all__ = ["StickBreakingLogistic"]

NOT_REACHED = -1.0
"""Target of a stick behind the one at which a document stops."""


@block("stick_breaking_logistic")
class StickBreakingLogistic(Response):
    """Exclusive classes, and their distribution: a document stops at class j, with logit p = s_j, or passes on.

    With C classes in order there are C - 1 such decisions, the sticks, and their product

        p(y = c) = expit(s_c) prod_{j < c} expit(-s_j),    p(y = C) = prod_{j < C} expit(-s_j)

    sums to 1 over the classes, without a normaliser that depends on the linear predictors. Given omega_j ~
    PG(1[y >= j], s_j) it is quadratic in each s_j, with b_j = 1[y = j] - 1[y >= j] / 2 (Linderman, Johnson, Adams 2015,
    section 2). A stick's coefficients say what sets its class apart from the later ones. So they depend on the order of
    the classes, as does what the prior says of the classes' probabilities. Two classes make one response, named after
    the second: the logistic model.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of the features.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each class from its own topics, all alike, or either way in turn.

    References
    ----------
    S. W. Linderman, M. J. Johnson, R. P. Adams (2015). Dependent multinomial models made easy: stick-breaking with the
    Polya-gamma augmentation. NIPS 28.
    """

    augmentation: ClassVar[str] = "omega"

    block: Literal["stick_breaking_logistic"] = "stick_breaking_logistic"
    start: Start = "labels"

    @property
    def first_topics(self) -> Start:
        """What the first topics of chains depend on."""
        return self.start

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return 1 at the stick of the class, 0 at those before and -1 at those behind; a stick has its class's name.

        Of two classes, 1 is the second and 0 the first.
        """
        signs, names = encode_signs(labels)
        if labels.kind != "class":
            raise CorpusError(
                "it needs exclusive classes, but these documents have several labels each; use the block 'logistic', "
                "which at c: 1 is their distribution"
            )
        if len(names) == 1:
            return (signs + 1.0) / 2.0, names
        stops = (signs > 0.0)[:, :-1]
        behind = np.cumsum(stops, axis=1) > stops
        targets = np.where(behind, NOT_REACHED, stops)
        targets[labels.missing] = np.nan
        return targets, names[:-1]

    def indicators(self, targets: FloatArray) -> FloatArray:
        """Return 1 for the class of a document and 0 for the others, NaN where it is missing."""
        if targets.shape[-1] == 1:
            return targets
        last = np.where(np.isnan(targets[..., :1]), np.nan, (targets == 0.0).all(axis=-1, keepdims=True))
        return np.concatenate([np.maximum(targets, 0.0), last], axis=-1)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = y - 1/2 and omega at sticks that are reached."""
        reached = targets >= 0.0
        return Potential(np.where(reached, targets - 0.5, 0.0), np.where(reached, augmentation, 0.0))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape 1 and tilt s of the Polya-Gamma distribution, shape 0 at sticks that are not reached."""
        return (targets >= 0.0).astype(np.float64), scores

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw omega given the linear predictors."""
        return simulate_polya_gamma(*self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return y s - log(1 + exp(s)) at sticks that are reached; of a document, they add up to log p(y)."""
        return np.where(targets >= 0.0, targets * scores - np.logaddexp(0.0, scores), 0.0)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the probability that a document stops at a stick, once it reaches it."""
        return np.asarray(expit(scores))

    def log_class_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the log probability of each class, shape (..., number of classes)."""
        if scores.shape[-1] == 1:
            return super().log_class_probabilities(scores)
        rest = np.log1p(np.exp(-np.abs(scores)))
        log_p = np.zeros((*scores.shape[:-1], scores.shape[-1] + 1))
        np.cumsum(np.minimum(-scores, 0.0) - rest, axis=-1, out=log_p[..., 1:])
        log_p[..., :-1] += np.minimum(scores, 0.0) - rest
        return log_p

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a class for each document, as `encode` gives them."""
        stops = rng.random(scores.shape) < self.expectation(scores)
        return np.where(np.cumsum(stops, axis=-1) > stops, NOT_REACHED, stops)

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        reached = targets >= 0.0
        # A stick that no document reaches, one of a class that is missing from these, has nothing wrong.
        return float(np.mean((2.0 * targets[reached] - 1.0) * scores[reached] <= 0)) if reached.any() else 0.0
