"""Label switching within a chain: topics that swap numbers, found draw by draw.

Each draw's topics are compared with the mean of the preceding draws in their current numbering, as in the sequential
relabelling of Celeux (1998). A draw has a switch if the optimal assignment moves topics in a cycle, each of them is
closer to the mean of the topic whose number it takes than to its own by more than `MARGIN`, and most of the following
draws agree. A topic that drifts, however far, is not a switch, since the mean follows it and no other topic becomes
what it was; nor is a topic that dies and comes back as another one.

References
----------
G. Celeux (1998). Bayesian inference for mixture: the label switching problem. COMPSTAT 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, RealArray
from ppl_topics.diagnostics.alignment.topics import TOPIC_DIMS, by_response, check_comparable
from ppl_topics.results.response_topics import own_topics
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["Switch", "base_numbers", "find_switches", "numbers_of", "unmixed"]


MARGIN = 0.2
"""How much closer a topic must be to the one whose number it takes than to itself. In four chains of 20 Newsgroups that
were still drifting (5 million comparisons), a draw of a topic was always closer to its own mean than to any other, by
at least 0.17; a switch of topics as similar as the most similar pair there (0.6) gains twice this margin."""

MEMORY = 50
"""Draws that a mean covers: enough to average out their noise, few enough to follow a drift."""

AHEAD = 5
"""A majority of this many following draws must agree, so that a single odd draw is not a switch."""

MOST_WORDS = 500
"""Draws of phi are compared on this many most probable words; the others have little probability in any topic."""

FAR, NEAR = 8.0, 3.0
"""Without phi, in standard deviations of a draw: how far the share or a coefficient of a topic must be from its own
mean, and how near all of them must be to those of the topic whose number it takes; at the draw before, it must be as
near to its own. Shares that drift past each other take more than one draw."""


class Switch(NamedTuple):
    """Topics that swap numbers within a chain.

    Attributes
    ----------
    chain : int
    draw : int
        Coordinate of the first draw with the new numbers.
    topics : tuple of int
        The numbers of the topics before it.
    numbers : tuple of int
        Their numbers from then on.
    response : str, optional
        The response that the topics belong to, if each response has its own.
    """

    chain: int
    draw: int
    topics: tuple[int, ...]
    numbers: tuple[int, ...]
    response: str | None = None


def find_switches(groups: Mapping[str, xr.Dataset], classes: IntArray) -> tuple[Switch, ...]:
    """Find the switches of each chain from the draws of phi or, without phi, from topic shares and coefficients.

    Without phi, topics can be told apart only if their shares or coefficients differ by much more than they vary. A
    cycle of topics of different ``classes`` (shape (K,), see `exchangeable`) is not a switch.
    """
    posterior = groups["posterior"]
    if len(classes) < 2 or len(np.unique(classes)) == len(classes) or posterior.sizes["draw"] < 2:
        return ()
    if "phi" in posterior and {"draw", *TOPIC_DIMS} <= set(posterior["phi"].dims):
        draws = by_response(posterior["phi"], ("chain", "response", "draw", "topic", "word"))
        compare: Callable[[NDArray[Any]], _Comparison] = _by_phi
    else:
        profiles = _profiles(groups, len(classes))
        if profiles is None:
            return ()
        draws, compare = profiles, _by_profile
    names: Sequence[str | None] = own_topics(groups) or [None]
    found = []
    for c, chain in enumerate(posterior["chain"].values):
        for r, response in enumerate(names):
            for t, before, after in _search(compare(draws[c, r]), classes):
                draw = int(posterior["draw"].values[t])
                found.append(Switch(int(chain), draw, before, after, response))
    return tuple(found)


class _Comparison(NamedTuple):
    """How the topics of draws are compared with the mean of the draws before them."""

    values: NDArray[Any]  # (draws, K, M): what is averaged
    similar: Callable[[NDArray[Any], NDArray[Any]], FloatArray]  # topics of draws and a mean: (draws, K, K) in [0, 1]
    first: int  # draws in the first mean
    margin: float  # how much closer a topic must be to the one whose number it takes
    memory: int  # draws in a mean
    jump: bool  # at the draw before, a topic must be as near to its own mean as it is far from it now


def _by_phi(phi: Float32Array) -> _Comparison:
    """Compare by the Bhattacharyya coefficient of probabilities of words."""
    if phi.shape[2] > MOST_WORDS:
        most = np.argsort(-phi.mean(axis=(0, 1)), kind="stable")[:MOST_WORDS]
        phi = phi[:, :, np.sort(most)]
    totals = phi.sum(axis=2, keepdims=True)
    roots = np.sqrt(phi / np.where(totals > 0.0, totals, 1.0))

    def similar(draws: NDArray[Any], mean: NDArray[Any]) -> FloatArray:
        size = np.sqrt((mean**2).sum(axis=1))
        flat = draws.reshape(-1, draws.shape[2]) @ mean.T
        return np.asarray(flat / np.where(size > 0.0, size, 1.0), dtype=np.float64).reshape(*draws.shape[:2], len(mean))

    return _Comparison(roots, similar, first=1, margin=MARGIN, memory=MEMORY, jump=False)


def _by_profile(profiles: FloatArray) -> _Comparison:
    """Compare by the largest distance of any feature, in its standard deviations: 1 up to `NEAR`, 0 from `FAR`."""
    # From successive draws, to ignore drifts and switches; at least the median over topics.
    steps = np.abs(np.diff(profiles, axis=0))
    sd = 1.4826 * np.median(steps, axis=0) / np.sqrt(2.0)
    sd = np.maximum(sd, np.median(sd, axis=0))
    sd = np.maximum(sd, 1e-9 + 1e-6 * np.abs(profiles).max(axis=(0, 1)))

    def similar(draws: FloatArray, mean: FloatArray) -> FloatArray:
        distance = np.zeros((*draws.shape[:2], len(mean)))
        for m in range(draws.shape[2]):
            spread = np.maximum(sd[:, None, m], sd[None, :, m])
            np.maximum(distance, np.abs(draws[:, :, None, m] - mean[None, None, :, m]) / spread, out=distance)
        return np.clip((FAR - distance) / (FAR - NEAR), 0.0, 1.0)

    return _Comparison(profiles, similar, first=AHEAD, margin=1.0 - 1e-9, memory=AHEAD, jump=True)


def _profiles(groups: Mapping[str, xr.Dataset], topics: int) -> FloatArray | None:
    """Return square roots of shares, whose noise does not grow with them, and coefficients, shape (C, R, T, K, M)."""
    posterior = groups["posterior"]
    parts = []
    if "topic_share" in posterior and "topic" in posterior["topic_share"].dims:
        share = by_response(posterior["topic_share"], ("chain", "response", "draw", "topic"))
        parts.append(np.sqrt(np.maximum(share, 0.0))[..., None])
    for array in posterior.data_vars.values():
        named = {kind_of_dim(dim): dim for dim in array.dims}
        if set(named) == {"chain", "draw", "response", "coefficient"}:
            ordered = array.transpose("chain", named["response"], "draw", named["coefficient"])
            eta = ordered.values[..., :topics].astype(np.float64)
            own = [str(name) for name in array[named["coefficient"]].values[:topics]]
            if own == [f"topic {k}" for k in range(topics)]:
                parts.append(eta[..., None] if own_topics(groups) else np.moveaxis(eta, 1, -1)[:, None])
    return np.concatenate(parts, axis=-1).astype(np.float64) if parts else None


def _search(comparison: _Comparison, classes: IntArray) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Return the draws at which topics switch, with their numbers before and from then on.

    Draws are processed in blocks, each compared with the mean of the previous block; each of the first blocks is as
    long as all draws before it.
    """
    values, similar, first, margin, memory, jump = comparison
    draws = len(values)
    now = np.arange(len(classes))
    start = min(first, draws)
    mean = values[:start].mean(axis=0)
    found = []
    while start < draws:
        stop = min(draws, start + min(start, memory))
        # In the numbering of the draws; `now` sorts it like the mean.
        similarity = similar(values[start - 1 : stop + AHEAD], mean)
        check_comparable(similarity)
        total = np.zeros(mean.shape)
        for t in range(start, stop):
            at = t - start + 1
            for cycle in _cycles(similarity[at][now], classes, margin):
                if jump and not all(similarity[at - 1][now][k, k] >= margin for k in cycle):
                    continue
                following = similarity[at + 1 : at + 1 + AHEAD]
                agree = [_moved(each[now], cycle, margin) for each in following]
                if 2 * sum(agree) >= len(agree):
                    topics = list(cycle)
                    before, after = now[topics].copy(), now[[cycle[k] for k in topics]]
                    found.append((t, tuple(map(int, before)), tuple(map(int, after))))
                    now[topics] = after
            total += values[t][now]
        mean = (total / (stop - start)).astype(values.dtype)
        start = stop
    return found


