"""What a member of a cluster has of a chain: some documents of the corpus, and all that belongs to no document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Int32Array, IntArray, UInt32Array
from ppl_topics._util.threads import use_threads
from ppl_topics.core.keys import Key
from ppl_topics.core.observed import Design, Observed
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.cluster.members import Store
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec

__all__ = [
    "Documents",
    "Values",
    "close",
    "counts",
    "cut",
    "draw",
    "draw_given",
    "open_part",
    "set_counts",
    "statistic",
    "values",
]


@dataclass(frozen=True)
class Documents:
    """Some consecutive documents of a corpus.

    Attributes
    ----------
    first : int
        Number of the first in the corpus.
    doc_ptr : ndarray of int64
        Of their tokens, from 0.
    words : ndarray of uint32
    groups : ndarray of int64
        Boundaries, from 0; see `Tokens`.
    word_counts_elsewhere : ndarray of int64, shape (V,)
        Of all other documents.
    observed : Observed, optional
    """

    first: int
    doc_ptr: IntArray
    words: UInt32Array
    groups: IntArray
    word_counts_elsewhere: IntArray
    observed: Observed | None = None

    @property
    def tokens(self) -> Tokens:
        """Their tokens, indexed."""
        here = index_tokens(self.doc_ptr, self.words, len(self.word_counts_elsewhere))
        return replace(here, groups=self.groups, word_counts_elsewhere=self.word_counts_elsewhere)


class Values(NamedTuple):
    """The variables of a chain, those of documents only for some of them."""

    z: NDArray[Any]
    arrays: dict[str, NDArray[Any]]


class Model(NamedTuple):
    """A model as plain data, the sizes that its plan was made for, and the threads of a member; None are all."""

    spec: dict[str, Any]
    sizes: CorpusSizes
    threads: int | None


@dataclass
class Part:
    """A chain's part at a member."""

    executor: Executor
    state: ChainState
    memories: list[Any]
    first: int


def cut(state: ChainState, first: int, last: int) -> Documents:
    """Return documents `first` to `last` - 1 of a chain."""
    tokens, observed = state.tokens, state.observed
    ptr = tokens.doc_ptr[first : last + 1]
    words = tokens.words[ptr[0] : ptr[-1]]
    here = np.bincount(words, minlength=state.sizes.words)
    if observed is not None:
        design = observed.design
        span = slice(design.ptr[first], design.ptr[last])
        rows = Design(
            design.ptr[first : last + 1] - design.ptr[first], design.columns[span], design.values[span], design.width
        )
        observed = replace(observed, targets=observed.targets[first:last], design=rows)
    groups = tokens.groups[(tokens.groups >= first) & (tokens.groups <= last)] - first
    return Documents(first, ptr - ptr[0], words, groups, tokens.word_counts - here, observed)


def open_part(store: Store, chain: str, model: Model, documents: Documents, values: Values) -> None:
    """Begin a chain with some documents."""
    if model.threads is not None:
        use_threads(model.threads)
    plan = make_plan(load_spec(model.spec), model.sizes)
    bound = bind_tokens(plan, documents.tokens, len(documents.word_counts_elsewhere), documents.observed)
    sizes = bound.sizes
    state = ChainState(
        bound.tokens,
        sizes,
        values.z.copy(),
        np.zeros((sizes.words, sizes.topics), dtype=np.int32),
        np.zeros(sizes.topics, dtype=np.int64),
        {name: array.copy() for name, array in values.arrays.items()},
        bound.concentrations,
        bound.observed,
    )
    bound.count(state)
    executor = Executor(bound)
    store[chain] = Part(executor, state, executor.memories(state), documents.first)


def draw(store: Store, chain: str, place: int, key: Key) -> Mapping[str, float] | None:
    """Run the kernel of a step."""
    part: Part = store[chain]
    executor = part.executor
    if executor.steps[place].kernel.distributes == "doc":
        key = key._replace(first=part.first)
    statistics = executor.draw(place, part.state, part.memories[place], key)
    executor.check_finite(place, part.state, key)
    return statistics


def statistic(store: Store, chain: str, place: int) -> list[Any]:
    """Return what a step depends on the part's documents through, group by group."""
    part: Part = store[chain]
    function = part.executor.functions[place].statistic
    assert function is not None
    return function(part.state)


def draw_given(store: Store, chain: str, place: int, key: Key, statistic: Any) -> None:
    """Run the kernel of a step, given the statistic of all documents."""
    part: Part = store[chain]
    function = part.executor.functions[place].draw_given
    assert function is not None
    function(part.state, key, statistic)
    part.executor.check_finite(place, part.state, key)


def counts(store: Store, chain: str) -> tuple[Int32Array, IntArray]:
    """Return how many of the part's tokens each word has in each topic, and their sums over words."""
    state: ChainState = store[chain].state
    return state.n_wk, state.n_k


def set_counts(store: Store, chain: str, n_wk: Int32Array, n_k: IntArray) -> None:
    """Take the counts of all documents."""
    state: ChainState = store[chain].state
    state.n_wk[:], state.n_k[:] = n_wk, n_k


def values(store: Store, chain: str) -> Values:
    """Return the variables of the part."""
    state: ChainState = store[chain].state
    return Values(state.z, state.arrays)


def close(store: Store, chain: str) -> None:
    """Forget a chain."""
    store.pop(chain, None)
