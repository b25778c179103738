"""Blocks of words that go from member to member, and what members do with them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import IntArray, UInt8Array
from ppl_topics.core.kernel import Rotation
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.cluster.counts import add_rows, encode_rows, set_rows
from ppl_topics.engine.cluster.members import Store
from ppl_topics.engine.cluster.parts import Drawn, Name, Part, drawn_by
from ppl_topics.engine.cluster.reduction import refuse_counts

__all__ = ["Block", "Phase", "keep_blocks", "phases", "take_all", "visit"]


class Block(NamedTuple):
    """A block of words on its way: the counts of its words as bytes, and what else must follow it."""

    number: int
    counts: UInt8Array
    more: Any

    @property
    def nbytes(self) -> int:
        """Of all of it."""
        return int(self.counts.nbytes + sum(array.nbytes for array in self.more or ()))


class Phase(NamedTuple):
    """Diagonals of a rotation, and who has each block of words on them."""

    first: int
    last: int
    holders: dict[int, int]


def phases(rotation: Rotation, owners: IntArray) -> list[Phase]:
    """Return runs of diagonals on which no block has to move, given who has each group of documents."""
    found = list[Phase]()
    for diagonal in range(rotation.blocks):
        blocks = (int(rotation.block_at(group, diagonal, rotation.blocks)) for group in range(rotation.blocks))
        holders = {block: int(owners[group]) for group, block in enumerate(blocks)}
        if found and found[-1].holders == holders:
            found[-1] = found[-1]._replace(last=diagonal + 1)
        else:
            found.append(Phase(diagonal, diagonal + 1, holders))
    return found or [Phase(0, 0, {})]


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

    drawn = drawn_by(part, place, key, draw)._replace(received=_bytes(came))
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
        refuse_counts(state, wrong)
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
