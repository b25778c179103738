"""Approximate distributed collapsed Gibbs sampling: shards of documents swept apart, then merged. Not exact.

Each shard sees the other shards' tokens where they were at the start of the sweep. What comes of it is no draw of the
posterior, and the more shards, the further off; with one shard it is collapsed Gibbs sampling.

References
----------
D. Newman, A. Asuncion, P. Smyth, M. Welling (2009). Distributed algorithms for topic models. Journal of Machine
Learning Research 10, 1801-1828.
"""

from __future__ import annotations

import heapq
from typing import Annotated, NamedTuple

import numba
import numpy as np
import pydantic

from ppl_topics._util.arrays import BoolArray, FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.collapsed_gibbs import sweep_documents
from ppl_topics.samplers.counts import count_words
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of

__all__ = ["ad_lda", "deal_documents", "index_shards", "sweep_shards"]


class _Copies(NamedTuple):
    """The shards' own counts: n_wk of shape (R, K), one row for each word of each shard, and n_k of shape (P, K)."""

    n_wk: Int32Array
    n_k: IntArray


@compiled
def deal_documents(doc_ptr: IntArray, n_shards: int) -> tuple[IntArray, IntArray]:
    """Deal the documents, one after another, each to the shard that has the fewest tokens so far.

    A corpus that is sorted by class is so spread over all shards.

    Parameters
    ----------
    doc_ptr : ndarray of int64 of shape (D + 1,)
    n_shards : int
        P, at least 1.

    Returns
    -------
    docs : ndarray of int64 of shape (D,)
        Documents by shard, in their order within each.
    shard_ptr : ndarray of int64 of shape (P + 1,)
        Documents of shard p are ``docs[shard_ptr[p]:shard_ptr[p + 1]]``.
    """
    n_docs = doc_ptr.size - 1
    shard_of = np.empty(n_docs, dtype=np.int64)
    shard_ptr = np.zeros(n_shards + 1, dtype=np.int64)
    # Of (tokens and documents so far, shard), lightest first: already in the order of a heap.
    loads = [(0, shard) for shard in range(n_shards)]
    for doc in range(n_docs):
        load, shard = loads[0]
        shard_of[doc] = shard
        shard_ptr[shard + 1] += 1
        heapq.heapreplace(loads, (load + doc_ptr[doc + 1] - doc_ptr[doc] + 1, shard))
    for shard in range(n_shards):
        shard_ptr[shard + 1] += shard_ptr[shard]
    place = shard_ptr[:n_shards].copy()
    docs = np.empty(n_docs, dtype=np.int64)
    for doc in range(n_docs):
        docs[place[shard_of[doc]]] = doc
        place[shard_of[doc]] += 1
    return docs, shard_ptr


@compiled
def index_shards(
    docs: IntArray,
    shard_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    n_words: int,
) -> tuple[UInt32Array, IntArray, UInt32Array]:
    """List the words that occur in each shard: its copy of the counts needs no other rows.

    Parameters
    ----------
    docs : ndarray of int64 of shape (D,)
    shard_ptr : ndarray of int64 of shape (P + 1,)
        From `deal_documents`.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    n_words : int
        V.

    Returns
    -------
    rows : ndarray of uint32 of shape (P, V)
        Row of each word within the shard's own rows; V where it does not occur.
    row_ptr : ndarray of int64 of shape (P + 1,)
        Rows of shard p are ``row_ptr[p]:row_ptr[p + 1]`` of all R.
    row_words : ndarray of uint32 of shape (R,)
        Word of each row.
    """
    n_shards = shard_ptr.size - 1
    rows = np.full((n_shards, n_words), n_words, dtype=np.uint32)
    row_ptr = np.zeros(n_shards + 1, dtype=np.int64)
    for shard in range(n_shards):
        for doc in docs[shard_ptr[shard] : shard_ptr[shard + 1]]:
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                rows[shard, words[token]] = 0
        size = 0
        for word in range(n_words):
            if rows[shard, word] == 0:
                rows[shard, word] = size
                size += 1
        row_ptr[shard + 1] = row_ptr[shard] + size
    row_words = np.empty(row_ptr[n_shards], dtype=np.uint32)
    for shard in range(n_shards):
        for word in range(n_words):
            if rows[shard, word] < n_words:
                row_words[row_ptr[shard] + rows[shard, word]] = word
    return rows, row_ptr, row_words


