"""A corpus larger than memory, made from many files in two passes over each, which may be spread over machines.

The first pass counts the words of each file. Their sums decide which words to keep, as `Pruning` does, and from the
counts of a file follows how many tokens it keeps, so which part of the array of tokens is its own. The second pass
writes them there. The result is what `native.save` writes of the same documents in one file.
"""

from __future__ import annotations

import shutil
import socket
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import IntArray
from ppl_topics._util.files import replaced
from ppl_topics.corpus import native
from ppl_topics.corpus.growable_array import GrowableArray
from ppl_topics.corpus.names import StrArray, decode_strings, encode_strings, word_problem
from ppl_topics.corpus.parts import CorpusParts, DroppedWords, check_not_empty, described
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.annotations import Annotations
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.parquet import Partition
from ppl_topics.corpus.readers.text_files import document_keywords, new_annotations, read_records
from ppl_topics.corpus.token_arrays import MAX_OCCURRENCES
from ppl_topics.corpus.untrusted_files import open_array
from ppl_topics.errors import CorpusError

__all__ = ["ForEach", "Source", "write_shards"]

Source: TypeAlias = File | Partition

WORDS, COUNTS = "words.npy", "counts"

_BUFFER = 1 << 20


class ForEach(Protocol):
    """How a pass is done, here or on a cluster."""

    def __call__(
        self, what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], /
    ) -> list[Any]:
        """Call a function with what is shared and each item; return the results in order. ``what`` is for a display."""


@dataclass(frozen=True)
class _Reading:
    """How to read the files, and the folder for what is found."""

    kind: str
    options: ReadOptions
    folder: Path


@dataclass(frozen=True)
class _Encoding(_Reading):
    """The same, and the words to keep."""

    vocabulary: StrArray

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """Id of each word."""
        return {word: i for i, word in enumerate(self.vocabulary)}


class _Region(NamedTuple):
    """A file, its documents, the tokens that it keeps, and the byte at which they begin."""

    source: Source
    n_docs: int
    n_tokens: int
    offset: int


def write_shards(sources: Sequence[Source], kind: str, options: ReadOptions, path: Path, for_each: ForEach) -> None:
    """Write the corpus of several files, in their order, to the folder `path`."""
    options.text.check_vocabulary(options.vocabulary)
    with native.new_folder(path) as folder:
        reading = _Reading(kind, options, folder)
        (folder / COUNTS).mkdir()
        parts: list[Annotations] = for_each("counting words", _count_words, reading, list(enumerate(sources)))
        annotations = new_annotations("", kind, options)
        for part in parts:
            annotations.extend(part)
        n_docs, lengths = len(annotations), [len(part) for part in parts]
        del parts
        names, counts, frequencies = _total(folder, len(sources))
        check_not_empty(n_docs, bool(len(names)))
        known = document_keywords(annotations, kind, options)
        with annotations.located():
            ids, labels, covariates = described(
                n_docs, known["doc_ids"], known["labels"], known["label_kind"], known["covariates"]
            )
        del annotations, known

        vocabulary = options.vocabulary
        if vocabulary is None:
            vocabulary = np.sort(names[options.text.choose_counted(n_docs, names, counts, lambda: frequencies)])
        encoding = _Encoding(kind, options, folder, vocabulary)
        kept = np.array([name in encoding.word_ids for name in names], dtype=bool)
        _check_occurrences(names[kept], counts[kept])
        sizes = [_kept_tokens(folder, place, encoding) for place in range(len(sources))]
        offsets = _new_words(folder, sizes)
        regions = list(map(_Region, sources, lengths, sizes, offsets))
        found: list[tuple[IntArray, int]] = for_each("writing tokens", _write_tokens, encoding, regions)

        doc_ptr = np.zeros(n_docs + 1, dtype=np.int64)
        np.cumsum(np.concatenate([part for part, _ in found]), out=doc_ptr[1:])
        dropped = DroppedWords()
        if options.vocabulary is not None:
            dropped = DroppedWords(int(counts[~kept].sum()), int((~kept).sum()), sum(emptied for _, emptied in found))
        corpus = CorpusParts(
            doc_ptr, open_array(folder / WORDS), vocabulary, ids, labels, covariates, options.name, dropped
        )
        shutil.rmtree(folder / COUNTS)
        with _writing(folder.parent):
            native.write(corpus, folder, there=("words",))


