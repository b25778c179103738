"""Topics with seed words, which count as tokens of theirs before any of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.core.keyword_cells import with_tokens
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.models.dirichlet import draw_rows_of, mean_rows
from ppl_topics.models.keyword_topics import KeywordTopics

__all__ = ["Seeded"]


@block("seeded")
class Seeded(KeywordTopics):
    """Dirichlet topics of which some have seed words, with larger concentrations there.

    The concentration of a seed word in its topic is that of the word, and ``weight`` more: as if so many tokens of the
    word had been seen in the topic before. R's seededlda has such counts (Watanabe, Baturo 2024).

    Attributes
    ----------
    over : {"word"}
    per : {"topic"}
    concentration : float, {sum: float} or list of float
        Of each word in a topic, less the weight where it is a seed word.
    keywords : dict of str to list of str
        Names of the first topics, in order, and the seed words of each; ``terror*`` stands for all words that begin so.
    weight : int
        Tokens that a seed word counts for in its topic.

    References
    ----------
    K. Watanabe, A. Baturo (2024). Seeded sequential LDA: a semi-supervised algorithm for topic-specific analysis of
    sentences. Social Science Computer Review 42(1).
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        "keywords": {"first": ["0", "2"], "second": ["1", "0"]},
        "weight": 2,
    }

    block: Literal["seeded"] = "seeded"
    weight: int = pydantic.Field(default=10, ge=1, le=1_000_000)

    @property
    def tokens_of_keywords(self) -> int:
        """How many tokens a seed word counts for."""
        return self.weight

    def init(self, role: str, state: ChainState) -> Float32Array:
        """Return the mean of the topics given z."""
        with with_tokens(state, self.cells, self.weight):
            return mean_rows(state)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw phi from the prior, word-major."""
        concentrations = np.tile(values["beta"], (state.sizes.topics, 1))
        concentrations[self.cells.topics, self.cells.words] += self.weight
        return np.ascontiguousarray(draw_rows_of(concentrations, rng).T)
