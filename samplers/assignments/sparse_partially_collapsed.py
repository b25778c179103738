"""Sparse partially collapsed Gibbs sampling: an alias table for the prior, a sparse sum for the document.

The full conditional of a token is split in two: alpha_k phi_kw, the same for all tokens of a word, is drawn
from an alias table; n_dk^-i phi_kw is summed over the topics present in the document only.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.2, equation 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics.declarations import ALL_WORDS, Binding, KernelFunctions, WordSelection
from ppl_topics.registry import kernel
from ppl_topics.samplers.assignments.counts import WORD_CHUNKS, count_words, make_chunks
from ppl_topics.samplers.compiled import compiled, parallel
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import new_stream, start, uniform
from ppl_topics.state import ChainState, Key

__all__ = ["build_word_tables", "sparse_partially_collapsed", "sweep_sparse_partially_collapsed"]

Tokens = npt.NDArray[np.unsignedinteger[Any]]
Slots = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.float64]

ABSENT = 0xFFFFFFFF


@parallel
def build_word_tables(
    word_ptr: npt.NDArray[np.int64],
    selected: npt.NDArray[np.bool_],
    alpha: npt.NDArray[np.float64],
    phi: npt.NDArray[np.float32],
    probability: npt.NDArray[np.float32],
    alias: npt.NDArray[np.uint16],
    mass: npt.NDArray[np.float64],
) -> None:
    """Build the alias table of alpha_k phi_kw for each selected word that occurs, in parallel over words.

    Parameters
    ----------
    word_ptr : ndarray of int64 of shape (V + 1,)
    selected : ndarray of bool of shape (V,)
    alpha : ndarray of float64 of shape (K,)
    phi : ndarray of float32 of shape (V, K)
    probability : ndarray of float32 of shape (V, K)
    alias : ndarray of uint16 of shape (V, K)
        Overwritten with the tables of these words.
    mass : ndarray of float64 of shape (V,)
        Overwritten with their sums of alpha_k phi_kw.
    """
    n_topics = alpha.size
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        weights = np.empty(n_topics)
        scratch = np.empty(n_topics, dtype=np.uint32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            if selected[word] and word_ptr[word + 1] > word_ptr[word]:
                for topic in range(n_topics):
                    weights[topic] = alpha[topic] * phi[word, topic]
                mass[word] = build_alias(weights, probability[word], alias[word], scratch)


@parallel
def sweep_sparse_partially_collapsed(
    chunk_ptr: npt.NDArray[np.int64],
    doc_ptr: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint32],
    z: Tokens,
    selected: npt.NDArray[np.bool_],
    n_topics: int,
    phi: npt.NDArray[np.float32],
    probability: npt.NDArray[np.float32],
    alias: npt.NDArray[np.uint16],
    mass: npt.NDArray[np.float64],
    seed: int,
    chain: int,
    step: int,
    kernel: int,
) -> None:
    """Draw the topic of every token from its full conditional given the topics.

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
    n_topics : int
    phi : ndarray of float32 of shape (V, K)
        Probability of each word in each topic.
    probability, alias, mass : ndarray
        The tables from `build_word_tables` for these phi.
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
            n_topics,
            phi,
            probability,
            alias,
            mass,
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
    n_topics: int,
    phi: npt.NDArray[np.float32],
    probability: npt.NDArray[np.float32],
    alias: npt.NDArray[np.uint16],
    mass: npt.NDArray[np.float64],
    seed: int,
    chain: int,
    step: int,
    kernel: int,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_sparse_partially_collapsed`)."""
    stream = new_stream()
    place = np.full(n_topics, ABSENT, dtype=np.uint32)
    present = np.empty(n_topics, dtype=np.uint32)
    count = np.empty(n_topics)
    cumulated = np.empty(n_topics)
    for doc in range(first, last):
        start(stream, seed, chain, step, kernel, doc)
        size = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            size = add_topic(z[token], size, place, present, count)
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word = words[token]
            if not selected[word]:
                continue
            new = z[token]
            size = remove_topic(new, size, place, present, count)
            total = 0.0
            for slot in range(size):
                total += count[slot] * phi[word, present[slot]]
                cumulated[slot] = total
            target = uniform(stream) * (total + mass[word])
            if target < total:
                slot = 0
                for other in range(size):
                    slot += cumulated[other] <= target
                new = present[slot]
            elif mass[word] > 0.0:
                new = draw_alias(stream, probability[word], alias[word])
            z[token] = new
            size = add_topic(new, size, place, present, count)
        for slot in range(size):
            place[present[slot]] = ABSENT


@compiled
def add_topic(topic: int, size: int, place: Slots, present: Slots, count: Counts) -> int:
    """Count one more token of a topic, listing the topic where it is new, and return the number listed."""
    slot = int(place[topic])
    if slot == ABSENT:
        slot = size
        place[topic] = slot
        present[slot] = topic
        count[slot] = 0.0
        size += 1
    count[slot] += 1.0
    return size


@compiled
def remove_topic(topic: int, size: int, place: Slots, present: Slots, count: Counts) -> int:
    """Count one token of a topic less, dropping the topic from the list where none is left."""
    slot = int(place[topic])
    count[slot] -= 1.0
    if count[slot] == 0.0:
        size -= 1
        moved = present[size]
        present[slot] = moved
        count[slot] = count[size]
        place[moved] = slot
        place[topic] = ABSENT
    return size


class WordTables(NamedTuple):
    """Memory of the kernel: an alias table for each word.

    Attributes
    ----------
    probability : ndarray of float32 of shape (V, K)
    alias : ndarray of uint16 of shape (V, K)
    mass : ndarray of float64 of shape (V,)
    """

    probability: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint16]
    mass: npt.NDArray[np.float64]


@kernel(
    "sparse_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi"),
    handles=("dirichlet", "assignments", "words"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="8 * N * K_d + 12 * V * K",
    reference="Magnusson et al. 2018, section 3.2, eq. 5",
)
def sparse_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Sparse partially collapsed Gibbs: O(topics in the document) a token given phi, parallel over docs."""
    tokens, phi, sizes = binding.tokens, binding.names["phi"], binding.sizes
    selected = words.mask(tokens.word_counts)

    def init(state: ChainState) -> WordTables:
        shape = (sizes.words, sizes.topics)
        return WordTables(np.zeros(shape, np.float32), np.zeros(shape, np.uint16), np.zeros(sizes.words))

    def step(state: ChainState, memory: WordTables, key: Key) -> None:
        topics = state.arrays[phi]
        build_word_tables(tokens.word_ptr, selected, state.alpha, topics, *memory)
        sweep_sparse_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            sizes.topics,
            topics,
            *memory,
            *key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)

    return KernelFunctions(step, init)
