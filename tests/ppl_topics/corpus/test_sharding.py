"""A corpus made from many files in two passes is, to the byte, the one made from all of their documents in one."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppl_topics.corpus import Corpus, read_corpus, sharding
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.text_options import TextOptions
from ppl_topics.errors import CorpusError

RNG = random.Random(1)
COMMON = [f"word{i}" for i in range(40)]
ROWS: list[dict[str, Any]] = [
    {
        "text": " ".join(RNG.choices(COMMON, [1 / (1 + i) for i in range(40)], k=RNG.randrange(12))),
        "y": RNG.choice(["b", "a", None]),
        "id": f"doc {i}",
        "age": RNG.random(),
        "paper": RNG.choice("pq"),
    }
    for i in range(60)
]
"""Some of them are empty, and rare words are in one file only."""


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def files(folder: Path, *, sizes: Sequence[int] = (20, 0, 25, 15)) -> list[Path]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [write(folder / f"{i}.jsonl", ROWS[a:b]) for i, (a, b) in enumerate(itertools.pairwise(ends))]


def read_options(*, vocabulary: Any = None, columns: Columns | None = None, **words: Any) -> ReadOptions:
    columns = columns or Columns("text", "y", "id", ("age", "paper"))
    text = TextOptions(**words)
    array = None if vocabulary is None else np.array(vocabulary, dtype=object)
    return ReadOptions("utf-8", array, None, columns, None, text, "one")


def each(what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> list[Any]:
    """Do the items in another order than they are in, and each of them twice, as a cluster may."""
    order = list(range(len(items)))
    random.Random(2).shuffle(order)
    done = {place: function(shared, items[place]) for place in order + order}
    return [done[place] for place in range(len(items))]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WORDS: list[dict[str, Any]] = [
    {},
    {"min_count": 5},
    {"min_df": 4},
    {"min_df": 0.1},
    {"max_df": 20},
    {"max_df": 0.5},
    {"max_vocabulary": 7},
    {"min_count": 2, "max_df": 0.5, "max_vocabulary": 9, "stop_words": ["word3"]},
    {"vocabulary": ["word9", "word2", "never", "word5"]},
    {"vocabulary": ["never"]},
]


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_the_folder_is_that_of_one_file(tmp_path: Path, words: dict[str, Any]) -> None:
    how: dict[str, Any] = {"label_column": "y", "id_column": "id", "covariates": ["age", "paper"]}
    read_corpus(write(tmp_path / "one.jsonl", ROWS), **how, **words).save(tmp_path / "one")
    sharding.write_shards(files(tmp_path), "jsonl", read_options(**words), tmp_path / "many", each)
    assert content(tmp_path / "many") == content(tmp_path / "one")
    Corpus.load(tmp_path / "many", verify=True)


def test_tokens_stay_on_disk(tmp_path: Path) -> None:
    sharding.write_shards(files(tmp_path), "jsonl", read_options(), tmp_path / "many", each)
    words: Any = Corpus.load(tmp_path / "many").words
    while words.base is not None and not isinstance(words, np.memmap):
        words = words.base
    assert isinstance(words, np.memmap)


def test_another_corpus_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for rows in (ROWS[:9], ROWS):
        source = write(tmp_path / "a.jsonl", rows)
        sharding.write_shards([source], "jsonl", read_options(), tmp_path / "out" / "many", each)
    assert Corpus.load(tmp_path / "out" / "many").n_docs == len(ROWS)
    assert os.listdir(tmp_path / "out") == ["many"]


def refuse(tmp_path: Path, message: str, for_each: Any = each, **options: Any) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(CorpusError, match=message):
        sharding.write_shards(
            sorted(tmp_path.glob("*.jsonl")), "jsonl", read_options(**options), tmp_path / "out" / "many", for_each
        )
    assert not os.listdir(tmp_path / "out")


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"text": None}, {}, "2.jsonl:26: 'text' is null, expected a string"),
        ({"y": 3}, {}, "2.jsonl:26: the label of document 45 .* is 3, a number"),
        ({"id": "doc 1"}, {}, "2.jsonl:26: document id 'doc 1' is used twice, by documents 1 and 45"),
        ({"age": None}, {}, "2.jsonl:26: covariate 'age' of document 45 .* is missing"),
        ({"text": "a\0b"}, {"token_pattern": r"\S+"}, r"2.jsonl:26: the token 'a\\x00b' contains a NUL character"),
        ({}, {"min_count": 10_000}, r"none of the \d+ words passes min_count=10000"),
        ({}, {"min_count": 2, "vocabulary": ["word1"]}, "use one or the other"),
    ],
)
def test_errors(tmp_path: Path, row: dict[str, Any], options: dict[str, Any], message: str) -> None:
    files(tmp_path)
    write(tmp_path / "2.jsonl", [*ROWS[20:45], ROWS[45] | {"id": "new", "y": "a"} | row])
    refuse(tmp_path, message, **options)


def test_no_document_and_only_empty_ones(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [])
    refuse(tmp_path, "the corpus has no documents")
    (tmp_path / "out").rmdir()
    write(tmp_path / "b.jsonl", [ROWS[0] | {"text": ""}])
    refuse(tmp_path, "all 1 documents are empty")


def test_a_word_that_occurs_too_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path)
    most = sum(row["text"].split().count("word0") for row in ROWS)
    monkeypatch.setattr(sharding, "MAX_OCCURRENCES", most)
    sharding.write_shards(sorted(tmp_path.glob("*.jsonl")), "jsonl", read_options(), tmp_path / "fine", each)
    monkeypatch.setattr(sharding, "MAX_OCCURRENCES", most - 1)
    refuse(
        tmp_path,
        f"the word 'word0' occurs {most} times, expected at most {most - 1}; drop it with stop_words or max_df",
    )
    sharding.write_shards(
        sorted(tmp_path.glob("*.jsonl")), "jsonl", read_options(stop_words=["word0"]), tmp_path / "fine", each
    )


@pytest.mark.parametrize("rows", [ROWS[20:46], ROWS[20:44], [*ROWS[20:45], {**ROWS[45], "text": ""}]])
def test_a_file_that_changes_between_the_passes(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    files(tmp_path)

    def changing(what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> list[Any]:
        done = [function(shared, item) for item in items]
        write(tmp_path / "2.jsonl", rows)
        return done

    refuse(tmp_path, "2.jsonl: the file changed while it was read", changing)


def test_a_machine_that_does_not_see_the_folder(tmp_path: Path) -> None:
    files(tmp_path)

    def elsewhere(what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> list[Any]:
        return [function(dataclasses.replace(shared, folder=Path("/nowhere/here")), item) for item in items]

    refuse(tmp_path, "/nowhere: .* does not see it; workers need a file system that all of them see", elsewhere)


@pytest.mark.parametrize("what", ["counting words", "writing tokens"])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    files(tmp_path)

    def fail(*args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if what == "counting words":
        monkeypatch.setattr(np, "savez", fail)
    else:
        monkeypatch.setattr(np.lib.format, "open_memmap", fail)
    refuse(tmp_path, r"^[^ ]*/out: cannot be written \(No space left on device\)")
