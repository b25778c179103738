"""Topics given assignments and indicators: Dirichlet over the words that a topic includes, zero elsewhere.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt8Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, draw_rows

__all__ = ["draw_included_phi", "included_mass", "included_rows"]


@parallel
def included_mass(beta: FloatArray, included: UInt8Array) -> FloatArray:
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


@compiled
def draw_included_phi(
    n_wk: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    included: UInt8Array,
    key: Key,
    phi: Float32Array,
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
    key : Key
        Of the random streams; the unit is the word w, or V + k for a topic that is drawn in log space.
    phi : ndarray of float32 of shape (V, K)
        Overwritten with the draw.

    Returns
    -------
    finite : bool
        Whether all of phi is.
    """
    mass = included_mass(beta, included)
    return draw_rows(n_wk, n_k, beta, mass, included, key, phi)


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
        if not draw_included_phi(*counts, state.beta, state.arrays[included], key, probabilities):
            raise FloatingPointError(f"{phi} is not finite")

    return KernelFunctions(step, checked=(phi,))
