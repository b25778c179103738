"""Topics given assignments, and proportions given assignments: rows of independent Dirichlet distributions.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 3.
J. H. Ahrens, U. Dieter (1974). Computer methods for sampling from gamma, beta, Poisson and binomial
distributions. Computing 12, algorithm GS.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled
from ppl_topics._util.tasks import for_each
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes, draw_gammas
from ppl_topics.samplers.variates.dirichlet import dirichlet_in_log_space, dirichlet_of_counts
from ppl_topics.samplers.variates.small_gammas import new_proposals, set_shape
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = [
    "dirichlet_rows",
    "dirichlet_weights",
    "draw_phi",
    "draw_phi_of",
    "draw_rows",
    "draw_theta",
    "normalise_rows",
]


CHUNKS = 64
SAFE_SUM = 32.0

LARGEST_SUM = 3e38
"""Less than the largest number of float32."""

MOST_TOKENS = np.iinfo(np.int32).max
"""Of a word, in a topic."""


def draw_phi(n_wk: Int32Array, n_k: IntArray, beta: FloatArray, key: Key, phi: Float32Array) -> bool:
    """Draw phi_k from Dirichlet(n_k + beta), in parallel over words, then topics; return whether all is finite.

    A topic is normalised gamma variates, one stream for each word. Where a word has no tokens in the topic and
    beta_w <= 1/2, a variate below c = 2^-40 of a token is stored as zero: the mass so lost is in expectation
    c^(1 + beta) beta / ((1 + beta) G(1 + beta)) of a token for each such cell, with G the gamma function, at most
    1.13 c beta; that is 1e-14 of a token for beta = 0.01. The distribution of all other cells is exact.

    Where a topic has so few tokens that all of its variates could be that small (its concentrations sum to less than
    32), it is drawn in log space from its own stream: no topic is ever zero, and a word with tokens in a topic
    always has a positive probability there.

    The counts `n_wk` have shape (V, K), beta is at least 1e-300, and phi, of shape (V, K), is overwritten. The unit of
    the streams is the word w, or V + k for a topic that is drawn in log space.
    """
    shapes = GammaShapes(n_wk, beta, np.empty((0, 0), np.uint8))
    # Added from left to right: NumPy's sum, which is pairwise, has other last digits.
    beta_sum = np.cumsum(np.append(0.0, beta))[-1]
    return bool(draw_rows(shapes, n_k, np.full(n_k.size, beta_sum), key, phi))


def draw_phi_of(words: IntArray, n_wk: Int32Array, n_k: IntArray, beta: FloatArray, key: Key) -> Float32Array:
    """Draw phi of some words alone, shape (W, K): to them, all others are one word (aggregation of a Dirichlet)."""
    counts, concentrations = n_wk, beta
    drawn: IntArray | slice = words
    if len(words) < len(beta):
        together = np.empty((len(words) + 1, n_wk.shape[1]), np.int32)
        together[:-1] = n_wk[words]
        others = n_k - together[:-1].sum(axis=0, dtype=np.int64)
        if others.max() <= MOST_TOKENS:
            together[-1], counts = others, together
            concentrations = np.append(beta[words], np.delete(beta, words).sum())
            drawn = slice(len(words))
    phi = np.empty(counts.shape, np.float32)
    draw_phi(counts, n_k, concentrations, key, phi)
    return phi if len(words) == len(beta) else phi[drawn]


@compiled
def draw_gammas_of(chunk: int, shapes: GammaShapes, key: Key, phi: Float32Array, partial: FloatArray) -> None:
    """Draw the gamma variates of some words: a task."""
    first, last = phi.shape[0] * chunk // CHUNKS, phi.shape[0] * (chunk + 1) // CHUNKS
    draw_gammas(first, last, shapes, key, phi, partial[chunk])


def draw_rows(shapes: GammaShapes, n_k: IntArray, mass: FloatArray, key: Key, phi: Float32Array) -> bool:
    """Draw the topics as `draw_phi` does, over the words they include, given the sum of beta over these, shape (K,)."""
    partial = np.zeros((CHUNKS, phi.shape[1]))
    for_each(draw_gammas_of, CHUNKS, shapes, key, phi, partial)
    # Sparse too where beta is not a number: then phi shows it.
    return normalise_rows(shapes, ~(n_k + mass >= SAFE_SUM), key, partial, phi)


def normalise_rows(shapes: GammaShapes, sparse: BoolArray, key: Key, partial: FloatArray, phi: Float32Array) -> bool:
    """Divide variates by their sums, or draw a topic that is sparse in log space; return whether all is finite."""
    scale, finite = scales_of(partial)
    scale[sparse] = 1.0
    for_each(scale_rows, CHUNKS, scale, phi)
    if sparse.any():
        for_each(draw_in_log_space, phi.shape[1], sparse, shapes, key, phi, finite)
    return bool(finite.all())


@compiled
def scales_of(partial: FloatArray) -> tuple[Float32Array, BoolArray]:
    """Add up the variates of all words, shape (CHUNKS, K); return what to multiply a topic by, and if it is finite."""
    n_topics = partial.shape[1]
    scale, finite = np.empty(n_topics, np.float32), np.empty(n_topics, np.bool_)
    for topic in range(n_topics):
        total = 0.0
        for chunk in range(partial.shape[0]):
            total += partial[chunk, topic]
        scale[topic] = 1.0 / total
        # None of the variates is negative: where their sum is finite in float32, so is each of them.
        finite[topic] = 0.0 < total < LARGEST_SUM
    return scale, finite


@compiled
def scale_rows(chunk: int, scale: Float32Array, phi: Float32Array) -> None:
    """Multiply the variates of some words: a task."""
    n_words, n_topics = phi.shape
    for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
        for topic in range(n_topics):
            phi[word, topic] *= scale[topic]


@compiled
def draw_in_log_space(
    topic: int, sparse: BoolArray, shapes: GammaShapes, key: Key, phi: Float32Array, finite: BoolArray
) -> None:
    """Draw a topic in log space if it is sparse, and say whether all of it is finite: a task."""
    if not sparse[topic]:
        return
    n_wk, beta, included = shapes.n_wk, shapes.beta, shapes.included
    n_words, every_word = n_wk.shape[0], included.size == 0
    stream, row, size = new_stream(), np.empty(n_words), 0
    start(stream, key, n_words + topic)
    for word in range(n_words):
        if every_word or included[word, topic] > 0:
            row[size] = n_wk[word, topic] + beta[word]
            size += 1
    dirichlet_in_log_space(stream, row[:size], row[:size])
    total, place = 0.0, 0
    for word in range(n_words):
        phi[word, topic] = 0.0
        if every_word or included[word, topic] > 0:
            phi[word, topic] = row[place]
            total += row[place]
            place += 1
    finite[topic] = total < LARGEST_SUM


def draw_theta(doc_ptr: IntArray, z: UnsignedArray, alpha: Alpha, key: Key, theta: Float32Array) -> None:
    """Draw theta_d from Dirichlet(n_d + alpha_d), alpha at least 1e-300, in parallel over documents."""
    for_each(draw_theta_of, CHUNKS, make_chunks(doc_ptr, CHUNKS), doc_ptr, z, alpha, key, theta)


@compiled
def draw_theta_of(
    chunk: int,
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    z: UnsignedArray,
    alpha: Alpha,
    key: Key,
    theta: Float32Array,
) -> None:
    """Draw theta of some documents: a task."""
    n_topics = theta.shape[1]
    stream, proposals = new_stream(), new_proposals(n_topics)
    prior, counts, row = np.empty(n_topics), np.zeros(n_topics), np.empty(n_topics)
    known, prior_mass = -1, 0.0
    for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
        own = alpha.row[doc] if alpha.row.size > 0 else 0
        if own != known:
            known, prior_mass = own, 0.0
            for topic in range(n_topics):
                prior[topic] = alpha.rows[own, topic]
                prior_mass += prior[topic]
                set_shape(proposals, topic, prior[topic], 1.0)
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            counts[z[token]] += 1.0
        start(stream, key, doc)
        mass = prior_mass + (doc_ptr[doc + 1] - doc_ptr[doc])
        dirichlet_of_counts(stream, prior, counts, mass, proposals, row)
        for topic in range(n_topics):
            theta[doc, topic] = row[topic]
            counts[topic] = 0.0


@kernel(
    "dirichlet_rows",
    updates="phi",
    reads=("z", "beta"),
    handles=("dirichlet", "words"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    devices={"cuda": "0.5e6 + 0.085 * V * K"},
    cost="V * (200 + 4.4 * K)",
    reference="Magnusson et al. 2018, eq. 3",
)
def dirichlet_rows(binding: Binding) -> KernelFunctions:
    """Draw the topics given z: each row Dirichlet(n_k + beta), parallel over words."""
    phi = binding.names["phi"]

    def step(state: ChainState, memory: None, key: Key) -> None:
        if not draw_phi(state.n_wk, state.n_k, state.beta, key, state.arrays[phi]):
            raise FloatingPointError(f"{phi} is not finite")

    return KernelFunctions(step, checked=(phi,))


@kernel(
    "dirichlet_weights",
    updates="theta",
    reads=("z", "alpha"),
    handles=("dirichlet", "document_alpha", "assignments", "document_assignments"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="2 * N + 25 * D * K",
    reference="Blei, Ng, Jordan 2003",
)
def dirichlet_weights(binding: Binding) -> KernelFunctions:
    """Draw the topic weights of each document given z: Dirichlet(n_d + alpha), parallel over documents."""
    theta, tokens = binding.names["theta"], binding.tokens

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_theta(*tokens.drawn(state.z), state.document_alpha, key, state.arrays[theta])

    return KernelFunctions(step)
