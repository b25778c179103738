"""Sparse partially collapsed Gibbs sampling: a token is drawn from the topics that its word is likely in.

The sum over topics of (n_dk^-i + alpha_k) phi_kw is split in two. The topics where phi_kw is not far below the word's
largest are few, and stand in a list; of the others only a bound is computed, (max_k n_dk + max_k alpha_k) times their
sum of phi_kw. A point is drawn between 0 and the list's mass and that bound together: nearly always it falls into the
list, and then the others need not be looked at. Otherwise their mass is computed, and the point is taken as theirs,
or drawn anew from all topics: so the distribution is the full conditional, exactly, by rejection.

Magnusson et al. sum over the topics of the document instead, and draw the rest from alias tables of alpha_k phi_kw.
A word's list is read in one go where their sum gathers phi_kw from all over the row, and costs no table.

Where the model has a response, the draw is a proposal that does not depend on the token's topic, accepted with the
response's change.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equations 4 and 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

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
from ppl_topics.samplers.assignments.counts import WORD_CHUNKS, count_words, make_chunks
from ppl_topics.samplers.assignments.partially_collapsed import count_document, draw_with_care
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, accepts, term_of
from ppl_topics.samplers.variates.simd import FLOATS, LANES, WORD, emit_load, row_of, spread
from ppl_topics.samplers.variates.simd_categorical import (
    SAFE_TOTAL,
    cumulate_listed,
    cumulate_products,
    find_listed,
    find_striped,
    new_sums,
)
from ppl_topics.samplers.variates.streams import new_stream, start, uniform

__all__ = [
    "LikelyTopics",
    "list_topics",
    "sparse_partially_collapsed",
    "sweep_sparse_partially_collapsed",
]


LISTED = np.float32(2.0**-14)
"""A word's list holds the topics of this share, at least, of its largest phi_kw."""

MARGIN = 1.001
"""What the bound of the others' mass is too large by: far more than the rounding of float32 sums."""

ONE = np.uint64(1)


class LikelyTopics(NamedTuple):
    """The topics that each word is likely in; see `list_topics`.

    Attributes
    ----------
    pointer : ndarray of int64 of shape (V + 1,)
        The list of word w is the entries from ``pointer[w]`` to ``pointer[w + 1] - 1``. It is empty for words that
        are not drawn, or that are likely in so many topics that a list does not pay.
    topics : ndarray of uint16 of shape (L + 8,)
    values : ndarray of float32 of shape (L + 8,)
        phi_kw of the listed topics k.
    level : ndarray of float32 of shape (V,)
        What is listed is at least this.
    rest : ndarray of float32 of shape (V,)
        Sum of phi_kw over the topics that are not listed, at least.
    """

    pointer: IntArray
    topics: UInt16Array
    values: Float32Array
    level: Float32Array
    rest: Float32Array


