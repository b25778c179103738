"""The mutual information of words and documents in topics, of the data and of replications of their words."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.streams import Stream, integer, new_stream, start, uniform

__all__ = ["polya_urn", "replicate_information"]


@parallel
def replicate_information(
    ptr: IntArray,
    words: Int32Array,
    docs: Int32Array,
    best: IntArray,
    beta: FloatArray,
    n_words: int,
    permute: bool,
    key: Key,
    information: FloatArray,
    of_words: FloatArray,
    tokens_of_words: IntArray,
) -> None:
    """Fill in the information of each topic, and of its top words: that of the data first, then of replications.

    Parameters
    ----------
    ptr : ndarray of int64, shape (K + 1,)
        Tokens of topic k are ``ptr[k]:ptr[k + 1]``.
    words, docs : ndarray of int32, shape (N,)
        Of each token; in a topic, documents ascend.
    best : ndarray of int64, shape (K, M)
        Top words of each topic; -1 where it has fewer.
    beta : ndarray of float64, shape (V,)
        Concentrations of the words, cumulated; not used where words are permuted.
    n_words : int
        V.
    permute : bool
        Whether to permute the words of a topic, or else to draw them given the data.
    key : Key
        Of the first replication, whose number stands in the place of the sweep; topics are the units.
    information : ndarray of float64, shape (R + 1, K)
        Overwritten: MI(W, D | k).
    of_words : ndarray of float64, shape (R + 1, K, M)
        Overwritten: IMI(w, D | k), where there is a word.
    tokens_of_words : ndarray of int64, shape (K, M)
        Overwritten: tokens of the data.
    """
    for topic in prange(len(ptr) - 1):
        first, last = ptr[topic], ptr[topic + 1]
        real, replicated = words[first:last], words[first:last].copy()
        counts, in_doc = np.zeros(n_words, dtype=np.int64), np.zeros(n_words, dtype=np.int64)
        sums = np.zeros(n_words)
        stream = new_stream()
        for row in range(len(information)):
            if row > 0:
                start(stream, Key(key.seed, key.chain, key.sweep + row - 1, key.kernel), topic)
                if permute:
                    _shuffle(stream, replicated)
                else:
                    polya_urn(stream, real, beta, replicated)
            total, entropy = _measure(replicated, docs[first:last], counts, in_doc, sums)
            information[row, topic] = total
            for place in range(best.shape[1]):
                word = best[topic, place]
                if word >= 0:
                    n = counts[word]
                    spread = math.log(n) - sums[word] / n if n > 0 else 0.0
                    of_words[row, topic, place] = entropy - spread
                    if row == 0:
                        tokens_of_words[topic, place] = n
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
    """Draw words from phi ~ Dirichlet(counts of the real words + beta), phi summed over: by Polya's urn.

    It holds the real words, and beta of each word of the vocabulary (given as sums up to it); each draw puts another
    one of its kind in.
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
    """Return MI(W, D | k) and H(D | k) of the tokens of a topic, documents together.

    Leaves the tokens of each word in ``counts`` and sum_d n log n of it in ``sums``, which must be 0 before.
    """
    n = len(words)
    if n == 0:
        return 0.0, 0.0
    by_doc, by_both, by_word = 0.0, 0.0, 0.0
    begin = 0
    while begin < n:
        end = begin
        while end < n and docs[end] == docs[begin]:
            in_doc[words[end]] += 1
            end += 1
        by_doc += (end - begin) * math.log(end - begin)
        for token in range(begin, end):
            word = words[token]
            m = in_doc[word]
            if m > 0:
                in_doc[word] = 0
                counts[word] += m
                if m > 1:
                    term = m * math.log(m)
                    sums[word] += term
                    by_both += term
        begin = end
    for token in range(n):
        # A share for each of its tokens: the sum over words of n log n.
        by_word += math.log(counts[words[token]])
    entropy = math.log(n) - by_doc / n
    return max(math.log(n) + (by_both - by_word - by_doc) / n, 0.0), max(entropy, 0.0)
