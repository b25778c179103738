"""How probable documents are of which each has one topic: sums over topics, without an error.

p(w_d | phi, alpha) = sum_k alpha_dk / (sum of alpha_d) prod_i phi_k,w_i.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.alpha import Alpha
from ppl_topics.samplers.assignments.document_partially_collapsed import log_of, log_weights
from ppl_topics.samplers.assignments.given_phi import row_of
from ppl_topics.samplers.counts import add_in_order, make_chunks
from ppl_topics.samplers.held_out.completion import mix_topics
from ppl_topics.samplers.held_out.replicates import CHUNKS

__all__ = ["complete_whole", "log_evidence"]


def log_evidence(doc_ptr: IntArray, words: UInt32Array, phi: Float32Array, alpha: Alpha) -> FloatArray:
    """Return log p(w_d | phi, alpha) of each document, shape (D,); 0 of one without tokens."""
    result = np.zeros(len(doc_ptr) - 1)
    sum_topics(make_chunks(doc_ptr, CHUNKS), doc_ptr, words, log_of(phi), alpha, result)
    return result


def complete_whole(doc_ptr: IntArray, shuffled: UInt32Array, phi: Float32Array, alpha: Alpha) -> FloatArray:
    """Return p(w_n | first half, phi, alpha) of each token of the second halves, shape (N,); 1 of the others."""
    result = np.ones(len(shuffled))
    complete(make_chunks(doc_ptr, CHUNKS), doc_ptr, shuffled, phi, log_of(phi), alpha, result)
    return result


@compiled
def normalise(weights: FloatArray) -> float:
    """Replace log weights by probabilities, and return the logarithm of the sum of the weights."""
    largest: float = weights.max()
    total = 0.0
    if largest == -np.inf:
        weights[:] = 0.0
        return -np.inf
    for topic in range(weights.size):
        weights[topic] = math.exp(weights[topic] - largest)
        total += weights[topic]
    for topic in range(weights.size):
        weights[topic] /= total
    return largest + math.log(total)


@parallel
def sum_topics(
    chunk_ptr: IntArray, doc_ptr: IntArray, words: UInt32Array, log_phi: FloatArray, alpha: Alpha, result: FloatArray
) -> None:
    """See `log_evidence`."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        weights = np.empty(log_phi.shape[1])
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            own = alpha.rows[row_of(doc, alpha.row)]
            if doc_ptr[doc] < doc_ptr[doc + 1]:
                log_weights(words[doc_ptr[doc] : doc_ptr[doc + 1]], own, log_phi, weights)
                result[doc] = normalise(weights) - math.log(add_in_order(own))


@parallel
def complete(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    shuffled: UInt32Array,
    phi: Float32Array,
    log_phi: FloatArray,
    alpha: Alpha,
    result: FloatArray,
) -> None:
    """See `complete_whole`."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        weights = np.empty(log_phi.shape[1])
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            begin, end = doc_ptr[doc], doc_ptr[doc + 1]
            middle = begin + (end - begin) // 2
            log_weights(shuffled[begin:middle], alpha.rows[row_of(doc, alpha.row)], log_phi, weights)
            normalise(weights)
            mix_topics(shuffled[middle:end], weights, phi, result[middle:end])
