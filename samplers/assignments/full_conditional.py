"""Gibbs sampling of topics from the full conditional with a response, in O(K C) a token: what the papers compare with.

The weight of a topic is that without the response, times exp(gain_k), what the topic adds to the density of the
responses of its document:

    gain_k = sum_c eta_ck (slope_dc + curvature_dc (eta_c,old - eta_ck / 2)),

with slope and curvature as in `ppl_topics.samplers.responses.response_term`, while the token is counted in topic old.
That holds for every response, where `gram_partially_collapsed` needs curvatures that documents or classes share. Other
kernels propose from the first factor and accept by the second: O(K + C) a token, or O(C) with alias tables.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15, equation 15.
J. Zhu, X. Zheng, B. Zhang (2013). Improved Bayesian logistic supervised topic models with data augmentation. ACL 2013,
equation 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined, specialised, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi, compile_sweep, prefetch_phi
from ppl_topics.samplers.assignments.light_collapsed import (
    AllGivenCounts,
    count_everywhere,
    in_document,
    weigh_by_counts,
)
from ppl_topics.samplers.assignments.light_partially_collapsed import count_topics, metropolis_hooks, weigh_given_phi
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.response_term import ResponseTerm, follow_move, term_of
from ppl_topics.samplers.variates.categorical import categorical_cumulated, categorical_in_log_space
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["full_collapsed_gibbs", "full_partially_collapsed"]


SAFE_TOTAL = 1e-280
"""Totals from here on have lost no more to underflow than to rounding."""


class FullScratch(NamedTuple):
    """Memory of one parallel task.

    Attributes
    ----------
    counts : ndarray of int64 of shape (K,)
        n_dk, without the token that is being drawn; all zero between documents.
    gain : ndarray of float64 of shape (K,)
        What each topic adds to the log density of the responses, but for a constant.
    sums : ndarray of float64 of shape (K,)
        Running sums of the weights.
    """

    counts: IntArray
    gain: FloatArray
    sums: FloatArray


@compiled
def new_scratch(task: int, given: Any, tables: Any) -> FullScratch:
    """Allocate the memory of a task."""
    n_topics = given.rows.shape[1]
    return FullScratch(np.zeros(n_topics, np.int64), np.zeros(n_topics), np.empty(n_topics))


@inlined
def begin_document(
    doc: int, topics: UnsignedArray, given: Any, tables: Any, term: ResponseTerm, scratch: FullScratch
) -> None:
    """Count the topics of a document."""
    count_topics(topics, scratch)


@tight
def set_gains(doc: int, old: int, by_response: FloatArray, term: ResponseTerm, gain: FloatArray) -> float:
    """Set what each topic adds to the log density of a document's responses, and return the largest."""
    for topic in range(gain.size):
        gain[topic] = 0.0
    for c in range(by_response.shape[0]):
        half = 0.5 * term.curvature[doc, c]
        slope = term.slope[doc, c] + 2.0 * half * by_response[c, old]
        for topic in range(gain.size):
            gain[topic] += by_response[c, topic] * (slope - half * by_response[c, topic])
    largest = -np.inf
    for topic in range(gain.size):
        largest = max(largest, gain[topic])
    return largest


weigh: Any = None


def draw(
    stream: Stream, token: Token, old: int, given: Any, tables: Any, term: ResponseTerm, scratch: FullScratch
) -> int:
    """Draw from the full conditional; a template, in which `weigh` is the weight without the response."""
    gain, sums = scratch.gain, scratch.sums
    responds, largest = term.eta.shape[1] > 0, 0.0
    if responds:
        largest = set_gains(token.doc, old, tables[0], term, gain)
    total = 0.0
    for topic in range(sums.size):
        total += weigh(topic, given, token) * math.exp(gain[topic] - largest)
        sums[topic] = total
    if SAFE_TOTAL < total < np.inf:
        new = categorical_cumulated(stream, sums, sums.size)
    else:
        for topic in range(sums.size):
            weight = weigh(topic, given, token)
            sums[topic] = math.log(weight) + gain[topic] if weight > 0.0 else -np.inf
        new = draw_in_log_space(stream, old, sums)
    if responds and new != old:
        follow_move(token.doc, old, new, term)
    return new


@compiled
def draw_in_log_space(stream: Stream, old: int, log_weights: FloatArray) -> int:
    """Draw from the logarithms of weights; if all weights are zero or one is not a number, keep the old topic."""
    for weight in log_weights:
        if not weight < np.inf:
            return old
    new = categorical_in_log_space(stream, log_weights)
    return new if new >= 0 else old


def compile_full_sweep(label: str, weigh: Callable[..., Any], **options: Any) -> Callable[..., None]:
    """Compile the sweep of Gibbs steps for given weights without the response."""
    step = specialised(draw, label, cached=True, in_line=True, counting=False, weigh=weigh)
    hooks = metropolis_hooks() | {"new_scratch": new_scratch, "begin_document": begin_document}
    return compile_sweep(label, step, **(hooks | options))


sweep_full_partially_collapsed = compile_full_sweep(
    "full_partially_collapsed", weigh_given_phi, look_ahead=prefetch_phi
)
sweep_full_collapsed_gibbs = compile_full_sweep(
    "full_collapsed_gibbs", weigh_by_counts, in_parallel=False, count=count_everywhere, in_document=in_document
)


def tables_of(term: ResponseTerm) -> tuple[FloatArray]:
    """Return the coefficients of the topics by response."""
    return (np.ascontiguousarray(term.eta.T),)


@kernel(
    "full_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    parallel_over="doc",
    distributes="doc",
    cost="N * (35 + 3.4 * K + 0.14 * K * C) + 0.3 * V * K",
    memory="4 * N + 50 * D * C",
    reference="Zheng et al. 2015, eq. 15, given phi",
)
def full_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Gibbs from the full conditional with a response: O(K C) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    by_document, make_term = tokens.by_document(words.mask(tokens.word_counts)), term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        given, term = AllGivenPhi.of(state.document_alpha, state.arrays[phi]), make_term(state)
        sweep_full_partially_collapsed(by_document, state.z, given, tables_of(term), term, key)
        recount(tokens, state)

    return KernelFunctions(step)


@kernel(
    "full_collapsed_gibbs",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    cost="N * (40 + 3.5 * K + 0.14 * K * C)",
    memory="50 * D * C",
    reference="Zheng et al. 2015, eq. 15; Zhu et al. 2013, eq. 9",
)
def full_collapsed_gibbs(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Gibbs from the full conditional with a response: O(K C) a token, sequential, theta and phi out."""
    tokens, make_term = binding.tokens, term_of(binding)
    one_task = tokens.by_document(words.mask(tokens.word_counts))._replace(chunk_ptr=np.array([0, binding.sizes.docs]))

    def step(state: ChainState, memory: None, key: Key) -> None:
        term = make_term(state)
        sweep_full_collapsed_gibbs(0, one_task, state.z, AllGivenCounts.of(state), tables_of(term), term, key)

    return KernelFunctions(step)
