"""JSON Lines, CSV, TSV and MALLET files give texts, labels, ids and covariates."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppl_topics.corpus import Corpus, read_corpus
from ppl_topics.errors import CorpusError

TEXTS = ["The cat sat, and\nthe cat ran.", "", 'A "dog" barks; naïve café']


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


ROWS = [
    {"text": text, "label": label, "id": f"doc {i}", "year": 1990 + i, "paper": paper}
    for i, (text, label, paper) in enumerate(zip(TEXTS, ["pet", "", "pet"], "aba", strict=True))
]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "ndjson"])
def test_all_columns(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind.endswith("sv"):
        write_csv(path, ROWS, "," if kind == "csv" else "\t")
    else:
        write_jsonl(path, [row | {"label": row["label"] or None} for row in ROWS])
    corpus = read_corpus(path, label_column="label", id_column="id", covariates=["paper", "year"])
    expected = Corpus.from_texts(TEXTS)
    assert list(corpus.vocabulary) == list(expected.vocabulary)
    np.testing.assert_array_equal(corpus.words, expected.words)
    assert corpus.labels is not None
    assert corpus.labels.values.tolist() == [0, -1, 0]
    assert corpus.doc_ids.tolist() == ["doc 0", "doc 1", "doc 2"]
    assert corpus.covariates is not None
    assert corpus.covariates.names.tolist() == ["paper[a]", "paper[b]", "year"]
    assert corpus.covariates.toarray()[:, 2].tolist() == [1990, 1991, 1992]


def test_mallet_has_name_label_and_text(tmp_path: Path) -> None:
    path = tmp_path / "a.mallet"
    path.write_text("d1 sport The ball, the goal\n\nd2\tmusic\tthe song\nd3 sport\n")
    corpus = read_corpus(path, stop_words="english")
    assert corpus.doc_ids.tolist() == ["d1", "d2", "d3"]
    assert corpus.labels is not None
    assert corpus.labels.classes.tolist() == ["music", "sport"]
    assert [corpus.document(i) for i in range(3)] == [{"ball": 1, "goal": 1}, {"song": 1}, {}]


def test_mallet_names_that_repeat_are_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.mallet"
    path.write_text("x en one\nx en two\n")
    assert read_corpus(path).doc_ids.tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("values", "kind", "given"),
    [
        (["1", "2", "10"], "class", None),
        (["1.5", "", "-2e3"], "real", None),
        (["1", "2", "3"], "real", "real"),
        (["1", "2", "3"], "count", "count"),
        (["a", "b", "1"], "class", None),
    ],
)
def test_csv_labels_get_the_type_that_all_can_have(tmp_path: Path, values: list[str], kind: str, given: Any) -> None:
    path = write_csv(tmp_path / "a.csv", [{"text": "some words", "y": value} for value in values])
    labels = read_corpus(path, label_column="y", label_kind=given).labels
    assert labels is not None
    assert labels.kind == kind
    if kind == "class":
        assert set(labels.classes) == set(values)


def test_numbers_as_class_names_stay_as_they_are_written(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"text": "some words", "y": value} for value in ("01", "1")])
    labels = read_corpus(path, label_column="y", label_kind="class").labels
    assert labels is not None
    assert labels.classes.tolist() == ["01", "1"]


def test_a_json_list_is_several_labels(tmp_path: Path) -> None:
    rows = [{"text": "some words", "y": y} for y in (["a", "b"], [], "b", None)]
    labels = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows), label_column="y").labels
    assert labels is not None
    assert labels.values.tolist() == [[1, 1], [0, 0], [0, 1], [-1, -1]]


def test_vectoriser_options_reach_the_texts(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"body": "Cat cat DOG the x"}, {"body": "cat mouse"}])
    corpus = read_corpus(path, text_column="body", stop_words=["mouse"], lowercase=False, min_df=1)
    assert list(corpus.vocabulary) == ["Cat", "DOG", "cat", "the"]
    assert list(read_corpus(path, text_column="body", min_count=2).vocabulary) == ["cat"]
    assert "x" in read_corpus(path, text_column="body", token_pattern=r"\w+").vocabulary
    other = read_corpus(path, text_column="body", vocabulary=["cat", "dog"])
    assert (other.n_tokens, other.dropped.tokens) == (4, 2)


@pytest.mark.parametrize(("encoding", "name"), [("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-8-sig", "utf-8")])
def test_another_encoding_and_a_byte_order_mark(tmp_path: Path, encoding: str, name: str) -> None:
    path = write_csv(tmp_path / f"{encoding}.csv", [{"text": "café crème"}], encoding=encoding)
    assert list(read_corpus(path, encoding=name).vocabulary) == ["café", "crème"]


def test_long_fields_and_half_surrogates(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"text": "word " * 50_000}])
    limit = csv.field_size_limit()
    assert read_corpus(path).n_tokens == 50_000
    assert csv.field_size_limit() == limit
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "cat \\ud83d dog \\ud83d\\ude00"}\n')
    corpus = read_corpus(path, token_pattern=r"\S+")
    assert list(corpus.vocabulary) == ["cat", "dog", "\ufffd", "\U0001f600"]
    corpus.save(tmp_path / "native")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_survives_csv_and_json(tmp_path: Path, texts: list[str]) -> None:
    try:
        expected = Corpus.from_texts(texts)
    except CorpusError:
        return  # nothing but empty documents
    rows = [{"id": f"{i}", "text": text} for i, text in enumerate(texts)]
    for corpus in (
        read_corpus(write_jsonl(tmp_path / "a.jsonl", rows)),
        read_corpus(write_csv(tmp_path / "a.csv", rows)),
        read_corpus(write_csv(tmp_path / "a.tsv", rows, "\t")),
    ):
        assert list(corpus.vocabulary) == list(expected.vocabulary)
        np.testing.assert_array_equal(corpus.words, expected.words)


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_blank_rows_of_a_table_are_skipped(tmp_path, blank):
    path = tmp_path / "a.csv"
    path.write_text(f"text,y\nred green,a\n{blank}\nblue,b\n{blank}")
    assert read_corpus(path, label_column="y").n_docs == 2
