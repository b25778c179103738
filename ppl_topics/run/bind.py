"""A plan bound to a corpus: token indexes, fixed concentrations, starting values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics.corpus import Corpus
from ppl_topics.declarations import Binding, Block
from ppl_topics.errors import RunError, SpecError
from ppl_topics.samplers.assignments.counts import count_tokens, make_chunks, point_to_words, sort_by_word
from ppl_topics.samplers.assignments.initial import draw_uniform
from ppl_topics.schedule import Plan
from ppl_topics.spec import Model
from ppl_topics.state import ChainState, Key, Sizes, Tokens, topic_dtype

__all__ = ["INITIAL", "BoundModel", "bind", "bind_tokens", "index_tokens"]

DOC_CHUNKS = 256
"""Pieces that parallel loops over documents are cut into; fixed, so that threads share the work evenly."""

INITIAL = 2**40
"""Number of the starting values' random streams, beyond that of any kernel."""


@dataclass(frozen=True)
class BoundModel:
    """A plan and the data that it will run on.

    Attributes
    ----------
    plan : Plan
    sizes : Sizes
    tokens : Tokens
    concentrations : dict
        By role, a fixed vector or the name of a variable.
    """

    plan: Plan
    sizes: Sizes
    tokens: Tokens
    concentrations: Mapping[str, NDArray[np.float64] | str]

    @property
    def model(self) -> Model:
        """The model."""
        return self.plan.model

    def binding(self, target: str) -> Binding:
        """Return what a kernel on ``target`` gets to see."""
        return Binding(target, self.model.names, self.model.spec.blocks, self.sizes, self.tokens)

    def block(self, name: str) -> Block:
        """Return the block of a variable."""
        return self.model.spec.blocks[name]

    def empty_state(self) -> ChainState:
        """Return a state whose tokens are all in topic 0 and that holds no other variable."""
        _docs, words, topics, tokens = self.sizes
        z = np.zeros(tokens, dtype=topic_dtype(topics))
        n_wk = np.zeros((words, topics), dtype=np.int32)
        state = ChainState(self.tokens, self.sizes, z, n_wk, np.zeros(topics, dtype=np.int64), {}, self.concentrations)
        count_tokens(self.tokens.words, z, n_wk, state.n_k)
        return state

    def initial_state(self, seed: int, chain: int) -> ChainState:
        """Return a state with uniformly drawn topics, and each other variable at its block's starting value."""
        state = self.empty_state()
        key = Key(seed, chain, 0, INITIAL)
        draw_uniform(self.tokens.chunk_ptr, self.tokens.doc_ptr, state.z, self.sizes.topics, *key)
        count_tokens(self.tokens.words, state.z, state.n_wk, state.n_k)
        self.fill(state)
        return state

    def fill(self, state: ChainState) -> None:
        """Give every latent variable but z its starting value, concentrations before what depends on them."""
        latent = [v for v in self.model.latent.values() if v.role != "z"]
        for variable in sorted(latent, key=lambda v: v.role in ("theta", "phi")):
            value = self.block(variable.name).init(variable.role, state)
            if value is None:
                raise RunError(f"block {variable.name!r} gives {variable.name} no starting value")
            state.arrays[variable.name] = value


def index_tokens(doc_ptr: NDArray[np.int64], words: NDArray[np.uint32], n_words: int) -> Tokens:
    """Count the tokens of each word of a corpus, and cut its documents into pieces, in O(N + V)."""
    if len(words) >= 2**32:
        raise RunError(f"{len(words):,} tokens are more than the 4,294,967,295 that one process can hold")
    # Views that cannot be written, whatever came in: no copy, and numba compiles for one type of array.
    doc_ptr, words = _read_only(doc_ptr, np.int64), _read_only(words, np.uint32)
    return Tokens(doc_ptr, words, point_to_words(words, n_words), make_chunks(doc_ptr, DOC_CHUNKS), sort_by_word)


def _read_only(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    view.flags.writeable = False
    return view


def bind(plan: Plan, corpus: Corpus) -> BoundModel:
    """Bind a plan to a corpus.

    Raises
    ------
    SpecError
        If a concentration does not fit the corpus.
    """
    return bind_tokens(plan, index_tokens(corpus.doc_ptr, corpus.words, corpus.n_words), corpus.n_words)


def bind_tokens(plan: Plan, tokens: Tokens, n_words: int) -> BoundModel:
    """Bind a plan to indexed tokens; see :func:`bind`."""
    sizes = Sizes(len(tokens.doc_ptr) - 1, n_words, plan.model.spec.topics, len(tokens.words))
    return BoundModel(plan, sizes, tokens, _concentrations(plan.model, sizes))


def _concentrations(model: Model, sizes: Sizes) -> dict[str, NDArray[np.float64] | str]:
    result: dict[str, NDArray[np.float64] | str] = {}
    for role, name in model.names.items():
        if name in model.variables and "concentration" in model.spec.blocks[name].seams:
            result[role] = name
        try:
            result.update(model.spec.blocks[name].constants(role, sizes))
        except SpecError as error:
            place = model.spec.place("blocks", name, "concentration")
            raise SpecError(f"{place}: block {name!r}: {error}") from None
    return result
