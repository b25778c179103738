"""The doc-proposal: the topic of another token of the document, or a draw in proportion to alpha.

The proposal as printed in the papers draws from all tokens of the document, and corrects by counts that include the
one being moved, as if the way back would propose from the same counts; the chain then has the wrong distribution.
Drawn from the others, the proposal does not depend on the token, and cancels against the document's factor of the
target.

References
----------
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.3, the simplified proposal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, UInt16Array
from ppl_topics._util.compiled import compiled
from ppl_topics.core.proposal import TableInputs, Token
from ppl_topics.core.registry import proposal
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["DocTable", "doc", "draw_doc", "weigh_doc"]


class DocTable(NamedTuple):
    """The alias table of alpha.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
        What the table was built from.
    total : float
        Its sum.
    probability : ndarray of float32 of shape (K,)
    alias : ndarray of uint16 of shape (K,)
    """

    alpha: FloatArray
    total: float
    probability: Float32Array
    alias: UInt16Array


@compiled
def draw_doc(stream: Stream, table: DocTable, token: Token) -> int:
    """Draw a topic in proportion to n_dk^-i + alpha_k, in constant time."""
    n_others = token.topics.size - 1
    target = uniform(stream) * (n_others + table.total)
    if target < n_others:
        other = int(target)
        return int(token.topics[other + (other >= token.position)])
    return draw_alias(stream, table.probability, table.alias)


@compiled
def weigh_doc(topic: int, table: DocTable, token: Token) -> float:
    """Return n_dk^-i + alpha_k."""
    weight: float = token.counts[topic] + table.alpha[topic]
    return weight


@proposal(
    "doc",
    draw=draw_doc,
    weight=weigh_doc,
    exact_given=("phi", "counts"),
    reference="Magnusson et al. 2018, section 3.3; Yuan et al. 2015",
)
def doc(inputs: TableInputs, before: DocTable | None) -> DocTable:
    """The topic of another token of the document, or one drawn in proportion to alpha."""
    n_topics = inputs.alpha.size
    probability, alias = np.empty(n_topics, np.float32), np.empty(n_topics, np.uint16)
    total = build_alias(inputs.alpha, probability, alias, np.empty(n_topics, np.uint32))
    return DocTable(inputs.alpha, float(total), probability, alias)
