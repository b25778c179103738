"""Partially collapsed Gibbs sampling: proportions integrated out, topics kept, in parallel over documents.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics.declarations import ALL_WORDS, Binding, KernelFunctions, WordSelection
from ppl_topics.registry import kernel
from ppl_topics.samplers.assignments.counts import count_words
from ppl_topics.samplers.compiled import compiled, parallel
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.streams import new_stream, start, uniform
from ppl_topics.state import ChainState, Key

__all__ = ["partially_collapsed", "sweep_partially_collapsed"]

Tokens = npt.NDArray[np.unsignedinteger[Any]]


@parallel
def sweep_partially_collapsed(
    chunk_ptr: npt.NDArray[np.int64],
    doc_ptr: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint32],
    z: Tokens,
    selected: npt.NDArray[np.bool_],
    alpha: npt.NDArray[np.float64],
    phi: npt.NDArray[np.float32],
    seed: int,
    chain: int,
    step: int,
    kernel: int,
) -> None:
    """Draw the topic of every token from its full conditional given the topics, in O(K).

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) phi_kw.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (C + 1,)
        Documents of each parallel task, from `ppl_topics.samplers.assignments.counts.make_chunks`.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place. Counts by word are not kept: count them afterwards.
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are drawn; all are counted.
    alpha : ndarray of float64 of shape (K,)
    phi : ndarray of float32 of shape (V, K)
        Probability of each word in each topic.
    seed, chain, step, kernel : int
        Keys of the random streams, one for each document.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        sweep_documents(
            chunk_ptr[chunk],
            chunk_ptr[chunk + 1],
            doc_ptr,
            words,
            z,
            selected,
            alpha,
            phi,
            seed,
            chain,
            step,
            kernel,
        )


@compiled
def sweep_documents(
    first: int,
    last: int,
    doc_ptr: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint32],
    z: Tokens,
    selected: npt.NDArray[np.bool_],
    alpha: npt.NDArray[np.float64],
    phi: npt.NDArray[np.float32],
    seed: int,
    chain: int,
    step: int,
    kernel: int,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_partially_collapsed`)."""
    n_topics = alpha.size
    stream = new_stream()
    in_doc = np.empty(n_topics, dtype=np.int64)
    doc_factor = np.empty(n_topics)
    mass = np.empty(n_topics)
    for doc in range(first, last):
        start(stream, seed, chain, step, kernel, doc)
        in_doc[:] = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            in_doc[z[token]] += 1
        for topic in range(n_topics):
            doc_factor[topic] = in_doc[topic] + alpha[topic]
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word = words[token]
            if not selected[word]:
                continue
            old = z[token]
            in_doc[old] -= 1
            doc_factor[old] = in_doc[old] + alpha[old]
            for topic in range(n_topics):
                mass[topic] = doc_factor[topic] * phi[word, topic]
            total = 0.0
            for topic in range(n_topics):
                total += mass[topic]
                mass[topic] = total
            new = int(old)
            if total > 0.0:
                new = find_cumulated(mass, n_topics, uniform(stream) * total)
            z[token] = new
            in_doc[new] += 1
            doc_factor[new] = in_doc[new] + alpha[new]


@kernel(
    "partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi"),
    handles=("dirichlet", "assignments", "words"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * K",
    reference="Magnusson et al. 2018, eq. 4",
)
def partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs: O(K) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)

    def step(state: ChainState, memory: None, key: Key) -> None:
        sweep_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            state.alpha,
            state.arrays[phi],
            *key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)

    return KernelFunctions(step)
