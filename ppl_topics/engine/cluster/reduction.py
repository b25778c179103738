"""Counts of words in topics, added up by the members of a cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ppl_topics._util.arrays import IntArray, UInt8Array
from ppl_topics.core.state import ChainState
from ppl_topics.engine.cluster.counts import add, encode, encode_rows
from ppl_topics.engine.cluster.members import Store
from ppl_topics.engine.cluster.parts import Name, Part
from ppl_topics.errors import RunError

__all__ = ["Sizes", "add_counts", "add_up", "counts", "refuse_counts", "sent", "set_counts", "slices"]


class Sizes(NamedTuple):
    """Bytes of the counts of each slice of the words: of the part's own, and of all documents'."""

    own: list[int]
    sums: list[int]


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
    number, topics = words.stop - words.start, store[name].state.sizes.topics
    n_wk, n_k, totals = np.zeros((number, topics), np.int32), np.zeros(topics, np.int64), np.zeros(number, np.int64)
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


def _check_counts(state: ChainState, totals: IntArray) -> None:
    """Refuse counts that are not as many as the words of the corpus."""
    wrong = np.flatnonzero(totals != state.tokens.word_counts)
    if wrong.size:
        refuse_counts(state, int(wrong[0]))


def refuse_counts(state: ChainState, word: int) -> NoReturn:
    """Say that the counts of a word are not as many as its tokens."""
    raise RunError(
        f"the members have {state.n_wk[word].sum()} tokens of word {word} in all, and the corpus has "
        f"{state.tokens.word_counts[word]}: a part was lost or counted twice"
    )


def sent(sizes: list[Any]) -> int:
    """Return the bytes that went between members in a reduction.

    If some add up, their own counts to whoever does, and sums to all.
    """
    if not isinstance(sizes[0], Sizes):
        return int(sum(sizes))
    at_home = sum(each.own[place] for place, each in enumerate(sizes[: len(sizes[0].sums)]))
    return int(sum(sum(each.own) for each in sizes) - at_home + (len(sizes) - 1) * sum(sizes[0].sums))


def slices(word_counts: IntArray, topics: int, number: int) -> list[slice]:
    """Return so many runs of words, whose counts take about as many bytes each."""
    ends = np.cumsum(np.minimum(word_counts, topics) + 1)
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1] if ends.size else 0, number + 1))
    return [slice(int(first), int(last)) for first, last in pairwise([0, *cuts[1:-1], len(word_counts)])]
