"""What responses offer to kernels, so that neither knows the other.

A *response* is a factor of each document and response (class, label or target): given its *augmentation*, an auxiliary
variable, its logarithm is quadratic in the linear predictor s_dc = eta_c . f_d,

    log psi_dc = b_dc s_dc - omega_dc s_dc^2 / 2 + constant,

and (b, omega) is all that kernels of assignments and of coefficients know of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.state import ChainState
from ppl_topics.corpus.covariates import Covariates
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.scaling import Scaling, moments
from ppl_topics.errors import SpecError

__all__ = ["FixedFeatures", "LabelResponse", "Potential", "RealResponse", "Response", "Start", "starts_by_label"]

Start: TypeAlias = Literal["labels", "uniform", "both"]
"""What the first topics of chains depend on."""


SMALLEST, LARGEST = 1e-300, 1.0 - 2.0**-53
"""Bounds of a probability whose odds are taken."""


def starts_by_label(start: str, chain: int) -> bool:
    """Return whether the first topics of a chain depend on the labels: for "both", those of every other chain."""
    return start == "labels" or (start == "both" and chain % 2 == 0)


class Potential(NamedTuple):
    """The quadratic form of a response given its augmentation.

    Attributes
    ----------
    b, omega : ndarray of float64, shape (D, C)
        Slope and curvature of log psi in the linear predictor; 0 where the target is missing.
    """

    b: FloatArray
    omega: FloatArray


class Response(Block):
    """Base of the blocks that observe labels.

    Attributes
    ----------
    augmentation : str
        Name that the auxiliary variable has in every model with this response.
    augmentation_dims : tuple of str
    probabilistic : bool
        Whether the pseudo-likelihood is a distribution of the target, so that predictions have probabilities.
    numeric : bool
        Whether targets are numbers to be predicted, not classes or labels.
    ordered : bool
        Whether classes are levels in order, which share one linear predictor.
    tiny_with_scales : dict
        Values that `verify` takes beside `tiny_parameters` where the prior of the coefficients has scales, with heavy
        tails. A sharp pseudo-likelihood gives weight to only a few dozen of the nodes that the coefficients are
        summed over, and the sums err by a tenth; gentler ones make that a hundredth or two.
    generative_parameters : dict
        Values at which the pseudo-likelihood is a distribution of the targets, for `verify`.
    coefficients : str
        Name of the block of coefficients.
    features : list of str
        Names of the blocks of assignments and of covariates.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    supervised_topics : int, optional
        How many topics, the first ones, have coefficients; all by default.
    observed : str
        Which labels of the corpus are observed: ``labels``, or the name of others, see `Corpus.with_labels`.
    """

    handled_as: ClassVar[frozenset[str]] = frozenset({"quadratic_response"})
    references: ClassVar[Mapping[str, str]] = {"coefficients": "coefficients", "features": "features"}
    own_role: ClassVar[str | None] = "y"
    augmentation: ClassVar[str]
    augmentation_dims: ClassVar[tuple[str, ...]] = ("doc", "response")
    probabilistic: ClassVar[bool] = True
    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    tiny_with_scales: ClassVar[Mapping[str, Any]] = {}
    generative_parameters: ClassVar[Mapping[str, Any]] = {}

    coefficients: str
    features: list[str]
    intercept: bool = False
    supervised_topics: int | None = pydantic.Field(default=None, ge=0)
    observed: str = "labels"

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``eta`` for the coefficients; features have roles of their own."""
        return "eta" if key == "coefficients" else super().reference_role(key, own_role)

    def supervised(self, topics: int) -> int:
        """Return how many of so many topics have coefficients: the first ones."""
        return topics if self.supervised_topics is None else self.supervised_topics

    def advice(self, labels: Labels, prior: Block) -> list[str]:
        """Return what to think of before a run, a sentence each, given the labels and the prior of the coefficients."""
        return []

    @property
    def apart(self) -> bool:
        """Whether each response has its own model: topics, assignments and all."""
        return False

    @property
    def first_topics(self) -> Start:
        """What the first topics of chains depend on."""
        return "uniform"

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the augmentation, with its role and dims."""
        return {self.augmentation: ("augmentation", self.augmentation_dims)}

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong with the number of supervised topics, or None."""
        if self.supervised(topics) > topics:
            return f"supervised_topics: there are {topics} topics, got {self.supervised_topics}"
        return None

    def check_references(self, roles: Mapping[str, str]) -> str | None:
        """Return what is wrong with the features, or None."""
        given = [roles[name] for name in self.features]
        if given.count("z") != 1 or len(given) != len(set(given)):
            return (
                "features: expected the block of assignments and, after it, that of covariates, each once, "
                f"got {self.features}"
            )
        return None

    @property
    def generative(self) -> bool:
        """Whether the pseudo-likelihood is the distribution that `draw_targets` draws from, normalised, no power.

        Then `verify` makes Geweke's test as well.
        """
        return self.probabilistic and type(self).draw_targets is not Response.draw_targets

    def arranged(self, labels: Labels) -> Labels:
        """Return the labels of a corpus with their classes in the order that the response takes them.

        Raises
        ------
        CorpusError
            If it cannot be told.
        """
        return labels

    @abstractmethod
    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets, shape (D, C), NaN where missing, and the names of the C responses.

        Raises
        ------
        CorpusError
            If the labels are of a kind, or have values, that this response cannot have.
        """

    def scaling(self, targets: FloatArray) -> Scaling | None:
        """Return how the targets of a training corpus, shape (D, C), are centred and scaled; None if they are not."""
        return None

    def indicators(self, targets: FloatArray) -> FloatArray:
        """Return a column for each class or label, positive where it holds, NaN where that is not known."""
        return targets

    @abstractmethod
    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return (b, omega) given the augmentation."""

    @abstractmethod
    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> Any:
        """Return the parameters of the distribution of the augmentation given the linear predictors, for its kernel."""

    @abstractmethod
    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return the log pseudo-likelihood of each cell, shape (D, C), 0 where missing.

        The augmentation is summed over, but for a parameter such as a variance, which is given.
        """

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return ones for the augmentation, which is drawn before anything depends on it."""
        return np.ones([state.sizes.of(dim) for dim in self.augmentation_dims])

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the probability that the label holds, or the mean of the target.

        Raises
        ------
        SpecError
            If the response is not probabilistic.
        """
        raise SpecError(
            f"block {self.kind!r} is a loss, not a distribution of the labels, so it gives no probabilities; "
            "use decision_function, or a model with a logistic response"
        )

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the log odds of each label by itself; of a probability of 0 or 1, those of the nearest one between."""
        bounded = np.clip(self.expectation(scores), SMALLEST, LARGEST)
        return np.asarray(np.log(bounded) - np.log1p(-bounded))

    def log_class_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the log probability of each of several exclusive classes, or of two that make one response.

        With a factor for each class, this is their distribution given that exactly one holds, with p(c) in proportion
        to the odds of c. For the logistic response it is the softmax of the linear predictors.

        Parameters
        ----------
        scores : ndarray of float64, shape (..., C)

        Returns
        -------
        ndarray of float64, shape (..., number of classes)
        """
        log_odds = self.log_odds(scores)
        if log_odds.shape[-1] == 1:
            log_odds = np.concatenate([np.zeros_like(log_odds), log_odds], axis=-1)
        log_odds = log_odds - log_odds.max(axis=-1, keepdims=True)
        return np.asarray(log_odds - np.log(np.exp(log_odds).sum(axis=-1, keepdims=True)))

    def class_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the exponential of `log_class_probabilities`."""
        return np.exp(self.log_class_probabilities(scores))

    def class_log_likelihood(self, targets: FloatArray, scores: FloatArray) -> float:
        """Return the log probability of the known classes of all documents, normalised over classes."""
        holds, known = self.indicators(targets) > 0.0, ~np.isnan(targets[:, 0])
        holds = holds if holds.shape[1] > 1 else np.hstack([~holds, holds])
        return float(self.log_class_probabilities(scores)[holds & known[:, None]].sum())

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw targets given the linear predictors, in the same shape.

        Parameters
        ----------
        scores : ndarray of float64, shape (..., C)
        augmentation : ndarray of float64
            That broadcasts against the scores, where it is a parameter of the distribution; otherwise nothing reads it.
        rng : numpy.random.Generator

        Raises
        ------
        SpecError
            If the response is not probabilistic.
        """
        raise SpecError(
            f"block {self.kind!r} is a loss, not a distribution of the labels, so none can be drawn; "
            "use decision_function, or a model with a logistic response"
        )

    def log_joint(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> float:
        """Return the log pseudo-likelihood of all targets, with the log prior of an augmentation that is given."""
        return float(self.log_likelihood(targets, scores, augmentation).sum())

    def log_evidence(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the log pseudo-likelihood of all targets of each response, everything but the scores summed over.

        Parameters
        ----------
        targets : ndarray of float64, shape (D, C)
        scores : ndarray of float64, shape (..., D, C)

        Returns
        -------
        ndarray of float64, shape (..., C)
        """
        value: FloatArray = self.log_likelihood(targets, scores, np.ones(1)).sum(axis=-2)
        return value

    @abstractmethod
    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the augmentation in plain NumPy, for tests; ones where targets are missing."""

    def loss(self, targets: FloatArray, scores: FloatArray) -> float:
        """Return the training loss that users know: the share of wrong signs, or the mean squared error.

        Not a number, where no target is known.
        """
        known = ~np.isnan(targets)
        if not known.any():
            return float("nan")
        return self._loss(targets[known], scores[known])

    @abstractmethod
    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        """Return the loss of known targets."""


class FixedFeatures(Block):
    """Base of the blocks that observe what responses have coefficients for beside the topics."""

    seams: ClassVar[frozenset[str]] = frozenset({"features"})
    own_role: ClassVar[str | None] = "x"

    def columns(self, covariates: Covariates) -> Sequence[str]:
        """Return the names of the columns that have coefficients; all by default."""
        return [str(name) for name in covariates.names]

    @abstractmethod
    def scaling(self, covariates: Covariates) -> Scaling:
        """Return how the columns of the covariates of a training corpus are centred and scaled."""


class LabelResponse(Response):
    """Base of the responses that tell classes or labels apart.

    Attributes
    ----------
    one_vs_all : bool
        Whether each of several classes or labels gets its own model, instead of all sharing the topics.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each label from its own topics, all alike, or either way in turn.
    """

    one_vs_all: bool = False
    start: Start = "labels"

    @property
    def apart(self) -> bool:
        """Whether each class has its own model."""
        return self.one_vs_all

    @property
    def first_topics(self) -> Start:
        """What the first topics of chains depend on."""
        return self.start


class RealResponse(Response):
    """Base of the responses of real targets, whose mean, or what is predicted of them, is the linear predictor.

    Attributes
    ----------
    standardise : bool
        Whether each target is given mean 0 and standard deviation 1 over the training documents, so that priors, costs
        and errors mean the same in any unit. Predictions are in the units of the targets.
    """

    numeric: ClassVar[bool] = True

    standardise: bool = True

    def scaling(self, targets: FloatArray) -> Scaling | None:
        """Return what standardises each target over the documents that have it; a constant one is only centred."""
        if not self.standardise:
            return None
        found = np.array([moments(column[~np.isnan(column)]) for column in targets.T]).reshape(-1, 2)
        # What is smaller has no finite inverse.
        return Scaling(found[:, 0], np.where(found[:, 1] > np.finfo(np.float64).tiny, found[:, 1], 1.0))

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        return float(np.mean((targets - scores) ** 2))