def _count_words(reading: _Reading, numbered: tuple[int, Source]) -> Annotations:
    """Count the words of a file, and in how many documents each is, into a file; return what is known of these."""
    place, source = numbered
    _check_seen(reading, source)
    analyze = reading.options.text.analyzer()
    annotations = new_annotations(source, reading.kind, reading.options)
    counts: Counter[str] = Counter()
    frequencies: Counter[str] = Counter()
    for record in read_records(source, reading.kind, reading.options):
        tokens = analyze(record.text)
        words = set(tokens)
        if reading.options.vocabulary is None:
            for word in words:
                if word not in counts and (problem := word_problem(word)):
                    raise file_error(source, record.line, f"the token {word!r} {problem}; expected words")
        counts.update(tokens)
        frequencies.update(words)
        annotations.add(record.line, record.label, record.doc_id, record.covariates)
    data, offsets = encode_strings(np.array(list(counts), dtype=object))
    numbers = [[counts[word], frequencies[word]] for word in counts]
    # In one step: a task whose worker seems lost runs again elsewhere, perhaps at the same time.
    with (
        _writing(reading.folder.parent),
        replaced(_counts_file(reading.folder, place)) as work,
        work.open("wb") as file,
    ):
        np.savez(file, data=data, offsets=offsets, numbers=np.array(numbers, np.int64))
    return annotations


def _total(folder: Path, n_files: int) -> tuple[StrArray, IntArray, IntArray]:
    """Return all words, how often each occurs, and in how many documents."""
    word_ids: defaultdict[str, int] = defaultdict()
    word_ids.default_factory = word_ids.__len__
    totals = GrowableArray(np.int64), GrowableArray(np.int64)
    for place in range(n_files):
        words, numbers = _read_counts(folder, place)
        ids = np.array([word_ids[word] for word in words], dtype=np.int64)
        for total, column in zip(totals, numbers.T, strict=True):
            total.extend(np.zeros(len(word_ids) - total.size, dtype=np.int64))
            total.view()[ids] += column
    return np.array(list(word_ids), dtype=object), totals[0].release(), totals[1].release()


def _kept_tokens(folder: Path, place: int, encoding: _Encoding) -> int:
    """Return how many tokens of a file are kept."""
    words, numbers = _read_counts(folder, place)
    kept = np.array([word in encoding.word_ids for word in words], dtype=bool)
    return int(numbers[kept, 0].sum())


def _new_words(folder: Path, sizes: Sequence[int]) -> list[int]:
    """Make the file of all tokens, still without them; return the byte at which those of each file begin."""
    ends = np.cumsum([0, *sizes])
    with _writing(folder.parent):
        words = np.lib.format.open_memmap(folder / WORDS, "w+", np.uint32, (int(ends[-1]),))
    offsets: list[int] = (words.offset + words.itemsize * ends[:-1]).tolist()
    return offsets


def _write_tokens(encoding: _Encoding, region: _Region) -> tuple[IntArray, int]:
    """Write the tokens of a file; return the lengths of its documents, and how many lost all of their tokens."""
    source, n_docs, n_tokens, offset = region
    _check_seen(encoding, source)
    analyze, word_ids = encoding.options.text.analyzer(), encoding.word_ids
    lengths: list[int] = []
    emptied = written = 0
    # Written, not mapped: a page that two machines map and write would keep the part of one of them.
    with _writing(encoding.folder.parent), (encoding.folder / WORDS).open("r+b", buffering=_BUFFER) as file:
        file.seek(offset)
        for record in read_records(source, encoding.kind, encoding.options):
            tokens = analyze(record.text)
            words = np.array([i for token in tokens if (i := word_ids.get(token)) is not None], dtype=np.uint32)
            words.sort()
            lengths.append(len(words))
            emptied += bool(tokens) and not len(words)
            written += len(words)
            file.write(words.data)
    if written != n_tokens or len(lengths) != n_docs:
        raise file_error(source, 0, "the file changed while it was read; make the corpus again once it is complete")
    return np.array(lengths, dtype=np.int64), emptied


def _read_counts(folder: Path, place: int) -> tuple[StrArray, IntArray]:
    """Return the words of a file, and counts and document frequencies, shape (V, 2)."""
    with np.load(_counts_file(folder, place), allow_pickle=False) as found:
        return decode_strings(found["data"], found["offsets"]), found["numbers"].reshape(-1, 2)


def _counts_file(folder: Path, place: int) -> Path:
    return folder / COUNTS / f"{place}.npz"


def _check_occurrences(words: StrArray, counts: IntArray) -> None:
    if len(counts) and counts.max() > MAX_OCCURRENCES:
        most = int(counts.argmax())
        raise CorpusError(
            f"the word {words[most]!r} occurs {counts[most]:,} times, expected at most {MAX_OCCURRENCES:,}; "
            f"drop it with {argument('stop_words')} or {argument('max_df')}"
        )


def _check_seen(reading: _Reading, source: Source) -> None:
    """Refuse to work on a machine that does not see the folder, or the file."""
    for place, named in ((reading.folder, reading.folder.parent), (source, source)):
        if isinstance(place, Path) and not place.exists():
            raise CorpusError(
                f"{named}: {socket.gethostname()} does not see it; workers need a file system that all of them see, "
                "under the same path"
            )


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name the place in the error of the system if it cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise CorpusError(f"{path}: cannot be written ({error.strerror or error})") from None
