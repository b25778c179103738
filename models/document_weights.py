"""What priors of topic weights share whose concentrations differ from document to document."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ppl_topics._util.arrays import Float32Array
from ppl_topics.core.block import Block
from ppl_topics.core.state import ChainState

__all__ = ["DocumentWeights"]


class DocumentWeights(Block):
    """Base of the priors of assignments whose rows each have concentrations of their own."""

    seams: ClassVar[frozenset[str]] = frozenset({"topic_weights"})
    handled_as: ClassVar[frozenset[str]] = frozenset({"document_alpha"})

    over: Literal["topic"] = "topic"
    per: Literal["doc"] = "doc"
    integrate_out: bool = False

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        return None if role == "theta" else "it must be the prior of assignments"

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (doc, topic)."""
        return ("doc", "topic")

    @property
    def integrated_out(self) -> bool:
        """Whether the model never holds it."""
        return self.integrate_out

    def init(self, role: str, state: ChainState) -> Float32Array:
        """Return the mean of the rows given z."""
        rows = state.drawn_dk + state.document_alpha.by_doc
        return np.ascontiguousarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32)