def _cycles(similarity: FloatArray, classes: IntArray, margin: float) -> list[dict[int, int]]:
    """Return the cycles of the best assignment that are decisive: by topic, where it now stands."""
    own = np.diagonal(similarity)
    # Nothing to assign unless a topic is much closer to another's mean than to its own.
    if not (similarity - own >= margin).any():
        return []
    allowed = np.where(classes[:, None] == classes[None], similarity, -float(len(classes)))
    rows, columns = linear_sum_assignment(allowed, maximize=True)
    place = np.empty(len(classes), dtype=np.int64)
    place[columns] = rows
    cycles, seen = [], set()
    for start in range(len(place)):
        cycle: dict[int, int] = {}
        k = start
        while k not in seen and place[k] != k:
            seen.add(k)
            cycle[k] = int(place[k])
            k = int(place[k])
        if cycle and _moved(similarity, cycle, margin):
            cycles.append(cycle)
    return cycles


def _moved(similarity: FloatArray, cycle: Mapping[int, int], margin: float) -> bool:
    return all(similarity[place, k] - similarity[k, k] >= margin for k, place in cycle.items())


def numbers_of(switches: Sequence[Switch], topics: int, draws: IntArray) -> list[tuple[int, int, IntArray]]:
    """Return (first draw, end, numbers) for each run of draws between the switches of one chain and response.

    The array holds the number in this run of the topic that is number k in the first draw.
    """
    numbers, start, result = np.arange(topics), 0, []
    for switch in sorted(switches, key=lambda switch: switch.draw):
        at = int(np.searchsorted(draws, switch.draw))
        if at > start:
            result.append((start, at, numbers.copy()))
            start = at
        lookup = np.arange(topics)
        lookup[list(switch.topics)] = switch.numbers
        numbers = lookup[numbers]
    return [*result, (start, len(draws), numbers)]


