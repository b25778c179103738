"""Approximate distributed collapsed Gibbs sampling: shards of documents swept apart, then merged. Not exact.

Each shard sees the other shards' tokens where they were at the start of the sweep. So the draws do not follow the
posterior, and the more shards, the further off they are; with one shard this is collapsed Gibbs sampling.

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

from ppl_topics._util.arrays import Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel, signed
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.collapsed_gibbs import Priors, sweep_documents
from ppl_topics.samplers.counts import Counts, count_words
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of

__all__ = ["ad_lda", "deal_documents", "make_shards", "sweep_shards"]


class Shards(NamedTuple):
    """The documents of each shard, and the words that occur in it: its copy of the counts needs no other rows.

    Attributes
    ----------
    docs : ndarray of int64 of shape (D,)
        Documents by shard, in their order within each.
    ptr : ndarray of int64 of shape (P + 1,)
        Documents of shard p are ``docs[ptr[p]:ptr[p + 1]]``.
    rows : ndarray of uint32 of shape (P, V)
        Row of each word within the shard's own rows; V where it does not occur.
    row_ptr : ndarray of int64 of shape (P + 1,)
        Rows of shard p are ``row_ptr[p]:row_ptr[p + 1]`` of all R.
    row_words : ndarray of uint32 of shape (R,)
        Word of each row.
    """

    docs: IntArray
    ptr: IntArray
    rows: UInt32Array
    row_ptr: IntArray
    row_words: UInt32Array


class ShardCounts(NamedTuple):
    """Each shard's own counts.

    Attributes
    ----------
    n_wk : ndarray of int32 of shape (R, K)
    n_k : ndarray of int64 of shape (P, K)
    """

    n_wk: Int32Array
    n_k: IntArray


@compiled
def deal_documents(doc_ptr: IntArray, n_shards: int) -> tuple[IntArray, IntArray]:
    """Give each document in turn to the shard with fewest tokens so far; return `docs` and `ptr` of `Shards`.

    This spreads a corpus that is sorted by class over all shards.
    """
    n_docs = doc_ptr.size - 1
    shard_of = np.empty(n_docs, dtype=np.int64)
    ptr = np.zeros(n_shards + 1, dtype=np.int64)
    # Pairs of (tokens and documents so far, shard), lightest first: already in the order of a heap.
    loads = [(0, shard) for shard in range(n_shards)]
    for doc in range(n_docs):
        load, shard = loads[0]
        shard_of[doc] = shard
        ptr[shard + 1] += 1
        heapq.heapreplace(loads, (load + doc_ptr[doc + 1] - doc_ptr[doc] + 1, shard))
    for shard in range(n_shards):
        ptr[shard + 1] += ptr[shard]
    following = ptr[:n_shards].copy()
    docs = np.empty(n_docs, dtype=np.int64)
    for doc in range(n_docs):
        docs[following[shard_of[doc]]] = doc
        following[shard_of[doc]] += 1
    return docs, ptr


@compiled
def make_shards(doc_ptr: IntArray, words: UInt32Array, n_words: int, n_shards: int) -> Shards:
    """Deal the documents to the shards, and list the words of each."""
    docs, ptr = deal_documents(doc_ptr, n_shards)
    rows = np.full((n_shards, n_words), n_words, dtype=np.uint32)
    row_ptr = np.zeros(n_shards + 1, dtype=np.int64)
    for shard in range(n_shards):
        for doc in docs[ptr[shard] : ptr[shard + 1]]:
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
    return Shards(docs, ptr, rows, row_ptr, row_words)


@parallel
def sweep_shards(
    shards: Shards,
    tokens: TokensByDocument,
    z: UnsignedArray,
    counts: Counts,
    own: ShardCounts,
    priors: Priors,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep the shards by collapsed Gibbs, each on its own copy of the counts, in parallel; only z is updated."""
    for shard in numba.prange(shards.ptr.size - 1):
        docs = shards.docs[shards.ptr[shard] : shards.ptr[shard + 1]]
        copy = copy_counts(signed(shard), shards, counts, own)
        sweep_documents(docs, shards.rows[shard], tokens, z, copy, priors, term, key)


@compiled
def copy_counts(shard: int, shards: Shards, counts: Counts, own: ShardCounts) -> Counts:
    """Copy the counts for a shard, n_wk only for its words."""
    first, last = shards.row_ptr[shard], shards.row_ptr[shard + 1]
    for row in range(first, last):
        own.n_wk[row] = counts.n_wk[shards.row_words[row]]
    own.n_k[shard] = counts.n_k
    return Counts(own.n_wk[first:last], own.n_k[shard])


@kernel(
    "ad_lda",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
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
    corpus, sizes = binding.tokens, binding.sizes
    selected = words.mask(corpus.word_counts)
    n_drawn = int(corpus.word_counts[selected].sum())
    tokens, make_term = corpus.by_document(selected), term_of(binding)
    dealt = make_shards(corpus.doc_ptr, corpus.words, sizes.words, max(1, min(shards, sizes.docs)))

    def init(state: ChainState) -> ShardCounts:
        shape = len(dealt.row_words), sizes.topics
        return ShardCounts(np.empty(shape, np.int32), np.empty((len(dealt.rows), sizes.topics), np.int64))

    def step(state: ChainState, own: ShardCounts, key: Key) -> dict[str, float] | None:
        counts, term = Counts(state.n_wk, state.n_k), make_term(state)
        sweep_shards(dealt, tokens, state.z, counts, own, Priors.of(state), term, key)
        count_words(state.z, corpus.word_ptr, corpus.by_word, state.n_wk, state.n_k)
        return acceptance(term, n_drawn)

    return KernelFunctions(step, init, scratch=True)
