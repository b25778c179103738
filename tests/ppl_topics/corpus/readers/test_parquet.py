"""Parquet files are read as JSON Lines with the same values are."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from ppl_topics.corpus import read_corpus
from ppl_topics.errors import CorpusError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS: list[dict[str, Any]] = [
    {"text": "red green red", "y": ["a", "b"], "id": "x", "age": 1.5, "paper": "p", "n": 1},
    {"text": "", "y": [], "id": "y", "age": 2.0, "paper": "q", "n": 2},
    {"text": "green blue é", "y": None, "id": "z", "age": -3.0, "paper": "p", "n": 3},
]
COLUMNS: dict[str, Any] = {"label_column": "y", "id_column": "id", "covariates": ["age", "paper", "n"]}


def write_parquet(path: Path, rows: list[dict[str, Any]], **how: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **how)
    return path


@pytest.mark.parametrize("row_group_size", [1, 2, 100])
@pytest.mark.parametrize(
    "labels", [[["a", "b"], [], None], ["a", None, "b"], [2, None, 3], [0.5, None, 3.0], [True, None, False]], ids=str
)
def test_as_json_lines(tmp_path: Path, row_group_size: int, labels: list[Any]) -> None:
    rows = [row | {"y": label} for row, label in zip(ROWS, labels, strict=True)]
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = write_parquet(tmp_path / "a.parquet", rows, row_group_size=row_group_size)
    expected, found = read_corpus(lines, **COLUMNS), read_corpus(path, **COLUMNS)
    assert found.fingerprint == expected.fingerprint
    assert found.doc_ids.tolist() == ["x", "y", "z"]


def test_more_rows_than_are_read_at_once(tmp_path: Path) -> None:
    rows = [{"text": f"word{i} word{i}"} for i in range(3_000)]
    corpus = read_corpus(write_parquet(tmp_path / "a.parquet", rows, row_group_size=700))
    assert (corpus.n_docs, corpus.n_tokens) == (3_000, 6_000)
    assert corpus.document(2_999) == {"word2999": 2}


def test_a_text_may_be_a_list_of_its_tokens(tmp_path: Path) -> None:
    rows = [{"text": ["the", "New York", "cat"]}, {"text": []}]
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = write_parquet(tmp_path / "a.parquet", rows)
    for file in (lines, path):
        corpus = read_corpus(file, stop_words=["the"])
        assert list(corpus.vocabulary) == ["New York", "cat"]
        assert corpus.doc_lengths.tolist() == [2, 0]
        assert "New York_cat" in read_corpus(file, stop_words=["the"], ngrams=2).vocabulary


def test_strings_of_few_values_may_be_stored_as_a_dictionary(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["red blue", "green", "red blue"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_corpus(tmp_path / "a.parquet").n_tokens == 5


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, {"text_column": "txt"}, "a.parquet: the file has no column 'txt', only text, .*; did you mean 'text'"),
        ([ROWS[0], ROWS[1] | {"text": None}], {}, "a.parquet:2: 'text' is null, expected a string"),
        ([{"text": "ab", "id": None}], {"id_column": "id"}, "a.parquet:1: the id 'id' is null, expected a string"),
        ([{"text": 3}], {}, "a.parquet:1: 'text' is 3, expected a string"),
        (
            [{"text": "ab", "day": datetime.date(2020, 1, 2)}],
            {"covariates": ["day"]},
            "a.parquet:1: 'day' is \"2020-01-02\", expected a string, a number",
        ),
        (ROWS, {"label_column": "y", "label_kind": "real"}, "a.parquet:1: the label of document 0 .* finite number"),
    ],
)
def test_errors(tmp_path: Path, rows: list[dict[str, Any]], options: dict[str, Any], message: str) -> None:
    path = write_parquet(tmp_path / "a.parquet", rows)
    with pytest.raises(CorpusError, match=message):
        read_corpus(path, **options)


@pytest.mark.parametrize("damage", ["not Parquet", "cut", "changed"])
def test_a_damaged_file(tmp_path: Path, damage: str) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"text": f"word{i * i}"} for i in range(2_000)])
    content = path.read_bytes()
    half = len(content) // 2
    changed = content[:100] + bytes(255 - byte for byte in content[100:half]) + content[half:]
    path.write_bytes({"not Parquet": b"text\nred green\n", "cut": content[:half], "changed": changed}[damage])
    with pytest.raises(CorpusError, match=r"a\.parquet: this is not a Parquet file, or it is damaged"):
        read_corpus(path)


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r"a\.parquet: Parquet needs pyarrow; pip install 'ppl-topics\[parquet\]'"):
        read_corpus(path)