@parallel
def sweep_shards(
    docs: IntArray,
    shard_ptr: IntArray,
    rows: UInt32Array,
    row_ptr: IntArray,
    row_words: UInt32Array,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_k: IntArray,
    own_n_wk: Int32Array,
    own_n_k: IntArray,
    selected: BoolArray,
    alpha: FloatArray,
    beta: FloatArray,
    beta_sum: float,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep each shard's documents by collapsed Gibbs sampling, with counts of its own, in parallel over shards.

    Parameters
    ----------
    docs : ndarray of int64 of shape (D,)
    shard_ptr : ndarray of int64 of shape (P + 1,)
        From `deal_documents`.
    rows : ndarray of uint32 of shape (P, V)
    row_ptr : ndarray of int64 of shape (P + 1,)
    row_words : ndarray of uint32 of shape (R,)
        From `index_shards`.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place.
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts of z at the start of the sweep, only read: count them afterwards.
    own_n_wk : ndarray of int32 of shape (R, K)
    own_n_k : ndarray of int64 of shape (P, K)
        Room for the shards' counts, overwritten.
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are drawn; all are counted.
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
    term : ResponseTerm
    key : Key
        Of the random streams, one for each document.
    """
    for shard in numba.prange(shard_ptr.size - 1):
        for row in range(row_ptr[shard], row_ptr[shard + 1]):
            own_n_wk[row] = n_wk[row_words[row]]
        own_n_k[shard] = n_k
        sweep_documents(
            docs[shard_ptr[shard] : shard_ptr[shard + 1]],
            doc_ptr,
            words,
            rows[shard],
            z,
            own_n_wk[row_ptr[shard] : row_ptr[shard + 1]],
            own_n_k[shard],
            selected,
            alpha,
            beta,
            beta_sum,
            term,
            key,
        )


@kernel(
    "ad_lda",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=False,
    automatic=False,
    parallel_over="doc",
    cost="N * (42 + 1.1 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="2 * K * min(2 * N, V * shards) + 4 * V * shards + 4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Newman et al. 2009, AD-LDA",
)
def ad_lda(
    binding: Binding, *, shards: Annotated[int, pydantic.Field(ge=1)] = 8, words: WordSelection = ALL_WORDS
) -> KernelFunctions:
    """AD-LDA: collapsed Gibbs on shards of documents apart, then merged; O(K) a token, parallel, not exact.

    The draws depend on the number of shards, not on that of threads. Beside the state a chain holds 4 K bytes for each
    word of each shard (never more than 4 K V times the shards, nor 4 K N), and all chains together 4 V for each shard.
    """
    tokens, sizes = binding.tokens, binding.sizes
    selected = words.mask(tokens.word_counts)
    docs, shard_ptr = deal_documents(tokens.doc_ptr, max(1, min(shards, sizes.docs)))
    rows, row_ptr, row_words = index_shards(docs, shard_ptr, tokens.doc_ptr, tokens.words, sizes.words)

    def init(state: ChainState) -> _Copies:
        return _Copies(
            np.empty((row_words.size, sizes.topics), dtype=np.int32),
            np.empty((len(rows), sizes.topics), dtype=np.int64),
        )

    make_term = term_of(binding)

    def step(state: ChainState, memory: _Copies, key: Key) -> dict[str, float] | None:
        beta, term = state.beta, make_term(state)
        sweep_shards(
            docs,
            shard_ptr,
            rows,
            row_ptr,
            row_words,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            state.n_wk,
            state.n_k,
            memory.n_wk,
            memory.n_k,
            selected,
            state.alpha,
            beta,
            float(beta.sum()),
            term,
            key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)
        return acceptance(term, int(tokens.word_counts[selected].sum()))

    return KernelFunctions(step, init, scratch=True)
