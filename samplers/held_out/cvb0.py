"""Expected shares of topics in documents given phi, by zero-order collapsed variational Bayes: CVB0.

With theta integrated out, the topic of a token of word w follows p(z_i = k) proportional to (n_dk^-i + alpha_k) phi_kw.
CVB0 puts the expected counts of the other tokens in place of n_dk^-i, and repeats until they settle:

    gamma_dwk is proportional to (sum_v c_dv gamma_dvk - gamma_dwk + alpha_k) phi_kw,

for each of the words w of a document, which has c_dw tokens. It draws nothing, and is not exact: it takes the topics of
tokens as independent. Documents of one token, or of one topic, have their exact expectations.

References
----------
A. Asuncion, M. Welling, P. Smyth, Y. W. Teh (2009). On smoothing and inference for topic models. UAI 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from scipy import sparse

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel, signed, tight
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.assignments.document_partially_collapsed import log_weights
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi, row_of
from ppl_topics.samplers.variates.simd_categorical import is_safe, new_sums, running_sums_of_products

__all__ = ["Bags", "expected_shares", "expected_shares_of_whole", "share_documents"]

SETTLED, MOST_STEPS = np.float32(1e-3), 100
"""Steps end once the expected counts move by less than this share of the tokens, or after so many."""


class Bags(NamedTuple):
    """The words of documents and how often each occurs.

    Attributes
    ----------
    ptr : ndarray of int64, shape (D + 1,)
        Document d has the entries ``ptr[d]`` to ``ptr[d + 1] - 1``.
    words : ndarray of int64, shape (n,)
        Ascending in a document.
    counts : ndarray of float32, shape (n,)
    """

    ptr: IntArray
    words: IntArray
    counts: Float32Array

    @classmethod
    def of(cls, tokens: Tokens) -> Bags:
        """Count the words of each document."""
        ones, words = np.ones(len(tokens.words), np.float32), tokens.words.astype(np.int64)
        shape = (len(tokens.doc_ptr) - 1, len(tokens.word_ptr) - 1)
        counts = sparse.csr_array((ones, words, tokens.doc_ptr.copy()), shape=shape)
        counts.sum_duplicates()
        return cls(counts.indptr.astype(np.int64), counts.indices.astype(np.int64), counts.data)


class Scratch(NamedTuple):
    """Memory of one parallel task, for its largest document.

    Attributes
    ----------
    gamma : ndarray of float32, shape (most words of a document, K)
        Probabilities of the topics of a token of each word.
    expected, before : ndarray of float32, shape (K,)
        Expected counts of the topics, and those of the step before.
    weight : ndarray of float32, shape (K,)
    sums : ndarray of float32
        Running sums, from `new_sums`.
    """

    gamma: Float32Array
    expected: Float32Array
    before: Float32Array
    weight: Float32Array
    sums: Float32Array


def expected_shares(tokens: Tokens, bags: Bags, alpha: Alpha, phi: Float32Array) -> FloatArray:
    """Return the expected shares of the topics in each document, shape (D, K), in parallel over documents.

    Parameters
    ----------
    tokens : Tokens
    bags : Bags
        Of the same documents.
    alpha : Alpha
    phi : ndarray of float32, shape (V, K)

    Returns
    -------
    ndarray of float64, shape (D, K)
        Rows sum to 1; a document without tokens has zeros.
    """
    shares = np.zeros((len(tokens.doc_ptr) - 1, phi.shape[1]))
    share_documents(tokens.chunk_ptr, bags, AllGivenPhi.of(alpha, phi), shares)
    return shares


@parallel
def share_documents(chunk_ptr: IntArray, bags: Bags, given: AllGivenPhi, shares: FloatArray) -> None:
    """Set the expected shares of the topics in each document, which start at zero."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        share_task(signed(chunk), chunk_ptr, bags, given, shares)


