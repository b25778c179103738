"""The topic of each token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Assignments"]

CELLS_AT_ONCE = 2**20
"""Probabilities of tokens and topics that are in memory at a time."""


@block("assignments")
class Assignments(Block):
    """Topic assignments: z_i drawn from the topic weights of its document (Blei, Ng, Jordan 2003).

    With ``per: doc`` a document has one topic, drawn once from its weights, which all its tokens have: a mixture of
    unigrams (Nigam et al. 2000; Yin, Wang 2014), p(z_d = k | alpha) = alpha_k / sum of alpha.

    Attributes
    ----------
    prior : str
        Name of the block of topic weights.
    per : {"token", "doc"}
        What has a topic of its own.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"assignments", "features"})
    references: ClassVar[Mapping[str, str]] = {"prior": "topic_weights"}
    own_role: ClassVar[str | None] = "z"

    block: Literal["assignments"] = "assignments"
    prior: str
    per: Literal["token", "doc"] = "token"

    @property
    def whole_documents(self) -> bool:
        """Whether all tokens of a document have the same topic."""
        return self.per == "doc"

    def forms(self, blocks: Mapping[str, Block]) -> tuple[str, ...]:
        """Return ``assignments``; with one topic a document, ``document_assignments``."""
        own = ("document_assignments",) if self.whole_documents and self.kind == "assignments" else ()
        return (f"{self.kind}, per: doc", *own) if self.whole_documents else super().forms(blocks)

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``theta``."""
        return "theta"

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (token,)."""
        return ("token",)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> IntArray:
        """Draw the topic of each token given theta, or of each document."""
        theta = values["theta"]
        if self.whole_documents:
            return np.repeat(draw_rows(theta, rng), state.tokens.doc_lengths)
        docs = state.tokens.docs
        piece = max(1, CELLS_AT_ONCE // theta.shape[1])
        z = np.empty(len(docs), np.int64)
        for first in range(0, len(docs), piece):
            z[first : first + piece] = draw_rows(theta[docs[first : first + piece]], rng)
        return z


def draw_rows(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one category from each row of unnormalised probabilities."""
    cumulative = np.cumsum(probabilities, axis=1)
    uniforms = rng.random((len(probabilities), 1)) * cumulative[:, -1:]
    drawn: IntArray = (cumulative <= uniforms).sum(axis=1).clip(max=probabilities.shape[1] - 1)
    return drawn
