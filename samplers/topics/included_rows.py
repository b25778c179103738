"""Topics given assignments and indicators: Dirichlet over the words that a topic includes, zero elsewhere.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt8Array
from ppl_topics._util.compiled import parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, draw_rows
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes

__all__ = ["draw_included_phi", "included_mass", "included_rows"]


@parallel
def included_mass(beta: FloatArray, included: UInt8Array) -> FloatArray:
    """Sum beta over the words that each topic includes, in an order that does not depend on the threads."""
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


def draw_included_phi(shapes: GammaShapes, n_k: IntArray, key: Key, phi: Float32Array) -> bool:
    """Draw phi_k from Dirichlet(n_k + beta) over the words that topic k includes; return whether all is finite.

    As `ppl_topics.samplers.topics.dirichlet_rows.draw_phi`, with the same approximation. A topic must include at least
    one word, and all words with tokens in it: these have a positive probability.
    """
    return draw_rows(shapes, n_k, included_mass(shapes.beta, shapes.included), key, phi)


@kernel(
    "included_rows",
    updates="phi",
    reads=("z", "beta", "included", "pi"),
    handles=("spike_slab", "words"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    cost="V * (200 + 4.8 * K)",
    reference="Magnusson et al. 2018, appendix B",
)
def included_rows(binding: Binding) -> KernelFunctions:
    """Draw the topics given z and the indicators: Dirichlet over the included words, parallel over words."""
    phi, included = binding.names["phi"], binding.names["included"]

    def step(state: ChainState, memory: None, key: Key) -> None:
        shapes = GammaShapes(state.n_wk, state.beta, state.arrays[included])
        if not draw_included_phi(shapes, state.n_k, key, state.arrays[phi]):
            raise FloatingPointError(f"{phi} is not finite")

    return KernelFunctions(step, checked=(phi,))
