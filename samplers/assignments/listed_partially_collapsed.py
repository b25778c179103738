"""Partially collapsed Gibbs sampling given topics that are held as lists: in the number of topics of the word.

A token is drawn from the topics that include its word: all others give the word probability zero. With a response the
draw is a proposal that does not depend on the token's topic, accepted with the response's change.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4 and appendix B.
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
    UInt16Array,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.partially_collapsed import count_document
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, accepts, term_of
from ppl_topics.samplers.topics.listing import count_listed
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.simd_categorical import SAFE_TOTAL, cumulate_listed, find_listed, new_sums
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["listed_partially_collapsed", "sweep_listed_partially_collapsed"]


@parallel
def sweep_listed_partially_collapsed(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    alpha: FloatArray,
    pointer: IntArray,
    topics: UInt16Array,
    values: Float32Array,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Draw the topic of every token from its full conditional given the topics.

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
    pointer, topics, values : ndarray
        Of the lists; see `ppl_topics.core.sparse_topics.TopicLists`.
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
            pointer,
            topics,
            values,
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
    pointer: IntArray,
    topics: UInt16Array,
    values: Float32Array,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_listed_partially_collapsed`)."""
    n_topics = alpha.size
    responds = term.eta.shape[1] > 0
    stream = new_stream()
    in_doc = np.empty(n_topics, np.int32)
    # One array, as a vector and as a matrix of one row.
    weight = np.empty(n_topics, np.float32)
    weights = weight.reshape(1, n_topics)
    sums = new_sums(n_topics)
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        start(stream, key, doc)
        count_document(begin, end, z, alpha, in_doc, weight)
        for token in range(begin, end):
            word: Any = np.int64(words[token])
            if not selected[word]:
                continue
            old: Any = np.int64(z[token])
            in_doc[old] -= 1
            weight[old] = in_doc[old] + alpha[old]
            place = pointer[word]
            size = pointer[word + 1] - place
            total = cumulate_listed(weights, 0, topics, values, place, size, sums)
            if total >= SAFE_TOTAL:
                new: Any = np.int64(topics[place + find_listed(sums, size, uniform(stream) * total)])
            else:
                new = draw_listed_with_care(stream, old, place, size, in_doc, alpha, topics, values)
            if responds and new != old and not accepts(stream, doc, old, new, term):
                new = old
            z[token] = new
            in_doc[new] += 1
            weight[new] = in_doc[new] + alpha[new]


@compiled
def draw_listed_with_care(
    stream: Stream,
    old: int,
    place: int,
    size: int,
    in_doc: Int32Array,
    alpha: FloatArray,
    topics: UInt16Array,
    values: Float32Array,
) -> int:
    """Draw a topic where all weights are so small that they underflow, or there is none: then keep the topic.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    old : int
        Topic of the token.
    place, size : int
        Begin and length of the word's list.
    in_doc : ndarray of int32 of shape (K,)
        Topics of the document's other tokens.
    alpha : ndarray of float64 of shape (K,)
    topics, values : ndarray
        Of the lists.
    """
    log_weights = np.full(size, -np.inf)
    for entry in range(size):
        topic = topics[place + entry]
        if values[place + entry] > 0.0:
            log_weights[entry] = math.log(in_doc[topic] + alpha[topic]) + math.log(values[place + entry])
    entry = categorical_in_log_space(stream, log_weights)
    drawn: int = topics[place + entry] if entry >= 0 else old
    return drawn


@kernel(
    "listed_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "listed_words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * (45 + 1.5 * L / V) + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, eq. 4",
)
def listed_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs given topics held as lists: O(topics of the word) a token, parallel over documents."""
    tokens = binding.tokens
    selected = words.mask(tokens.word_counts)
    n_drawn = int(tokens.word_counts[selected].sum())
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        lists, term = state.lists, make_term(state)
        assert lists is not None, "a state without lists"
        sweep_listed_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            state.alpha,
            lists.pointer,
            lists.topics,
            lists.values,
            term,
            key,
        )
        count_listed(state.z, tokens.word_ptr, tokens.by_word, lists.pointer, lists.topics, lists.counts, state.n_k)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
