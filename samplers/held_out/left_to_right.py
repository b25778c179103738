"""Left-to-right estimation of log p(w | phi, alpha), the likelihood of a document given the topics.

The tokens of a document are taken one after another, p(w) = prod_n p(w_n | w_<n). Particles, each with topics z_<n of
the tokens so far, represent p(z_<n | w_<n, phi, alpha): before token n the topics of earlier tokens are drawn again,
each from its full conditional given the others; then the particle is weighted by

    p(w_n | z_<n) = sum_k phi_kw (n_k + alpha_k) / (n - 1 + sum of alpha),

with n_k the counts of z_<n; where the weights have become uneven (an effective number below half of the particles) the
particles are resampled in proportion to them, and z_n is drawn from its conditional given z_<n.

Wallach et al. (2009, algorithm 3) multiply over positions the mean over particles of p(w_n | z_<n), with the particles
never weighted: the mean of that product is not p(w). Here weights are carried along, and the product is taken of what
carries them: a sequential Monte Carlo sampler with moves, whose estimate of p(w), not of its logarithm, is unbiased for
any number of particles and of moves (Del Moral 2004, theorem 7.4.2), as Buntine (2009) asks of a sequential sampler;
with one particle it is the product of its own p(w_n | z_<n). The order of the tokens may be any that does not depend on
the draws. Those whose words say most about the topic come first, by the entropy of p(k | w): this halves the variance.

Each document has `REPLICATES` independent estimates.

References
----------
H. M. Wallach, I. Murray, R. Salakhutdinov, D. Mimno (2009). Evaluation methods for topic models. ICML 2009.
W. Buntine (2009). Estimating likelihoods for topic models. ACML 2009.
P. Del Moral (2004). Feynman-Kac formulae. Springer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics.core.keys import Key
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.held_out.replicates import (
    CHUNKS,
    REPLICATES,
    Factors,
    Particle,
    count,
    draw_topic,
    gather_factors,
    total_of,
)
from ppl_topics.samplers.variates.simd_categorical import new_sums
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["estimate_left_to_right", "left_to_right", "word_entropies"]


@parallel
def word_entropies(phi: Float32Array, alpha: FloatArray, used: BoolArray) -> FloatArray:
    """Return the entropy of p(k | w), proportional to alpha_k phi_kw, for the words that are used; 0 for others."""
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
    """Estimate log p(w | phi, alpha) of each document, shape (D, REPLICATES), each replicate with its own particles.

    The words of each document are sorted. Before each token the topics of at most `moves` earlier tokens are drawn
    again; the tokens take turns. Documents without tokens have 0, those with a word that no topic has minus infinity.
    """
    used = np.zeros(len(phi), dtype=np.bool_)
    used[words] = True
    entropy = word_entropies(phi, alpha, used)
    lengths = np.diff(doc_ptr)
    # Chunks of documents by cost, not by tokens, so that all take about the same time.
    cost = np.concatenate([[0], np.cumsum(lengths * (np.minimum(lengths, moves) + 2))]).astype(np.int64)
    result = np.zeros((len(lengths), REPLICATES))
    tokens = TokensByDocument(make_chunks(cost, CHUNKS), doc_ptr, words, used)
    left_to_right(tokens, phi, alpha, entropy, particles, moves, key, result)
    return result


@parallel
def left_to_right(
    tokens: TokensByDocument,
    phi: Float32Array,
    alpha: FloatArray,
    entropy: FloatArray,
    particles: int,
    moves: int,
    key: Key,
    result: FloatArray,
) -> None:
    """See `estimate_left_to_right`."""
    chunk_ptr, doc_ptr, words = tokens.chunk_ptr, tokens.doc_ptr, tokens.words
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
    """Order the tokens of a document, sorted by word: return the row of each among its distinct words, and those.

    The words with the least entropy come first.
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
    rows, position = np.empty(words.size, np.int64), 0
    for row in range(number):
        for _ in range(counts[order[row]]):
            rows[position] = row
            position += 1
    return rows, distinct


class Particles(NamedTuple):
    """All particles of a replicate, and their weights.

    Attributes
    ----------
    z : ndarray of int32 of shape (P, N_d)
    counts : ndarray of int32 of shape (P, K)
    weight : ndarray of float32 of shape (P, K)
        As of each `Particle`.
    log_weight : ndarray of float64 of shape (P,)
        Logarithm of the importance weight of each.
    """

    z: Int32Array
    counts: Int32Array
    weight: Float32Array
    log_weight: FloatArray


@compiled
def new_particles(number: int, n_tokens: int, alpha: FloatArray) -> Particles:
    """Allocate particles without topics."""
    weight = np.empty((number, alpha.size), dtype=np.float32)
    for index in range(number):
        for topic in range(alpha.size):
            weight[index, topic] = alpha[topic]
    counts = np.zeros((number, alpha.size), dtype=np.int32)
    return Particles(np.zeros((number, n_tokens), dtype=np.int32), counts, weight, np.zeros(number))


@compiled
def run_particles(
    stream: Stream, rows: IntArray, factors: Float32Array, alpha: FloatArray, particles: int, moves: int
) -> float:
    """Return the logarithm of an unbiased estimate of the product over tokens of p(w_n | w_<n), by `factors`."""
    n_tokens = rows.size
    given, every = Factors(factors, alpha, new_sums(alpha.size)), new_particles(particles, n_tokens, alpha)
    mass, log_total, turn = alpha.sum(), 0.0, 0
    for position in range(n_tokens):
        number = min(position, moves)
        for index in range(particles):
            particle = Particle(every.z[index], every.counts[index], every.weight[index])
            move_earlier(stream, rows, position, turn, number, given, particle)
            every.log_weight[index] += log_predictive(rows[position], position + mass, given, particle)
        turn = (turn + number) % position if position > 0 else 0
        if position + 1 < n_tokens:
            log_total += resample(stream, position, every)
            for index in range(particles):
                particle = Particle(every.z[index], every.counts[index], every.weight[index])
                draw_token(stream, position, rows[position], given, particle)
    return log_total + log_mean(every.log_weight)


@compiled
def log_predictive(row: int, mass: float, given: Factors, particle: Particle) -> float:
    """Return log p(w_n | z_<n); `mass` is the number of earlier tokens plus the sum of alpha."""
    return math.log(total_of(row, given, particle) / mass)


@inlined
def draw_token(stream: Stream, token: Any, row: Any, given: Factors, particle: Particle) -> None:
    """Draw the topic of a token that is not counted, and count it."""
    new = draw_topic(stream, row, given, particle)
    particle.z[token] = new
    count(new, 1, given, particle)


@compiled
def move_earlier(
    stream: Stream, rows: IntArray, position: int, turn: int, number: int, given: Factors, particle: Particle
) -> None:
    """Draw again the topics of `number` of the tokens before `position`, beginning with token `turn`, cyclically."""
    token = turn
    for _ in range(number):
        if token >= position:
            token = 0
        count(particle.z[token], -1, given, particle)
        draw_token(stream, token, rows[token], given, particle)
        token += 1


@compiled
def resample(stream: Stream, position: int, every: Particles) -> float:
    """Resample the particles systematically if their weights are uneven; return the log mean weight, or else 0.

    They are uneven if the effective number of particles, (sum of weights)^2 / sum of their squares, is below half of
    the number of particles.
    """
    z, counts, weight, log_weight = every
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
    # Only rounding leaves any over.
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
