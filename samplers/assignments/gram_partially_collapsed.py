"""Partially collapsed Gibbs sampling from the full conditional with a response, in O(K) a token however many classes.

Where the curvatures of the responses of a document are omega_dc = u_d v_c, what the responses add to the conditional
of a token's topic depends on the classes only through G = sum_c v_c eta_c eta_c' and h_d = sum_c eta_c b_dc:

    log p(z_i = k) = log(n_dk^-i + alpha_k) + log phi_kw + h_dk / N_d - u_d (G_kk / 2 + (G n_d^-i)_k) / N_d^2.

G n_d is kept up to date as tokens move, in O(K) a move. A document with some known and some missing targets has no
such factors; its tokens are drawn from the same distribution in O(K C).

References
----------
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, section 3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi, GivenPhi, compile_sweep, count_document, prefetch_phi
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.curvature import Curvature, bend, curvature_of, omega_of
from ppl_topics.samplers.responses.response_term import ResponseTerm, term_of
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.remainder import draw_rest
from ppl_topics.samplers.variates.simd import unlikely
from ppl_topics.samplers.variates.simd_categorical import Real, draw_cell, is_safe, new_sums
from ppl_topics.samplers.variates.simd_exponential_weights import running_sums_of_exponentials
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["gram_partially_collapsed", "sweep_gram_partially_collapsed"]


MOST_BENT = 32.0
"""Largest u_d G_kl / N_d^2 for which weights are computed in float32: six digits, no overflow of the exponential."""

ROUNDINGS = 512
"""Roundings that are as many as the error of a weight: that of its exponent, which is below 100, in float32."""

MOST_DRIFT = 16.0
"""How far a gain may have moved before the largest is looked for again."""


class GramScratch(NamedTuple):
    """Memory of one parallel task; the first three arrays as in `ppl_topics.samplers.assignments.given_phi.Scratch`.

    Attributes
    ----------
    counts, weight, sums : ndarray
    gain : ndarray of float64 of shape (K,)
        What one more token in each topic adds to the log density of the responses; for a token of the document, in
        topic k, what `bend` gives for k and each topic is to be added.
    tilt : ndarray of float32 of shape (K,)
        The gains less `shift`.
    log_weights : ndarray of float64 of shape (K,)
    shift : ndarray of float64 of shape (1,)
        The largest gain when it was last looked for.
    drift : ndarray of float64 of shape (1,)
        Bound of the change of any gain since then.
    largest : float
        The largest entry of the diagonal of G, which no entry exceeds.
    """

    counts: Int32Array
    weight: Float32Array
    sums: Float32Array
    gain: FloatArray
    tilt: Float32Array
    log_weights: FloatArray
    shift: FloatArray
    drift: FloatArray
    largest: float


@compiled
def new_scratch(task: int, given: AllGivenPhi, curvature: Curvature) -> GramScratch:
    """Allocate the memory of a task."""
    n_topics, largest = given.rows.shape[1], 0.0
    for topic in range(n_topics):
        largest = max(largest, curvature.gram[topic, topic])
    counts, weight, sums = np.empty(n_topics, np.int32), np.empty(n_topics, np.float32), new_sums(n_topics)
    gain, tilt, log_weights = np.empty(n_topics), np.empty(n_topics, np.float32), np.empty(n_topics)
    return GramScratch(counts, weight, sums, gain, tilt, log_weights, np.empty(1), np.empty(1), largest)


@inlined
def begin_document(
    doc: int,
    topics: UnsignedArray,
    given: GivenPhi,
    curvature: Curvature,
    term: ResponseTerm,
    scratch: GramScratch,
) -> None:
    """Count the topics of a document, and compute what each topic adds to its responses."""
    count_document(topics, given.alpha, scratch.counts, scratch.weight)
    set_gains(doc, term, curvature, scratch.gain)
    set_tilts(scratch)


@tight
def set_gains(doc: int, term: ResponseTerm, curvature: Curvature, gain: FloatArray) -> None:
    """Set gain_k = sum_c slope_dc eta_ck - (curvature between k and itself) / 2."""
    for topic in range(gain.size):
        gain[topic] = -0.5 * bend(doc, topic, topic, term, curvature)
    for c in range(term.eta.shape[1]):
        slope = term.slope[doc, c]
        for topic in range(gain.size):
            gain[topic] += slope * curvature.by_response[c, topic]


@tight
def set_tilts(scratch: GramScratch) -> None:
    """Set the gains relative to the largest, in float32."""
    gain, tilt = scratch.gain, scratch.tilt
    shift = gain[0]
    for topic in range(1, gain.size):
        shift = max(shift, gain[topic])
    for topic in range(gain.size):
        tilt[topic] = gain[topic] - shift
    scratch.shift[0], scratch.drift[0] = shift, 0.0


@inlined
def draw(
    stream: Stream,
    token: Token,
    old: int,
    given: GivenPhi,
    curvature: Curvature,
    term: ResponseTerm,
    scratch: GramScratch,
) -> Any:
    """Draw from p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw exp(gain_k + u_d G_k,old / N_d^2)."""
    weight, tilt, sums = scratch.weight, scratch.tilt, scratch.sums
    scale, total = curvature.scale[token.doc], np.float32(0.0)
    # False for what is not a number.
    if scale * scratch.largest <= MOST_BENT:
        total = running_sums_of_exponentials(weight, given.phi, token.word, tilt, curvature.rounded, old, scale, sums)
    new = draw_cell(stream, sums, weight.size, total, ROUNDINGS)
    if unlikely(new < 0):
        new = draw_in_float64(stream, token, old, total, given, (curvature, term), scratch)
    return new


@compiled
def draw_in_float64(
    stream: Stream,
    token: Token,
    old: int,
    total: Real,
    given: GivenPhi,
    responses: tuple[Curvature, ResponseTerm],
    scratch: GramScratch,
) -> int:
    """Draw a topic after `draw_cell` has not settled it."""
    curvature, term = responses
    if not is_safe(total):
        return draw_in_log_space(stream, token, old, given, curvature, term, scratch)
    weights = np.empty(given.alpha.size)
    for topic in range(weights.size):
        prior = (token.counts[topic] + given.alpha[topic]) * given.phi[token.word, topic]
        gain = scratch.gain[topic] - scratch.shift[0] + bend(token.doc, old, topic, term, curvature)
        weights[topic] = prior * math.exp(gain)
    return draw_rest(stream, weights, scratch.sums, total, False, ROUNDINGS)


@compiled
def draw_in_log_space(
    stream: Stream,
    token: Token,
    old: int,
    given: GivenPhi,
    curvature: Curvature,
    term: ResponseTerm,
    scratch: GramScratch,
) -> int:
    """Draw from the logarithms of the weights; if all weights are zero or one is not a number, keep the old topic."""
    alpha, phi, word, log_weights = given.alpha, given.phi, token.word, scratch.log_weights
    for topic in range(alpha.size):
        log_weights[topic] = -np.inf
        if phi[word, topic] > 0.0:
            prior = math.log(token.counts[topic] + alpha[topic]) + math.log(phi[word, topic])
            log_weights[topic] = prior + scratch.gain[topic] + bend(token.doc, old, topic, term, curvature)
            if not log_weights[topic] < np.inf:
                return old
    new = categorical_in_log_space(stream, log_weights)
    return new if new >= 0 else old


@inlined
def follow(
    token: Token,
    old: int,
    new: int,
    given: GivenPhi,
    curvature: Curvature,
    term: ResponseTerm,
    scratch: GramScratch,
) -> None:
    """Update the gains: G n_d has changed by the rows of the new topic and the old one."""
    if new == old:
        return
    gain, tilt, gram = scratch.gain, scratch.tilt, curvature.gram
    scale, shift = curvature.scale[token.doc], scratch.shift[0]
    most = scale * scratch.largest
    if most <= MOST_BENT:
        for topic in range(gain.size):
            gain[topic] -= scale * (gram[new, topic] - gram[old, topic])
            tilt[topic] = gain[topic] - shift
        # No gain has changed by more.
        scratch.drift[0] += 2.0 * most
        if scratch.drift[0] > MOST_DRIFT:
            set_tilts(scratch)
    else:
        for topic in range(gain.size):
            gain[topic] -= bend(token.doc, new, topic, term, curvature) - bend(token.doc, old, topic, term, curvature)


sweep_gram_partially_collapsed = compile_sweep(
    "gram_partially_collapsed",
    draw,
    PROPOSES=False,
    new_scratch=new_scratch,
    begin_document=begin_document,
    look_ahead=prefetch_phi,
    follow=follow,
)


@kernel(
    "gram_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "shared_curvature"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="N * (52 + 0.85 * K) + 0.3 * V * K + D * C * (34 + 0.04 * K) + K * K * C",
    memory="4 * N + 50 * D * C + 12 * K * K",
    reference="Magnusson, Jonsson, Villani 2020, section 3",
)
def gram_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs with a response: O(K) a token for any number of classes, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    by_document, lengths = tokens.by_document(words.mask(tokens.word_counts)), tokens.doc_lengths
    make_term, make_omega = term_of(binding), omega_of(binding)
    n_topics = binding.sizes.topics

    def step(state: ChainState, memory: None, key: Key) -> None:
        given, term = AllGivenPhi.of(state.document_alpha, state.arrays[phi]), make_term(state)
        eta = term.eta if len(term.eta) else np.zeros((n_topics, 0))
        curvature = curvature_of(eta, make_omega(state), lengths)
        sweep_gram_partially_collapsed(by_document, state.z, given, curvature, term, key)
        recount(tokens, state)

    return KernelFunctions(step)
