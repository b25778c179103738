"""Topics given assignments on a device, the counts that they are drawn from, and lists of the topics of each word.

A topic is a draw of a Dirichlet distribution: gamma variates of all words, in float64 whatever the shape, divided by
their sum. A topic with so few tokens that all of its variates could underflow is drawn in logarithms. Nothing is cut
off: a cell is zero only where its share is below the least number of float32.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 3.
G. Marsaglia, W. W. Tsang (2000). A simple method for generating gamma variables. ACM TOMS 26(3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from ppl_topics.cuda.compiling import launched, on_device
from ppl_topics.cuda.given_phi import DeviceLists
from ppl_topics.cuda.philox import DeviceKey, philox, standard_normal, uniform_open
from ppl_topics.cuda.warp import LANES, ballot, from_lane, largest, running_sum
from ppl_topics.samplers.assignments.likely_topics import LISTED, MARGIN

__all__ = [
    "SAFE_SUM",
    "WORDS_TOGETHER",
    "add_partial_counts",
    "add_partial_gammas",
    "draw_gammas",
    "draw_small_topics",
    "fill_lists",
    "measure_lists",
    "own_topic",
    "scale_topics",
    "sum_counts",
]

WORDS_TOGETHER = 64
"""Words whose terms one thread adds up, for one topic."""

SAFE_SUM = 32.0
"""A topic whose concentrations sum to less is drawn in logarithms."""

LARGEST_SUM = 3e38
BLOCKS = 2**32
"""Blocks of random words that each cell of a word has for itself."""


@on_device
def gamma_of_at_least_one(key: DeviceKey, unit: Any, number: Any, shape: Any) -> Any:
    """Return a gamma variate of shape at least 1 (Marsaglia and Tsang 2000), and a random word that it does not use."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        first, second, third, spare = philox(key, unit, number)
        number += 1
        x = standard_normal(first, second)
        t = 1.0 + c * x
        if t <= 0.0:
            continue
        v = t * t * t
        u = uniform_open(third)
        square = x * x
        if u < 1.0 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v, spare


@on_device
def log_gamma(key: DeviceKey, unit: Any, topic: Any, shape: Any) -> Any:
    """Return the logarithm of a gamma variate; below 1 as log G(a + 1) + log(U) / a (their section 6)."""
    small = shape < 1.0
    variate, spare = gamma_of_at_least_one(key, unit, topic * BLOCKS + 1, shape + 1.0 if small else shape)
    value = math.log(variate)
    if small:
        value += math.log(uniform_open(spare)) / shape
    return value


@on_device
def gamma(key: DeviceKey, unit: Any, topic: Any, shape: Any) -> Any:
    """Return a gamma variate."""
    small = shape < 1.0
    variate, spare = gamma_of_at_least_one(key, unit, topic * BLOCKS + 1, shape + 1.0 if small else shape)
    if small:
        variate *= math.exp(math.log(uniform_open(spare)) / shape)
    return variate


@on_device
def own_topic() -> Any:
    """Return the topic of a thread in a launch by cells; its piece of the words is the number of the block."""
    return cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x


@launched
def sum_counts(n_wk: Any, words: Any, partial: Any) -> None:
    """Add up the counts of `WORDS_TOGETHER` words in each topic; partial has shape (pieces, K)."""
    topic, piece = own_topic(), cuda.blockIdx.x
    topics = partial.shape[1]
    if topic < topics:
        total = np.int64(0)
        for word in range(piece * WORDS_TOGETHER, min(words, (piece + 1) * WORDS_TOGETHER)):
            total += n_wk[np.int64(word) * topics + topic]
        partial[piece, topic] = total


@launched
def add_partial_counts(partial: Any, n_k: Any) -> None:
    """Add up the counts of all words in each topic."""
    topic = own_topic()
    if topic < n_k.size:
        total = np.int64(0)
        for piece in range(partial.shape[0]):
            total += partial[piece, topic]
        n_k[topic] = total


@launched
def draw_gammas(n_wk: Any, beta: Any, key: DeviceKey, phi: Any, partial: Any) -> None:
    """Draw gamma variates of shape n_wk + beta_w, and add up those of `WORDS_TOGETHER` words in each topic.

    The unit of the streams is the word.
    """
    topic, piece = own_topic(), cuda.blockIdx.x
    topics = partial.shape[1]
    if topic < topics:
        total = 0.0
        for word in range(piece * WORDS_TOGETHER, min(beta.size, (piece + 1) * WORDS_TOGETHER)):
            cell = np.int64(word) * topics + topic
            value = np.float32(gamma(key, word, topic, n_wk[cell] + beta[word]))
            phi[cell] = value
            total += np.float64(value)
        partial[piece, topic] = total


