"""What a member of a cluster has of a chain: some documents of the corpus, and all that belongs to no document.

A part is named by its chain and by the deal of documents that it is of, so that what is still under way when documents
are dealt again finds nothing to change.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray, UInt8Array, UInt32Array
from ppl_topics._util.threads import use_threads
from ppl_topics.core.alpha import Above, Alpha
from ppl_topics.core.keys import Key
from ppl_topics.core.observed import Design, Observed
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Elsewhere, Tokens
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.cluster.counts import encode
from ppl_topics.engine.cluster.members import Store
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.summary import OfDocuments, of_documents
from ppl_topics.engine.topic_sums import OfTopics, TopicSums, topic_sums
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.warmup import Annealing
from ppl_topics.spec import load_spec

__all__ = [
    "Asked",
    "Documents",
    "Drawn",
    "Name",
    "Part",
    "Values",
    "checksums",
    "combine",
    "cut",
    "draw",
    "draw_given",
    "drawn_by",
    "open_part",
    "statistic",
    "try_out",
    "values",
]

TRIED_SWEEPS = 2

Name: TypeAlias = tuple[int, int]
"""Of a part: the numbers of the chain and of the deal."""


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
    elsewhere : Elsewhere
        All other documents.
    observed : Observed, optional
    observed_by : dict of str to Observed
        Of several responses, what each observes.
    above : Observed or Alpha, optional
        What the weights of topics depend on.
    pieces : ndarray of int64
        Boundaries of those of the corpus, from 0.
    """

    first: int
    doc_ptr: IntArray
    words: UInt32Array
    groups: IntArray
    elsewhere: Elsewhere
    observed: Observed | None = None
    observed_by: Mapping[str, Observed] = field(default_factory=dict)
    above: Above | None = None
    pieces: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))

    def tokens(self, whole: bool) -> Tokens:
        """Return their tokens, indexed; see `Tokens.whole`."""
        here = index_tokens(self.doc_ptr, self.words, len(self.elsewhere.word_counts), whole=whole)
        return replace(here, groups=self.groups, elsewhere=self.elsewhere)


class Values(NamedTuple):
    """The variables of a chain, those of documents only for some of them, and what they come to; all as asked for."""

    z: NDArray[Any] | None
    arrays: dict[str, NDArray[Any]]
    documents: OfDocuments | None = None
    topics: OfTopics | None = None
    n_k: IntArray | None = None
    counts: UInt8Array | None = None


class Asked(NamedTuple):
    """What a client asks for of a chain, besides a summary: some variables, z, and the counts by word."""

    names: Collection[str]
    z: bool
    counts: bool


class Drawn(NamedTuple):
    """What a step, or a part of it, says of itself, and the bytes that it got from other parts."""

    seconds: float
    statistics: Mapping[str, float] | None
    received: int = 0


class Model(NamedTuple):
    """A plan, for another process its specification as plain data, and the threads of a member; None are all.

    ``found`` is what blocks have found in the words of the corpus, which no member has, and ``annealing`` that of the
    plan, which no specification has.
    """

    plan: Plan | dict[str, Any]
    threads: int | None
    found: Mapping[str, Any]
    annealing: Annealing | None = None


