"""Left-to-right estimation of log p(w | phi, alpha), the likelihood of a document given the topics.

The tokens of a document are taken one after another, p(w) = prod_n p(w_n | w_<n). Particles, each with topics z_<n of
the tokens so far, stand for p(z_<n | w_<n, phi, alpha): before token n the topics of earlier tokens are drawn again,
each from its full conditional given the others; then the particle is weighted by

    p(w_n | z_<n) = sum_k phi_kw (n_k + alpha_k) / (n - 1 + sum of alpha),

with n_k the counts of z_<n; where the weights have become uneven (an effective number below half of the particles) the
particles are drawn anew in proportion to them, and z_n is drawn from its conditional given z_<n.

Wallach et al. (2009, algorithm 3) multiply over positions the mean over particles of p(w_n | z_<n), with the particles
never weighted: the mean of that product is not p(w). Here weights are carried along, and the product is taken of what
carries them: a sequential Monte Carlo sampler with moves, whose estimate of p(w), not of its logarithm, is unbiased for
any number of particles and of moves (Del Moral 2004, theorem 7.4.2), as Buntine (2009) asks of a sequential sampler;
with one particle it is the product of its own p(w_n | z_<n). The order of the tokens may be any that does not depend on
the draws. Those whose words tell most of the topic come first, by the entropy of p(k | w): this halves the variance.

Each document has `REPLICATES` independent estimates.

References
----------
H. M. Wallach, I. Murray, R. Salakhutdinov, D. Mimno (2009). Evaluation methods for topic models. ICML 2009.
W. Buntine (2009). Estimating likelihoods for topic models. ACML 2009.
P. Del Moral (2004). Feynman-Kac formulae. Springer.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.keys import Key
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.held_out.replicates import (
    CHUNKS,
    REPLICATES,
    draw_topic,
    gather_factors,
    total_of,
)
from ppl_topics.samplers.variates.simd_categorical import new_sums
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["estimate_left_to_right", "left_to_right", "word_entropies"]


@parallel
def word_entropies(phi: Float32Array, alpha: FloatArray, used: BoolArray) -> FloatArray:
    """Return the entropy of p(k | w), in proportion to alpha_k phi_kw, of the words that are used; 0 of others.

    Parameters
    ----------
    phi : ndarray of float32 of shape (V, K)
    alpha : ndarray of float64 of shape (K,)
    used : ndarray of bool of shape (V,)
    """
    result = np.zeros(phi.shape[0])
    for word in numba.prange(phi.shape[0]):
        if used[word]:
            total, weighted = 0.0, 0.0
            for topic in range(alpha.size):
                mass = alpha[topic] * phi[word, topic]
                if mass > 0.0:
                    total += mass
                    weighted += mass * math.log(mass)
            if total > 0.0:
                result[word] = math.log(total) - weighted / total
    return result


def estimate_left_to_right(
    doc_ptr: IntArray,
    words: UInt32Array,
    phi: Float32Array,
    alpha: FloatArray,
    particles: int,
    moves: int,
    key: Key,
) -> FloatArray:
    """Estimate log p(w | phi, alpha) of each document, `REPLICATES` times, each from so many particles.

    Parameters
    ----------
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
        Sorted in each document, as a corpus has them.
    phi : ndarray of float32 of shape (V, K)
    alpha : ndarray of float64 of shape (K,)
    particles : int
        Of each replicate.
    moves : int
        Earlier tokens, at most, whose topics are drawn again before each token. They take their turns.
    key : Key
        Of the random streams, one for each document and replicate.

    Returns
    -------
    ndarray of float64 of shape (D, REPLICATES)
        Of documents without tokens 0; of those with a word that no topic has, minus infinity.
    """
    used = np.zeros(len(phi), dtype=np.bool_)
    used[words] = True
    entropy = word_entropies(phi, alpha, used)
    lengths = np.diff(doc_ptr)
    # What a document costs takes the place of its tokens: so the chunks take about as long as each other.
    cost = np.concatenate([[0], np.cumsum(lengths * (np.minimum(lengths, moves) + 2))]).astype(np.int64)
    result = np.zeros((len(lengths), REPLICATES))
    left_to_right(make_chunks(cost, CHUNKS), doc_ptr, words, phi, alpha, entropy, particles, moves, key, result)
    return result


@parallel
def left_to_right(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    phi: Float32Array,
    alpha: FloatArray,
    entropy: FloatArray,
    particles: int,
    moves: int,
    key: Key,
    result: FloatArray,
) -> None:
    """See `estimate_left_to_right`."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream = new_stream()
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            if doc_ptr[doc + 1] > doc_ptr[doc]:
                rows, distinct = order_tokens(words[doc_ptr[doc] : doc_ptr[doc + 1]], entropy)
                factors = np.empty((distinct.size, alpha.size), dtype=np.float32)
                log_scale = np.empty(distinct.size)
                gather_factors(distinct, phi, factors, log_scale)
                scale = 0.0
                for row in rows:
                    scale += log_scale[row]
                if scale == -np.inf:
                    result[doc] = scale
                    continue
                for replicate in range(REPLICATES):
                    start(stream, key, doc * REPLICATES + replicate)
                    result[doc, replicate] = scale + run_particles(stream, rows, factors, alpha, particles, moves)