@intrinsic  # type: ignore[untyped-decorator]
def eight_at_least(typingctx: Any, matrix: Any, row: Any, cell: Any, level: Any) -> Any:
    """Return a mask of eight bits: which of the eight cells of a row from `cell` on are at least `level`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = row_of(context, builder, signature, arguments, 0, arguments[1])
        cells = emit_load(builder, data, arguments[2], FLOATS)
        reached = builder.fcmp_ordered(">=", cells, spread(builder, arguments[3]))
        return builder.zext(builder.bitcast(reached, ir.IntType(LANES)), WORD)

    return types.uint64(matrix, types.int64, types.int64, types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Return the place of the lowest bit of a mask that is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


def list_topics(word_ptr: IntArray, selected: BoolArray, phi: Float32Array) -> LikelyTopics:
    """List the topics that each selected word is likely in, in parallel over words.

    Parameters
    ----------
    word_ptr : ndarray of int64 of shape (V + 1,)
    selected : ndarray of bool of shape (V,)
    phi : ndarray of float32 of shape (V, K)
    """
    sizes = np.zeros(len(selected) + 1, dtype=np.int64)
    level, rest = np.zeros(len(selected), np.float32), np.zeros(len(selected), np.float32)
    measure_lists(word_ptr, selected, phi, phi.view(np.int32), sizes, level, rest)
    pointer = np.cumsum(sizes)
    # Eight more than are used, for `cumulate_listed` reads beyond the end.
    topics, values = np.empty(pointer[-1] + LANES, np.uint16), np.empty(pointer[-1] + LANES, np.float32)
    fill_lists(word_ptr, pointer, level, phi, topics, values)
    return LikelyTopics(pointer, topics, values, level, rest)


@parallel
def measure_lists(
    word_ptr: IntArray,
    selected: BoolArray,
    phi: Float32Array,
    bits: Int32Array,
    sizes: IntArray,
    level: Float32Array,
    rest: Float32Array,
) -> None:
    """Compute the level of each word's list, the number listed, and the sum of the others (see `list_topics`).

    Floating-point numbers that are not negative are ordered as their bits are, taken for integers: a maximum of
    integers is computed eight at a time.
    """
    n_topics = phi.shape[1]
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        ones, others = np.ones(n_topics, np.float32), np.empty((1, n_topics), np.float32)
        sums, largest = new_sums(n_topics), np.empty(1, np.int32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            if selected[word] and word_ptr[word + 1] > word_ptr[word]:
                most = np.int32(0)
                for topic in range(n_topics):
                    most = max(most, bits[word, topic])
                largest[0] = most
                least = largest.view(np.float32)[0] * LISTED
                number = np.int32(0)
                for topic in range(n_topics):
                    number += np.int32(phi[word, topic] >= least)
                if least > 0.0 and 2 * number < n_topics:
                    for topic in range(n_topics):
                        others[0, topic] = phi[word, topic] if phi[word, topic] < least else np.float32(0.0)
                    sizes[word + 1], level[word] = number, least
                    rest[word] = MARGIN * cumulate_products(ones, others, 0, sums)


@parallel
def fill_lists(
    word_ptr: IntArray,
    pointer: IntArray,
    level: Float32Array,
    phi: Float32Array,
    topics: UInt16Array,
    values: Float32Array,
) -> None:
    """Fill the lists that `measure_lists` has measured."""
    n_topics = phi.shape[1]
    whole = n_topics - n_topics % LANES
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            place = pointer[word]
            if place < pointer[word + 1]:
                for begin in range(0, whole, LANES):
                    mask = eight_at_least(phi, word, begin, level[word])
                    while mask != np.uint64(0):
                        topic = begin + lowest_bit(mask)
                        topics[place], values[place] = topic, phi[word, topic]
                        place += 1
                        mask &= mask - ONE
                for topic in range(whole, n_topics):
                    if phi[word, topic] >= level[word]:
                        topics[place], values[place] = topic, phi[word, topic]
                        place += 1


@parallel
def sweep_sparse_partially_collapsed(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    alpha: FloatArray,
    phi: Float32Array,
    pointer: IntArray,
    topics: UInt16Array,
    values: Float32Array,
    level: Float32Array,
    rest: Float32Array,
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
    phi : ndarray of float32 of shape (V, K)
        Probability of each word in each topic.
    pointer, topics, values, level, rest : ndarray
        The `LikelyTopics` of these phi.
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
            pointer,
            topics,
            values,
            level,
            rest,
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
    pointer: IntArray,
    topics: UInt16Array,
    values: Float32Array,
    level: Float32Array,
    rest: Float32Array,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_sparse_partially_collapsed`)."""
    n_topics = alpha.size
    responds = term.eta.shape[1] > 0
    stream = new_stream()
    in_doc = np.empty(n_topics, np.int32)
    # One array, as a vector and as a matrix of one row.
    weight = np.empty(n_topics, np.float32)
    weights = weight.reshape(1, n_topics)
    sums, others = new_sums(n_topics), np.empty((1, n_topics), np.float32)
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        start(stream, key, doc)
        count_document(begin, end, z, alpha, in_doc, weight)
        # Never less than the largest weight, as topics lose tokens.
        heaviest = np.float32(0.0)
        for topic in range(n_topics):
            heaviest = max(heaviest, weight[topic])
        for token in range(begin, end):
            word: Any = np.int64(words[token])
            if not selected[word]:
                continue
            old: Any = np.int64(z[token])
            in_doc[old] -= 1
            weight[old] = in_doc[old] + alpha[old]
            place = pointer[word]
            size = pointer[word + 1] - place
            new: Any = np.int64(-1)
            if size > 0:
                total = cumulate_listed(weights, 0, topics, values, place, size, sums)
                both = np.float64(total) + heaviest * np.float64(rest[word])
                if both >= SAFE_TOTAL:
                    target = uniform(stream) * both
                    if target < total:
                        new = np.int64(topics[place + find_listed(sums, size, target)])
                    else:
                        new = draw_others(target - total, word, weight, phi, level[word], others, sums)
            if new < 0:
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
            heaviest = max(heaviest, weight[new])


@compiled
def draw_others(
    target: float,
    word: int,
    weight: Float32Array,
    phi: Float32Array,
    level: float,
    others: Float32Array,
    sums: Float32Array,
) -> int:
    """Find the topic, not in the word's list, that a point of the interval from 0 to their bound falls into.

    Parameters
    ----------
    target : float
    word : int
    weight : ndarray of float32 of shape (K,)
        n_dk^-i + alpha_k.
    phi : ndarray of float32 of shape (V, K)
    level : float32
        What is less is not listed.
    others : ndarray of float32 of shape (1, K)
    sums : ndarray of float32
        Overwritten.

    Returns
    -------
    topic : int
        -1 where the point lies beyond their mass: the topic must be drawn from all.
    """
    for topic in range(weight.size):
        others[0, topic] = phi[word, topic] if phi[word, topic] < level else np.float32(0.0)
    total = cumulate_products(weight, others, 0, sums)
    return find_striped(sums, weight.size, target) if 0.0 <= target < total else -1


@kernel(
    "sparse_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * (53 + 0.09 * K) + V * (40 + 1.8 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 0.6 * V * K + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, section 3.2, eq. 5",
)
def sparse_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Sparse partially collapsed Gibbs: O(likely topics of the word) a token given phi, parallel over docs."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    n_drawn = int(tokens.word_counts[selected].sum())
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        drawn = state.arrays[phi]
        sweep_sparse_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            state.alpha,
            drawn,
            *list_topics(tokens.word_ptr, selected, drawn),
            term,
            key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
