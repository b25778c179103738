"""Over how many documents the tokens of a topic spread, and over how many words its probability spreads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import FloatArray, IntArray, UInt16Array
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.quality.topic_set import as_topics

__all__ = ["document_entropy", "effective_words", "entropy_of_assignments"]


def document_entropy(n_dk: npt.ArrayLike) -> FloatArray:
    """Return the entropy, in nats, of each topic's tokens over documents: -sum_d p(d | k) log p(d | k).

    Parameters
    ----------
    n_dk : array_like, shape (D, K)
        Tokens of each document in each topic, or their shares.

    Returns
    -------
    ndarray of float64, shape (K,)
        At most log D, and 0 for a topic without tokens.
    """
    counts = np.asarray(n_dk, dtype=np.float64)
    totals = counts.sum(axis=0)
    share = counts / np.where(totals > 0.0, totals, 1.0)
    return _entropy(share.T)


def entropy_of_assignments(doc_ptr: IntArray, z: npt.ArrayLike, topics: int) -> FloatArray:
    """Return `document_entropy` from the topics of tokens, shape (N,), without an array of documents by topics.

    Tokens of document d are ``z[doc_ptr[d]:doc_ptr[d + 1]]``.
    """
    sums, totals = np.zeros(topics), np.zeros(topics, dtype=np.int64)
    _add_by_document(np.asarray(doc_ptr, dtype=np.int64), np.ascontiguousarray(z), sums, totals)
    known = np.maximum(totals, 1)
    # -sum (n / N) log (n / N) = log N - sum n log n / N.
    return np.maximum(np.log(known) - sums / known, 0.0)


@compiled
def _add_by_document(doc_ptr: IntArray, z: UInt16Array, sums: FloatArray, totals: IntArray) -> None:
    """Add n log n for each document's n tokens of a topic to ``sums``, and n to ``totals``."""
    counts = np.zeros(len(sums), dtype=np.int64)
    for doc in range(len(doc_ptr) - 1):
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            counts[z[token]] += 1
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            n = counts[z[token]]
            if n > 0:
                sums[z[token]] += n * np.log(n)
                totals[z[token]] += n
                counts[z[token]] = 0


def effective_words(phi: npt.ArrayLike) -> FloatArray:
    """Return the effective number of words of each topic, exp(-sum_v phi_kv log phi_kv).

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics; each row is divided by its sum.

    Returns
    -------
    ndarray of float64, shape (K,)
        From 1, for a topic with one word, to V, for a uniform topic.

    Raises
    ------
    PplTopicsError
        If a probability is negative or not finite, or a row sums to 0.
    """
    return np.exp(_entropy(as_topics(phi)))


def _entropy(share: FloatArray) -> FloatArray:
    """Return the entropy of each row."""
    logs = np.log(share, out=np.zeros_like(share), where=share > 0.0)
    entropy: FloatArray = -(share * logs).sum(axis=1)
    return np.maximum(entropy, 0.0)
