"""Elliptical slice sampling of the coefficients of concentrations, the proportions integrated out.

Given z, the coefficients of one topic have the density

    p(gamma_k) prod_d [G(alpha_dk + n_dk) / G(alpha_dk)] G(A_d) / G(A_d + N_d),  alpha_dk = exp(x_d . gamma_k),

with A_d the sum of alpha_d. The prior is normal, so a draw of it and the present value span an ellipse whose points
have the prior's distribution, and one of them is chosen by slice sampling of the likelihood: nothing is to be tuned.

References
----------
I. Murray, R. P. Adams, D. J. C. MacKay (2010). Elliptical slice sampling. AISTATS 2010.
D. Mimno, A. McCallum (2008). Topic models conditioned on arbitrary features with Dirichlet-multinomial regression.
UAI 2008, equation 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel, signed
from ppl_topics.core.alpha import LARGEST_ALPHA, SMALLEST_ALPHA, LogLinear
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.counts import add_in_order
from ppl_topics.samplers.variates.elliptical import elliptical_slice_sample
from ppl_topics.samplers.variates.streams import Stream, normal, open_stream

__all__ = ["DocumentCounts", "draw_coefficients", "elliptical_slice", "merged"]

PIECES = 64
"""Of sums over documents; fixed, so that the bits do not depend on the threads."""

MANY = 5_000
"""Terms from which threads share a sum."""

FEW_TOKENS = 8
"""Documents are sorted by their tokens, not counted by them, if there are fewer than one for so many numbers."""

SMALLEST_LOG, LARGEST_LOG = math.log(SMALLEST_ALPHA), math.log(LARGEST_ALPHA)


class DocumentCounts(NamedTuple):
    """What the likelihood of the coefficients depends on: equal counts of documents with equal features are one term.

    Attributes
    ----------
    features : ndarray of float64 of shape (R, P)
        Those that differ, sorted.
    ptr : ndarray of int64 of shape (K + 1,)
        Topic k has the terms ``ptr[k]`` to ``ptr[k + 1] - 1``.
    row, tokens, times : ndarray of int64
        The features of documents, how many of their tokens are in the topic, at least one, and how many documents they
        are; sorted in each topic.
    total_row, length, total_times : ndarray of int64
        The same of all tokens of the documents.
    """

    features: FloatArray
    ptr: IntArray
    row: IntArray
    tokens: IntArray
    times: IntArray
    total_row: IntArray
    length: IntArray
    total_times: IntArray

    @classmethod
    def of(cls, lengths: Lengths, doc_ptr: IntArray, z: UnsignedArray, n_topics: int) -> DocumentCounts:
        """Count the tokens of documents, whose lengths have been counted."""
        counts = np.zeros((PIECES, n_topics), np.int64)
        count_pairs(doc_ptr, z, lengths.order, counts)
        ends = counts.T.cumsum().reshape(n_topics, PIECES).T
        first = np.concatenate([[0], ends[-1]])
        keys, times = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64)
        list_pairs(doc_ptr, z, lengths, ends - counts, keys)
        sizes = np.zeros(n_topics + 1, np.int64)
        add_up_equal(keys, times, first, lengths.base, sizes)
        ptr = np.cumsum(sizes)
        kept = np.repeat(first[:-1] - ptr[:-1], np.diff(ptr)) + np.arange(ptr[-1])
        keys = keys[kept]
        row, tokens = keys // lengths.base, keys % lengths.base
        return cls(lengths.features, ptr, row, tokens, times[kept], lengths.row, lengths.length, lengths.times)


class Lengths(NamedTuple):
    """What `DocumentCounts` has of documents that does not depend on their topics.

    Attributes
    ----------
    features : ndarray of float64 of shape (R, P)
    order : ndarray of int64 of shape (D,)
        The documents by their features.
    row_of : ndarray of int64 of shape (D,)
        The features of each document.
    base : int
        More than the tokens of any document: ``row * base + tokens`` is a number for both.
    row, length, times : ndarray of int64
        `total_row`, `length` and `total_times` of the counts.
    """

    features: FloatArray
    order: IntArray
    row_of: IntArray
    base: int
    row: IntArray
    length: IntArray
    times: IntArray

    @classmethod
    def of(cls, alpha: LogLinear, doc_ptr: IntArray) -> Lengths:
        """Count the documents of each length with equal features."""
        lengths = np.diff(doc_ptr)
        base = int(lengths.max(initial=0)) + 1
        totals, times = np.unique((alpha.row * base + lengths)[lengths > 0], return_counts=True)
        order = np.argsort(alpha.row, kind="stable")
        return cls(alpha.features, order, alpha.row, base, totals // base, totals % base, times)


@parallel
def count_pairs(doc_ptr: IntArray, z: UnsignedArray, order: IntArray, counts: IntArray) -> None:
    """Count the documents of each piece that have a token in a topic, shape (PIECES, K)."""
    n_docs, n_topics = order.size, counts.shape[1]
    for piece in numba.prange(PIECES):
        last, number = np.full(n_topics, -1), signed(piece)
        for place in range(n_docs * number // PIECES, n_docs * (number + 1) // PIECES):
            doc = order[place]
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                if last[z[token]] != doc:
                    last[z[token]] = doc
                    counts[piece, z[token]] += 1


@parallel
def list_pairs(doc_ptr: IntArray, z: UnsignedArray, lengths: Lengths, first: IntArray, keys: IntArray) -> None:
    """Set the keys ``row * base + tokens`` of each topic, by row; those of a piece begin at `first`."""
    order, row_of, base = lengths.order, lengths.row_of, lengths.base
    n_docs, n_topics = order.size, first.shape[1]
    for piece in numba.prange(PIECES):
        in_doc, following, number = np.zeros(n_topics, np.int64), first[piece].copy(), signed(piece)
        for place in range(n_docs * number // PIECES, n_docs * (number + 1) // PIECES):
            doc = order[place]
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                in_doc[z[token]] += 1
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                topic = z[token]
                if in_doc[topic] > 0:
                    keys[following[topic]] = row_of[doc] * base + in_doc[topic]
                    following[topic] += 1
                    in_doc[topic] = 0


@parallel
def add_up_equal(keys: IntArray, times: IntArray, first: IntArray, base: int, sizes: IntArray) -> None:
    """Sort the keys of each topic, which are by row already, and leave those that differ, with how often they occur.

    They begin at ``first[k]``; topic k has ``sizes[k + 1]`` of them.
    """
    for index in numba.prange(first.size - 1):
        topic = signed(index)
        begin, end, size = first[topic], first[topic + 1], first[topic]
        number = np.zeros(base, np.int64)
        while begin < end:
            row, stop = keys[begin] // base, begin
            while stop < end and keys[stop] // base == row:
                stop += 1
            if (stop - begin) * FEW_TOKENS < base:
                run = np.sort(keys[begin:stop])
                held = size
                for key in run:
                    if size > held and keys[size - 1] == key:
                        times[size - 1] += 1
                    else:
                        keys[size], times[size] = key, 1
                        size += 1
            else:
                for entry in range(begin, stop):
                    number[keys[entry] % base] += 1
                for tokens in range(base):
                    if number[tokens] > 0:
                        keys[size], times[size] = row * base + tokens, number[tokens]
                        number[tokens] = 0
                        size += 1
            begin = stop
        sizes[topic + 1] = size - first[topic]


def merged(parts: Sequence[DocumentCounts]) -> DocumentCounts:
    """Return the counts of all documents of several places, as if they were in one."""
    if len(parts) == 1:
        return parts[0]
    features, number = np.unique(np.concatenate([part.features for part in parts]), axis=0, return_inverse=True)
    places = np.split(number.reshape(-1), np.cumsum([len(part.features) for part in parts])[:-1])
    each = list(zip(parts, places, strict=True))
    topics = [np.repeat(np.arange(len(part.ptr) - 1), np.diff(part.ptr)) for part in parts]
    (topic, row, tokens), times = _added_up(
        (topics, [place[part.row] for part, place in each], [part.tokens for part in parts]),
        [part.times for part in parts],
    )
    (total_row, length), total_times = _added_up(
        ([place[part.total_row] for part, place in each], [part.length for part in parts]),
        [part.total_times for part in parts],
    )
    ptr = np.searchsorted(topic, np.arange(len(parts[0].ptr)))
    return DocumentCounts(features, ptr, row, tokens, times, total_row, length, total_times)


def _added_up(columns: Sequence[Sequence[IntArray]], times: Sequence[IntArray]) -> tuple[list[IntArray], IntArray]:
    """Return the rows of some columns that differ, sorted, and how many there are of each."""
    whole = np.stack([np.concatenate(column) for column in columns])
    order = np.lexsort(whole[::-1])
    whole, counted = whole[:, order], np.concatenate(times)[order]
    first = np.flatnonzero(np.r_[True, (whole[:, 1:] != whole[:, :-1]).any(axis=0)][: whole.shape[1]])
    return list(whole[:, first]), np.add.reduceat(counted, first) if len(first) else counted


class Terms(NamedTuple):
    """A sum of times log G(alpha + tokens) / G(alpha): some of the arrays of `DocumentCounts`."""

    row: IntArray
    tokens: IntArray
    times: IntArray


def of_topic(alpha: FloatArray, topic: int, counts: DocumentCounts) -> float:
    """Return what the concentrations of a topic, shape (R,), add to log p(z | alpha) by its own tokens."""
    here = slice(counts.ptr[topic], counts.ptr[topic + 1])
    return add_up(alpha, Terms(counts.row[here], counts.tokens[here], counts.times[here]))


def of_documents(sums: FloatArray, counts: DocumentCounts) -> float:
    """Return what log p(z | alpha) loses by the sums of all concentrations, shape (R,)."""
    return add_up(sums, Terms(counts.total_row, counts.length, counts.total_times))


def add_up(alpha: FloatArray, terms: Terms) -> float:
    """Return the sum of the terms."""
    # Threads take longer to meet than few terms take.
    pieces = in_parallel if terms.row.size >= MANY else one_by_one
    return add_in_order(pieces(alpha, terms))


@parallel
def in_parallel(alpha: FloatArray, terms: Terms) -> FloatArray:
    """Return the pieces of a sum."""
    partial = np.zeros(PIECES)
    for piece in numba.prange(PIECES):
        partial[piece] = of_piece(signed(piece), alpha, terms)
    return partial


@compiled
def one_by_one(alpha: FloatArray, terms: Terms) -> FloatArray:
    """Return the same."""
    partial = np.zeros(PIECES)
    for piece in range(PIECES):
        partial[piece] = of_piece(piece, alpha, terms)
    return partial


@compiled
def of_piece(piece: int, alpha: FloatArray, terms: Terms) -> float:
    """Add up a part of the terms, where n ascends in a row: each goes on from the last."""
    first, last = terms.row.size * piece // PIECES, terms.row.size * (piece + 1) // PIECES
    value, term, before, reached = 0.0, 0.0, -1, 0
    for entry in range(first, last):
        row, tokens = terms.row[entry], terms.tokens[entry]
        if row != before:
            term, before, reached = 0.0, row, 0
        term += log_pochhammer(alpha[row] + reached, tokens - reached)
        reached = tokens
        value += terms.times[entry] * term
    return value


def exponentials(features: FloatArray, coefficients: FloatArray, alpha: FloatArray) -> bool:
    """Set alpha to exp(x . gamma_k) for all features, and return whether all are in range."""
    if len(features) < MANY:
        return some_exponentials(0, len(features), features, coefficients, alpha)
    return bool(all_exponentials(features, coefficients, alpha).all())


@parallel
def all_exponentials(features: FloatArray, coefficients: FloatArray, alpha: FloatArray) -> BoolArray:
    """Do so in pieces, and return of each whether its concentrations are in range."""
    fine, size = np.zeros(PIECES, np.bool_), features.shape[0]
    for piece in numba.prange(PIECES):
        first, last = size * signed(piece) // PIECES, size * (signed(piece) + 1) // PIECES
        fine[piece] = some_exponentials(first, last, features, coefficients, alpha)
    return fine


@compiled
def some_exponentials(first: int, last: int, features: FloatArray, coefficients: FloatArray, alpha: FloatArray) -> bool:
    """Do so for some features."""
    for row in range(first, last):
        value = 0.0
        for column in range(features.shape[1]):
            value += features[row, column] * coefficients[column]
        if not SMALLEST_LOG <= value <= LARGEST_LOG:
            return False
        alpha[row] = math.exp(value)
    return True


def draw_coefficients(
    coefficients: FloatArray, deviates: FloatArray, counts: DocumentCounts, stream: Stream
) -> FloatArray:
    """Update the coefficients of one topic after another, leaving p(gamma | z) invariant, and return them.

    The deviates are a draw of the prior; both arrays have the shape (K, P).
    """
    drawn = coefficients.copy()
    n_topics = len(coefficients)
    alpha = np.empty((n_topics, len(counts.features)))
    for topic in range(n_topics):
        exponentials(counts.features, drawn[topic], alpha[topic])
    # Sums of the topics before and after one: a difference of sums would lose the small ones.
    after = np.zeros((n_topics + 1, len(counts.features)))
    for topic in range(n_topics)[::-1]:
        after[topic] = after[topic + 1] + alpha[topic]
    before = np.zeros(len(counts.features))
    # The sums of the documents are the dear part, and the same where one topic's turn ends and the next one's begins.
    documents = of_documents(after[0], counts)
    for topic in range(n_topics):
        others, proposed = before + after[topic + 1], alpha[topic]

        def log_density(value: FloatArray) -> float:
            nonlocal documents
            if not exponentials(counts.features, value, proposed):  # noqa: B023
                return -math.inf
            documents = of_documents(others + proposed, counts)  # noqa: B023
            return of_topic(proposed, topic, counts) - documents  # noqa: B023

        at_start = of_topic(proposed, topic, counts) - documents
        drawn[topic] = elliptical_slice_sample(log_density, drawn[topic], deviates[topic], stream, at_start)
        before += proposed
    return drawn


@kernel(
    "elliptical_slice",
    updates="alpha",
    integrates_out="theta",
    reads=("z", "prevalence_lambda", "prevalence_tau"),
    handles=("normal", "horseshoe", "random_walk", "dirichlet_regression", "assignments", "document_assignments"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    distributes="statistic",
    cost="8 * N + 180 * (D * K + min(N, D * K))",
    tasks="64",
    memory="16 * min(N, D * K) + 16 * D * K",
    reference="Murray, Adams, MacKay 2010; Mimno, McCallum 2008, eq. 3",
)
def elliptical_slice(binding: Binding) -> KernelFunctions:
    """Elliptical slice sampling of the coefficients of one topic after another, theta integrated out."""
    name, tokens, n_topics = binding.names["alpha"], binding.tokens, binding.sizes.topics
    block: Any = binding.blocks[name]

    @lru_cache(maxsize=1)
    def lengths_of(alpha: LogLinear) -> Lengths:
        return Lengths.of(alpha, tokens.drawn_ptr)

    def statistic(state: ChainState) -> list[DocumentCounts]:
        alpha = state.concentrations["alpha"]
        assert isinstance(alpha, LogLinear), "a state without covariates"
        return [DocumentCounts.of(lengths_of(alpha), *tokens.drawn(state.z), n_topics)]

    def draw(state: ChainState, key: Key, counts: DocumentCounts) -> None:
        coefficients = state.arrays[name]
        stream = open_stream(*key)
        normals = np.array([normal(stream) for _ in range(coefficients.size)]).reshape(coefficients.shape)
        coefficients[...] = draw_coefficients(coefficients, block.scaled(normals, state), counts, stream)

    return KernelFunctions.of_statistic(statistic, merged, draw)