@compiled
def order_tokens(words: UInt32Array, entropy: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the tokens of a document, sorted by word, in the order in which they are taken.

    Returns
    -------
    rows : ndarray of int64 of shape (N_d,)
        Places of their words among the distinct ones.
    distinct : ndarray of int64 of shape (U,)
        The words of the document, that with the least entropy first.
    """
    found, counts = np.empty(words.size, np.int64), np.zeros(words.size, np.int64)
    number = 0
    for token in range(words.size):
        if token == 0 or words[token] != words[token - 1]:
            found[number] = words[token]
            number += 1
        counts[number - 1] += 1
    order = np.argsort(entropy[found[:number]], kind="mergesort")
    distinct = found[:number][order]
    rows, place = np.empty(words.size, np.int64), 0
    for row in range(number):
        for _ in range(counts[order[row]]):
            rows[place] = row
            place += 1
    return rows, distinct


@compiled
def run_particles(
    stream: Stream, rows: IntArray, factors: Float32Array, alpha: FloatArray, particles: int, moves: int
) -> float:
    """Return the logarithm of an unbiased estimate of the product over tokens of p(w_n | w_<n), by `factors`.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    rows : ndarray of int64 of shape (N_d,)
        Of each token in `factors`.
    factors : ndarray of float32 of shape (U, K)
    alpha : ndarray of float64 of shape (K,)
    particles, moves : int
    """
    n_tokens, n_topics = rows.size, alpha.size
    z = np.zeros((particles, n_tokens), dtype=np.int32)
    counts = np.zeros((particles, n_topics), dtype=np.int32)
    weight = np.empty((particles, n_topics), dtype=np.float32)
    for particle in range(particles):
        for topic in range(n_topics):
            weight[particle, topic] = alpha[topic]
    sums, log_weight = new_sums(n_topics), np.zeros(particles)
    mass, log_total = alpha.sum(), 0.0
    turn = 0
    for position in range(n_tokens):
        number = min(position, moves)
        row = rows[position]
        for particle in range(particles):
            place = (z[particle], counts[particle], weight[particle])
            move_earlier(stream, rows, factors, alpha, position, turn, number, place[0], place[1], place[2], sums)
            log_weight[particle] += log_predictive(factors, alpha, row, position + mass, place[1], place[2], sums)
        turn = (turn + number) % position if position > 0 else 0
        if position + 1 < n_tokens:
            log_total += renew(stream, log_weight, position, z, counts, weight)
            for particle in range(particles):
                new = draw_topic(stream, weight[particle], factors, row, counts[particle], alpha, sums)
                z[particle, position] = new
                counts[particle, new] += 1
                weight[particle, new] = counts[particle, new] + alpha[new]
    return log_total + log_mean(log_weight)


@compiled
def log_predictive(
    factors: Float32Array,
    alpha: FloatArray,
    row: int,
    mass: float,
    counts: Int32Array,
    weight: Float32Array,
    sums: Float32Array,
) -> float:
    """Return log p(w_n | z_<n); `mass` is that of the earlier tokens and of alpha."""
    return math.log(total_of(weight, factors, row, counts, alpha, sums) / mass)


@compiled
def move_earlier(
    stream: Stream,
    rows: IntArray,
    factors: Float32Array,
    alpha: FloatArray,
    position: int,
    turn: int,
    number: int,
    z: Int32Array,
    counts: Int32Array,
    weight: Float32Array,
    sums: Float32Array,
) -> None:
    """Draw again the topics of `number` of the tokens before `position`, from `turn` on and round, in a particle."""
    token = turn
    for _ in range(number):
        if token >= position:
            token = 0
        old: Any = z[token]
        counts[old] -= 1
        weight[old] = counts[old] + alpha[old]
        new = draw_topic(stream, weight, factors, rows[token], counts, alpha, sums)
        z[token] = new
        counts[new] += 1
        weight[new] = counts[new] + alpha[new]
        token += 1


@compiled
def renew(
    stream: Stream,
    log_weight: FloatArray,
    position: int,
    z: Int32Array,
    counts: Int32Array,
    weight: Float32Array,
) -> float:
    """Draw the particles anew in proportion to their weights, where these are uneven, and set the weights to 1.

    The draw is systematic. Nothing is done while the effective number of particles, (sum of weights)^2 / sum of their
    squares, is at least half of them.

    Returns
    -------
    float
        Logarithm of the mean weight if they were drawn, else 0.
    """
    particles = log_weight.size
    largest = log_weight.max()
    total, squares = 0.0, 0.0
    for particle in range(particles):
        value = math.exp(log_weight[particle] - largest)
        total += value
        squares += value * value
    if 2.0 * total * total >= particles * squares:
        return 0.0
    offspring = np.zeros(particles, dtype=np.int64)
    point, reached, drawn = uniform(stream), 0.0, 0
    heaviest = 0
    for particle in range(particles):
        reached += particles * math.exp(log_weight[particle] - largest) / total
        while drawn < particles and drawn + point < reached:
            offspring[particle] += 1
            drawn += 1
        if log_weight[particle] > log_weight[heaviest]:
            heaviest = particle
    # Left over by rounding only.
    offspring[heaviest] += particles - drawn
    free = 0
    for particle in range(particles):
        while offspring[particle] > 1:
            while offspring[free] > 0:
                free += 1
            for token in range(position):
                z[free, token] = z[particle, token]
            for topic in range(counts.shape[1]):
                counts[free, topic] = counts[particle, topic]
                weight[free, topic] = weight[particle, topic]
            offspring[free] += 1
            offspring[particle] -= 1
    result: float = largest + math.log(total / particles)
    for particle in range(particles):
        log_weight[particle] = 0.0
    return result


@compiled
def log_mean(log_weight: FloatArray) -> float:
    """Return the logarithm of the mean of numbers given by their logarithms."""
    largest = log_weight.max()
    total = 0.0
    for value in log_weight:
        total += math.exp(value - largest)
    result: float = largest + math.log(total / log_weight.size)
    return result
