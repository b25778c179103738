"""What a member of a cluster has of a chain: some documents of the corpus, and all that belongs to no document.

A part is named by its chain and by the deal of documents that it is of, so that what is still under way when documents
are dealt again finds nothing to change.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Int32Array, IntArray, UInt8Array, UInt32Array
from ppl_topics._util.threads import use_threads
from ppl_topics.core.kernel import Rotation
from ppl_topics.core.keys import Key
from ppl_topics.core.observed import Design, Observed
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Elsewhere, Tokens
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.cluster.counts import add, add_rows, encode, encode_rows, set_rows
from ppl_topics.engine.cluster.members import Store
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.summary import OfDocuments, OfTopics, of_documents, of_topics
from ppl_topics.engine.topic_sums import TopicSums, topic_sums
from ppl_topics.errors import RunError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.spec import load_spec

__all__ = [
    "Asked",
    "Block",
    "Documents",
    "Drawn",
    "Name",
    "Sizes",
    "Values",
    "add_counts",
    "add_up",
    "checksums",
    "combine",
    "counts",
    "cut",
    "draw",
    "draw_given",
    "keep_blocks",
    "open_part",
    "set_counts",
    "statistic",
    "take_all",
    "try_out",
    "values",
    "visit",
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
    pieces : ndarray of int64
        Boundaries of those of the corpus, from 0.
    """

    first: int
    doc_ptr: IntArray
    words: UInt32Array
    groups: IntArray
    elsewhere: Elsewhere
    observed: Observed | None = None
    pieces: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def tokens(self) -> Tokens:
        """Their tokens, indexed."""
        here = index_tokens(self.doc_ptr, self.words, len(self.elsewhere.word_counts))
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


class Block(NamedTuple):
    """A block of words on its way: the counts of its words as bytes, and what else must follow it."""

    number: int
    counts: UInt8Array
    more: Any

    @property
    def nbytes(self) -> int:
        """Of all of it."""
        return int(self.counts.nbytes + sum(array.nbytes for array in self.more or ()))


class Sizes(NamedTuple):
    """Bytes of the counts of each slice of the words: of the part's own, and of all documents'."""

    own: list[int]
    sums: list[int]


class Model(NamedTuple):
    """A plan, for another process its specification as plain data, and the threads of a member; None are all."""

    plan: Plan | dict[str, Any]
    threads: int | None


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
        return topic_sums(bound.sizes, indicators="included" in bound.model.names, sparse=False)


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
    groups = np.unique(np.clip(tokens.groups, first, last)) - first
    elsewhere = Elsewhere(tokens.word_counts - here, state.sizes.docs - (last - first), first, int(ptr[0]))
    pieces = np.unique(np.clip(tokens.chunk_ptr, first, last)) - first
    return Documents(first, ptr - ptr[0], words, groups, elsewhere, observed, pieces)


def open_part(store: Store, name: Name, model: Model, documents: Documents, values: Values) -> None:
    """Begin a chain with some documents, in place of those that it had."""
    for earlier in [each for each in store if each[0] == name[0]]:
        del store[earlier]
    if model.threads is not None:
        use_threads(model.threads)
    # The whole schedule has been checked where the plan was made.
    plan = make_plan(load_spec(model.plan), partial=True) if isinstance(model.plan, dict) else model.plan
    bound = bind_tokens(plan, documents.tokens, len(documents.elsewhere.word_counts), documents.observed)
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
    return [_drawn(part, place, key, lambda: part.executor.draw(place, part.state, part.memories[place], key))]


def statistic(store: Store, name: Name, place: int, key: Key) -> list[Any]:
    """Return what a step depends on the part's documents through, group by group."""
    part: Part = store[name]
    function = part.executor.functions[place].statistic
    assert function is not None
    started = time.perf_counter()
    try:
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
    drawn = _drawn(part, place, key, lambda: function(part.state, key, statistic))
    return [drawn._replace(seconds=drawn.seconds + part.seconds)]


def _drawn(part: Part, place: int, key: Key, draw: Callable[[], Mapping[str, float] | None]) -> Drawn:
    """Draw, and look whether all is finite."""
    started = time.perf_counter()
    try:
        statistics = draw()
    except Exception as error:
        part.executor.fail(place, part.state, key, error)
    seconds = time.perf_counter() - started
    part.executor.check_finite(place, part.state, key)
    return Drawn(seconds, statistics)


def visit(
    store: Store,
    name: Name,
    place: int,
    key: Key,
    first: int,
    last: int,
    took: list[int],
    came: list[list[Block]],
    leaving: list[int],
) -> list[Block]:
    """Draw the tokens of some diagonals, having taken some blocks of those that came; return those that leave then."""
    part: Part = store[name]
    rotation, memory, n_wk = _rotation(part, place), part.memories[place], part.state.n_wk
    blocks = [block for block in _all(came) if block.number in took]

    def draw() -> Mapping[str, float] | None:
        if first == 0:
            rotation.begin(part.state, memory, key)
        for block in blocks:
            n_k = _set_block(part.state, rotation, block)
            rotation.take(part.state, memory, block.number, n_k, block.more)
        rotation.visit(part.state, memory, first, last)
        return rotation.end(part.state, memory) if last == rotation.blocks else None

    drawn = _drawn(part, place, key, draw)._replace(received=_bytes(came))
    part.visits = [drawn] if first == 0 else [*part.visits, drawn]
    most, words = np.minimum(part.state.tokens.word_counts, n_wk.shape[1]), rotation.words
    return [Block(b, encode_rows(n_wk, words[b], int(most[words[b]].sum())), rotation.give(memory, b)) for b in leaving]