@launched
def add_partial_gammas(partial: Any, n_k: Any, mass: Any, scale: Any, finite: Any) -> None:
    """Set the factor that makes each topic sum to 1, or to 0 for topics that are drawn in logarithms."""
    topic = own_topic()
    if topic < n_k.size:
        total = 0.0
        for piece in range(partial.shape[0]):
            total += partial[piece, topic]
        finite[topic] = total > 0.0 and total < LARGEST_SUM
        scale[topic] = 1.0 / total if n_k[topic] + mass >= SAFE_SUM else 0.0


@launched
def scale_topics(scale: Any, words: Any, phi: Any) -> None:
    """Divide the variates of each topic by their sum."""
    topic, piece = own_topic(), cuda.blockIdx.x
    topics = scale.size
    if topic < topics and scale[topic] > 0.0:
        for word in range(piece * WORDS_TOGETHER, min(words, (piece + 1) * WORDS_TOGETHER)):
            phi[np.int64(word) * topics + topic] *= scale[topic]


@launched
def draw_small_topics(n_wk: Any, beta: Any, key: DeviceKey, scale: Any, phi: Any, finite: Any) -> None:
    """Draw the topics whose scale is 0 in logarithms, each by a warp; the variates are those of `draw_gammas`."""
    topic, lane, topics = cuda.blockIdx.x, cuda.threadIdx.x, scale.size
    if scale[topic] > 0.0:
        return
    most = -math.inf
    for word in range(lane, beta.size, LANES):
        most = max(most, log_gamma(key, word, topic, n_wk[np.int64(word) * topics + topic] + beta[word]))
    most = largest(most)
    own = 0.0
    for word in range(lane, beta.size, LANES):
        own += math.exp(log_gamma(key, word, topic, n_wk[np.int64(word) * topics + topic] + beta[word]) - most)
    total = from_lane(running_sum(own, lane), LANES - 1)
    for word in range(lane, beta.size, LANES):
        cell = np.int64(word) * topics + topic
        value = log_gamma(key, word, topic, n_wk[cell] + beta[word]) - most
        phi[cell] = np.float32(math.exp(value) / total)
    if lane == 0:
        finite[topic] = total > 0.0 and total < LARGEST_SUM


@launched
def measure_lists(word_counts: Any, selected: Any, phi: Any, topics: Any, sizes: Any, level: Any, rest: Any) -> None:
    """Set the length of each word's list, its level, and the bound of the rest, a warp for each word."""
    warp = cuda.grid(1) // LANES
    lane = cuda.threadIdx.x % LANES
    if warp >= word_counts.size:
        return
    word, begin = warp, np.int64(warp) * topics
    size, least, others = np.int32(0), np.float32(0.0), np.float32(0.0)
    if word_counts[word] > 0 and (selected.size == 0 or selected[word]):
        most = np.float32(0.0)
        for topic in range(lane, topics, LANES):
            most = max(most, phi[begin + topic])
        least = largest(most) * LISTED
        own, below = np.float32(0.0), np.float32(0.0)
        for topic in range(lane, topics, LANES):
            if phi[begin + topic] >= least:
                own += np.float32(1.0)
            else:
                below += phi[begin + topic]
        size = np.int32(from_lane(running_sum(own, lane), LANES - 1))
        others = from_lane(running_sum(below, lane), LANES - 1) * np.float32(MARGIN)
        if not (least > 0.0 and 2 * size < topics):
            size = np.int32(0)
    if lane == 0:
        sizes[word], level[word], rest[word] = size, least, others


@launched
def fill_lists(phi: Any, topics: Any, lists: DeviceLists) -> None:
    """Fill the lists that `measure_lists` has measured, a warp for each word."""
    word = cuda.grid(1) // LANES
    lane = cuda.threadIdx.x % LANES
    if word >= lists.level.size or lists.pointer[word + 1] == lists.pointer[word]:
        return
    entry, begin, level = lists.pointer[word], np.int64(word) * topics, lists.level[word]
    for first in range(0, topics, LANES):
        topic = first + lane
        probability = phi[begin + topic] if topic < topics else np.float32(0.0)
        mask = ballot(topic < topics and probability >= level)
        if topic < topics and probability >= level:
            place = entry + cuda.popc(np.uint32(mask) & np.uint32((1 << lane) - 1))
            lists.topics[place], lists.values[place] = topic, probability
        entry += cuda.popc(np.uint32(mask))
