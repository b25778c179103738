"""The topic of each document, where all its tokens have the same, given the topics, in parallel over documents.

With theta integrated out, the topic that document d draws from its weights follows

    p(z_d = k) is proportional to alpha_dk prod_i phi_k,w_i,

the product over the tokens of the document, times the density of its responses. It is drawn in log space, and depends
on neither the present topic nor other documents.

References
----------
K. Nigam, A. McCallum, S. Thrun, T. Mitchell (2000). Text classification from labeled and unlabeled documents using EM.
Machine Learning 39.
J. Yin, J. Wang (2014). A Dirichlet multinomial mixture model-based approach for short text clustering. KDD 2014.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import row_of
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.response_term import ResponseTerm, gain_of_document, term_of
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["document_partially_collapsed", "draw_documents", "log_of", "log_weights"]


@parallel
def log_of(phi: Float32Array) -> FloatArray:
    """Return the logarithms of topics, shape (V, K); of 0, minus infinity."""
    result = np.empty(phi.shape)
    for word in numba.prange(phi.shape[0]):
        for topic in range(phi.shape[1]):
            value = np.float64(phi[word, topic])
            result[word, topic] = math.log(value) if value > 0.0 else -np.inf
    return result


@compiled
def log_weights(words: UInt32Array, alpha: FloatArray, log_phi: FloatArray, result: FloatArray) -> None:
    """Set the results to log alpha_k + sum_i log phi_k,w_i, shape (K,), for a document of these words."""
    for topic in range(alpha.size):
        result[topic] = math.log(alpha[topic]) if alpha[topic] > 0.0 else -np.inf
    for word in words:
        for topic in range(alpha.size):
            result[topic] += log_phi[word, topic]


@parallel
def draw_documents(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    alpha: Alpha,
    log_phi: FloatArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Draw the topic of each document, in parallel; if all its weights are zero it keeps the old one."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream, weights = new_stream(), np.empty(log_phi.shape[1])
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            begin, end = doc_ptr[doc], doc_ptr[doc + 1]
            if begin == end:
                continue
            start(stream, key, doc)
            log_weights(words[begin:end], alpha.rows[row_of(doc, alpha.row)], log_phi, weights)
            old = np.int64(z[begin])
            if term.eta.shape[1] > 0:
                for topic in range(weights.size):
                    weights[topic] += gain_of_document(doc, old, topic, end - begin, term)
            new = categorical_in_log_space(stream, weights)
            if new >= 0:
                z[begin:end] = new


@kernel(
    "document_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "document_assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="N * (10 + 0.7 * K) + 12 * V * K + D * K * (12 + 3 * C)",
    memory="8 * V * K + 50 * D * C",
    reference="Nigam et al. 2000; Yin, Wang 2014",
)
def document_partially_collapsed(binding: Binding) -> KernelFunctions:
    """Draw the topic of each document given phi, theta integrated out, parallel over documents."""
    tokens, phi, make_term = binding.tokens, binding.names["phi"], term_of(binding)
    index = (tokens.chunk_ptr, tokens.doc_ptr, tokens.words)

    def step(state: ChainState, memory: None, key: Key) -> None:
        log_phi = log_of(state.arrays[phi])
        draw_documents(*index, state.z, state.document_alpha, log_phi, make_term(state), key)
        recount(tokens, state)

    return KernelFunctions(step)