@compiled
def share_task(task: int, chunk_ptr: IntArray, bags: Bags, given: AllGivenPhi, shares: FloatArray) -> None:
    """Set those of the documents of one task."""
    most, n_topics = 0, given.rows.shape[1]
    for doc in range(chunk_ptr[task], chunk_ptr[task + 1]):
        most = max(most, bags.ptr[doc + 1] - bags.ptr[doc])
    gamma = np.empty((most, n_topics), np.float32)
    expected, before = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    scratch = Scratch(gamma, expected, before, np.empty(n_topics, np.float32), new_sums(n_topics))
    for doc in range(chunk_ptr[task], chunk_ptr[task + 1]):
        if bags.ptr[doc] < bags.ptr[doc + 1]:
            share_document(doc, bags, given.rows[row_of(doc, given.row)], given.phi, scratch, shares[doc])


@tight
def share_document(
    doc: int, bags: Bags, alpha: FloatArray, phi: Float32Array, scratch: Scratch, shares: FloatArray
) -> None:
    """Set those of one document."""
    words, counts = bags.words, bags.counts
    gamma, expected, before, weight, sums = scratch
    begin, end, n_topics = bags.ptr[doc], bags.ptr[doc + 1], alpha.size
    size = np.float32(0.0)
    for topic in range(n_topics):
        expected[topic] = np.float32(0.0)
    for entry in range(begin, end):
        size += counts[entry]
        for topic in range(n_topics):
            gamma[entry - begin, topic] = np.float32(0.0)
    for _ in range(MOST_STEPS):
        for topic in range(n_topics):
            before[topic] = expected[topic]
        for entry in range(begin, end):
            word, tokens, row = words[entry], counts[entry], entry - begin
            for topic in range(n_topics):
                others = max(expected[topic] - gamma[row, topic], np.float32(0.0))
                weight[topic] = others + np.float32(alpha[topic])
            total = running_sums_of_products(weight, phi, word, sums)
            if is_safe(total):
                scale = np.float32(1.0) / total
                for topic in range(n_topics):
                    new = weight[topic] * phi[word, topic] * scale
                    expected[topic] += tokens * (new - gamma[row, topic])
                    gamma[row, topic] = new
            else:
                update_in_float64(tokens, row, alpha, phi[word], gamma, expected)
        moved = np.float32(0.0)
        for topic in range(n_topics):
            moved += abs(expected[topic] - before[topic])
        if moved < SETTLED * size:
            break
    # Added up again: what the steps have added to and taken from a count leaves its rounding behind.
    all_topics = 0.0
    for entry in range(begin, end):
        for topic in range(n_topics):
            shares[topic] += np.float64(counts[entry]) * gamma[entry - begin, topic]
    for topic in range(n_topics):
        all_topics += shares[topic]
    for topic in range(n_topics):
        shares[topic] /= all_topics


@tight
def update_in_float64(
    tokens: Any, row: int, alpha: FloatArray, phi: Float32Array, gamma: Float32Array, expected: Float32Array
) -> None:
    """Update the probabilities of a word whose weights underflow; if all are zero, by the document's other tokens."""
    total, by_others = 0.0, 0.0
    for topic in range(alpha.size):
        weight = max(np.float64(expected[topic]) - gamma[row, topic], 0.0) + alpha[topic]
        by_others += weight
        total += weight * phi[topic]
    for topic in range(alpha.size):
        weight = max(np.float64(expected[topic]) - gamma[row, topic], 0.0) + alpha[topic]
        new = np.float32(weight * phi[topic] / total if total > 0.0 else weight / by_others)
        expected[topic] += tokens * (new - gamma[row, topic])
        gamma[row, topic] = new


def expected_shares_of_whole(tokens: Tokens, alpha: Alpha, log_phi: FloatArray) -> FloatArray:
    """Return the probabilities of the topic that all tokens of a document have, shape (D, K), which are exact.

    A document without tokens has zeros.
    """
    shares = np.zeros((len(tokens.doc_ptr) - 1, log_phi.shape[1]))
    for doc in np.flatnonzero(tokens.doc_lengths):
        words = tokens.words[tokens.doc_ptr[doc] : tokens.doc_ptr[doc + 1]]
        own = alpha.rows[alpha.row[doc] if len(alpha.row) else 0]
        log_weights(words, own, log_phi, shares[doc])
    most = shares.max(axis=1, keepdims=True)
    found = np.isfinite(most[:, 0]) & (tokens.doc_lengths > 0)
    shares[~found] = 0.0
    shares[found] = np.exp(shares[found] - most[found])
    shares[found] /= shares[found].sum(axis=1, keepdims=True)
    return shares
