"""The exp-proposal: a topic in proportion to what it adds to the document's responses, from an alias table for each.

The factor of the responses depends on a topic through its coefficients eta_k alone, beside the linear predictor of the
document. With that predictor frozen, it is a distribution that all tokens of the document share:

    q_d(k) is proportional to exp(sum_c eta_kc (slope_dc - curvature_dc eta_kc / 2)),

with slope and curvature as in `ppl_topics.samplers.responses.response_term`. The paper freezes the predictor at its
value when the table is built. That value depends on the topics to be drawn, so the chain would be only close to the
posterior. Here it is the prior mean, sum_k alpha_k eta_kc / sum_k alpha_k plus the part of the fixed features: it does
not depend on the topics, so the proposal is exact.

A document's table is built when its first draw needs it. Documents of a chunk are swept one after another, so one row
for each chunk is enough.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15, equation 21, corrected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt16Array
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.core.proposal import TableInputs, Token
from ppl_topics.core.registry import proposal
from ppl_topics.errors import SpecError
from ppl_topics.samplers.responses.response_term import gain_of_topic
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["ExpTable", "draw_exp", "exp", "weigh_exp"]


LEAST = -80.0
"""Least log weight of a topic, the largest being 0: each can be proposed, and none underflows in float32."""


class ExpTable(NamedTuple):
    """An alias table for one document of each chunk.

    Attributes
    ----------
    eta : ndarray of float64 of shape (K, C')
    slope, curvature : ndarray of float64 of shape (D, C')
        What the tables are built from; C' is a multiple of 4.
    chunk : ndarray of int32 of shape (D,)
        Which chunk each document belongs to.
    built : ndarray of int64 of shape (chunks,)
        The document of each chunk's table; -1 if there is none yet.
    weight : ndarray of float64 of shape (chunks, K)
        The largest is 1.
    probability : ndarray of float32 of shape (chunks, K)
    alias : ndarray of uint16 of shape (chunks, K)
    scratch : ndarray of uint16 of shape (chunks, K)
    """

    eta: FloatArray
    slope: FloatArray
    curvature: FloatArray
    chunk: Int32Array
    built: IntArray
    weight: FloatArray
    probability: Float32Array
    alias: UInt16Array
    scratch: UInt16Array


@tight
def build_table(row: int, doc: int, table: ExpTable) -> None:
    """Build the table of a document in O(K C)."""
    eta, weight = table.eta, table.weight
    largest = -np.inf
    for topic in range(eta.shape[0]):
        weight[row, topic] = gain_of_topic(doc, topic, eta, table.slope, table.curvature)
        largest = max(largest, weight[row, topic])
    for topic in range(eta.shape[0]):
        weight[row, topic] = math.exp(max(weight[row, topic] - largest, LEAST))
    build_alias(weight[row], table.probability[row], table.alias[row], table.scratch[row])
    table.built[row] = doc


@inlined
def row_of(doc: int, table: ExpTable) -> int:
    """Return the row of a document's table, which is built if the row has another's."""
    row = int(table.chunk[doc])
    if table.built[row] != doc:
        build_table(row, doc, table)
    return row


@tight
def draw_exp(stream: Stream, table: ExpTable, token: Token) -> int:
    """Draw a topic from the document's table, in constant time."""
    row = row_of(token.doc, table)
    return draw_alias(stream, table.probability[row], table.alias[row])


@tight
def weigh_exp(topic: int, table: ExpTable, token: Token) -> float:
    """Return the weight of a topic in the document's table."""
    weight: float = table.weight[row_of(token.doc, table), topic]
    return weight


@proposal(
    "exp",
    draw=draw_exp,
    weight=weigh_exp,
    exact_given=("phi", "counts"),
    reference="Zheng et al. 2015, eq. 21, corrected",
)
def exp(inputs: TableInputs, before: ExpTable | None) -> ExpTable:
    """A topic in proportion to what it adds to the responses of the document; only for models with a response."""
    if inputs.response is None:
        raise SpecError("proposal 'exp' proposes by the response, and the model has none; use 'doc' and 'word'")
    eta, slope, curvature = inputs.response()
    n_chunks, n_topics = len(inputs.chunk_ptr) - 1, len(inputs.alpha)
    if before is None:
        shape = (n_chunks, n_topics)
        chunk = np.repeat(np.arange(n_chunks, dtype=np.int32), np.diff(inputs.chunk_ptr))
        built, weight = np.empty(n_chunks, np.int64), np.empty(shape)
        probability = np.empty(shape, np.float32)
        alias, scratch = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
    else:
        _, _, _, chunk, built, weight, probability, alias, scratch = before
    built[:] = -1
    return ExpTable(eta, slope, curvature, chunk, built, weight, probability, alias, scratch)
