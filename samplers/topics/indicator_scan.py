"""Which words a topic includes, given assignments: a scan over words, the topics' probabilities integrated out.

A word with tokens in a topic is included. Any other is drawn given the rest: the odds of its inclusion are

    pi G(S + b) G(n + S) / ((1 - pi) G(n + S + b) G(S)),

with S the sum of beta over the *other* words that the topic includes, b its own beta, n the topic's tokens and G the
gamma function. The last word of a topic stays.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt8Array
from ppl_topics._util.compiled import compiled, inlined, parallel, signed, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.inclusion_ratio import log_inclusion_ratio
from ppl_topics.samplers.topics.packed_indicators import BLOCK, PackedIndicators, pack, unpack
from ppl_topics.samplers.variates.streams import Stream, start, uint64, uniform

__all__ = ["ScanGiven", "indicator_scan", "log_odds", "scan_indicators", "scan_packed"]


CACHED = 4096
"""Odds that are kept for each topic, by the number of words that it includes; a power of 2."""

APART = 128
"""Length of small arrays, most of it unused: two threads must not write to the same cache line."""

CERTAIN = 1e300
"""Odds from which a word is included: also those that are infinite, or not a number where that meets an underflow."""

BYTE = np.uint64(255)


class ScanGiven(NamedTuple):
    """What the indicators are drawn given.

    Attributes
    ----------
    n_k : ndarray of int64, shape (K,)
        Tokens of each topic.
    beta : ndarray of float64, shape (V,)
    word_log_odds : ndarray of float64, shape (V,)
    topic_log_odds : ndarray of float64, shape (K,)
        Their sum is log(pi / (1 - pi)), the prior log odds of inclusion; infinite where it is certain.
    """

    n_k: IntArray
    beta: FloatArray
    word_log_odds: FloatArray
    topic_log_odds: FloatArray

    @classmethod
    def of(cls, state: ChainState, pi: FloatArray) -> ScanGiven:
        """Return what a state gives, with the prior probability of inclusion."""
        return cls(state.n_k, state.beta, *log_odds(pi, state.sizes.words, state.sizes.topics))


class EqualOdds(NamedTuple):
    """Odds of inclusion in each of eight topics, where beta is the same for all words.

    They depend on the topic and on the number of other words that it includes.

    Attributes
    ----------
    number : ndarray of int64, shape (8,)
        Words that each topic includes.
    odds, level : ndarray of float64, shape (2, 8)
        Of a word that is excluded now, and of one that is included: the odds, and 256 times the probability.
    others : ndarray of int64, shape (8, 4096)
    kept : ndarray of float64, shape (8, 4096)
        Odds that have been computed, and for how many other words.
    """

    number: IntArray
    odds: FloatArray
    level: FloatArray
    others: IntArray
    kept: FloatArray


@inlined
def level_of(odds: float) -> float:
    """Return 256 times the probability of inclusion."""
    return 256.0 * odds / (1.0 + odds) if odds < CERTAIN else 256.0


@inlined
def draws_inclusion(stream: Stream, byte: np.uint64, level: float) -> bool:
    """Draw whether a word is included, by eight random bits, and more where they do not decide."""
    first = np.float64(np.int64(byte))
    if first + 1.0 <= level:
        return True
    return bool(first < level and uniform(stream) < level - first)


@inlined
def set_odds(place: int, tokens: int, beta: float, topic_log_odds: float, equal: EqualOdds) -> None:
    """Set the odds of words in the topic at `place` of its block, once the number that it includes has changed."""
    number, kept_others, kept = equal.number, equal.others, equal.kept
    for now in range(2):
        others = number[place] - now
        odds = np.inf
        if others > 0:
            slot = others & (CACHED - 1)
            if kept_others[place, slot] != others:
                kept_others[place, slot] = others
                kept[place, slot] = math.exp(log_inclusion_ratio(others * beta, beta, tokens) + topic_log_odds)
            odds = kept[place, slot]
        equal.odds[now, place] = odds
        equal.level[now, place] = level_of(odds)


@tight
def scan_equal(block: int, given: ScanGiven, packed: PackedIndicators, stream: Stream, equal: EqualOdds) -> None:
    """Scan a block of topics where beta is the same for all words."""
    occupied, included = packed.occupied, packed.included
    n_k, topic_log_odds, word_log_odds = given.n_k, given.topic_log_odds, given.word_log_odds
    number, odds, level, beta = equal.number, equal.odds, equal.level, given.beta[0]
    first = BLOCK * block
    size = min(BLOCK, n_k.size - first)
    for place in range(size):
        set_odds(place, n_k[first + place], beta, topic_log_odds[first + place], equal)
    for word in range(occupied.shape[1]):
        bits = uint64(stream)
        has, row = np.int64(occupied[block, word]), np.int64(included[block, word])
        # The logarithm of the word's part of the prior odds; 0 unless each word has its own probability.
        own = word_log_odds[word]
        for place in range(size):
            byte = bits & BYTE
            bits >>= np.uint64(8)
            if (has >> place) & 1:
                continue
            before = (row >> place) & 1
            chance = level[before, place] if own == 0.0 else level_of(odds[before, place] * math.exp(own))
            now = np.int64(draws_inclusion(stream, byte, chance))
            if now != before:
                row ^= 1 << place
                number[place] += now - before
                set_odds(place, n_k[first + place], beta, topic_log_odds[first + place], equal)
        included[block, word] = row


@tight
def scan_unequal(
    block: int, given: ScanGiven, packed: PackedIndicators, stream: Stream, before: FloatArray, after: FloatArray
) -> None:
    """Scan a block of topics for any beta.

    S is the sum over the words before, which have been drawn, and the words after, which have not: nothing is ever
    subtracted, so it is right for the smallest beta beside the largest. The array `before` has shape (8,), `after`
    (V + 1, 8); both are zero.
    """
    occupied, included = packed.occupied, packed.included
    n_k, beta = given.n_k, given.beta
    word_log_odds, topic_log_odds = given.word_log_odds, given.topic_log_odds
    first, n_words = BLOCK * block, occupied.shape[1]
    size = min(BLOCK, n_k.size - first)
    for word in range(n_words - 1, -1, -1):
        for place in range(size):
            after[word, place] = after[word + 1, place] + beta[word] * ((np.int64(included[block, word]) >> place) & 1)
    for word in range(n_words):
        bits = uint64(stream)
        has, row = np.int64(occupied[block, word]), np.int64(0)
        for place in range(size):
            topic = first + place
            byte = bits & BYTE
            bits >>= np.uint64(8)
            now = True
            others = before[place] + after[word + 1, place]
            if (has >> place) & 1 == 0 and others > 0.0:
                ratio = log_inclusion_ratio(others, beta[word], n_k[topic])
                odds = math.exp(ratio + topic_log_odds[topic] + word_log_odds[word])
                now = draws_inclusion(stream, byte, level_of(odds))
            if now:
                row |= 1 << place
                before[place] += beta[word]
        included[block, word] = row


@compiled
def scan_block(
    block: int, equal_beta: bool, in_topic: IntArray, given: ScanGiven, packed: PackedIndicators, key: Key
) -> None:
    """Scan the eight topics of a block, with a stream and scratch arrays of their own."""
    first, n_words = BLOCK * block, given.beta.size
    # A stream, in a long array (see `APART`).
    stream = np.zeros(APART, np.uint64)
    start(stream, key, first)
    if equal_beta:
        number = np.zeros(APART, np.int64)
        for place in range(min(BLOCK, in_topic.size - first)):
            number[place] = in_topic[first + place]
        odds, level = np.empty((APART, BLOCK)), np.empty((APART, BLOCK))
        others, kept = np.full((BLOCK, CACHED), -1, np.int64), np.empty((BLOCK, CACHED))
        scan_equal(block, given, packed, stream, EqualOdds(number, odds, level, others, kept))
    else:
        before, after = np.zeros(APART), np.zeros((n_words + 1, BLOCK))
        scan_unequal(block, given, packed, stream, before, after)


@parallel
def scan_packed(in_topic: IntArray, given: ScanGiven, packed: PackedIndicators, key: Key) -> None:
    """Draw packed indicators from their full conditionals, in parallel over blocks of eight topics.

    The array `in_topic` holds the number of words that each topic includes. The unit of the streams is the block's
    first topic.
    """
    beta = given.beta
    equal_beta = True
    for word in range(1, beta.size):
        equal_beta &= beta[word] == beta[0]
    for block in numba.prange(packed.included.shape[0]):
        scan_block(signed(block), equal_beta, in_topic, given, packed, key)


def scan_indicators(n_wk: Int32Array, given: ScanGiven, key: Key, included: UInt8Array) -> None:
    """Draw the indicator of each word in each topic, shape (V, K), from its full conditional, phi integrated out.

    Topics are independent of each other; in a topic one word is drawn after another. Updated in place.
    """
    packed = PackedIndicators.empty(*n_wk.shape)
    in_topic = pack(n_wk, included, packed)
    scan_packed(in_topic, given, packed, key)
    unpack(packed, included)


def log_odds(pi: FloatArray, n_words: int, n_topics: int) -> tuple[FloatArray, FloatArray]:
    """Return log(pi / (1 - pi)), pi of shape (), (V, 1) or (K,), as the sum of a part by word and a part by topic."""
    with np.errstate(divide="ignore"):
        odds = np.log(pi) - np.log1p(-pi)
    of_words, of_topics = np.zeros(n_words), np.zeros(n_topics)
    if odds.ndim == 2:
        of_words += odds[:, 0]
    else:
        of_topics += odds
    return of_words, of_topics


@kernel(
    "indicator_scan",
    updates="included",
    integrates_out="phi",
    reads=("z", "beta", "pi"),
    handles=("spike_slab", "words"),
    exact=True,
    automatic=True,
    parallel_over="topic",
    distributes="central",
    cost="11 * V * K",
    memory="V * K / 4 + 400_000",
    tasks="(K + 7) // 8",
    reference="Magnusson et al. 2018, appendix B",
)
def indicator_scan(binding: Binding) -> KernelFunctions:
    """Draw which words each topic includes, one word after another, phi integrated out; parallel over topics."""
    included = binding.names["included"]
    block: Any = binding.blocks[binding.names["phi"]]

    def step(state: ChainState, memory: None, key: Key) -> None:
        scan_indicators(state.n_wk, ScanGiven.of(state, block.probability(state)), key, state.arrays[included])

    return KernelFunctions(step)
