"""What responses add to each topic of a document, kept up to date as tokens move: Metropolis steps in O(1), not O(C).

With h_k = sum_c eta_ck (slope_dc - curvature_dc eta_ck / 2) and P_kl = sum_c curvature_dc eta_ck eta_cl, moving a token
from topic k to topic l changes the log density of the document's responses by

    h_l - h_k + P_kl - P_kk,

and then takes P_lj - P_kj from each h_j. A row of P is computed, in O(K C), when a token first leaves or enters its
topic. So a document of N tokens with K' topics, M steps a token, takes O(K' K C + N (M + K)), where to compute each
change takes O(N M C). That is less in long documents with many classes and few topics, and is done only there.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15, section 4.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics._util.compiled import compiled, inlined, tight
from ppl_topics.samplers.responses.response_term import ResponseTerm, follow_move, gain_of_move, gain_of_topic
from ppl_topics.samplers.variates.simd_categorical import Integer

__all__ = ["KeptGains", "begin_gains", "follow_kept", "gain_of_kept", "new_gains"]


MOST_TOPICS = 256
"""With more, P of a document would not stay in the cache."""

LEAST_RESPONSES = 8
"""With fewer, there is nothing to save."""

PAYS = 4
"""Gains are kept if this many times the steps of a document exceed the cells of P that it may need."""


class KeptGains(NamedTuple):
    """Memory of one parallel task, for the document that it is sweeping.

    Attributes
    ----------
    gain : ndarray of float64 of shape (K,)
        h_k.
    bend : ndarray of float64 of shape (K, K), or (0, 0)
        P_kl, in the rows that have been computed.
    row_of : ndarray of int64 of shape (K,)
        The document that each row was computed for.
    kept : ndarray of bool of shape (1,)
        Whether the gains of the present document are kept.
    """

    gain: FloatArray
    bend: FloatArray
    row_of: IntArray
    kept: BoolArray


@compiled
def new_gains(n_topics: int) -> KeptGains:
    """Allocate the memory of a task."""
    size = n_topics if n_topics <= MOST_TOPICS else 0
    row_of = np.full(n_topics, -1, np.int64)
    return KeptGains(np.empty(n_topics), np.empty((size, size)), row_of, np.zeros(1, np.bool_))


@inlined
def begin_gains(doc: int, n_tokens: int, steps: int, term: ResponseTerm, gains: KeptGains) -> None:
    """Compute the gains of a document, if that saves time in so many steps for each of its tokens."""
    n_topics = gains.gain.size
    pays = PAYS * n_tokens * steps > n_topics * min(n_topics, n_tokens)
    gains.kept[0] = pays and gains.bend.size > 0 and term.eta.shape[1] >= LEAST_RESPONSES
    if gains.kept[0]:
        set_gains(doc, term, gains.gain)


@tight
def set_gains(doc: int, term: ResponseTerm, gain: FloatArray) -> None:
    """Compute h_k of a document."""
    for topic in range(gain.size):
        gain[topic] = gain_of_topic(doc, topic, term.eta, term.slope, term.curvature)


@tight
def set_bend(doc: Integer, topic: Integer, term: ResponseTerm, row: FloatArray) -> None:
    """Compute P_kl of a document and one topic k, in four sums that run side by side."""
    eta, curvature = term.eta, term.curvature
    for other in range(row.size):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for c in range(0, eta.shape[1], 4):
            first += curvature[doc, c] * (eta[topic, c] * eta[other, c])
            second += curvature[doc, c + 1] * (eta[topic, c + 1] * eta[other, c + 1])
            third += curvature[doc, c + 2] * (eta[topic, c + 2] * eta[other, c + 2])
            fourth += curvature[doc, c + 3] * (eta[topic, c + 3] * eta[other, c + 3])
        row[other] = (first + second) + (third + fourth)


@inlined
def need_row(doc: Integer, topic: Integer, term: ResponseTerm, gains: KeptGains) -> None:
    """Compute a row of P that the document does not have yet."""
    if gains.row_of[topic] != doc:
        set_bend(doc, topic, term, gains.bend[topic])
        gains.row_of[topic] = doc


@inlined
def gain_of_kept(doc: Integer, old: Integer, new: Integer, term: ResponseTerm, gains: KeptGains) -> float:
    """Return the change of the log density if a token moves from one topic to another."""
    if not gains.kept[0]:
        return gain_of_move(doc, old, new, term)
    need_row(doc, old, term, gains)
    gain, bend = gains.gain, gains.bend
    change: float = gain[new] - gain[old] + bend[old, new] - bend[old, old]
    return change


@inlined
def follow_kept(doc: Integer, old: Integer, new: Integer, term: ResponseTerm, gains: KeptGains) -> None:
    """Update the gains, or else the slope, after a token has moved; `gain_of_kept` has computed the row of `old`."""
    if not gains.kept[0]:
        follow_move(doc, old, new, term)
        return
    need_row(doc, new, term, gains)
    gain, bend = gains.gain, gains.bend
    for topic in range(gain.size):
        gain[topic] -= bend[new, topic] - bend[old, topic]
