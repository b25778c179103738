"""``shard_corpus``: the corpus of many files, here and on a cluster, is that of one."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ppl_topics as pt

pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
fsspec = pytest.importorskip("fsspec")
pq = pytest.importorskip("pyarrow.parquet")

ROWS: list[dict[str, Any]] = [
    {
        "body": "red green red" if i % 3 else f"blue word{i} green",
        "y": None if i == 4 else "ab"[i % 2],
        "id": f"d{i}",
        "age": i / 2,
        "paper": "pq"[i % 2],
    }
    for i in range(12)
]
HOW: dict[str, Any] = {
    "text_column": "body",
    "label_column": "y",
    "id_column": "id",
    "covariates": ["age", "paper"],
    "min_count": 2,
}


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def expected(tmp_path: Path) -> pt.Corpus:
    (tmp_path / "one.json").write_bytes(lines(ROWS))
    return pt.read_corpus(tmp_path / "one.json", format="jsonl", **HOW)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def posts(tmp_path: Path) -> str:
    """Compressed files, one of them empty."""
    for i, (a, b) in enumerate([(0, 5), (5, 5), (5, 12)]):
        (tmp_path / f"{i}.jsonl.gz").write_bytes(gzip.compress(lines(ROWS[a:b])))
    return f"{tmp_path}/*.jsonl.gz"


def check(corpus: pt.Corpus, expected: pt.Corpus) -> None:
    assert corpus.fingerprint == expected.fingerprint
    assert corpus.doc_ids.tolist() == expected.doc_ids.tolist()


def test_compressed_files_and_what_the_folder_is_for(tmp_path: Path, posts: str, expected: pt.Corpus) -> None:
    corpus = pt.shard_corpus(posts, to=tmp_path / "posts.corpus", progress=False, **HOW)
    check(corpus, expected)
    assert corpus.name == "posts"
    check(pt.read_corpus(tmp_path / "posts.corpus"), expected)
    pt.shard_corpus(posts, to=tmp_path / "plain.corpus", text_column="body", progress=False)
    how: dict[str, Any] = {"topics": 2, "draws": 3, "warmup": 2, "chains": 1, "seed": 1, "progress": False}
    mapped = pt.sample("lda", pt.Corpus.load(tmp_path / "plain.corpus"), **how)
    alone = pt.sample("lda", pt.Corpus.from_texts([row["body"] for row in ROWS]), **how)
    assert mapped.posterior["phi"].equals(alone.posterior["phi"])


def test_memory_of_fsspec(tmp_path: Path, expected: pt.Corpus) -> None:
    system = fsspec.filesystem("memory")
    system.pipe({f"/posts/{i}.jsonl": lines(ROWS[i * 6 : i * 6 + 6]) for i in range(2)})
    try:
        check(pt.shard_corpus("memory://posts/*.jsonl", to=tmp_path / "a", progress=False, **HOW), expected)
    finally:
        system.rm("/posts", recursive=True)


@pytest.mark.parametrize("row_group_size", [1, 4])
def test_a_folder_of_parquet(tmp_path: Path, row_group_size: int, expected: pt.Corpus) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    (tmp_path / "posts").mkdir()
    for i, (a, b) in enumerate([(0, 5), (5, 12)]):
        table = pyarrow.Table.from_pylist(ROWS[a:b])
        pq.write_table(table, tmp_path / f"posts/{i}.parquet", row_group_size=row_group_size)
    check(pt.shard_corpus(tmp_path / "posts", to=tmp_path / "a", progress=False, **HOW), expected)


@pytest.mark.parametrize("partitions", [1, 3, 12])
def test_a_data_frame_whatever_its_partitions(tmp_path: Path, partitions: int, expected: pt.Corpus) -> None:
    from dask import dataframe
    from pandas import DataFrame

    frame = dataframe.from_pandas(DataFrame(ROWS), npartitions=partitions)
    check(pt.shard_corpus(frame, to=tmp_path / "a", progress=False, **HOW), expected)


class TestOnACluster:
    def test_files(self, tmp_path: Path, posts: str, expected: pt.Corpus, cluster: Any) -> None:
        alone = pt.shard_corpus(posts, to=tmp_path / "alone", progress=False, **HOW)
        corpus = pt.shard_corpus(posts, to=tmp_path / "spread", cluster=cluster, progress=False, **HOW)
        check(corpus, expected)
        check(corpus, alone)
        for name in os.listdir(tmp_path / "alone"):
            if name != "meta.json":
                assert (tmp_path / "spread" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()

    def test_relative_paths(
        self, tmp_path: Path, posts: str, expected: pt.Corpus, cluster: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        check(pt.shard_corpus("*.jsonl.gz", to="spread", cluster=cluster, progress=False, **HOW), expected)

    def test_a_data_frame(self, tmp_path: Path, expected: pt.Corpus, cluster: Any) -> None:
        from dask import dataframe
        from pandas import DataFrame

        frame = dataframe.from_pandas(DataFrame(ROWS), npartitions=3)
        check(pt.shard_corpus(frame, to=tmp_path / "a", cluster=cluster, progress=False, **HOW), expected)
        with cluster.get_client():
            held = frame.persist()
            with pytest.raises(pt.CorpusError, match="persisted on a cluster; give it as it was before persist"):
                pt.shard_corpus(held, to=tmp_path / "b", cluster=cluster, progress=False, **HOW)

    def test_an_error_in_a_task(self, tmp_path: Path, posts: str, cluster: Any) -> None:
        (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(lines(ROWS))[:-20])
        (tmp_path / "out").mkdir()
        with pytest.raises(pt.CorpusError, match=r"2\.jsonl\.gz: the gzip file is truncated or damaged"):
            pt.shard_corpus(posts, to=tmp_path / "out" / "a", cluster=cluster, progress=False, **HOW)
        assert not os.listdir(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_column": "txt"}, r"0\.jsonl\.gz:1: the object has no column 'txt', only body"),
        ({"min_df": 13}, r"/\*\.jsonl\.gz: none of the \d words passes"),
        ({"min_df": 1.5}, "^min_df is 1.5; expected a share"),
        ({"label_kind": "real"}, r"0\.jsonl\.gz:1: the label of document 0 .* is 'a'"),
        ({"label_column": None, "label_kind": "real"}, "label_kind is given without label_column"),
        ({"covariates": "age"}, "covariates must be a list"),
        ({"format": "uci"}, "the format is uci, expected texts"),
        ({"to": "one.json"}, r"^[^ ]*/one.json exists and is not a corpus, so it is not replaced"),
        ({"to": "no/where"}, r"^cannot save to .*/no/where: the folder .*/no does not exist"),
    ],
)
def test_errors(tmp_path: Path, posts: str, expected: pt.Corpus, options: dict[str, Any], message: str) -> None:
    before = sorted(os.listdir(tmp_path))
    to = tmp_path / options.get("to", "a")
    with pytest.raises(pt.CorpusError, match=message):
        pt.shard_corpus(posts, progress=False, **{**HOW, **options, "to": to})
    assert sorted(os.listdir(tmp_path)) == before


def test_errors_of_data_frames(tmp_path: Path) -> None:
    from dask import dataframe
    from pandas import DataFrame

    frame = dataframe.from_pandas(DataFrame({"text": ["red", "green", None, "blue"]}), npartitions=2)
    with pytest.raises(pt.CorpusError, match="partition 1:1: 'text' is null, expected a string"):
        pt.shard_corpus(frame, to=tmp_path / "a", progress=False)
    with pytest.raises(pt.CorpusError, match="the data frame: it has no column 'txt', only text"):
        pt.shard_corpus(frame, to=tmp_path / "a", text_column="txt", progress=False)
    with pytest.raises(pt.CorpusError, match="expected a data frame of Dask, got a series or bag"):
        pt.shard_corpus(frame["text"], to=tmp_path / "a", progress=False)
    broken = frame.map_partitions(lambda part: part.astype(int), meta=frame)
    with pytest.raises(pt.CorpusError, match="partition 0: it cannot be computed: ValueError: "):
        pt.shard_corpus(broken, to=tmp_path / "a", progress=False)
    assert not os.listdir(tmp_path)
