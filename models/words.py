"""The observed words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Words"]


@block("words")
class Words(Block):
    """Observed words: each drawn from the topic that its token is assigned to.

    Attributes
    ----------
    topics, assignments : str
        Names of the blocks of topics and of assignments.
    observed : {"words"}
        Field of the corpus that is observed.
    """

    references: ClassVar[Mapping[str, str]] = {"topics": "topics", "assignments": "assignments"}
    own_role: ClassVar[str | None] = "w"

    block: Literal["words"] = "words"
    topics: str
    assignments: str
    observed: Literal["words"] = "words"

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``phi`` for the topics, ``z`` for the assignments."""
        return {"topics": "phi", "assignments": "z"}[key]

    def forms(self, blocks: Mapping[str, Block]) -> tuple[str, ...]:
        """Return ``words``; where the topics are sparse, ``listed_words``."""
        return ("words, storage: sparse", "listed_words") if blocks[self.topics].sparse_storage else ("words",)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> IntArray:
        """Draw each token's word given phi (word-major) and z."""
        z = values["z"]
        uniforms, words = rng.random(len(z)), np.empty(len(z), np.int64)
        for topic in np.unique(z):
            # Without an array of tokens by words.
            tokens, cumulative = np.flatnonzero(z == topic), np.cumsum(values["phi"][:, topic])
            words[tokens] = np.searchsorted(cumulative, uniforms[tokens] * cumulative[-1], side="right")
        return words.clip(max=len(values["phi"]) - 1)