def base_numbers(stretches: Sequence[tuple[int, int, IntArray]]) -> IntArray:
    """Return the topic numbers that hold in most draws, which are the chain's own numbering."""
    lengths: dict[tuple[int, ...], int] = {}
    for start, stop, numbers in stretches:
        key = tuple(numbers.tolist())
        lengths[key] = lengths.get(key, 0) + stop - start
    return np.array(max(lengths, key=lambda key: lengths[key]), dtype=np.int64)


def unmixed(
    mean: RealArray,
    phi: Float32Array,
    words: IntArray,
    stretches: Sequence[tuple[int, int, IntArray]],
) -> FloatArray:
    """Return the mean topics (K, V) of a chain with switches, in its own numbering.

    Recorded draws ``phi``, shape (draws, K, words), replace the mean of the topics that moved. Words without recorded
    draws keep the mean of the number, rescaled so that the topic sums to 1. ``words`` are the positions of phi's words
    in the vocabulary.
    """
    result, own = mean.astype(np.float64), base_numbers(stretches)
    drawn = np.zeros((len(own), len(words)))
    for start, stop, numbers in stretches:
        drawn[own] += phi[start:stop, numbers].sum(axis=0, dtype=np.float64)
    moved = np.zeros(len(own), dtype=bool)
    for _, _, numbers in stretches:
        moved[own] |= numbers != own
    rest = np.ones(mean.shape[1], dtype=bool)
    rest[words] = False
    for k in np.flatnonzero(moved):
        result[k, words] = drawn[k] / len(phi)
        others = result[k, rest].sum()
        if others > 0.0:
            result[k, rest] *= max(0.0, 1.0 - result[k, words].sum()) / others
    return result
