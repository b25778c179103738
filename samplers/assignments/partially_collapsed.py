"""Partially collapsed Gibbs sampling: proportions integrated out, topics kept, in parallel over documents.

Where the model has a response, the draw is a proposal that does not depend on the token's topic, accepted with the
response's change: O(K + C) a token, where the full conditional takes O(K C).

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.counts import count_words
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, accepts, term_of
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import SAFE_TOTAL, cumulate_products, find_striped, new_sums
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["count_document", "draw_with_care", "partially_collapsed", "sweep_partially_collapsed"]


@parallel
def sweep_partially_collapsed(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    alpha: FloatArray,
    phi: Float32Array,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Draw the topic of every token from its full conditional given the topics, in O(K).

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) phi_kw. With a response, that is what is proposed.

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
    term : ResponseTerm
        Its slope and its count of rejected moves are updated.
    key : Key
        Of the random streams, one for each document.
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
            term,
            key,
        )


@compiled
def sweep_documents(
    first: int,
    last: int,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    alpha: FloatArray,
    phi: Float32Array,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_partially_collapsed`)."""
    n_topics, n_tokens = alpha.size, words.size
    responds = term.eta.shape[1] > 0
    stream = new_stream()
    in_doc, weight = np.empty(n_topics, np.int32), np.empty(n_topics, np.float32)
    sums = new_sums(n_topics)
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        start(stream, key, doc)
        count_document(begin, end, z, alpha, in_doc, weight)
        for token in range(begin, end):
            prefetch_row(phi, np.int64(words[min(token + AHEAD, n_tokens - 1)]))
            word: Any = np.int64(words[token])
            if not selected[word]:
                continue
            old: Any = np.int64(z[token])
            in_doc[old] -= 1
            weight[old] = in_doc[old] + alpha[old]
            total = cumulate_products(weight, phi, word, sums)
            if total >= SAFE_TOTAL:
                new = find_striped(sums, n_topics, uniform(stream) * total)
            else:
                new = draw_with_care(stream, old, word, in_doc, alpha, phi)
            if responds and new != old and not accepts(stream, doc, old, new, term):
                new = old
            z[token] = new
            in_doc[new] += 1
            weight[new] = in_doc[new] + alpha[new]


@compiled
def count_document(
    begin: int,
    end: int,
    z: UnsignedArray,
    alpha: FloatArray,
    in_doc: Int32Array,
    weight: Float32Array,
) -> None:
    """Count the topics of a document, and weigh them by n_dk + alpha_k."""
    for topic in range(alpha.size):
        in_doc[topic] = 0
    for token in range(begin, end):
        in_doc[z[token]] += 1
    for topic in range(alpha.size):
        weight[topic] = in_doc[topic] + alpha[topic]


@compiled
def draw_with_care(
    stream: Stream,
    old: int,
    word: int,
    in_doc: Int32Array,
    alpha: FloatArray,
    phi: Float32Array,
) -> int:
    """Draw a topic where all weights are so small that they underflow, or there is none: then keep the topic.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    old : int
        Topic of the token.
    word : int
    in_doc : ndarray of int32 of shape (K,)
        Topics of the document's other tokens.
    alpha : ndarray of float64 of shape (K,)
    phi : ndarray of float32 of shape (V, K)
    """
    log_weights = np.full(alpha.size, -np.inf)
    for topic in range(alpha.size):
        if phi[word, topic] > 0.0:
            log_weights[topic] = math.log(in_doc[topic] + alpha[topic]) + math.log(phi[word, topic])
    new = categorical_in_log_space(stream, log_weights)
    return new if new >= 0 else old


@kernel(
    "partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * (45 + 0.16 * K) + 0.3 * V * K + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, eq. 4",
)
def partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs: O(K) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    n_drawn = int(tokens.word_counts[selected].sum())
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        sweep_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            state.alpha,
            state.arrays[phi],
            term,
            key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
