"""Features of documents, f_d = (n_d / N_d, x_d): the shares of their topics, and fixed columns; and linear predictors.

The shares are held by document as lists of the topics that are present, in ascending order, so that the cost of using
them grows with the topics present in a document, not with the number of topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UInt16Array, UnsignedArray, read_only
from ppl_topics._util.compiled import compiled, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.observed import Design
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.errors import SpecError
from ppl_topics.samplers.counts import make_chunks

__all__ = [
    "PIECES",
    "Features",
    "Rows",
    "SeveralFeatures",
    "dense_features",
    "features_of",
    "features_of_each",
    "linear_predictors",
    "scores",
    "scores_of_each",
    "without_topics",
]


PIECES = 128
"""Number of pieces that loops over documents, or over coefficients, are cut into, whatever the number of threads."""


class Rows(NamedTuple):
    """Features of documents as sparse rows.

    Attributes
    ----------
    ptr : ndarray of int64, shape (D + 1,)
        Document d has the entries ``ptr[d]`` to ``ptr[d + 1] - 1``.
    columns : ndarray of uint16, shape (n,)
        Number of the feature, ascending in a document.
    values : ndarray of float64, shape (n,)
    """

    ptr: IntArray
    columns: UInt16Array
    values: FloatArray


class Features(NamedTuple):
    """The features of each document.

    Attributes
    ----------
    ptr : ndarray of int64, shape (D + 1,)
        Document d has the entries ``ptr[d]`` to ``ptr[d + 1] - 1``; none where it has no tokens.
    topics : ndarray of uint16, shape (n,)
        The topics present in each document, ascending.
    shares : ndarray of float64, shape (n,)
        The share of its tokens that each has, n_dk / N_d.
    design : Design
        Fixed columns: covariates, and a 1 where there is an intercept.
    """

    ptr: IntArray
    topics: UInt16Array
    shares: FloatArray
    design: Design

    @property
    def topic_rows(self) -> Rows:
        """The shares of topics as sparse rows."""
        return Rows(self.ptr, self.topics, self.shares)


class SeveralFeatures(NamedTuple):
    """The features of each document, given each of several assignments; the fields are those of `Features`.

    Attributes
    ----------
    ptr : ndarray of int64, shape (M, D + 1)
    topics : ndarray of uint16, shape (n,)
    shares : ndarray of float64, shape (n,)
    design : Design
        The same for all.
    """

    ptr: IntArray
    topics: UInt16Array
    shares: FloatArray
    design: Design

    @classmethod
    def of(cls, features: Features) -> Self:
        """Return one of them as several."""
        return cls(features.ptr[None], *features[1:])

    def given(self, number: int) -> Features:
        """Return the features given one of the assignments."""
        first, last = self.ptr[number, 0], self.ptr[number, -1]
        return Features(self.ptr[number] - first, self.topics[first:last], self.shares[first:last], self.design)


def features_of(tokens: Tokens, z: UnsignedArray, n_topics: int, design: Design) -> Features:
    """Return the features of documents given the topics of their tokens, in O(N), parallel over documents.

    Examples
    --------
    >>> import numpy as np
    >>> from ppl_topics.engine.bind import index_tokens
    >>> tokens = index_tokens(np.array([0, 3, 3]), np.array([0, 1, 1]), 2)
    >>> features_of(tokens, np.array([4, 2, 4], np.uint8), 5, Design.of(np.ones((2, 1)))).topics
    array([2, 4], dtype=uint16)
    """
    ptr = np.zeros(len(tokens.doc_ptr), dtype=np.int64)
    count_topics(tokens.chunk_ptr, tokens.doc_ptr, z, n_topics, ptr)
    np.cumsum(ptr, out=ptr)
    rows = Rows(ptr, np.empty(ptr[-1], dtype=np.uint16), np.empty(ptr[-1]))
    list_topics(tokens.chunk_ptr, tokens.doc_ptr, z, n_topics, rows)
    return Features(*rows, design)


def features_of_each(tokens: Tokens, z: UnsignedArray, n_topics: int, design: Design) -> SeveralFeatures:
    """Return the features of documents given each of several assignments, shape (M, N), which are counted at once."""
    if len(z) == 1:
        return SeveralFeatures.of(features_of(tokens, z[0], n_topics, design))
    n_docs, n_tokens = len(tokens.doc_ptr) - 1, z.shape[1]
    ends = (tokens.doc_ptr[1:] + n_tokens * np.arange(len(z))[:, None]).ravel()
    doc_ptr = read_only(np.concatenate([[0], ends]), np.int64)
    repeated = replace(tokens, doc_ptr=doc_ptr, chunk_ptr=np.unique(make_chunks(doc_ptr, PIECES)))
    ptr, topics, shares, _ = features_of(repeated, z.reshape(-1), n_topics, design)
    of_each = n_docs * np.arange(len(z))[:, None] + np.arange(n_docs + 1)
    return SeveralFeatures(ptr[of_each], topics, shares, design)


def dense_features(shares: FloatArray, design: Design) -> Features:
    """Return the features of documents that have shares of all topics, shape (D, K)."""
    n_docs, n_topics = shares.shape
    topics = np.tile(np.arange(n_topics, dtype=np.uint16), n_docs)
    return Features(n_topics * np.arange(n_docs + 1), topics, shares.ravel(), design)


def without_topics(design: Design) -> Features:
    """Return the features of documents as if they had no tokens."""
    return Features(np.zeros(len(design.ptr), np.int64), np.empty(0, np.uint16), np.empty(0), design)


def scores(features: Features, eta: FloatArray) -> FloatArray:
    """Return the linear predictors s_dc = eta_c . f_d, parallel over documents."""
    result = np.empty((len(features.ptr) - 1, len(eta)))
    # With the class last, a document's entries are read once for all classes.
    score_all(features.topic_rows, features.design, np.ascontiguousarray(eta.T), result)
    return result


def scores_of_each(features: SeveralFeatures, numbers: Sequence[int], eta: Sequence[FloatArray]) -> FloatArray:
    """Return the linear predictors, shape (M, D, C), of the M features of these numbers by as many coefficients (C, F).

    In parallel over documents if M is one, or else over `numbers`.
    """
    if len(numbers) == 1:
        return scores(features.given(numbers[0]), eta[0])[None]
    ptr, topics, shares, design = features
    result = np.empty((len(numbers), ptr.shape[1] - 1, len(eta[0])))
    by_coefficient = np.ascontiguousarray(np.stack(eta).transpose(0, 2, 1))
    score_each(ptr[np.asarray(numbers)], topics, shares, design, by_coefficient, result)
    return result


def linear_predictors(binding: Binding) -> Callable[[ChainState], FloatArray]:
    """Return the function that gives the linear predictors s_dc = eta_c . f_d in a state, for kernels.

    f_d has the shares of the topics in document d, its covariates, and a 1 where there is an intercept.

    Parameters
    ----------
    binding : Binding

    Returns
    -------
    callable
        ``predictors(state)`` is an array of float64 of shape (D, C).

    Raises
    ------
    SpecError
        If the model has no labels, or no coefficients.
    """
    eta, n_topics = binding.names.get("eta"), binding.sizes.supervised
    if "y" not in binding.names or eta is None:
        raise SpecError(f"{binding.target!r} belongs to no response; add a block that observes labels to the model")

    def predictors(state: ChainState) -> FloatArray:
        observed = state.observed
        assert observed is not None
        return scores(features_of(state.tokens, state.z, n_topics, observed.design), state.arrays[eta])

    return predictors


@parallel
def count_topics(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, n_topics: int, counts: IntArray) -> None:
    """Count the different topics in each document, into ``counts[d + 1]``."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        count_topics_of(chunk_ptr[chunk], chunk_ptr[chunk + 1], doc_ptr, z, np.full(n_topics, -1), counts)


