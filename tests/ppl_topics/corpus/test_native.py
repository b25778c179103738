"""The native folder: round trips, damage, and what must not be overwritten."""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppl_topics.corpus import Corpus
from ppl_topics.errors import CorpusError

STORABLE = st.characters(codec="utf-8", exclude_characters="\0")


def assert_same(a, b):
    assert a.fingerprint == b.fingerprint
    np.testing.assert_array_equal(a.doc_ptr, b.doc_ptr)
    np.testing.assert_array_equal(a.words, b.words)
    assert a.vocabulary.tolist() == b.vocabulary.tolist()
    assert a.doc_ids.tolist() == b.doc_ids.tolist()
    assert (a.name, a.dropped) == (b.name, b.dropped)
    assert (a.labels is None) == (b.labels is None)
    if a.labels is not None:
        assert a.labels.kind == b.labels.kind
        np.testing.assert_array_equal(a.labels.values, b.labels.values)
        assert a.labels.values.dtype == b.labels.values.dtype
        assert a.labels.classes.tolist() == b.labels.classes.tolist()
    assert (a.covariates is None) == (b.covariates is None)
    if a.covariates is not None:
        np.testing.assert_array_equal(a.covariates.toarray(), b.covariates.toarray())
        assert a.covariates.columns == b.covariates.columns
        assert a.covariates.is_sparse == b.covariates.is_sparse


@pytest.fixture
def corpus():
    return Corpus.from_tokens([["a", "b"], [], ["c", "a"]], labels=["x", None, "y"], name="tiny")


