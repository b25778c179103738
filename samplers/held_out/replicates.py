"""What the estimators of the likelihood of documents share: replicates, and the draw of one topic."""

from __future__ import annotations

from typing import Any, NamedTuple

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array
from ppl_topics._util.compiled import inlined
from ppl_topics.samplers.assignments.given_phi import GivenPhi, draw_in_float64
from ppl_topics.samplers.variates.simd_categorical import draw_cell, running_sums_of_products
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["CHUNKS", "REPLICATES", "Factors", "Particle", "count", "draw_topic"]

REPLICATES = 4
"""Independent estimates of the likelihood of each document; their spread gives the Monte Carlo error."""

CHUNKS = 256


class Factors(NamedTuple):
    """What is given in the distribution of a token's topic, p(z_n = k | z) proportional to (n_k + alpha_k) phi_kw.

    Attributes
    ----------
    phi : ndarray of float32 of shape (U, K)
        Rows of phi, each perhaps multiplied by a constant.
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
