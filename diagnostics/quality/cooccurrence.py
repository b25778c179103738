"""How many documents, or sliding windows, hold a word or a pair of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.quality.reference import Reference

__all__ = ["Cooccurrence", "count_together"]

MOST_WORDS = 2048
"""About the number of distinct words counted at a time; counts of all their pairs take 32 MB."""

WHOLE = np.iinfo(np.int64).max
"""A window that holds any document."""


class Cooccurrence(NamedTuple):
    """Counts of windows for T lists of M words."""

    windows: int  # all windows; a document of n tokens, even an empty one, has max(n - size + 1, 1)
    together: IntArray  # (T, M, M): windows that hold both words of a list (one word on the diagonal), 0 without a word

    @property
    def alone(self) -> IntArray:
        """Windows that hold each word, shape (T, M)."""
        return np.diagonal(self.together, axis1=1, axis2=2)


def count_together(
    words: IntArray, reference: Reference, window: int | None = None, *, forgetful: bool = False
) -> Cooccurrence:
    """Count the windows that hold each word, and each pair of words, of lists (T, M) padded with -1.

    Without ``window``, each document is one window. With ``forgetful``, a window forgets a word as soon as its first
    occurrence leaves, even if others remain, until the word occurs again, as gensim 4 does.
    """
    size = WHOLE if window is None else window
    together = np.zeros((*words.shape, words.shape[1]), dtype=np.int64)
    windows = int(np.maximum(reference.doc_lengths - size + 1, 1).sum())
    # If no document is longer than the window, no word ever leaves.
    for first, last in _blocks(words):
        block = words[first:last]
        used = np.unique(block[block >= 0])
        position = np.full(reference.n_words + 1, -1, dtype=np.int32)
        position[used] = np.arange(len(used))
        # Unknown words of the reference are -1: the last position.
        counts = np.zeros((len(used), len(used)), dtype=np.int64)
        _slide(reference.doc_ptr, position[reference.words], size, forgetful, counts)
        counts += counts.T
        # The diagonal was added to itself.
        np.fill_diagonal(counts, np.diagonal(counts) // 2)
        places = position[block]
        found = counts[places[:, :, None], places[:, None, :]] if len(used) else together[first:last]
        missing = places < 0
        together[first:last] = np.where(missing[:, :, None] | missing[:, None, :], 0, found)
    return Cooccurrence(windows, together)


def _blocks(words: IntArray) -> Iterator[tuple[int, int]]:
    """Split lists into runs with about `MOST_WORDS` distinct words."""
    first, seen = 0, set[int]()
    for place, row in enumerate(words.tolist()):
        if place > first and len(seen.union(row)) > MOST_WORDS:
            yield first, place
            first, seen = place, set()
        seen.update(row)
    if len(words):
        yield first, len(words)


@compiled
def _slide(
    doc_ptr: IntArray,
    places: Int32Array,
    size: int,
    forgetful: bool,
    counts: IntArray,
) -> None:
    """Slide a window over each document, and count in how many steps it holds each word and each pair of words.

    A word adds to the counts when it leaves: for itself the steps since it came, and for each remaining word the steps
    since the later of the two came. So a step costs nothing if nothing changes. ``counts[a, b]`` counts the cases in
    which a leaves before b, so the two triangles must be added.
    """
    n_words = len(counts)
    inside = np.zeros(n_words, dtype=np.int64)  # occurrences in the window
    since = np.zeros(n_words, dtype=np.int64)
    present = np.empty(n_words, dtype=np.int32)
    rank = np.full(n_words, -1, dtype=np.int32)
    n_present = 0
    for doc in range(len(doc_ptr) - 1):
        start, stop = doc_ptr[doc], doc_ptr[doc + 1]
        width = min(size, stop - start)
        steps = stop - start - width + 1
        for step in range(steps):
            if step > 0:
                word = places[start + step - 1]
                if word >= 0:
                    inside[word] -= 1
                    if rank[word] >= 0 and (forgetful or inside[word] == 0):
                        n_present = _leave(word, step, counts, since, present, rank, n_present)
            for token in range(start if step == 0 else start + step + width - 1, start + step + width):
                word = places[token]
                if word >= 0:
                    inside[word] += 1
                    if rank[word] < 0:
                        rank[word] = n_present
                        present[n_present] = word
                        n_present += 1
                        since[word] = step
        while n_present > 0:
            word = present[n_present - 1]
            n_present = _leave(word, steps, counts, since, present, rank, n_present)
        for token in range(start, stop):
            if places[token] >= 0:
                inside[places[token]] = 0


@compiled
def _leave(
    word: int,
    step: int,
    counts: IntArray,
    since: IntArray,
    present: Int32Array,
    rank: Int32Array,
    n_present: int,
) -> int:
    """Remove a word from the window, and return how many are left."""
    last = n_present - 1
    hole = rank[word]
    moved = present[last]
    present[hole] = moved
    rank[moved] = hole
    rank[word] = -1
    came = since[word]
    counts[word, word] += step - came
    for i in range(last):
        other = present[i]
        counts[word, other] += step - max(came, since[other])
    return last