@tight
def count_topics_of(
    first: int, last: int, doc_ptr: IntArray, z: UnsignedArray, seen: IntArray, counts: IntArray
) -> None:
    """Count the different topics in documents `first` to `last` - 1; `seen` holds where each topic was seen last."""
    for doc in range(first, last):
        present = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            topic: Any = np.int64(z[token])
            if topic < seen.size:
                present += seen[topic] != doc
                seen[topic] = doc
        counts[doc + 1] = present


@parallel
def list_topics(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, n_topics: int, rows: Rows) -> None:
    """List the topics of each document with their shares."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        counts, listed = np.zeros(n_topics, np.int64), np.empty(n_topics + 1, np.int64)
        list_topics_of(chunk_ptr[chunk], chunk_ptr[chunk + 1], doc_ptr, z, counts, listed, rows)


@tight
def list_topics_of(
    first: int, last: int, doc_ptr: IntArray, z: UnsignedArray, counts: IntArray, listed: IntArray, rows: Rows
) -> None:
    """List the topics of documents `first` to `last` - 1; `counts` holds zeros, before and after."""
    ptr, topics, shares = rows
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        present = 0
        for token in range(begin, end):
            topic: Any = np.int64(z[token])
            if topic >= counts.size:
                continue
            # Overwritten by the next topic where this one is in the list already: no branch to mispredict.
            listed[present] = topic
            present += counts[topic] == 0
            counts[topic] += 1
        # A short list is sorted; for a long one it is quicker to look at all topics.
        if present * present <= counts.size:
            sort_list(listed, present)
        else:
            present = 0
            for candidate in range(counts.size):
                listed[present] = candidate
                present += counts[candidate] > 0
        for place in range(present):
            topics[ptr[doc] + place] = listed[place]
            shares[ptr[doc] + place] = counts[listed[place]] / (end - begin)
            counts[listed[place]] = 0


@tight
def sort_list(listed: IntArray, size: int) -> None:
    """Sort the first `size` entries, by insertion."""
    for place in range(1, size):
        value = listed[place]
        hole = place
        while hole > 0 and listed[hole - 1] > value:
            listed[hole] = listed[hole - 1]
            hole -= 1
        listed[hole] = value


@compiled
def pieces_of(rows: Rows, design: Design) -> IntArray:
    """Cut the documents into pieces of about as many shares and fixed features, shape (PIECES + 1,)."""
    return make_chunks(rows.ptr + design.ptr, PIECES)


@parallel
def score_all(rows: Rows, design: Design, by_coefficient: FloatArray, result: FloatArray) -> None:
    """Compute the linear predictors of all documents from coefficients of shape (n + P, C)."""
    pieces = pieces_of(rows, design)
    for piece in numba.prange(PIECES):
        score_documents(pieces[piece], pieces[piece + 1], rows, design, by_coefficient, result)


@parallel
def score_each(
    ptr: IntArray,
    topics: UInt16Array,
    shares: FloatArray,
    design: Design,
    by_coefficient: FloatArray,
    result: FloatArray,
) -> None:
    """Compute the linear predictors of several features, with rows of `ptr`, by as many coefficients (n + P, C)."""
    for number in numba.prange(len(result)):
        rows = Rows(ptr[number], topics, shares)
        score_documents(0, result.shape[1], rows, design, by_coefficient[number], result[number])


@tight
def score_documents(
    first: int, last: int, rows: Rows, design: Design, by_coefficient: FloatArray, result: FloatArray
) -> None:
    """Compute the linear predictors of documents `first` to `last` - 1."""
    ptr, topics, shares = rows
    design_ptr, columns, values, width = design
    n_topics, n_classes = by_coefficient.shape[0] - width, by_coefficient.shape[1]
    for doc in range(first, last):
        for c in range(n_classes):
            result[doc, c] = 0.0
        for place in range(ptr[doc], ptr[doc + 1]):
            topic: Any = np.int64(topics[place])
            for c in range(n_classes):
                result[doc, c] += shares[place] * by_coefficient[topic, c]
        for place in range(design_ptr[doc], design_ptr[doc + 1]):
            column: Any = n_topics + np.int64(columns[place])
            for c in range(n_classes):
                result[doc, c] += values[place] * by_coefficient[column, c]