LABELS = [
    None,
    ["x", None, "y"],
    [0.5, None, 1.5],
    [["x"], None, ["x", "y"]],
    np.array([[0.5, 1.0], [1.0, 2.0], [np.nan, 3.0]]),
]
COVARIATES = [
    None,
    pd.DataFrame({"year": [1, 2, 3], "source": ["p", "q", "p"]}),
    pd.DataFrame({f"g{i}": ["p", "q", "r"] for i in range(50)}),
    pd.DataFrame(index=range(3)),
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("covariates", COVARIATES)
@pytest.mark.parametrize("ids", [None, [7, 5, 6], ["é", "", "b"]])
def test_round_trip(tmp_path, labels, covariates, ids):
    corpus = Corpus.from_tokens(
        [["ä", "b", "b", "zz"], [], ["日本", "b"]],
        labels=labels,
        covariates=covariates,
        doc_ids=None if ids is None else np.array(ids),
        vocabulary=["b", "ä", "日本", "other"],
        name="some name",
    )
    corpus.save(tmp_path / "c")
    loaded = Corpus.load(tmp_path / "c")
    assert_same(loaded, corpus)
    assert sorted(os.listdir(tmp_path)) == ["c"]
    again = Corpus(loaded.doc_ptr, loaded.words, loaded.vocabulary, loaded.ids, loaded.labels, loaded.covariates)
    assert again.fingerprint == loaded.fingerprint  # the stored fingerprint is that of the contents
    assert_same(loaded.select([2, 0]), corpus.select([2, 0]))


@given(
    docs=st.lists(
        st.lists(st.text(STORABLE, min_size=1, max_size=5), max_size=6),
        min_size=1,
        max_size=6,
    ).filter(any),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_round_trip_of_anything(docs, data):
    labels = data.draw(
        st.none()
        | st.lists(
            st.none() | st.text(STORABLE),
            min_size=len(docs),
            max_size=len(docs),
        )
    )
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    matrix = data.draw(st.none() | st.lists(st.tuples(numbers, numbers), min_size=len(docs), max_size=len(docs)))
    corpus = Corpus.from_tokens(docs, labels=labels, label_kind="class", covariates=matrix)
    with tempfile.TemporaryDirectory() as folder:
        corpus.save(Path(folder) / "c")
        assert_same(Corpus.load(Path(folder) / "c"), corpus)


def test_tokens_stay_on_disk(tmp_path, corpus):
    corpus.save(tmp_path / "c")
    loaded = Corpus.load(str(tmp_path / "c"))
    base = loaded.words
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert type(loaded.words) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        loaded.words[0] = 1


def test_without_tokens(tmp_path):
    empty = Corpus.from_tokens([["x"]], vocabulary=["a"])
    empty.save(tmp_path / "c")
    assert_same(Corpus.load(tmp_path / "c"), empty)


def test_an_older_corpus_is_replaced_even_by_itself(tmp_path, corpus):
    corpus.save(tmp_path / "c")
    loaded = Corpus.load(tmp_path / "c")
    loaded.select([2]).save(tmp_path / "c")
    assert Corpus.load(tmp_path / "c").doc_ids.tolist() == ["2"]
    assert loaded.document(0) == {"a": 1, "b": 1}  # its files are still mapped
    assert os.listdir(tmp_path) == ["c"]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_other_things_are_not_overwritten(tmp_path, corpus, what):
    place = tmp_path / "thing"
    if what == "file":
        place.write_text("precious")
    else:
        place.mkdir()
        (place / "meta.json").write_text('{"format": "something else"}')
    with pytest.raises(CorpusError, match="exists and is not a corpus"):
        corpus.save(place)
    assert place.is_file() == (what == "file")


def test_an_empty_folder_may_be_filled(tmp_path, corpus):
    (tmp_path / "c").mkdir()
    corpus.save(tmp_path / "c")
    assert_same(Corpus.load(tmp_path / "c"), corpus)


def test_no_parent_folder(tmp_path, corpus):
    with pytest.raises(CorpusError, match="does not exist"):
        corpus.save(tmp_path / "no" / "c")


def test_a_failed_save_leaves_the_older_corpus(tmp_path, corpus, monkeypatch):
    corpus.save(tmp_path / "c")

    def full(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="no space left"):
        corpus.select([0]).save(tmp_path / "c")
    monkeypatch.undo()
    assert_same(Corpus.load(tmp_path / "c"), corpus)
    assert os.listdir(tmp_path) == ["c"]


def test_a_failed_move_puts_the_older_corpus_back(tmp_path, corpus, monkeypatch):
    corpus.save(tmp_path / "c")
    rename = Path.rename

    def refuse(self, target):
        if self.name.endswith(".part"):
            raise OSError("not now")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="not now"):
        corpus.select([0]).save(tmp_path / "c")
    assert_same(Corpus.load(tmp_path / "c"), corpus)


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path, corpus):
        corpus.save(tmp_path / "c")
        return tmp_path / "c"

    def change_meta(self, folder, **changes):
        meta = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**meta, **changes}))

    def test_changed_contents(self, folder):
        raw = bytearray((folder / "words.npy").read_bytes())
        raw[-1] ^= 1
        (folder / "words.npy").write_bytes(raw)
        with pytest.raises(CorpusError, match=r"words\.npy has changed since it was saved"):
            Corpus.load(folder)
        assert Corpus.load(folder, verify=False).n_docs == 3

    def test_changed_description(self, folder):
        self.change_meta(folder, parts={"labels": {"kind": "class", "classes": ["y", "x"]}, "covariates": None})
        with pytest.raises(CorpusError, match=r"meta\.json has changed"):
            Corpus.load(folder)

    @pytest.mark.parametrize("name", ["words", "doc_ptr", "vocabulary_data", "labels"])
    def test_a_lost_file(self, folder, name):
        (folder / f"{name}.npy").unlink()
        with pytest.raises(CorpusError, match="is damaged"):
            Corpus.load(folder)

    @pytest.mark.parametrize("n_bytes", [0, 4, 60, 130])
    def test_a_truncated_file(self, folder, n_bytes):
        raw = (folder / "words.npy").read_bytes()
        (folder / "words.npy").write_bytes(raw[:n_bytes])
        with pytest.raises(CorpusError, match="is damaged"):
            Corpus.load(folder, verify=False)

    def test_pickles_are_not_read(self, folder):
        np.save(folder / "words.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
        with pytest.raises(CorpusError, match="is damaged"):
            Corpus.load(folder)

    def test_missing_entries(self, folder):
        self.change_meta(folder, arrays={})
        with pytest.raises(CorpusError, match=r"meta\.json has changed"):
            Corpus.load(folder)
        with pytest.raises(CorpusError, match="is damaged"):
            Corpus.load(folder, verify=False)

    def test_a_later_version(self, folder):
        self.change_meta(folder, version=99)
        with pytest.raises(CorpusError, match="has version 99 of the corpus format"):
            Corpus.load(folder)

    def test_not_a_corpus(self, folder):
        with pytest.raises(CorpusError, match="there is no corpus at"):
            Corpus.load(folder / "nowhere")
        with pytest.raises(CorpusError, match="is not a corpus"):
            Corpus.load(folder.parent)
        with pytest.raises(CorpusError, match="is not a corpus"):
            Corpus.load(folder / "words.npy")
