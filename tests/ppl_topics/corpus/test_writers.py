"""What `write_svmlight` writes, `read_corpus` reads back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from ppl_topics.corpus import Corpus, read_corpus, write_svmlight
from ppl_topics.errors import CorpusError

V = 9
BAGS = st.lists(st.dictionaries(st.integers(0, V - 1), st.integers(1, 5), max_size=V), min_size=1, max_size=12).filter(
    any
)


def labels_for(kind: str, n: int) -> st.SearchStrategy[list[Any]]:
    value: st.SearchStrategy[Any] = {
        "class": st.integers(-3, 12),
        "real": st.floats(allow_nan=False, allow_infinity=False),
        "count": st.integers(0, 10**6),
    }[kind]
    return st.lists(value | st.none(), min_size=n, max_size=n)


def corpus_of(bags: list[dict[int, int]], labels: Any = None, kind: Any = None) -> Corpus:
    counts = np.zeros((len(bags), V), np.int64)
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            counts[row, word] = count
    return Corpus.from_matrix(counts, vocabulary=[f"wörd {i}" for i in range(V)], labels=labels, label_kind=kind)


def assert_equal(back: Corpus, corpus: Corpus) -> None:
    np.testing.assert_array_equal(back.doc_ptr, corpus.doc_ptr)
    np.testing.assert_array_equal(back.words, corpus.words)
    assert list(back.vocabulary) == list(corpus.vocabulary)
    if corpus.labels is None:
        assert back.labels is None
    else:
        assert back.labels is not None
        np.testing.assert_array_equal(back.labels.values, corpus.labels.values)
        assert list(back.labels.classes) == list(corpus.labels.classes)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), bags=BAGS, kind=st.sampled_from(["class", "real", "count", None]))
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_numbers_as_labels_come_back(tmp_path: Path, data: st.DataObject, bags: Any, kind: Any, suffix: str) -> None:
    labels = None
    if kind is not None:
        labels = data.draw(labels_for(kind, len(bags)).filter(lambda drawn: any(y is not None for y in drawn)))
    corpus = corpus_of(bags, labels, kind)
    path = tmp_path / f"a.svmlight{suffix}"
    write_svmlight(corpus, path, tmp_path / "v.txt")
    assert_equal(read_corpus(path, vocabulary=tmp_path / "v.txt", label_kind=kind, first_id=1), corpus)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), bags=BAGS)
def test_several_labels_come_back(tmp_path: Path, data: st.DataObject, bags: Any) -> None:
    labels = data.draw(
        st.lists(st.lists(st.sampled_from("124"), unique=True), min_size=len(bags), max_size=len(bags)).filter(any)
    )
    corpus = corpus_of(bags, labels, "multi_label")
    write_svmlight(corpus, tmp_path / "a.svmlight")
    back = read_corpus(tmp_path / "a.svmlight", vocabulary=corpus, label_kind="multi_label")
    assert_equal(back, corpus)


def test_names_of_classes_become_numbers(tmp_path: Path) -> None:
    corpus = corpus_of([{0: 1}, {1: 1}, {2: 1}], ["b", "a", None])
    write_svmlight(corpus, tmp_path / "a.svmlight")
    assert (tmp_path / "a.svmlight").read_text() == "2 1:1\n1 2:1\n3:1\n"


def test_scikit_learn_reads_it(tmp_path: Path) -> None:
    corpus = corpus_of([{0: 2, 8: 1}, {}, {4: 3}], [0.5, -1.0, 2.25])
    write_svmlight(corpus, tmp_path / "a.svmlight.gz")
    matrix, labels = load_svmlight_file(str(tmp_path / "a.svmlight.gz"), zero_based=False)
    np.testing.assert_array_equal(matrix.toarray(), corpus.to_matrix().toarray())
    np.testing.assert_array_equal(labels, [0.5, -1.0, 2.25])


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_same_corpus_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    corpus = corpus_of([{0: 2}, {3: 1}])
    for name in ("a", "b"):
        write_svmlight(corpus, tmp_path / f"{name}.svmlight{suffix}")
    assert (tmp_path / f"a.svmlight{suffix}").read_bytes() == (tmp_path / f"b.svmlight{suffix}").read_bytes()


def test_what_svmlight_cannot_hold_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight"
    with pytest.raises(CorpusError, match="one label per document, but this corpus has 2"):
        write_svmlight(corpus_of([{0: 1}, {1: 1}], np.array([[0.5, 1.5], [2.0, 3.0]])), path)
    with pytest.raises(CorpusError, match="document 1 has a missing label among several"):
        write_svmlight(corpus_of([{0: 1}, {1: 1}], [["a", "b"], None]), path)
    words = Corpus.from_tokens([["a\nb", "c"]])
    with pytest.raises(CorpusError, match="cannot be written on a line"):
        write_svmlight(words, path, tmp_path / "v.txt")
    with pytest.raises(CorpusError, match=r"missing/a\.svmlight: cannot be written \(No such file"):
        write_svmlight(words, tmp_path / "missing" / "a.svmlight")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [("pipe",), ("a.svmlight", "pipe")])
def test_a_pipe_is_not_replaced(tmp_path: Path, names: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="pipe: exists and is neither a file nor a folder"):
        write_svmlight(corpus_of([{0: 1}]), *(tmp_path / name for name in names))
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_failure_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"a.svmlight{suffix}"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ppl_topics.corpus.writers._write_documents", fail)
    with pytest.raises(CorpusError, match=r"cannot be written \(No space left"):
        write_svmlight(corpus_of([{0: 1}]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
