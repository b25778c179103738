"""The topic of each document, where all its tokens have the same, phi integrated out: one document after another.

With theta and phi integrated out, and all counts those of the other documents,

    p(z_d = k) is proportional to alpha_dk prod_i (n_k,w_i + b_i + beta_w_i) / (n_k + i + sum of beta),

the product over the tokens i = 0, 1, ... of the document, b_i of which are earlier ones of the same word (Yin, Wang
2014, equation 4), times the density of its responses.

References
----------
J. Yin, J. Wang (2014). A Dirichlet multinomial mixture model-based approach for short text clustering. KDD 2014.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import row_of
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.responses.response_term import ResponseTerm, gain_of_document, term_of
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["document_collapsed", "draw_one_by_one"]


@compiled
def draw_one_by_one(
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_k: IntArray,
    alpha: Alpha,
    beta: FloatArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Draw the topic of each document given those of the others, and keep the counts."""
    n_topics, beta_sum = n_k.size, beta.sum()
    weights, earlier, stream = np.empty(n_topics), np.zeros(beta.size, np.int64), new_stream()
    for doc in range(doc_ptr.size - 1):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        if begin == end:
            continue
        start(stream, key, doc)
        old: Any = np.int64(z[begin])
        own = alpha.rows[row_of(doc, alpha.row)]
        move(words[begin:end], old, -1, n_wk, n_k)
        for topic in range(n_topics):
            weights[topic] = math.log(own[topic]) if own[topic] > 0.0 else -np.inf
            weights[topic] -= log_pochhammer(n_k[topic] + beta_sum, end - begin)
        for word in words[begin:end]:
            for topic in range(n_topics):
                weights[topic] += math.log(n_wk[word, topic] + earlier[word] + beta[word])
            earlier[word] += 1
        for word in words[begin:end]:
            earlier[word] = 0
        if term.eta.shape[1] > 0:
            for topic in range(n_topics):
                weights[topic] += gain_of_document(doc, old, topic, end - begin, term)
        new: Any = categorical_in_log_space(stream, weights)
        new = new if new >= 0 else old
        z[begin:end] = new
        move(words[begin:end], new, 1, n_wk, n_k)


@compiled
def move(words: UInt32Array, topic: int, change: int, n_wk: Int32Array, n_k: IntArray) -> None:
    """Add the tokens of a document to a topic (change 1), or remove them (-1)."""
    for word in words:
        n_wk[word, topic] += change
    n_k[topic] += change * words.size


@kernel(
    "document_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "document_assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    cost="N * (10 + 9 * K) + D * K * (40 + 3 * C)",
    memory="8 * V + 50 * D * C",
    reference="Yin, Wang 2014, eq. 4",
)
def document_collapsed(binding: Binding) -> KernelFunctions:
    """Draw the topic of each document, sequential, theta and phi integrated out."""
    tokens, make_term = binding.tokens, term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        given = (state.n_wk, state.n_k, state.document_alpha, state.beta, make_term(state))
        draw_one_by_one(tokens.doc_ptr, tokens.words, state.z, *given, key)

    return KernelFunctions(step)
