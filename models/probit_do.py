"""The diagonal orthant probit: a probit for each class, whatever their number, that shares the topics."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_ndtr, ndtr

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.response import LabelResponse, Potential
from ppl_topics.core.state import ChainState
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_truncated_normal
from ppl_topics.models.targets import encode_signs

__all__ = ["ProbitDo"]


@block("probit_do")
class ProbitDo(LabelResponse):
    """Labels y = -1 or +1, each with probability Phi(y s), Phi the normal distribution function.

    Given a ~ Normal(s, 1), cut to the side of zero that the label says, it is quadratic in s, with the same curvature
    for all classes: the diagonal orthant probit of Johndrow, Dunson, Lum (2013), as in DOLDA (Magnusson, Jonsson,
    Villani 2020). It is the distribution of two classes, which make one response, the plain probit (Albert, Chib 1993),
    or of several labels that a document may have at once. Of three or more exclusive classes it is a pseudo-likelihood:
    a document of class c has +1 in column c and -1 in the others, and the posterior is that of the product of these
    probits, whereas the distribution of a class normalises the product over classes.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of the features.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    one_vs_all : bool
        Whether each of several classes or labels gets its own model, instead of all sharing the topics.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each label from its own topics, all alike, or either way in turn.

    References
    ----------
    J. H. Albert, S. Chib (1993). Bayesian analysis of binary and polychotomous response data. JASA 88(422).
    J. E. Johndrow, D. B. Dunson, K. Lum (2013). Diagonal orthant multinomial probit models. AISTATS.
    M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
    multi-class regression. Computational Statistics 35.
    """

    augmentation: ClassVar[str] = "a"
    handled_as: ClassVar[frozenset[str]] = frozenset({"quadratic_response", "shared_curvature"})

    block: Literal["probit_do"] = "probit_do"

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the labels as -1 and +1."""
        return encode_signs(labels)

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return the labels themselves, which are on the right side of zero; 1 where missing."""
        observed = state.observed
        assert observed is not None, "the model has a response, so the state holds what is observed"
        return np.where(np.isnan(observed.targets), 1.0, observed.targets)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = a and omega = 1."""
        known = ~np.isnan(targets)
        return Potential(np.where(known, augmentation, 0.0), known.astype(np.float64))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sign and mean of the truncated normal distribution, sign 0 where the label is missing."""
        return np.nan_to_num(targets), scores

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a given the linear predictors."""
        return simulate_truncated_normal(*self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return log Phi(y s), exact in the tails."""
        known = ~np.isnan(targets)
        return np.where(known, log_ndtr(np.where(known, targets * scores, 0.0)), 0.0)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the probability that the label is +1."""
        return np.asarray(ndtr(scores))

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return log Phi(s) - log Phi(-s), exact in the tails."""
        smaller = log_ndtr(-np.abs(scores))
        return np.asarray(np.copysign(np.log1p(-np.exp(smaller)) - smaller, scores))

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw labels -1 and +1, each for itself."""
        return np.where(rng.random(scores.shape) < self.expectation(scores), 1.0, -1.0)

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        return float(np.mean(targets * scores <= 0))
