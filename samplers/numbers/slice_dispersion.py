"""The dispersion r of negative binomial counts, given their linear predictors, the augmentation integrated out.

The likelihood of counts y_i with logit s_i is the product of G(y_i + r) / G(r) / (1 + exp s_i)^r, G the gamma function,
and of what does not depend on r. Given the augmentation the density would be that of a Polya-Gamma variate in its
shape, an infinite series.

References
----------
M. Zhou, L. Li, D. Dunson, L. Carin (2012). Lognormal and gamma mixed negative binomial regression. ICML, section 2.
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.numbers.slice_positive import slice_positive
from ppl_topics.samplers.responses.features import linear_predictors

__all__ = ["Counts", "log_likelihood", "slice_dispersion"]


LARGEST = 1e12
"""Where the prior is cut: counts are Poisson variates then, as far as one can tell."""


class Counts(NamedTuple):
    """What the dispersion depends on: the distinct counts, how many there are of each, and sum_i log(1 + exp s_i)."""

    values: IntArray
    number: IntArray
    log_odds: float

    @classmethod
    def of(cls, targets: FloatArray, scores: FloatArray) -> Counts:
        """Return those of some documents; missing counts are left out."""
        known = ~np.isnan(targets)
        values, number = np.unique(targets[known].astype(np.int64), return_counts=True)
        return cls(values, number, sum_of_log_odds(scores[known]))


def added_up(parts: Sequence[Counts]) -> Counts:
    """Return the counts of all documents, given those of groups of them in their order."""
    values, place = np.unique(np.concatenate([part.values for part in parts]), return_inverse=True)
    number = np.zeros(len(values), np.int64)
    np.add.at(number, place, np.concatenate([part.number for part in parts]))
    return Counts(values, number, sum(part.log_odds for part in parts))


@compiled
def sum_of_log_odds(scores: FloatArray) -> float:
    """Add up log(1 + exp s)."""
    total = 0.0
    for score in scores:
        total += max(score, 0.0) + math.log1p(math.exp(-abs(score)))
    return total


@compiled
def log_likelihood(dispersion: float, counts: Counts) -> float:
    """Return the log likelihood of a dispersion, up to a constant."""
    total = -dispersion * counts.log_odds
    for i in range(counts.values.size):
        total += counts.number[i] * log_pochhammer(dispersion, counts.values[i])
    return total


@kernel(
    "slice_dispersion",
    updates="dispersion",
    integrates_out="augmentation",
    reads=("z", "eta"),
    handles=("positive", "negative_binomial"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="50000 + 4 * N + 65 * D + 60 * D * C",
    memory="10 * D * K_d + 40 * D * C",
    reference="Zhou et al. 2012, section 2; Neal 2003",
)
def slice_dispersion(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the dispersion of negative binomial counts, with any prior."""
    predictors, update = linear_predictors(binding), slice_positive(binding, "dispersion", largest=LARGEST)
    groups = list(pairwise(binding.tokens.groups.tolist()))

    def statistic(state: ChainState) -> list[Counts]:
        observed = state.observed
        assert observed is not None
        fitted = predictors(state)
        return [Counts.of(observed.targets[first:last], fitted[first:last]) for first, last in groups]

    def draw(state: ChainState, key: Key, counts: Counts) -> None:
        update(state, key, lambda dispersion: log_likelihood(dispersion, counts))

    return KernelFunctions.of_statistic(statistic, added_up, draw, by_group=True)
