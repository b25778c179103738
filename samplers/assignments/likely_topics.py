"""The topics that each word is likely in, as short lists: those where phi_kw is not far below the word's largest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ppl_topics._util.arrays import BoolArray, Float32Array, Int32Array, IntArray, UInt16Array
from ppl_topics._util.compiled import parallel
from ppl_topics.samplers.counts import WORD_CHUNKS, make_chunks
from ppl_topics.samplers.variates.simd import FLOATS, LANES, WORD, emit_load, row_of, spread
from ppl_topics.samplers.variates.simd_categorical import new_sums, running_sums_of_products
from ppl_topics.samplers.variates.simd_masks import lowest_bit

__all__ = ["LikelyTopics", "eight_at_least", "list_likely_topics"]


LISTED = np.float32(2.0**-14)
"""A word's list holds the topics whose phi_kw is at least this share of its largest."""

MARGIN = 1.01
"""Factor by which the bound of the others' sum is raised: far more than the rounding of float32 sums."""

ONE = np.uint64(1)


class LikelyTopics(NamedTuple):
    """The topics that each word is likely in.

    Attributes
    ----------
    pointer : ndarray of int64 of shape (V + 1,)
        The list of word w is the entries from ``pointer[w]`` to ``pointer[w + 1] - 1``. It is empty for words that
        are not drawn, and for words likely in so many topics that a list would not save time.
    topics : ndarray of uint16 of shape (L + 8,)
    values : ndarray of float32 of shape (L + 8,)
        phi_kw of the listed topics. The last eight entries of both are padding.
    level : ndarray of float32 of shape (V,)
        A topic is listed if its phi_kw is at least this.
    rest : ndarray of float32 of shape (V,)
        Upper bound of the sum of phi_kw over the topics that are not listed.
    """

    pointer: IntArray
    topics: UInt16Array
    values: Float32Array
    level: Float32Array
    rest: Float32Array


def list_likely_topics(word_ptr: IntArray, selected: BoolArray, phi: Float32Array) -> LikelyTopics:
    """List the topics that each selected word is likely in, in parallel over words."""
    sizes = np.zeros(len(selected) + 1, dtype=np.int64)
    level, rest = np.zeros(len(selected), np.float32), np.zeros(len(selected), np.float32)
    measure_lists(word_ptr, selected, phi, phi.view(np.int32), sizes, level, rest)
    pointer = np.cumsum(sizes)
    # Eight more than are used, because `running_sums_of_list` reads beyond the end; they must be topics.
    topics, values = np.zeros(pointer[-1] + LANES, np.uint16), np.empty(pointer[-1] + LANES, np.float32)
    likely = LikelyTopics(pointer, topics, values, level, rest)
    fill_lists(word_ptr, phi, likely)
    return likely


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
    """Set the length of each word's list, its level, and the bound of the rest.

    `bits` is phi as integers. Floating-point numbers that are not negative have the order of their bits, and a maximum
    of integers is computed eight at a time.
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
                    rest[word] = MARGIN * running_sums_of_products(ones, others, 0, sums)


@parallel
def fill_lists(word_ptr: IntArray, phi: Float32Array, likely: LikelyTopics) -> None:
    """Fill the lists that `measure_lists` has measured."""
    pointer, topics, values, level = likely.pointer, likely.topics, likely.values, likely.level
    n_topics = phi.shape[1]
    whole = n_topics - n_topics % LANES
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            entry = pointer[word]
            if entry < pointer[word + 1]:
                for begin in range(0, whole, LANES):
                    mask = eight_at_least(phi, word, begin, level[word])
                    while mask != np.uint64(0):
                        topic = begin + lowest_bit(mask)
                        topics[entry], values[entry] = topic, phi[word, topic]
                        entry += 1
                        mask &= mask - ONE
                for topic in range(whole, n_topics):
                    if phi[word, topic] >= level[word]:
                        topics[entry], values[entry] = topic, phi[word, topic]
                        entry += 1


@intrinsic  # type: ignore[untyped-decorator]
def eight_at_least(typingctx: Any, matrix: Any, row: Any, cell: Any, level: Any) -> Any:
    """Return a mask of eight bits, of which bit j is set if ``matrix[row, cell + j] >= level``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = row_of(context, builder, signature, arguments, 0, arguments[1])
        cells = emit_load(builder, data, arguments[2], FLOATS)
        reached = builder.fcmp_ordered(">=", cells, spread(builder, arguments[3]))
        return builder.zext(builder.bitcast(reached, ir.IntType(LANES)), WORD)

    return types.uint64(matrix, types.int64, types.int64, types.float32), codegen
