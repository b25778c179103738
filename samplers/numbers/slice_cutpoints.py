"""The cut points of an ordinal probit above the first, given linear predictors, the augmentation integrated out.

Given the augmentation each would have to stay between the largest variate of the level below and the smallest of that
above, and hardly move (Cowles 1996).

References
----------
M. K. Cowles (1996). Accelerating Monte Carlo Markov chain convergence for cumulative-link generalized linear models.
Statistics and Computing 6(2).
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, parallel, signed
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.number import CutPointPrior
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.counts import add_in_order
from ppl_topics.samplers.responses.features import linear_predictors
from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import Stream, open_stream

__all__ = ["log_between", "log_normal_cdf", "slice_cutpoints", "sum_of_log_between"]

Known = tuple[FloatArray, FloatArray]
"""Levels and linear predictors of documents that have a level."""

WIDTH = 0.5
"""Of a slice: the distance of two cut points is of that order."""

SMALL = 10_000
"""Fewer documents are added up by one thread."""

CHUNKS = 64
"""Parts of a sum over documents, added up in order whatever the threads."""

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@compiled
def log_normal_cdf(x: float) -> float:
    """Return the logarithm of the normal distribution function."""
    if x > -20.0:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    square = 1.0 / (x * x)
    series = 1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square * (1.0 - 7.0 * square)))
    return -0.5 * x * x - HALF_LOG_TWO_PI - math.log(-x) + math.log(series)


@compiled
def log_between(low: float, high: float) -> float:
    """Return log(Phi(high) - Phi(low)), where low < high."""
    if low + high > 0.0:
        # Both are on the side where the distribution function is small.
        low, high = -high, -low
    larger = log_normal_cdf(high)
    return larger + math.log(-math.expm1(log_normal_cdf(low) - larger))


@compiled
def add_up(low: float, high: float, scores: FloatArray, first: int, last: int) -> float:
    """Add up the log probabilities that a normal variate around each of some scores is between two bounds."""
    total = 0.0
    for doc in range(first, last):
        total += log_between(low - scores[doc], high - scores[doc])
    return total


@parallel
def add_up_parts(low: float, high: float, scores: FloatArray) -> float:
    """Add up all, in parallel."""
    parts = np.zeros(CHUNKS)
    for chunk in numba.prange(CHUNKS):
        part = signed(chunk)
        parts[chunk] = add_up(low, high, scores, scores.size * part // CHUNKS, scores.size * (part + 1) // CHUNKS)
    return add_in_order(parts)


def sum_of_log_between(low: float, high: float, scores: FloatArray) -> float:
    """Add up the log probabilities that a normal variate around each score is between two bounds."""
    # To wake threads takes longer than to add up a few.
    small = len(scores) < SMALL
    return float(add_up(low, high, scores, 0, len(scores)) if small else add_up_parts(low, high, scores))


@kernel(
    "slice_cutpoints",
    updates="cutpoints",
    integrates_out="augmentation",
    reads=("z", "eta"),
    handles=("cutpoints", "ordinal_probit"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="200000 + 4 * N + 1500 * D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Albert, Chib 1993, section 4; Neal 2003",
)
def slice_cutpoints(binding: Binding) -> KernelFunctions:
    """Slice sampling of the cut points between levels, one after another, with any prior."""
    name, predictors = binding.names.get("cutpoints", ""), linear_predictors(binding)
    prior = binding.blocks.get(name)
    groups = list(pairwise(binding.tokens.groups.tolist()))
    if not isinstance(prior, CutPointPrior):
        raise RunError(f"{binding.target!r}: the model has no cut points with a prior")

    def statistic(state: ChainState) -> list[Known]:
        observed = state.observed
        assert observed is not None
        levels, fitted = observed.targets[:, 0], predictors(state)[:, 0]
        known = ~np.isnan(levels)
        return [
            (levels[first:last][known[first:last]], fitted[first:last][known[first:last]]) for first, last in groups
        ]

    def draw(state: ChainState, key: Key, known: Known) -> None:
        cuts, stream = state.arrays[name], open_stream(*key)
        scores = [known[1][known[0] == level] for level in range(1, len(cuts) + 2)]
        for i in range(len(cuts)):
            cuts[i] = draw_one(cuts, i, prior, scores[i : i + 2], stream)

    return KernelFunctions.of_statistic(statistic, joined, draw, by_group=True)


def draw_one(cuts: FloatArray, i: int, prior: CutPointPrior, scores: Sequence[FloatArray], stream: Stream) -> float:
    """Draw a cut point given the others, and the linear predictors of documents of the levels below and above it."""
    low = float(cuts[i - 1]) if i else 0.0
    high = float(cuts[i + 1]) if i + 1 < len(cuts) else math.inf

    def log_density(x: float) -> float:
        log_prior = prior.log_prior(np.concatenate([cuts[:i], [x], cuts[i + 1 :]]))
        return log_prior + sum_of_log_between(low, x, scores[0]) + sum_of_log_between(x, high, scores[1])

    return slice_sample(log_density, float(cuts[i]), WIDTH, stream, lower=low, upper=high)


def joined(parts: Sequence[Known]) -> Known:
    """Return levels and predictors of all documents, given those of groups of them in their order."""
    return np.concatenate([levels for levels, _ in parts]), np.concatenate([fitted for _, fitted in parts])
