"""Sufficient statistics of Dirichlet concentrations: how often each count occurs.

The likelihood of a concentration depends on the counts only through log G(a + n) - log G(a), so equal counts
are evaluated once: a few hundred terms stand for millions of tokens.

References
----------
H. M. Wallach (2008). Structured topic models for language. PhD thesis, Cambridge, section 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer

__all__ = [
    "CountHistogram",
    "alpha_statistics",
    "beta_statistics",
    "cells_part",
    "log_likelihood",
    "merged",
    "tally",
    "totals_part",
]


class CountHistogram(NamedTuple):
    """Distinct positive counts and their multiplicities, by group and for the totals.

    Attributes
    ----------
    group_ptr : ndarray of int64 of shape (G + 1,)
        Group g has the entries ``group_ptr[g]`` to ``group_ptr[g + 1] - 1``. G is 1 where one concentration
        serves all cells, otherwise it is the number of concentrations.
    value, times : ndarray of int64
        A positive count, and in how many cells of its group it occurs.
    total, total_times : ndarray of int64
        A total over the cells of a draw (document length; tokens of a topic), and how often it occurs.
    """

    group_ptr: IntArray
    value: IntArray
    times: IntArray
    total: IntArray
    total_times: IntArray


def merged(histograms: Sequence[CountHistogram]) -> CountHistogram:
    """Return the histogram of all counts of several."""
    if len(histograms) == 1:
        return histograms[0]
    n_groups = len(histograms[0].group_ptr) - 1
    values, times, sizes = [], [], [0]
    for group in range(n_groups):
        parts = [slice(h.group_ptr[group], h.group_ptr[group + 1]) for h in histograms]
        value, number = _add_up(
            [h.value[part] for h, part in zip(histograms, parts, strict=True)],
            [h.times[part] for h, part in zip(histograms, parts, strict=True)],
        )
        values.append(value)
        times.append(number)
        sizes.append(sizes[-1] + len(value))
    total, total_times = _add_up([h.total for h in histograms], [h.total_times for h in histograms])
    group_ptr = np.array(sizes, dtype=np.int64)
    return CountHistogram(group_ptr, np.concatenate(values), np.concatenate(times), total, total_times)


def _add_up(values: Sequence[IntArray], times: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    distinct, place = np.unique(np.concatenate(values), return_inverse=True)
    number = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(number, place, np.concatenate(times))
    return distinct, number


@compiled
def tally(group: IntArray, count: IntArray, n_groups: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct counts of each group in increasing order, as group_ptr, counts and multiplicities."""
    place = np.zeros(n_groups + 1, dtype=np.int64)
    for cell in range(group.size):
        place[group[cell] + 1] += 1
    for index in range(n_groups):
        place[index + 1] += place[index]
    ends = place.copy()
    grouped = np.empty(count.size, dtype=np.int64)
    for cell in range(group.size):
        grouped[place[group[cell]]] = count[cell]
        place[group[cell]] += 1
    group_ptr = np.zeros(n_groups + 1, dtype=np.int64)
    distinct = np.empty(count.size, dtype=np.int64)
    times = np.empty(count.size, dtype=np.int64)
    size = 0
    for index in range(n_groups):
        ordered = np.sort(grouped[ends[index] : ends[index + 1]])
        for cell in range(ordered.size):
            if cell > 0 and ordered[cell] == ordered[cell - 1]:
                times[size - 1] += 1
            else:
                distinct[size] = ordered[cell]
                times[size] = 1
                size += 1
        group_ptr[index + 1] = size
    return group_ptr, distinct[:size].copy(), times[:size].copy()


@compiled
def alpha_statistics(doc_ptr: IntArray, z: UnsignedArray, n_topics: int, pooled: bool) -> CountHistogram:
    """Count how often each positive n_dk occurs, over all topics if pooled or for each, and each document length."""
    in_doc = np.zeros(n_topics, dtype=np.int64)
    group = np.empty(z.size, dtype=np.int64)
    count = np.empty(z.size, dtype=np.int64)
    size = 0
    for doc in range(doc_ptr.size - 1):
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            in_doc[z[token]] += 1
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            topic = z[token]
            if in_doc[topic] > 0:
                group[size] = 0 if pooled else topic
                count[size] = in_doc[topic]
                in_doc[topic] = 0
                size += 1
    group_ptr, distinct, times = tally(group[:size], count[:size], 1 if pooled else n_topics)
    lengths = np.diff(doc_ptr)
    lengths = lengths[lengths > 0]
    _, total, total_times = tally(np.zeros_like(lengths), lengths, 1)
    return CountHistogram(group_ptr, distinct, times, total, total_times)


@compiled
def beta_statistics(n_wk: Int32Array, n_k: IntArray, pooled: bool) -> CountHistogram:
    """Count how often each positive n_wk occurs, over all words if pooled or for each, and each n_k."""
    n_words, n_topics = n_wk.shape
    size = 0
    for word in range(n_words):
        for topic in range(n_topics):
            size += n_wk[word, topic] > 0
    group = np.empty(size, dtype=np.int64)
    count = np.empty(size, dtype=np.int64)
    size = 0
    for word in range(n_words):
        for topic in range(n_topics):
            if n_wk[word, topic] > 0:
                group[size] = 0 if pooled else word
                count[size] = n_wk[word, topic]
                size += 1
    group_ptr, distinct, times = tally(group, count, 1 if pooled else n_words)
    totals = n_k[n_k > 0]
    _, total, total_times = tally(np.zeros_like(totals), totals, 1)
    return CountHistogram(group_ptr, distinct, times, total, total_times)


@compiled
def cells_part(concentration: float, statistics: CountHistogram, group: int) -> float:
    """Sum log G(a + n) - log G(a) over the cells of one group, a being its concentration."""
    value = 0.0
    for entry in range(statistics.group_ptr[group], statistics.group_ptr[group + 1]):
        value += statistics.times[entry] * log_pochhammer(concentration, statistics.value[entry])
    return value


@compiled
def totals_part(concentration_sum: float, statistics: CountHistogram) -> float:
    """Sum log G(A) - log G(A + n) over the totals, A being the sum of the concentrations of all cells."""
    value = 0.0
    for entry in range(statistics.total.size):
        value -= statistics.total_times[entry] * log_pochhammer(concentration_sum, statistics.total[entry])
    return value


@compiled
def log_likelihood(concentration: FloatArray, concentration_sum: float, statistics: CountHistogram) -> float:
    """Return the log probability of the sequences behind the counts, the Dirichlet variates integrated out.

    There is a concentration for each group of the statistics; others are ignored, so a symmetric vector serves pooled
    statistics. The sum is over all cells.
    """
    value = totals_part(concentration_sum, statistics)
    for group in range(statistics.group_ptr.size - 1):
        value += cells_part(concentration[group], statistics, group)
    return value
