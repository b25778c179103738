"""Starting values of the topic assignments."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.samplers.assignments.given_phi import GivenPhi, count_document, draw_in_float64, row_of
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.simd_categorical import draw_cell, new_sums, running_sums_of_products
from ppl_topics.samplers.variates.streams import integer, new_stream, start, uniform

__all__ = ["draw_by_alpha", "draw_by_group", "draw_given_topics"]

OWN_SHARE = 0.9
"""Share of a document's tokens that start in a topic of its group."""


@parallel
def draw_by_group(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    z: UnsignedArray,
    n_topics: int,
    n_dealt: int,
    group: IntArray,
    n_groups: int,
    key: Key,
) -> None:
    """Draw topics uniformly, but nine of ten tokens from the topics of their document's group, in parallel.

    `group`, of shape (D,), is -1 for documents without a group, whose topics are all uniform. The first `n_dealt`
    topics are dealt to the groups in turn, or groups to the topics if these are fewer. If fewer than `n_topics` are
    dealt, proportionally fewer tokens start in a topic of their group, so that the other topics get their share.
    """
    own_share = OWN_SHARE * (n_dealt / n_topics)
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream = new_stream()
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            start(stream, key, doc)
            first = group[doc] % n_dealt
            own = (n_dealt - first + n_groups - 1) // n_groups
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                if group[doc] >= 0 and uniform(stream) < own_share:
                    z[token] = first + n_groups * integer(stream, own)
                else:
                    z[token] = integer(stream, n_topics)


@parallel
def draw_by_alpha(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, alpha: Alpha, key: Key) -> None:
    """Draw topics in proportion to the concentrations of their document, in parallel over documents."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream, sums = new_stream(), np.empty(alpha.rows.shape[1])
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            start(stream, key, doc)
            own, total = row_of(doc, alpha.row), 0.0
            for topic in range(sums.size):
                total += alpha.rows[own, topic]
                sums[topic] = total
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                z[token] = find_cumulated(sums, sums.size, uniform(stream) * total)


@parallel
def draw_given_topics(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    alpha: Alpha,
    phi: Float32Array,
    key: Key,
) -> None:
    """Draw each token's topic as if it were its document's only one, in parallel over documents.

    p(z_i = k) is proportional to alpha_k phi_kw: nearer to the posterior given the topics than a uniform draw.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        start_documents(chunk_ptr[chunk], chunk_ptr[chunk + 1], doc_ptr, words, z, alpha, phi, key)


@compiled
def start_documents(
    first: int,
    last: int,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    alpha: Alpha,
    phi: Float32Array,
    key: Key,
) -> None:
    """Draw the topics of documents `first` to `last` - 1 (see `draw_given_topics`)."""
    n_topics = alpha.rows.shape[1]
    stream, sums = new_stream(), new_sums(n_topics)
    others, weight = np.zeros(n_topics, np.int32), np.empty(n_topics, np.float32)
    for doc in range(first, last):
        start(stream, key, doc)
        own = alpha.rows[row_of(doc, alpha.row)]
        # Without tokens the counts are zero, and the weights are alpha.
        count_document(z[:0], own, others, weight)
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word: Any = np.int64(words[token])
            total = running_sums_of_products(weight, phi, word, sums)
            new = draw_cell(stream, sums, n_topics, total)
            if new < 0:
                new = draw_in_float64(stream, 0, word, others, GivenPhi(own, phi), sums, total)
            z[token] = new
