"""Partially collapsed Gibbs sampling from the full conditional with a response, in O(K) a token however many classes.

Where the curvatures of the responses of a document are omega_dc = u_d v_c, what the responses add to the conditional
of a token's topic depends on the classes only through G = sum_c v_c eta_c eta_c' and h_d = sum_c eta_c b_dc:

    log p(z_i = k) = log(n_dk^-i + alpha_k) + log phi_kw + h_dk / N_d - u_d (G_kk / 2 + (G n_d^-i)_k) / N_d^2.

G n_d is kept up to date as tokens move, in O(K) a move. A document of which some targets are known and others missing
has no such factors; its tokens are drawn from the same distribution in O(K C).

References
----------
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.counts import count_words
from ppl_topics.samplers.assignments.partially_collapsed import count_document
from ppl_topics.samplers.responses.curvature import Curvature, bend, curvature_of, omega_of
from ppl_topics.samplers.responses.response_term import ResponseTerm, term_of
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import SAFE_TOTAL, find_striped, new_sums
from ppl_topics.samplers.variates.simd_exponential_weights import cumulate_tilted
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["gram_partially_collapsed", "sweep_gram_partially_collapsed"]


MOST_BENT = 32.0
"""Of u_d G_kl / N_d^2: what float32 holds to six digits, and whose exponential it holds with room to spare."""

MOST_DRIFT = 16.0
"""By which the largest log weight may have changed before the others are taken relative to it again."""


@parallel
def sweep_gram_partially_collapsed(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    alpha: FloatArray,
    phi: Float32Array,
    term: ResponseTerm,
    curvature: Curvature,
    key: Key,
) -> None:
    """Draw the topic of every token from its full conditional given the topics and the responses.

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
    term : ResponseTerm
        Read only.
    curvature : Curvature
    key : Key
        Of the random streams, one for each document.
    """
    largest = 0.0
    for topic in range(alpha.size):
        largest = max(largest, curvature.gram[topic, topic])
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
            term,
            curvature,
            largest,
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
    term: ResponseTerm,
    curvature: Curvature,
    largest: float,
    key: Key,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_gram_partially_collapsed`).

    No entry of G is larger than `largest`, that of its diagonal.
    """
    n_topics, n_tokens = alpha.size, words.size
    stream = new_stream()
    in_doc, weight = np.empty(n_topics, np.int32), np.empty(n_topics, np.float32)
    gain, tilt, log_weights = np.empty(n_topics), np.empty(n_topics, np.float32), np.empty(n_topics)
    sums = new_sums(n_topics)
    gram, rounded = curvature.gram, curvature.rounded
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        start(stream, key, doc)
        count_document(begin, end, z, alpha, in_doc, weight)
        scale = curvature.scale[doc]
        most = scale * largest
        # False for what is not a number.
        quick = most <= MOST_BENT
        set_gains(doc, term, curvature, gain)
        shift, drift = set_tilts(gain, tilt), 0.0
        for token in range(begin, end):
            prefetch_row(phi, np.int64(words[min(token + AHEAD, n_tokens - 1)]))
            word: Any = np.int64(words[token])
            if not selected[word]:
                continue
            old: Any = np.int64(z[token])
            in_doc[old] -= 1
            weight[old] = in_doc[old] + alpha[old]
            total = np.float32(0.0)
            if quick:
                total = cumulate_tilted(weight, phi, word, tilt, rounded, old, scale, sums)
            if total >= SAFE_TOTAL:
                new = find_striped(sums, n_topics, uniform(stream) * total)
            else:
                new = draw_in_logs(stream, doc, old, word, in_doc, alpha, phi, gain, term, curvature, log_weights)
            z[token] = new
            in_doc[new] += 1
            weight[new] = in_doc[new] + alpha[new]
            if new == old:
                continue
            if quick:
                for topic in range(n_topics):
                    gain[topic] -= scale * (gram[new, topic] - gram[old, topic])
                    tilt[topic] = gain[topic] - shift
                # No gain has changed by more.
                drift += 2.0 * most
                if drift > MOST_DRIFT:
                    shift, drift = set_tilts(gain, tilt), 0.0
            else:
                for topic in range(n_topics):
                    gain[topic] -= bend(doc, new, topic, term, curvature) - bend(doc, old, topic, term, curvature)


@tight
def set_gains(doc: int, term: ResponseTerm, curvature: Curvature, gain: FloatArray) -> None:
    """Set what one more token in each topic would add to the log density of a document's responses.

    For a token of the document, in topic k, what `bend` gives for k and each topic comes on top.
    """
    for topic in range(gain.size):
        gain[topic] = -0.5 * bend(doc, topic, topic, term, curvature)
    for c in range(term.eta.shape[1]):
        slope = term.slope[doc, c]
        for topic in range(gain.size):
            gain[topic] += slope * curvature.by_response[c, topic]


@tight
def set_tilts(gain: FloatArray, tilt: Float32Array) -> float:
    """Set the gains relative to the largest, in float32, and return that one."""
    shift = gain[0]
    for topic in range(1, gain.size):
        shift = max(shift, gain[topic])
    for topic in range(gain.size):
        tilt[topic] = gain[topic] - shift
    return shift  # type: ignore[no-any-return]


@compiled
def draw_in_logs(
    stream: Stream,
    doc: int,
    old: int,
    word: int,
    in_doc: Int32Array,
    alpha: FloatArray,
    phi: Float32Array,
    gain: FloatArray,
    term: ResponseTerm,
    curvature: Curvature,
    log_weights: FloatArray,
) -> int:
    """Draw a topic from the logarithms of its weights; where all are zero, or one is not a number, keep the topic.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    doc, old, word : int
        The token's; `old` is its topic.
    in_doc : ndarray of int32 of shape (K,)
        Topics of the document's other tokens.
    alpha : ndarray of float64 of shape (K,)
    phi : ndarray of float32 of shape (V, K)
    gain : ndarray of float64 of shape (K,)
        From `set_gains`.
    term : ResponseTerm
    curvature : Curvature
    log_weights : ndarray of float64 of shape (K,)
        Overwritten.
    """
    for topic in range(alpha.size):
        log_weights[topic] = -np.inf
        if phi[word, topic] > 0.0:
            prior = math.log(in_doc[topic] + alpha[topic]) + math.log(phi[word, topic])
            log_weights[topic] = prior + gain[topic] + bend(doc, old, topic, term, curvature)
            if not log_weights[topic] < np.inf:
                return old
    new = categorical_in_log_space(stream, log_weights)
    return new if new >= 0 else old


@kernel(
    "gram_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "shared_curvature"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * (52 + 0.85 * K) + 0.3 * V * K + D * C * (34 + 0.04 * K) + K * K * C",
    memory="4 * N + 50 * D * C + 12 * K * K",
    reference="Magnusson, Jonsson, Villani 2020, section 3",
)
def gram_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs with a response: O(K) a token for any number of classes, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    make_term, make_omega = term_of(binding), omega_of(binding)
    lengths, n_topics = tokens.doc_lengths, binding.sizes.topics

    def step(state: ChainState, memory: None, key: Key) -> None:
        term = make_term(state)
        eta = term.eta if len(term.eta) else np.zeros((n_topics, 0))
        sweep_gram_partially_collapsed(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            state.alpha,
            state.arrays[phi],
            term,
            curvature_of(eta, make_omega(state), lengths),
            key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)

    return KernelFunctions(step)
