"""What a response adds to the conditional of a token's topic, and the Metropolis step that accounts for it.

With delta_c = eta_c,new - eta_c,old, and m_dc the sum of eta_c over the document's tokens (N_d times the linear
predictor), moving one token changes the log density of the document's responses by

    sum_c delta_c (slope_dc - curvature_dc delta_c / 2),  slope_dc = (b_dc - omega_dc m_dc / N_d) / N_d,
                                                          curvature_dc = omega_dc / N_d^2,

where m_dc still includes the token. So if a kernel can draw a topic from the conditional without the response, that
draw is a proposal which does not depend on the current topic, and is accepted with probability min(1, exp(change)):
O(C) a token, where a draw from the full conditional takes O(C K).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import Share
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.samplers.responses.features import features_of, scores
from ppl_topics.samplers.variates.simd_categorical import Integer
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = [
    "NO_RESPONSE",
    "ResponseTerm",
    "acceptance",
    "accepts",
    "follow_move",
    "gain_of_document",
    "gain_of_move",
    "gain_of_topic",
    "new_term",
    "side_by_side",
    "term_of",
    "topic_coefficients",
]


LANES = 4
"""Responses are padded with zeros to a multiple of this, the number of sums that are computed at once."""


class ResponseTerm(NamedTuple):
    """The quadratic form of all documents' responses, given their augmentation.

    Attributes
    ----------
    eta : ndarray of float64 of shape (K, C')
        Coefficients of the topics; C' is C rounded up to a multiple of 4, with zeros, or 0 without a response.
    slope, curvature : ndarray of float64 of shape (D, C')
        The slope is kept up to date by `accepts`.
    rejected : ndarray of int32 of shape (D,)
        Moves of each document's tokens that were not accepted.
    """

    eta: FloatArray
    slope: FloatArray
    curvature: FloatArray
    rejected: Int32Array


NO_RESPONSE = ResponseTerm(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, np.int32))


@inlined
def accepts(stream: Stream, doc: Integer, old: Integer, new: Integer, term: ResponseTerm) -> bool:
    """Return whether the move of a token to another topic is accepted, and if so update the slope."""
    gain = gain_of_move(doc, old, new, term)
    # Written so that NaN is not accepted.
    accepted = gain >= 0.0 or uniform(stream) < math.exp(gain)
    if accepted:
        follow_move(doc, old, new, term)
    else:
        term.rejected[doc] += 1
    return accepted


@inlined
def gain_of_move(doc: Integer, old: Integer, new: Integer, term: ResponseTerm) -> float:
    """Return sum_c delta_c (slope_dc - curvature_dc delta_c / 2), the change of the log density."""
    eta, slope, curvature = term.eta, term.slope, term.curvature
    # Four sums at once.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for c in range(0, eta.shape[1], 4):
        d0, d1 = eta[new, c] - eta[old, c], eta[new, c + 1] - eta[old, c + 1]
        d2, d3 = eta[new, c + 2] - eta[old, c + 2], eta[new, c + 3] - eta[old, c + 3]
        first += d0 * (slope[doc, c] - 0.5 * curvature[doc, c] * d0)
        second += d1 * (slope[doc, c + 1] - 0.5 * curvature[doc, c + 1] * d1)
        third += d2 * (slope[doc, c + 2] - 0.5 * curvature[doc, c + 2] * d2)
        fourth += d3 * (slope[doc, c + 3] - 0.5 * curvature[doc, c + 3] * d3)
    return (first + second) + (third + fourth)


@inlined
def gain_of_topic(doc: Integer, topic: Integer, eta: FloatArray, slope: FloatArray, curvature: FloatArray) -> float:
    """Return sum_c eta_ck (slope_dc - curvature_dc eta_ck / 2)."""
    # Four sums at once.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for c in range(0, eta.shape[1], 4):
        e0, e1, e2, e3 = eta[topic, c], eta[topic, c + 1], eta[topic, c + 2], eta[topic, c + 3]
        first += e0 * (slope[doc, c] - 0.5 * curvature[doc, c] * e0)
        second += e1 * (slope[doc, c + 1] - 0.5 * curvature[doc, c + 1] * e1)
        third += e2 * (slope[doc, c + 2] - 0.5 * curvature[doc, c + 2] * e2)
        fourth += e3 * (slope[doc, c + 3] - 0.5 * curvature[doc, c + 3] * e3)
    return (first + second) + (third + fourth)


@inlined
def gain_of_document(doc: Integer, old: Integer, new: Integer, n_tokens: Integer, term: ResponseTerm) -> float:
    """Return the change of the log density if all tokens of a document move from one topic to another.

    That is sum_c N_d delta_c (slope_dc - curvature_dc N_d delta_c / 2).
    """
    gain = 0.0
    for c in range(term.eta.shape[1]):
        delta = n_tokens * (term.eta[new, c] - term.eta[old, c])
        gain += delta * (term.slope[doc, c] - 0.5 * term.curvature[doc, c] * delta)
    return gain


@inlined
def follow_move(doc: Integer, old: Integer, new: Integer, term: ResponseTerm) -> None:
    """Update the slope after a token has moved."""
    for c in range(term.eta.shape[1]):
        term.slope[doc, c] -= term.curvature[doc, c] * (term.eta[new, c] - term.eta[old, c])


def new_term(eta: FloatArray, b: FloatArray, omega: FloatArray, fitted: FloatArray, lengths: IntArray) -> ResponseTerm:
    """Return the term of coefficients of shape (C, K), and b, omega and linear predictors of shape (D, C)."""
    n_docs, size = b.shape
    width = -(-size // LANES) * LANES
    tokens = np.maximum(lengths, 1)[:, None]
    padded = ResponseTerm(
        np.zeros((eta.shape[1], width)),
        np.zeros((n_docs, width)),
        np.zeros((n_docs, width)),
        np.zeros(n_docs, np.int32),
    )
    padded.eta[:, :size] = eta.T
    padded.slope[:, :size] = (b - omega * fitted) / tokens
    padded.curvature[:, :size] = omega / tokens**2
    return padded


def topic_coefficients(eta: FloatArray, sizes: Sizes) -> FloatArray:
    """Return the coefficients of all topics, shape (C, K); zeros for topics that are not supervised."""
    result = np.zeros((len(eta), sizes.topics))
    result[:, : sizes.supervised] = eta[:, : sizes.supervised]
    return result


def term_of(binding: Binding) -> Callable[[ChainState], ResponseTerm]:
    """Return a function that computes the term of a state, of several responses together.

    It is `NO_RESPONSE` if the model has none.
    """
    if not binding.alone and binding.response is None:
        return lambda state: NO_RESPONSE
    lengths, quadratics = binding.tokens.doc_lengths, [_quadratic(each) for each in binding.alone or (binding,)]

    def term(state: ChainState) -> ResponseTerm:
        eta, b, omega, fitted = side_by_side([quadratic(state) for quadratic in quadratics])
        return new_term(eta, b, omega, fitted, lengths)

    return term


def _quadratic(binding: Binding) -> Callable[[ChainState], tuple[FloatArray, ...]]:
    """Return a function that computes eta, shape (C, K), b, omega and the linear predictors, shape (D, C), of one."""
    response, names, tokens, sizes = binding.response, binding.names, binding.tokens, binding.sizes
    assert response is not None, "no response"

    def quadratic(state: ChainState) -> tuple[FloatArray, ...]:
        seen = binding.seen(state)
        eta, observed = seen.arrays[names["eta"]], seen.observed
        assert observed is not None
        fitted = scores(features_of(tokens, seen.z, sizes.supervised, observed.design), eta)
        b, omega = response.at(seen.arrays).potential(observed.targets, seen.arrays[names["augmentation"]])
        return topic_coefficients(eta, sizes), b, omega, fitted

    return quadratic


def side_by_side(each: Sequence[tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]:
    """Put coefficients, shape (C, K), and arrays of shape (D, C) of several responses side by side."""
    if len(each) == 1:
        return each[0]
    eta, *others = zip(*each, strict=True)
    return np.concatenate(eta), *(np.concatenate(other, axis=1) for other in others)


def acceptance(term: ResponseTerm, n_tokens: int) -> dict[str, float] | None:
    """Return the share of tokens whose draw was accepted, as kernels report it; None without a response, or tokens."""
    if not len(term.rejected) or not n_tokens:
        return None
    return {"acceptance_rate": Share(n_tokens - int(term.rejected.sum()), n_tokens)}
