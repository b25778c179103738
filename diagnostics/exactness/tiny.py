"""A model on a corpus so small that its posterior can be enumerated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ppl_topics.diagnostics.exactness.enumeration import token_counts
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.models.gamma import Gamma
from ppl_topics.run.bind import BoundModel, bind_tokens, index_tokens
from ppl_topics.schedule import Plan
from ppl_topics.spec import Model, Spec
from ppl_topics.state import ChainState

__all__ = ["TINY_DOCUMENTS", "TINY_WORDS", "TinyModel", "tiny_spec"]

TINY_DOCUMENTS: Sequence[Sequence[int]] = ((0, 0, 1), (0, 1), (), (2,))
"""A repeated word, documents that share words, an empty one, one of a single token of a word that occurs once."""

TINY_WORDS = 4
"""Vocabulary of the tiny corpus; its last word never occurs."""

ALPHA = (0.3, 0.8, 1.5)
BETA = (0.4, 1.1, 0.7, 0.3)


def tiny_spec(spec: Spec) -> Spec:
    """Return the model with 2 or 3 topics, its fixed concentrations asymmetric.

    Unequal concentrations show errors that equal ones hide, such as an index taken for another.
    """
    topics = 2 if any(isinstance(b, Gamma) and b.per == "topic" for b in spec.blocks.values()) else 3
    blocks = {}
    for name, block in spec.blocks.items():
        if isinstance(block, Dirichlet) and not isinstance(block.concentration, str):
            values = ALPHA[:topics] if block.over == "topic" else BETA
            block = block.model_copy(update={"concentration": list(values)})
        blocks[name] = block
    return replace(spec, blocks=blocks, topics=topics)


class TinyModel:
    """A plan bound to the tiny corpus, whose words may be changed in place.

    Parameters
    ----------
    plan : Plan
    documents : sequence of sequence of int
        Word ids.
    """

    def __init__(self, plan: Plan, documents: Sequence[Sequence[int]] = TINY_DOCUMENTS) -> None:
        doc_ptr, self._words = token_counts(documents)
        self.tokens = index_tokens(doc_ptr, self._words, TINY_WORDS)
        self.bound: BoundModel = bind_tokens(plan, self.tokens, TINY_WORDS)

    @property
    def model(self) -> Model:
        """The model."""
        return self.bound.model

    def prior(self, role: str) -> Gamma | None:
        """Return the gamma prior of a concentration, or None where it is fixed."""
        block = self.model.spec.blocks.get(self.model.names.get(role, ""))
        return block if isinstance(block, Gamma) else None

    def set_words(self, words: NDArray[np.integer]) -> None:
        """Replace the words of the tokens, and index them again."""
        self._words[:] = words
        fresh = index_tokens(self.tokens.doc_ptr, self._words, TINY_WORDS)
        self.tokens.word_ptr[:] = fresh.word_ptr
        self.tokens.by_word[:] = fresh.by_word

    def set_values(self, state: ChainState, values: Mapping[str, NDArray[np.floating]]) -> None:
        """Set the variables that the chain holds, given by role."""
        for role, value in values.items():
            name = self.model.names.get(role)
            if name in state.arrays:
                state.arrays[name][...] = value

    def conditional(self, state: ChainState, rng: np.random.Generator) -> dict[str, NDArray[np.floating]]:
        """Draw theta and phi from their laws given z, the words and the concentrations."""
        return {
            "theta": np.stack([rng.dirichlet(row) for row in state.n_dk + state.alpha]),
            "phi": np.stack([rng.dirichlet(column) for column in (state.n_wk + state.beta[:, None]).T], axis=1),
        }
