"""The mutual information of words and documents in topics, of the data and of replications of their words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import compiled, parallel, signed
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.streams import Stream, integer, new_stream, start, uniform

__all__ = ["Information", "TokensByTopic", "polya_urn", "replicate_information"]


class TokensByTopic(NamedTuple):
    """Tokens sorted by topic, and by document within a topic."""

    ptr: IntArray  # (K + 1,): tokens of topic k are ptr[k]:ptr[k + 1]
    words: Int32Array  # (N,)
    docs: Int32Array  # (N,)
    best: IntArray  # (K, M): top words of each topic; -1 where it has fewer


class Information(NamedTuple):
    """What the data say, in the first row, and R replications of their words."""

    topics: FloatArray  # (R + 1, K): MI(W, D | k)
    words: FloatArray  # (R + 1, K, M): IMI(w, D | k) of the top words
    tokens: IntArray  # (K, M): tokens of the top words in the data

    @classmethod
    def empty(cls, replications: int, topics: int, width: int) -> Information:
        """Allocate it."""
        shape = (replications + 1, topics)
        return cls(np.zeros(shape), np.zeros((*shape, width)), np.zeros((topics, width), np.int64))


@parallel
def replicate_information(
    tokens: TokensByTopic, n_words: int, beta: FloatArray, permute: bool, key: Key, information: Information
) -> None:
    """Fill in the information of the data and of replications, in parallel over topics.

    Replications permute the words of a topic, or else draw them given the data and `beta`, the running sums of the
    words' concentrations. Their streams count up from the sweep of `key`.
    """
    for topic in prange(len(tokens.ptr) - 1):
        _replicate_topic(signed(topic), tokens, n_words, beta, permute, key, information)


@compiled
def _replicate_topic(
    topic: int,
    tokens: TokensByTopic,
    n_words: int,
    beta: FloatArray,
    permute: bool,
    key: Key,
    information: Information,
) -> None:
    """Fill in the information of one topic."""
    first, last = tokens.ptr[topic], tokens.ptr[topic + 1]
    real, docs, best = tokens.words[first:last], tokens.docs[first:last], tokens.best[topic]
    replicated = real.copy()
    counts, in_doc = np.zeros(n_words, dtype=np.int64), np.zeros(n_words, dtype=np.int64)
    sums = np.zeros(n_words)
    stream = new_stream()
    for row in range(len(information.topics)):
        if row > 0:
            start(stream, Key(key.seed, key.chain, key.sweep + row - 1, key.kernel, 0), topic)
            if permute:
                _shuffle(stream, replicated)
            else:
                polya_urn(stream, real, beta, replicated)
        total, entropy = _measure(replicated, docs, counts, in_doc, sums)
        information.topics[row, topic] = total
        for rank in range(best.size):
            word = best[rank]
            if word >= 0:
                n = counts[word]
                spread = math.log(n) - sums[word] / n if n > 0 else 0.0
                information.words[row, topic, rank] = entropy - spread
                if row == 0:
                    information.tokens[topic, rank] = n
        for word in replicated:
            counts[word] = 0
            sums[word] = 0.0


@compiled
def _shuffle(stream: Stream, words: Int32Array) -> None:
    """Permute words (Fisher and Yates)."""
    for i in range(len(words) - 1, 0, -1):
        j = integer(stream, i + 1)
        words[i], words[j] = words[j], words[i]


@compiled
def polya_urn(stream: Stream, real: Int32Array, beta: FloatArray, words: Int32Array) -> None:
    """Draw words from phi ~ Dirichlet(counts of the real words + beta), phi integrated out, by Polya's urn.

    The urn holds the real words, and beta balls of each word of the vocabulary (`beta` is their running sum); each draw
    adds another ball of its kind.
    """
    n, size = len(real), len(beta)
    for i in range(n):
        ball = uniform(stream) * (n + i + beta[size - 1])
        if ball < n:
            words[i] = real[int(ball)]
        elif ball < n + i:
            words[i] = words[int(ball - n)]
        else:
            words[i] = find_cumulated(beta, size, ball - n - i)


@compiled
def _measure(
    words: Int32Array,
    docs: Int32Array,
    counts: IntArray,
    in_doc: IntArray,
    sums: FloatArray,
) -> tuple[float, float]:
    """Return MI(W, D | k) and H(D | k) of the tokens of a topic, sorted by document.

    Adds the tokens of each word to ``counts``, and its sum_d n log n to ``sums``, which must be 0 before.
    """
    n = len(words)
    if n == 0:
        return 0.0, 0.0
    by_doc, by_both, by_word = 0.0, 0.0, 0.0
    first = 0
    while first < n:
        end = first
        while end < n and docs[end] == docs[first]:
            in_doc[words[end]] += 1
            end += 1
        by_doc += (end - first) * math.log(end - first)
        for token in range(first, end):
            word = words[token]
            m = in_doc[word]
            if m > 0:
                in_doc[word] = 0
                counts[word] += m
                if m > 1:
                    term = m * math.log(m)
                    sums[word] += term
                    by_both += term
        first = end
    for token in range(n):
        # Over all tokens of a word this adds up to n log n.
        by_word += math.log(counts[words[token]])
    entropy = math.log(n) - by_doc / n
    return max(math.log(n) + (by_both - by_word - by_doc) / n, 0.0), max(entropy, 0.0)
