"""Topics given assignments and indicators: Dirichlet over the words that a topic includes, zero elsewhere.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics.declarations import Binding, KernelFunctions
from ppl_topics.registry import kernel
from ppl_topics.samplers.compiled import parallel
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, LARGEST_SUM, SAFE_SUM
from ppl_topics.samplers.topics.sparse_gammas import draw_gammas
from ppl_topics.samplers.variates.dirichlet import dirichlet_in_log_space
from ppl_topics.samplers.variates.streams import new_stream, start
from ppl_topics.state import ChainState, Key

__all__ = ["draw_included_phi", "included_mass", "included_rows"]


@parallel
def included_mass(beta: npt.NDArray[np.float64], included: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Sum beta over the words that each topic includes, in an order that does not depend on the threads.

    Parameters
    ----------
    beta : ndarray of float64 of shape (V,)
    included : ndarray of uint8 of shape (V, K)

    Returns
    -------
    mass : ndarray of float64 of shape (K,)
    """
    n_words, n_topics = included.shape
    partial = np.zeros((CHUNKS, n_topics))
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                partial[chunk, topic] += beta[word] * included[word, topic]
    mass = np.zeros(n_topics)
    for chunk in range(CHUNKS):
        for topic in range(n_topics):
            mass[topic] += partial[chunk, topic]
    return mass


@parallel
def draw_included_phi(
    n_wk: npt.NDArray[np.int32],
    n_k: npt.NDArray[np.int64],
    beta: npt.NDArray[np.float64],
    included: npt.NDArray[np.uint8],
    seed: int,
    chain: int,
    step: int,
    kernel: int,
    phi: npt.NDArray[np.float32],
) -> bool:
    """Draw the topics from Dirichlet(n_k + beta) over the words they include, in parallel over words, then topics.

    As `ppl_topics.samplers.topics.dirichlet_rows.draw_phi` does, of whose approximation the same holds: in log space
    where the concentrations of a topic's words sum to less than 32. A word with tokens in a topic has a positive
    probability there.

    Parameters
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts of words and of all tokens in the topics.
    beta : ndarray of float64 of shape (V,)
        Prior concentrations, at least 1e-300.
    included : ndarray of uint8 of shape (V, K)
        At least one word of each topic, and all that have tokens in it.
    seed, chain, step, kernel : int
        Keys of the random streams; the unit is the word w, or V + k for a topic that is drawn in log space.
    phi : ndarray of float32 of shape (V, K)
        Overwritten with the draw.

    Returns
    -------
    finite : bool
        Whether all of phi is.
    """
    n_words, n_topics = n_wk.shape
    mass = included_mass(beta, included)
    partial = np.zeros((CHUNKS, n_topics))
    for chunk in numba.prange(CHUNKS):
        first, last = n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS
        draw_gammas(first, last, n_wk, beta, included, seed, chain, step, kernel, phi, partial[chunk])
    dense = n_k + mass >= SAFE_SUM
    scale, finite = np.zeros(n_topics, dtype=np.float32), np.zeros(n_topics, np.bool_)
    for topic in range(n_topics):
        gammas = 0.0
        for chunk in range(CHUNKS):
            gammas += partial[chunk, topic]
        scale[topic] = 1.0 / gammas if dense[topic] else 1.0
        # None of the variates is negative: where their sum is finite in float32, so is each of them.
        finite[topic] = 0.0 < gammas < LARGEST_SUM
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                phi[word, topic] *= scale[topic]
    for topic in numba.prange(n_topics):
        if not dense[topic]:
            stream = new_stream()
            start(stream, seed, chain, step, kernel, n_words + topic)
            size = 0
            row = np.empty(n_words)
            for word in range(n_words):
                if included[word, topic] > 0:
                    row[size] = n_wk[word, topic] + beta[word]
                    size += 1
            dirichlet_in_log_space(stream, row[:size], row[:size])
            finite[topic] = row[:size].sum() < LARGEST_SUM
            place = 0
            for word in range(n_words):
                phi[word, topic] = 0.0
                if included[word, topic] > 0:
                    phi[word, topic] = row[place]
                    place += 1
    return bool(finite.all())


@kernel(
    "included_rows",
    updates="phi",
    reads=("z", "beta", "included", "pi"),
    handles=("spike_slab", "words"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="word",
    cost="V * (200 + 4.8 * K)",
    reference="Magnusson et al. 2018, appendix B",
)
def included_rows(binding: Binding) -> KernelFunctions:
    """Draw the topics given z and the indicators: Dirichlet over the included words, parallel over words."""
    phi, included = binding.names["phi"], binding.names["included"]

    def step(state: ChainState, memory: None, key: Key) -> None:
        counts, probabilities = (state.n_wk, state.n_k), state.arrays[phi]
        if not draw_included_phi(*counts, state.beta, state.arrays[included], *key, probabilities):
            raise FloatingPointError(f"{phi} is not finite")

    return KernelFunctions(step, checked=(phi,))