def take_all(store: Store, name: Name, place: int, came: list[list[Block]]) -> list[Drawn]:
    """Take the counts of the blocks that others had on the last diagonal; return what all visits say of themselves.

    Raises
    ------
    RunError
        If they are not as many as the words of the corpus.
    """
    part: Part = store[name]
    started = time.perf_counter()
    for block in _all(came):
        _set_block(part.state, _rotation(part, place), block)
    add_rows(part.state.n_wk, part.state.n_k)
    return [*part.visits, Drawn(time.perf_counter() - started, None, _bytes(came))]


def keep_blocks(store: Store, name: Name, place: int, held: list[int]) -> list[Drawn]:
    """Forget the counts of blocks that others have, before all are added up; return what all visits say."""
    part: Part = store[name]
    rotation = _rotation(part, place)
    for block in set(range(rotation.blocks)).difference(held):
        part.state.n_wk[rotation.words[block]] = 0
    add_rows(part.state.n_wk, part.state.n_k)
    return part.visits


def _set_block(state: ChainState, rotation: Rotation, block: Block) -> IntArray:
    """Take the counts of the words of a block; return their sums."""
    words, n_k = rotation.words[block.number], np.zeros(state.sizes.topics, dtype=np.int64)
    wrong = set_rows(block.counts, words, state.n_wk, n_k, state.tokens.word_counts)
    if wrong >= 0:
        _refuse_counts(state, wrong)
    return n_k


def _all(came: list[list[Block]]) -> Iterator[Block]:
    for blocks in came:
        yield from blocks


def _bytes(came: list[list[Block]]) -> int:
    return sum(block.nbytes for block in _all(came))


def _rotation(part: Part, place: int) -> Rotation:
    rotation = part.executor.functions[place].rotation
    assert rotation is not None
    return rotation


def combine(store: Store, name: Name, place: int, statistics: list[list[Any]]) -> Any:
    """Return the statistic of all documents, from those of the parts."""
    function = store[name].executor.functions[place].combine
    assert function is not None
    return function([each for statistic in statistics for each in statistic])


def counts(store: Store, name: Name, words: slice) -> UInt8Array:
    """Return how many of the part's tokens some words have in each topic."""
    part: Part = store[name]
    n_wk = part.state.n_wk[words]
    most = np.minimum(part.state.tokens.word_counts[words], n_wk.shape[1]).sum()
    data = encode_rows(n_wk, np.arange(len(n_wk)), int(most), part.totals[words])
    part.encoded[words.start] = data.nbytes
    return data


def add_up(store: Store, name: Name, words: slice, counted: list[UInt8Array]) -> UInt8Array:
    """Return the sums of the counts of some words in several parts."""
    n_wk, n_k, totals = _no_counts(words.stop - words.start, store[name].state.sizes.topics)
    for data in counted:
        add(data, n_wk, n_k, totals)
    return encode(n_wk)


def add_counts(store: Store, name: Name, others: list[UInt8Array]) -> int:
    """Add the counts of all words in all other parts to the part's own; return the bytes that these were.

    Raises
    ------
    RunError
        If they are not as many as the words of the corpus.
    """
    part: Part = store[name]
    state = part.state
    for data in others:
        add(data, state.n_wk, state.n_k, part.totals)
    _check_counts(state, part.totals)
    return sum(data.nbytes for data in others)


def set_counts(store: Store, name: Name, slices: list[slice], sums: list[UInt8Array]) -> Sizes:
    """Take the counts of all documents, and return how large they were.

    Raises
    ------
    RunError
        If they are not as many as the words of the corpus.
    """
    part: Part = store[name]
    state = part.state
    state.n_wk[:], state.n_k[:], part.totals[:] = 0, 0, 0
    for words, data in zip(slices, sums, strict=True):
        add(data, state.n_wk[words], state.n_k, part.totals[words])
    _check_counts(state, part.totals)
    return Sizes([part.encoded[words.start] for words in slices], [data.nbytes for data in sums])


def _no_counts(words: int, topics: int) -> tuple[Int32Array, IntArray, IntArray]:
    """Return counts by word and topic, and their sums over words, and over topics."""
    return np.zeros((words, topics), np.int32), np.zeros(topics, np.int64), np.zeros(words, np.int64)


def _check_counts(state: ChainState, totals: IntArray) -> None:
    """Refuse counts that are not as many as the words of the corpus."""
    wrong = np.flatnonzero(totals != state.tokens.word_counts)
    if wrong.size:
        _refuse_counts(state, int(wrong[0]))


def _refuse_counts(state: ChainState, word: int) -> NoReturn:
    raise RunError(
        f"the members have {state.n_wk[word].sum()} tokens of word {word} in all, and the corpus has "
        f"{state.tokens.word_counts[word]}: a part was lost or counted twice"
    )


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
    return Values(z, sent, documents, of_topics(part.topics, state), state.n_k, counts)


def checksums(store: Store, name: Name) -> dict[str, int]:
    """Return checksums of the variables that belong to no document, by name."""
    part: Part = store[name]
    variables = part.executor.bound.model.variables
    return _checksums({each: array for each, array in part.state.arrays.items() if "doc" not in variables[each].dims})


def _checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    return {name: zlib.crc32(np.ascontiguousarray(array).data) for name, array in sorted(arrays.items())}
