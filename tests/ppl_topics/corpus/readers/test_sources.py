"""Which files a source names, in which order, on this machine and elsewhere."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ppl_topics.corpus import read_corpus
from ppl_topics.corpus.readers.sources import files_of, text_format_of
from ppl_topics.errors import CorpusError

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    for name in system.ls("/", detail=False):
        system.rm(name, recursive=True)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")


def names_of(source: object) -> list[str]:
    return [file.name for file in files_of(source)]


def test_a_glob_is_sorted_and_a_list_keeps_its_order(tmp_path: Path) -> None:
    touch(tmp_path, "b.csv", "a.csv", "c.csv", "[d].csv", "deep/e.csv")
    assert names_of(f"{tmp_path}/[a-c].csv") == ["a.csv", "b.csv", "c.csv"]
    assert names_of([tmp_path / "c.csv", f"{tmp_path}/[ab].csv"]) == ["c.csv", "a.csv", "b.csv"]
    assert names_of(f"{tmp_path}/[d].csv") == ["[d].csv"]
    assert names_of(f"{tmp_path}/**/e.csv") == ["e.csv"]


def test_folders_of_parquet(tmp_path: Path) -> None:
    touch(tmp_path, "x.parquet/2.parquet", "x.parquet/1.parquet", "x.parquet/_metadata", "y.parquet", "other/a.csv")
    assert names_of(tmp_path / "x.parquet") == ["1.parquet", "2.parquet"]
    assert names_of(f"{tmp_path}/*.parquet") == ["1.parquet", "2.parquet", "y.parquet"]
    with pytest.raises(CorpusError, match=r"other: this is a folder without \.parquet files; give files, or a glob"):
        files_of(tmp_path / "other")


def test_addresses(memory: Any) -> None:
    for name in ("b.csv", "a.csv", "x.parquet/2.parquet", "x.parquet/1.parquet"):
        memory.pipe(f"/posts/{name}", b"")
    assert list(map(str, files_of("memory://posts/*.csv"))) == ["memory:///posts/a.csv", "memory:///posts/b.csv"]
    assert names_of("memory://posts/x.parquet") == ["1.parquet", "2.parquet"]
    with pytest.raises(CorpusError, match=r"memory://posts/\*\.tsv: no file matches"):
        files_of("memory://posts/*.tsv")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.csv", "missing.csv: there is no such file"),
        ("*.tsv", r"\*.tsv: no file matches; is the folder right, and the suffix"),
        (["a.csv", "*.csv"], "a.csv: the file is given twice"),
        ([], "the list of files is empty; expected a path, a glob or a list"),
        (3, "expected a path, a glob or a list of them, got '3'"),
        ([3], "expected the path of a corpus, a string"),
        ("nonsense://a.csv", "nonsense://a.csv: cannot be opened: Protocol not known: nonsense"),
    ],
)
def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, message: str) -> None:
    touch(tmp_path, "a.csv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match=message):
        files_of(source)


@pytest.mark.parametrize(
    ("names", "given", "found"),
    [
        (["a.csv", "b.csv.gz"], None, "csv"),
        (["a.txt", "b.txt"], "tsv", "tsv"),
        (["a.csv", "b.jsonl"], None, "b.jsonl: the format is jsonl, but that of .*a.csv is csv"),
        (["a.svmlight"], None, "a.svmlight: the format is svmlight, expected texts: jsonl, .*; read_corpus reads it"),
        (["a.txt"], None, "a.txt: the name does not tell the format"),
    ],
)
def test_the_format_of_all_files(tmp_path: Path, names: list[str], given: str | None, found: str) -> None:
    touch(tmp_path, *names)
    files = files_of([tmp_path / name for name in names])
    if len(found) <= 5:
        assert text_format_of(files, given) == found
    else:
        with pytest.raises(CorpusError, match=found):
            text_format_of(files, given)


class TestAddressesOfReadCorpus:
    LINES = "".join(json.dumps({"text": text}) + "\n" for text in ("red green", "blue")).encode()

    def test_plain_and_compressed_texts(self, memory: Any) -> None:
        memory.pipe({"/a.jsonl": self.LINES, "/b.jsonl.gz": gzip.compress(self.LINES)})
        plain, zipped = read_corpus("memory://a.jsonl"), read_corpus("memory://b.jsonl.gz")
        assert (plain.name, plain.n_docs, plain.n_tokens) == ("a", 2, 3)
        assert zipped.fingerprint == plain.fingerprint

    def test_counts_and_a_vocabulary(self, memory: Any) -> None:
        memory.pipe({"/a.svmlight": b"1 1:2 2:1\n", "/words.txt": b"red\ngreen\n"})
        corpus = read_corpus("memory://a.svmlight", vocabulary="memory://words.txt")
        assert corpus.document(0) == {"red": 2, "green": 1}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "memory://x.jsonl.gz: there is no such file"),
            (gzip.compress(LINES)[:-12], "memory://x.jsonl.gz: the gzip file is truncated or damaged"),
            (gzip.compress(LINES + b'{"text": null}\n'), "memory://x.jsonl.gz:3: 'text' is null, expected a string"),
        ],
        ids=["missing", "truncated", "null"],  # gzip writes the time into its bytes, and pytest them into the name
    )
    def test_errors(self, memory: Any, content: bytes | None, message: str) -> None:
        if content is not None:
            memory.pipe("/x.jsonl.gz", content)
        with pytest.raises(CorpusError, match=message):
            read_corpus("memory://x.jsonl.gz")

    def test_an_error_of_the_file_system(self, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*args: Any, **options: Any) -> None:
            raise RuntimeError("the token has expired")

        monkeypatch.setattr(type(memory), "open", fail)
        with pytest.raises(CorpusError, match=r"memory://a\.jsonl: the file cannot be read: the token has expired"):
            read_corpus("memory://a.jsonl")

    def test_without_fsspec_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(CorpusError, match=r"a.jsonl: addresses need fsspec; pip install 'ppl-topics\[cluster\]'"):
            read_corpus("memory://a.jsonl")
