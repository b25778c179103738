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

Each document has `REPLICATES` independent estimates. The particles of all of them stand side by side, in groups of
sixteen: they are at the same token, and so read the same row of phi.

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

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt32Array,
    read_only,
)
from ppl_topics._util.compiled import compiled, inlined, parallel, tight
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.given_phi import GivenPhi, row_of
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.held_out.replicates import CHUNKS, REPLICATES
from ppl_topics.samplers.variates.simd_particles import (
    BLOCK,
    GROUP,
    draw_by_particle,
    new_block_sums,
    totals_by_particle,
)
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
    alpha: Alpha,
    particles: int,
    moves: int,
    key: Key,
) -> FloatArray:
    """Estimate log p(w | phi, alpha) of each document, shape (D, REPLICATES), each replicate with its own particles.

    The words of each document are sorted. Before each token the topics of at most `moves` earlier tokens are drawn
    again; the tokens take turns. Documents without tokens have 0, those with a word that no topic has minus infinity.
    """
    doc_ptr, words = read_only(doc_ptr, np.int64), read_only(words, np.uint32)
    used = np.zeros(len(phi), dtype=np.bool_)
    used[words] = True
    entropy = word_entropies(phi, alpha.rows.mean(axis=0), used)
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
    alpha: Alpha,
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
                # Topics without weight make their number a multiple of the size of blocks.
                n_topics = alpha.rows.shape[1]
                padded = np.zeros((n_topics + BLOCK - 1) // BLOCK * BLOCK)
                padded[:n_topics] = alpha.rows[row_of(doc, alpha.row)]
                factors = np.zeros((distinct.size, padded.size), dtype=np.float32)
                log_scale = np.empty(distinct.size)
                gather_factors(distinct, phi, factors, log_scale)
                scale = 0.0
                for row in rows:
                    scale += log_scale[row]
                if scale == -np.inf:
                    result[doc] = scale
                    continue
                start(stream, key, doc * REPLICATES)
                found = run_particles(stream, rows, GivenPhi(padded, factors), particles, moves)
                for replicate in range(REPLICATES):
                    result[doc, replicate] = scale + found[replicate]


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


@compiled
def gather_factors(distinct: IntArray, phi: Float32Array, factors: Float32Array, log_scale: FloatArray) -> None:
    """Copy the rows of phi that a document needs, each divided by its largest entry, so that they stay in the cache.

    `log_scale` is overwritten with the logarithms of the largest entries.
    """
    for row in range(distinct.size):
        largest = np.float32(0.0)
        for topic in range(phi.shape[1]):
            largest = max(largest, phi[distinct[row], topic])
        log_scale[row] = np.log(np.float64(largest))
        for topic in range(phi.shape[1]):
            factors[row, topic] = phi[distinct[row], topic] / largest if largest > 0.0 else np.float32(0.0)


class Particles(NamedTuple):
    """All particles of a document, in G groups of 16 side by side: those of each replicate are neighbours.

    Their number P is rounded up to a multiple of 16; those at the end belong to no replicate. Particle p is in lane
    p % 16 of group p // 16.

    Attributes
    ----------
    z : ndarray of int32 of shape (N_d, P)
    counts : ndarray of int32 of shape (G, K, 16)
        Counts of the topics so far.
    weight : ndarray of float64 of shape (G, K, 16)
        counts + alpha.
    importance : ndarray of float64 of shape (P,)
        Importance weights; those of a replicate have mean 1 before each token.
    sums : ndarray of float64 of shape (K / 4, 16)
        Working memory, from `new_block_sums`.
    """

    z: Int32Array
    counts: Int32Array
    weight: FloatArray
    importance: FloatArray
    sums: FloatArray


@compiled
def new_particles(number: int, n_tokens: int, alpha: FloatArray) -> Particles:
    """Allocate particles without topics."""
    groups = (number + GROUP - 1) // GROUP
    weight = np.empty((groups, alpha.size, GROUP))
    for topic in range(alpha.size):
        weight[:, topic] = alpha[topic]
    z = np.zeros((n_tokens, groups * GROUP), dtype=np.int32)
    counts = np.zeros((groups, alpha.size, GROUP), dtype=np.int32)
    return Particles(z, counts, weight, np.ones(groups * GROUP), new_block_sums(alpha.size))


@compiled
def run_particles(stream: Stream, rows: IntArray, given: GivenPhi, particles: int, moves: int) -> FloatArray:
    """Return the logarithms of unbiased estimates of the product over tokens of p(w_n | w_<n), one by replicate."""
    n_tokens = rows.size
    every, log_total = new_particles(REPLICATES * particles, n_tokens, given.alpha), np.zeros(REPLICATES)
    mass, turn = given.alpha.sum(), 0
    for position in range(n_tokens):
        number = min(position, moves)
        move_earlier(stream, rows, position, turn, number, given, every)
        turn = (turn + number) % position if position > 0 else 0
        weigh(rows[position], position + mass, given, every)
        for replicate in range(REPLICATES):
            log_total[replicate] += resample(stream, replicate * particles, particles, position, every)
        if position + 1 < n_tokens:
            for group in range(len(every.weight)):
                draw_token(stream, group, position, rows[position], given, every)
    return log_total


@compiled
def weigh(row: int, mass: float, given: GivenPhi, every: Particles) -> None:
    """Multiply the weights by p(w_n | z_<n); `mass` is the number of earlier tokens plus the sum of alpha."""
    for group in range(len(every.weight)):
        totals_by_particle(every.weight, group, given.phi, row, every.sums)
        for lane in range(GROUP):
            every.importance[group * GROUP + lane] *= every.sums[0, lane] / mass


@inlined
def count(group: Any, token: Any, change: int, given: GivenPhi, every: Particles) -> None:
    """Add a token of a group's particles to its topics (change 1), or remove it (-1)."""
    for lane in range(GROUP):
        # Unsigned, so that nobody asks whether it counts from the end.
        topic = np.uint64(every.z[token, group * GROUP + lane])
        number = every.counts[group, topic, lane] + change
        every.counts[group, topic, lane] = number
        every.weight[group, topic, lane] = number + given.alpha[topic]


@inlined
def draw_token(stream: Stream, group: Any, token: Any, row: Any, given: GivenPhi, every: Particles) -> None:
    """Draw the topics that a token has in a group's particles, where it is not counted, and count it."""
    draw_by_particle(stream, every.weight, group, given.phi, row, every.sums, every.z, token)
    count(group, token, 1, given, every)


@tight
def move_earlier(
    stream: Stream, rows: IntArray, position: int, turn: int, number: int, given: GivenPhi, every: Particles
) -> None:
    """Draw again the topics of `number` of the tokens before `position`, beginning with token `turn`, cyclically."""
    # A group's weights stay in the cache for all its tokens.
    for group in range(len(every.weight)):
        token = turn
        for _ in range(number):
            if token >= position:
                token = 0
            count(group, token, -1, given, every)
            draw_token(stream, group, token, rows[token], given, every)
            token += 1


@compiled
def resample(stream: Stream, first: int, particles: int, position: int, every: Particles) -> float:
    """Divide a replicate's importance weights by their mean, or resample particles; return the logarithm of the mean.

    They are resampled, systematically, if their weights are uneven: if the effective number of particles, (sum of
    weights)^2 / sum of their squares, is below half of their number. Those of the replicate begin with `first`.
    """
    z, counts, weight = every.z, every.counts, every.weight
    importance = every.importance[first : first + particles]
    total, squares = 0.0, 0.0
    for particle in range(particles):
        total += importance[particle]
        squares += importance[particle] * importance[particle]
    if total == 0.0:
        return -np.inf
    result: float = math.log(total / particles)
    scale = particles / total
    for particle in range(particles):
        importance[particle] *= scale
    if 2.0 * total * total >= particles * squares:
        return result
    offspring = np.zeros(particles, dtype=np.int64)
    point, reached, drawn = uniform(stream), 0.0, 0
    heaviest = 0
    for particle in range(particles):
        reached += importance[particle]
        while drawn < particles and drawn + point < reached:
            offspring[particle] += 1
            drawn += 1
        if importance[particle] > importance[heaviest]:
            heaviest = particle
    # Only rounding leaves any over.
    offspring[heaviest] += particles - drawn
    free = 0
    for particle in range(particles):
        while offspring[particle] > 1:
            while offspring[free] > 0:
                free += 1
            source, target = first + particle, first + free
            for token in range(position):
                z[token, target] = z[token, source]
            there, lane, here, own = target // GROUP, target % GROUP, source // GROUP, source % GROUP
            for topic in range(counts.shape[1]):
                counts[there, topic, lane] = counts[here, topic, own]
                weight[there, topic, lane] = weight[here, topic, own]
            offspring[free] += 1
            offspring[particle] -= 1
    importance[:] = 1.0
    return result