@dataclass
class Part:
    """A chain's part at a member."""

    executor: Executor
    state: ChainState
    memories: list[Any]
    first: int
    seconds: float = 0.0
    totals: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the counts of each word."""
    encoded: dict[int, int] = field(default_factory=dict)
    """Bytes of its counts of some words, by the first word."""
    visits: list[Drawn] = field(default_factory=list)
    """Of the rotation in progress."""
    pieces: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))

    @cached_property
    def topics(self) -> TopicSums:
        """What summarises the counts by word."""
        bound = self.executor.bound
        return topic_sums(bound.model, bound.sizes, sparse=False)


def cut(state: ChainState, first: int, last: int, above: Above | None = None) -> Documents:
    """Return documents `first` to `last` - 1 of a chain; what is above the topics is given of all documents."""
    tokens = state.tokens
    ptr = tokens.doc_ptr[first : last + 1]
    words = tokens.words[ptr[0] : ptr[-1]]
    here = np.bincount(words, minlength=state.sizes.words)
    observed = None if state.observed is None else _rows(state.observed, first, last)
    observed_by = {response: _rows(each, first, last) for response, each in state.observed_by.items()}
    groups = np.unique(np.clip(tokens.groups, first, last)) - first
    elsewhere = Elsewhere(tokens.word_counts - here, state.sizes.docs - (last - first), first, int(ptr[0]))
    pieces = np.unique(np.clip(tokens.chunk_ptr, first, last)) - first
    given = above.of(first, last) if isinstance(above, Alpha) else None if above is None else _rows(above, first, last)
    return Documents(first, ptr - ptr[0], words, groups, elsewhere, observed, observed_by, given, pieces)


def _rows(observed: Observed, first: int, last: int) -> Observed:
    """Return what documents `first` to `last` - 1 have of it."""
    design = observed.design
    span = slice(design.ptr[first], design.ptr[last])
    rows = Design(
        design.ptr[first : last + 1] - design.ptr[first], design.columns[span], design.values[span], design.width
    )
    return replace(observed, targets=observed.targets[first:last], design=rows)


def open_part(store: Store, name: Name, model: Model, documents: Documents, values: Values) -> None:
    """Begin a chain with some documents, in place of those that it had."""
    for earlier in [each for each in store if each[0] == name[0]]:
        del store[earlier]
    if model.threads is not None:
        use_threads(model.threads)
    # The whole schedule has been checked where the plan was made.
    if isinstance(model.plan, dict):
        plan = make_plan(load_spec(model.plan), partial=True)
        plan = replace(plan, model=plan.model.with_found_words(model.found), annealing=model.annealing)
    else:
        plan = model.plan
    assert values.z is not None
    n_words = len(documents.elsewhere.word_counts)
    tokens = documents.tokens(plan.model.whole_documents)
    bound = bind_tokens(plan, tokens, n_words, documents.observed, documents.observed_by, documents.above)
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
        observed_by=documents.observed_by,
    )
    bound.count(state)
    executor = Executor(bound)
    totals = np.zeros(sizes.words, dtype=np.int64)
    memories = executor.memories(state)
    store[name] = Part(executor, state, memories, documents.first, totals=totals, pieces=documents.pieces)


def try_out(store: Store, model: Model, documents: Documents, values: Values) -> dict[str, int]:
    """Draw a few sweeps with some documents alone; return checksums of all variables, by which members are compared."""
    alone: Store = {}
    open_part(alone, (0, 0), model, documents, values)
    part: Part = alone[0, 0]
    for sweep in range(TRIED_SWEEPS):
        part.executor.sweep(part.state, part.memories, 0, 0, sweep)
    return _checksums({"z": part.state.z, **part.state.arrays})


def draw(store: Store, name: Name, place: int, key: Key) -> list[Drawn]:
    """Run the kernel of a step."""
    part: Part = store[name]
    if part.executor.steps[place].kernel.distributes == "doc":
        key = key._replace(first=part.first)
    return [drawn_by(part, place, key, lambda: part.executor.draw(place, part.state, part.memories[place], key))]


def statistic(store: Store, name: Name, place: int, key: Key) -> list[Any]:
    """Return what a step depends on the part's documents through, group by group."""
    part: Part = store[name]
    function = part.executor.functions[place].statistic
    assert function is not None
    started = time.perf_counter()
    try:
        with part.executor.tempered(part.state, key.sweep):
            return function(part.state)
    except Exception as error:
        part.executor.fail(place, part.state, key, error)
    finally:
        part.seconds = time.perf_counter() - started


def draw_given(store: Store, name: Name, place: int, key: Key, statistic: Any) -> list[Drawn]:
    """Run the kernel of a step, given the statistic of all documents."""
    part: Part = store[name]
    function = part.executor.functions[place].draw_given
    assert function is not None
    drawn = drawn_by(part, place, key, lambda: function(part.state, key, statistic))
    return [drawn._replace(seconds=drawn.seconds + part.seconds)]


def drawn_by(part: Part, place: int, key: Key, draw: Callable[[], Mapping[str, float] | None]) -> Drawn:
    """Draw, and look whether all is finite."""
    started = time.perf_counter()
    try:
        with part.executor.tempered(part.state, key.sweep):
            statistics = draw()
    except Exception as error:
        part.executor.fail(place, part.state, key, error)
    seconds = time.perf_counter() - started
    part.executor.check_finite(place, part.state, key)
    return Drawn(seconds, statistics)


def combine(store: Store, name: Name, place: int, statistics: list[list[Any]]) -> Any:
    """Return the statistic of all documents, from those of the parts."""
    function = store[name].executor.functions[place].combine
    assert function is not None
    return function([each for statistic in statistics for each in statistic])


def values(store: Store, name: Name, asked: Asked, whole: bool) -> Values:
    """Return what is asked for of the part's documents; with the ``whole`` of it, also what belongs to no document."""
    part: Part = store[name]
    model, state = part.executor.bound.model, part.state
    sent = {each: state.arrays[each] for each in asked.names if whole or "doc" in model.variables[each].dims}
    z = state.z if asked.z else None
    documents = of_documents(part.pieces, state)
    if not whole:
        return Values(z, sent, documents)
    counts = encode(state.n_wk) if asked.counts else None
    return Values(z, sent, documents, part.topics.summarise(state), state.n_k, counts)


def checksums(store: Store, name: Name) -> dict[str, int]:
    """Return checksums of the variables that belong to no document, by name."""
    part: Part = store[name]
    variables = part.executor.bound.model.variables
    return _checksums({each: array for each, array in part.state.arrays.items() if "doc" not in variables[each].dims})


def _checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    return {name: zlib.crc32(np.ascontiguousarray(array).data) for name, array in sorted(arrays.items())}
