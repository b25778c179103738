"""The ordinal probit: levels in order, such as ratings, with cut points between them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic
from scipy.special import log_ndtr

from ppl_topics._util.argument_names import setting
from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, Response, Start
from ppl_topics.corpus.label_inference import as_number
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.names import listed
from ppl_topics.errors import CorpusError
from ppl_topics.models.augmentation import simulate_normal_between

__all__ = ["OrdinalProbit"]


def _ascending(values: list[float] | str) -> list[float] | str:
    """Return what is given, unless it is numbers that do not ascend from 0."""
    if not isinstance(values, str) and not all(low < high for low, high in pairwise([0.0, *values])):
        raise ValueError("cut points have to be above 0 and in ascending order; the first of all is 0, and left out")
    return values


Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
CutPoints = Annotated[Annotated[list[Finite], pydantic.Field(min_length=1)] | str, pydantic.AfterValidator(_ascending)]


@block("ordinal_probit")
class OrdinalProbit(Response):
    """Levels in order: y = l where a normal variate a ~ Normal(s, 1) is between cut points l - 1 and l.

    With L levels and cut points 0 = c_1 < ... < c_(L - 1),

        p(y = l) = Phi(c_l - s) - Phi(c_(l - 1) - s),

    Phi the normal distribution function, c_0 = -inf and c_L = inf. Given a it is quadratic in s, with b = a and omega =
    1 (Albert, Chib 1993, section 4). One linear predictor serves all levels: what raises it makes every higher level
    likelier. The first cut point is 0, since to move all is to move the linear predictor: give it an intercept.

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of the features.
    cutpoints : list of float, or str
        All but the first, which is 0: numbers above it in ascending order, or the name of their prior, such as
        ``ordered_half_normal``.
    levels : list of str
        The levels from the lowest to the highest; needed only where they are not called by numbers.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    start : {"labels", "uniform", "both"}
        How chains draw their first topics: for each level from its own topics, all alike, or either way in turn.

    References
    ----------
    J. H. Albert, S. Chib (1993). Bayesian analysis of binary and polychotomous response data. JASA 88(422).
    """

    references: ClassVar[Mapping[str, str]] = {**Response.references, "cutpoints": "cutpoints"}
    augmentation: ClassVar[str] = "a"
    handled_as: ClassVar[frozenset[str]] = frozenset({"quadratic_response", "shared_curvature"})
    ordered: ClassVar[bool] = True

    block: Literal["ordinal_probit"] = "ordinal_probit"
    cutpoints: CutPoints
    levels: list[str] = pydantic.Field(default_factory=list)
    start: Start = "labels"

    @property
    def first_topics(self) -> Start:
        """What the first topics of chains depend on."""
        return self.start

    def class_names(self, number: int) -> list[str]:
        """Return the levels, or as many as there are cut points for; else one more than a number, three at least."""
        known = None if isinstance(self.cutpoints, str) else len(self.cutpoints) + 2
        return list(self.levels) or [str(level) for level in range(1, 1 + (known or max(3, number + 1)))]

    def arranged(self, labels: Labels) -> Labels:
        """Return the labels with their levels in order, the lowest first."""
        if labels.kind != "class":
            return labels
        if self.levels:
            unknown = next((str(name) for name in labels.classes if name not in self.levels), None)
            if unknown is not None:
                raise CorpusError(f"there are documents of level {unknown!r}, which `levels` does not list")
            return labels.align(self.levels)
        numbers = [as_number(str(name)) for name in labels.classes]
        if any(number is None for number in numbers):
            raise CorpusError(
                f"the levels {listed(labels.classes)} are no numbers, so their order has to be told; list them from "
                "the lowest to the highest, levels: [low, middle, high]"
            )
        order = sorted(range(len(numbers)), key=lambda place: numbers[place])  # type: ignore[arg-type, return-value]
        return labels.align([str(labels.classes[place]) for place in order])

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the number of the level of each document, from 0."""
        if labels.kind != "class":
            raise CorpusError(
                f"it needs levels, one for each document, but these labels are of kind {labels.kind!r}; "
                f"give {setting('label_kind', 'class')}, or use a model of numbers"
            )
        number = len(labels.classes)
        if number < 3:
            raise CorpusError(
                f"it needs three levels at least, and there are {number}; for two take the block 'probit_do'"
            )
        if not isinstance(self.cutpoints, str) and len(self.cutpoints) != number - 2:
            raise CorpusError(
                f"there are {number} levels, so {number - 2} cut points follow the first, which is 0, and the model "
                f"has {len(self.cutpoints)}"
            )
        return np.where(labels.missing, np.nan, labels.values.astype(np.float64))[:, None], ["level"]

    def indicators(self, targets: FloatArray) -> FloatArray:
        """Return 1 for the level of a document and 0 for the others, NaN where it is missing."""
        known = ~np.isnan(targets)
        highest = int(np.max(targets, initial=1, where=known))
        number = highest + 1 if isinstance(self.cutpoints, str) else np.shape(self.cutpoints)[-1] + 2
        return np.where(known, targets == np.arange(number), np.nan)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = a and omega = 1."""
        known = ~np.isnan(targets)
        return Potential(np.where(known, augmentation, 0.0), known.astype(np.float64))

    def augmentation_arguments(
        self, targets: FloatArray, scores: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and bounds of the normal distribution, bounds that are not a number where a level is missing."""
        lower, upper = self._bounds(targets)
        shape = np.broadcast_shapes(scores.shape, lower.shape)
        return np.broadcast_to(scores, shape), np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a given the linear predictors."""
        return simulate_normal_between(*self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return log p(y), exact in the tails."""
        lower, upper = self._bounds(targets)
        known = ~np.isnan(targets)
        low, high = np.where(known, lower, -np.inf) - scores, np.where(known, upper, np.inf) - scores
        return _log_between(low, high)

    def expectation(self, scores: FloatArray) -> FloatArray:
        """Return the mean of the normal variate that the cut points cut."""
        return scores

    def log_class_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the log probability of each level, shape (..., number of levels)."""
        cuts = self._padded
        return _log_between(cuts[..., :-1] - scores, cuts[..., 1:] - scores)

    def draw_targets(self, scores: FloatArray, augmentation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the number of a level for each document."""
        drawn = scores + rng.normal(size=scores.shape)
        return np.asarray((drawn > self._inner).sum(axis=-1, keepdims=True), np.float64)

    def _loss(self, targets: FloatArray, scores: FloatArray) -> float:
        """Return the share of documents whose mean is between other cut points."""
        return float(np.mean((scores[:, None] > self._inner).sum(axis=-1) != targets))

    @property
    def _inner(self) -> FloatArray:
        """The cut points, shape (..., L - 1)."""
        cuts = np.asarray(self.cutpoints, np.float64)
        return np.concatenate([np.zeros((*cuts.shape[:-1], 1)), cuts], axis=-1)

    @property
    def _padded(self) -> FloatArray:
        """The cut points with the ends of the line, shape (..., L + 1)."""
        inner = self._inner
        ends = np.full((*inner.shape[:-1], 1), np.inf)
        return np.concatenate([-ends, inner, ends], axis=-1)

    def _bounds(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the cut points on both sides of each level, as targets of shape (..., 1) stand beside predictors.

        Cut points of several draws have the shape (draws, L - 2) or, beside documents, (draws, 1, L - 2).
        """
        levels, cuts = targets[..., 0], self._padded
        if levels.ndim and cuts.ndim > 2:
            cuts = cuts[..., 0, :]
        known = ~np.isnan(levels)
        place = np.where(known, levels, 0.0).astype(np.int64)
        lower, upper = (np.where(known, np.take(cuts, place + above, axis=-1), np.nan)[..., None] for above in (0, 1))
        return lower, upper


def _log_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log(Phi(high) - Phi(low))."""
    # Where both are large their difference is that of two small numbers on the other side.
    flipped = low > -high
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    larger = log_ndtr(high)
    return np.asarray(larger + np.log(-np.expm1(log_ndtr(low) - larger)))
