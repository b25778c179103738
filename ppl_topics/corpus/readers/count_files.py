"""From the bags of a count format to a corpus: check the ids, name the words, drop unwanted ones."""

from __future__ import annotations

import re

import numpy as np

from ppl_topics._util.argument_names import argument, setting
from ppl_topics._util.arrays import IntArray
from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.names import number_names
from ppl_topics.corpus.parts import CorpusParts
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.annotations import Annotations
from ppl_topics.corpus.readers.bags import Bag
from ppl_topics.corpus.readers.ldac import read_ldac
from ppl_topics.corpus.readers.limits import max_tokens, max_unused
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.matrix_market import read_matrix_market
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.svmlight import read_svmlight
from ppl_topics.corpus.readers.triples import MAX_EMPTY, OutOfOrderError
from ppl_topics.corpus.readers.uci import read_uci

__all__ = ["read_counts"]

_ZERO_ID = re.compile(r"(?:^|[ \t])0+:")
_BLOCK = 1 << 18


def read_counts(path: File, kind: str, options: ReadOptions) -> CorpusParts:
    """Read a file of word ids and counts, whose format is svmlight, ldac, uci or matrix_market."""
    try:
        return _read(path, kind, options, sort=False)
    except OutOfOrderError:
        # Only now it is known that all rows must be in memory to gather each document.
        return _read(path, kind, options, sort=True)


def _read(path: File, kind: str, options: ReadOptions, *, sort: bool) -> CorpusParts:
    n_words: int | None = None
    if kind == "svmlight":
        bags, first_id = read_svmlight(path, options.encoding), options.first_id
        if first_id is None:
            first_id = 0 if _has_zero(path, options.encoding) else 1
    elif kind == "ldac":
        bags, first_id = read_ldac(path, options.encoding), options.first_id or 0
    else:
        if options.first_id == 0:
            raise file_error(path, 0, f"{argument('first_id')} is 0, but word ids of this format start with 1")
        reader = read_uci if kind == "uci" else read_matrix_market
        shape, bags = reader(path, options.encoding, sort=sort)
        first_id, n_words = 1, shape.n_words
        if options.vocabulary is not None and n_words > len(options.vocabulary):
            raise file_error(
                path,
                shape.line,
                f"the header announces {n_words} words, but the vocabulary has {len(options.vocabulary)}; "
                "give the vocabulary that belongs to this file",
            )
        if options.vocabulary is None and n_words > MAX_EMPTY:
            raise file_error(path, shape.line, f"the header announces {n_words} words, expected at most {MAX_EMPTY}")
    collected = _Collected(path, first_id, options)
    for bag in bags:
        collected.add(bag)
    return collected.build(n_words, 0 if n_words is None else shape.line)


def _has_zero(path: File, encoding: str) -> bool:
    """Look for id 0 before any id is used: it may come late, and shifts all others."""
    return any(_ZERO_ID.search(text.partition("#")[0]) for _, text in numbered_lines(path, encoding) if "0:" in text)


class _Collected:
    """Documents on their way to the assembler, a block at a time."""

    def __init__(self, path: File, first_id: int, options: ReadOptions) -> None:
        self._path = path
        self._first_id = first_id
        self._options = options
        self._names = options.vocabulary
        self._n_ids = None if self._names is None else len(self._names)
        self._new_ids: IntArray | None = None
        stop_words = frozenset(options.text.stop_words or ())
        if self._names is not None and stop_words:
            words = (word.lower() if options.text.lowercase else word for word in self._names)
            kept = np.array([word not in stop_words for word in words], bool)
            self._names = self._names[kept]
            self._new_ids = np.where(kept, np.cumsum(kept) - 1, -1)
        self._assembler = CorpusAssembler()
        self._annotations = Annotations(path, absent_is_empty=True)
        self._largest, self._largest_line = first_id - 1, 0
        self._n_entries = self._n_tokens = 0
        self._waiting: list[Bag] = []
        self._n_waiting = 0

    def add(self, bag: Bag) -> None:
        """Check the ids of one document and keep it for the next block."""
        if bag.ids.size:
            self._check(bag.line, int(bag.ids.min()), int(bag.ids.max()))
            self._n_entries += bag.ids.size
            self._n_tokens += int(bag.counts.sum())
            if self._n_tokens > max_tokens(self._n_entries):
                raise file_error(
                    self._path,
                    bag.line,
                    f"the counts add up to {self._n_tokens:,} tokens so far, for {self._n_entries:,} pairs of document "
                    "and word; expected word counts (if these are right, use CorpusBuilder, which has no limit)",
                )
        self._annotations.add(bag.line, bag.label)
        self._waiting.append(bag)
        # Empty documents count too, or a file of nothing else would be kept in memory as a whole.
        self._n_waiting += bag.ids.size + 1
        if self._n_waiting >= _BLOCK:
            self._flush()

    def build(self, n_words: int | None, line: int) -> CorpusParts:
        """Make the corpus of all documents added, with ``n_words`` words if ``line`` announces them."""
        self._flush()
        names = self._names
        if names is None:
            n_words = self._largest - self._first_id + 1 if n_words is None else n_words
            if n_words > max_unused(self._n_entries):
                raise file_error(
                    self._path,
                    line or self._largest_line,
                    f"there would be {n_words:,} words for {self._n_entries:,} pairs of document and word; give the "
                    "vocabulary that belongs to this file, or number its words from "
                    f"{self._first_id} without gaps",
                )
            names = number_names(n_words, self._first_id)
        known = self._annotations.arguments(self._options.label_kind)
        known["name"] = self._options.name
        with self._annotations.located():
            return self._assembler.assemble(vocabulary=names, pruning=self._options.text, **known)

    def _check(self, line: int, smallest: int, largest: int) -> None:
        first, n_ids = self._first_id, self._n_ids
        if smallest < first:
            message = (
                f"found word id {smallest}, expected ids from {first}; "
                f"if the ids of this file start with 0, give {setting('first_id', 0)}"
            )
        elif n_ids is not None and largest >= n_ids + first:
            message = (
                f"found word id {largest}, which is past the vocabulary of {n_ids} words, expected ids from "
                f"{first} to {n_ids + first - 1}; give the vocabulary that belongs to this file"
            )
        elif n_ids is None and largest > MAX_EMPTY:
            message = (
                f"found word id {largest}, expected at most {MAX_EMPTY}; "
                f"give {argument('vocabulary')} if the file has more words"
            )
        else:
            if largest > self._largest:
                self._largest, self._largest_line = largest, line
            return
        raise file_error(self._path, line, message)

    def _flush(self) -> None:
        """Pass the documents kept so far to the assembler."""
        if not self._waiting:
            return
        ids = np.concatenate([bag.ids for bag in self._waiting]) - self._first_id
        counts = np.concatenate([bag.counts for bag in self._waiting])
        doc_ptr = np.zeros(len(self._waiting) + 1, np.int64)
        np.cumsum([bag.ids.size for bag in self._waiting], out=doc_ptr[1:])
        if self._new_ids is not None:
            ids = self._new_ids[ids]
            counts = np.where(ids < 0, 0, counts)
            ids = np.maximum(ids, 0)
        self._assembler.add_block(doc_ptr, ids, counts)
        self._waiting, self._n_waiting = [], 0
