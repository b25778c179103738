"""Document completion: how probable the second half of a document is, given the first (Wallach et al. 2009).

The tokens of each document are put into a random order, the same for every model; the first floor(N_d / 2) are the
first half. A token of the second half has probability

    p(w_n | first half) = sum_k phi_kw E[theta_k | first half],  E[theta_k | ...] = (E[n_k | ...] + alpha_k) / (N + sum
    of alpha),

with n_k the topic counts of the N tokens of the first half, averaged over draws of their topics given phi.

References
----------
H. M. Wallach, I. Murray, R. Salakhutdinov, D. Mimno (2009). Evaluation methods for topic models. ICML 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.samplers.assignments.given_phi import GivenPhi, draw_in_float64, row_of
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.held_out.replicates import CHUNKS, REPLICATES
from ppl_topics.samplers.variates.simd_categorical import draw_cell, new_sums, running_sums_of_products
from ppl_topics.samplers.variates.streams import Stream, integer, new_stream, start

__all__ = ["DRAWS", "WARMUP", "estimate_completion", "mix_topics", "split_tokens"]

WARMUP, DRAWS = 20, 100
"""Sweeps over the first half that each chain of draws discards, and averages over."""


@compiled
def split_tokens(doc_ptr: IntArray, words: UInt32Array, key: Key) -> UInt32Array:
    """Return the words of all tokens, those of each document in a random order that depends on key and document."""
    result = words.copy()
    stream = new_stream()
    for doc in range(doc_ptr.size - 1):
        start(stream, key, doc)
        begin = doc_ptr[doc]
        for token in range(doc_ptr[doc + 1] - 1, begin, -1):
            other = begin + integer(stream, token - begin + 1)
            kept = result[token]
            result[token] = result[other]
            result[other] = kept
    return result


def estimate_completion(
    doc_ptr: IntArray,
    shuffled: UInt32Array,
    phi: Float32Array,
    alpha: Alpha,
    particles: int,
    key: Key,
) -> FloatArray:
    """Estimate p(w_n | first half, phi, alpha) for the tokens of the second halves, shape (REPLICATES, N).

    Tokens of the first halves have 1. Each replicate averages over `particles` independent chains of draws.
    """
    result = np.ones((REPLICATES, len(shuffled)))
    complete(make_chunks(doc_ptr, CHUNKS), doc_ptr, shuffled, phi, alpha, particles, key, result)
    return result


@parallel
def complete(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    shuffled: UInt32Array,
    phi: Float32Array,
    alpha: Alpha,
    particles: int,
    key: Key,
    result: FloatArray,
) -> None:
    """See `estimate_completion`."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream = new_stream()
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            begin, end = doc_ptr[doc], doc_ptr[doc + 1]
            middle = begin + (end - begin) // 2
            for replicate in range(REPLICATES):
                start(stream, key, doc * REPLICATES + replicate)
                own = alpha.rows[row_of(doc, alpha.row)]
                theta = mean_theta(stream, shuffled[begin:middle], phi, own, particles)
                mix_topics(shuffled[middle:end], theta, phi, result[replicate, middle:end])


@compiled
def mix_topics(words: UInt32Array, theta: FloatArray, phi: Float32Array, result: FloatArray) -> None:
    """Set the results to the probabilities sum_k theta_k phi_kw of words."""
    for place in range(words.size):
        word: Any = np.int64(words[place])
        value = 0.0
        for topic in range(theta.size):
            value += theta[topic] * phi[word, topic]
        result[place] = value


class Factors(NamedTuple):
    """What is given in the distribution of a token's topic, p(z_n = k | z) proportional to (n_k + alpha_k) phi_kw.

    Attributes
    ----------
    phi : ndarray of float32 of shape (V, K)
    alpha : ndarray of float64 of shape (K,)
    sums : ndarray of float32
        Working memory, from `new_sums`.
    """

    phi: Float32Array
    alpha: FloatArray
    sums: Float32Array


class Particle(NamedTuple):
    """Topics of the tokens of a document.

    Attributes
    ----------
    z : ndarray of int32 of shape (N_d,)
    counts : ndarray of int32 of shape (K,)
        Counts of the topics so far.
    weight : ndarray of float32 of shape (K,)
        counts + alpha.
    """

    z: Int32Array
    counts: Int32Array
    weight: Float32Array


@inlined
def count(topic: Any, change: int, given: Factors, particle: Particle) -> None:
    """Add a token to a topic (change 1), or remove it (-1)."""
    particle.counts[topic] += change
    particle.weight[topic] = particle.counts[topic] + given.alpha[topic]


@inlined
def draw_topic(stream: Stream, row: Any, given: Factors, particle: Particle) -> Any:
    """Draw a topic with probability proportional to (counts_k + alpha_k) phi[row, k]."""
    total = running_sums_of_products(particle.weight, given.phi, row, given.sums)
    new = draw_cell(stream, given.sums, given.alpha.size, total)
    if new < 0:
        both = GivenPhi(given.alpha, given.phi)
        new = draw_in_float64(stream, 0, row, particle.counts, both, given.sums, total)
    return new


@compiled
def mean_theta(stream: Stream, words: UInt32Array, phi: Float32Array, alpha: FloatArray, particles: int) -> FloatArray:
    """Estimate E[theta | words, phi, alpha] from a number of independent chains of draws, shape (K,)."""
    n_topics = alpha.size
    given = Factors(phi, alpha, new_sums(n_topics))
    particle = Particle(
        np.zeros(words.size, dtype=np.int32), np.zeros(n_topics, dtype=np.int32), np.empty(n_topics, dtype=np.float32)
    )
    total = np.zeros(n_topics, dtype=np.int64)
    for _ in range(particles):
        for topic in range(n_topics):
            particle.counts[topic] = 0
            particle.weight[topic] = alpha[topic]
        for sweep in range(WARMUP + DRAWS):
            for token in range(words.size):
                if sweep > 0:
                    count(particle.z[token], -1, given, particle)
                new = draw_topic(stream, np.int64(words[token]), given, particle)
                particle.z[token] = new
                count(new, 1, given, particle)
            if sweep >= WARMUP:
                for topic in range(n_topics):
                    total[topic] += particle.counts[topic]
    mean: FloatArray = (total / (particles * DRAWS) + alpha) / (words.size + alpha.sum())
    return mean
