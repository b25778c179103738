"""``ppl-topics shard`` on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import call, refused

import ppl_topics as pt

TEXTS = ["red green red", "the green blue", "blue blue red"]


@pytest.fixture
def posts(tmp_path: Path) -> list[str]:
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.csv").write_text(f"text,topic\n{text},{'ab'[i % 2]}\n")
    return [str(tmp_path / f"{i}.csv") for i in range(len(TEXTS))]


def test_options_are_those_of_run(posts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = str(tmp_path / "posts.corpus")
    given = ["--label-column", "topic", "--stop-words", "english", "--min-count", "2", "--no-progress", "--to", to]
    code, out, err = call(capsys, "shard", *posts, *given)
    assert (code, err) == (0, "")
    assert out == f"3 documents, 8 tokens, 3 words\nwritten: {to}\n"
    corpus = pt.Corpus.load(to)
    assert corpus.labels is not None
    assert corpus.vocabulary.tolist() == ["blue", "green", "red"]

    how = ["--set", "topics=2", "--draws", "2", "--warmup", "1", "--seed", "1", "--no-progress"]
    assert call(capsys, "run", "lda", "--data", to, *how, "--out", str(tmp_path / "a.nc"))[0] == 0


def test_json_and_a_glob(posts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = str(tmp_path / "posts.corpus")
    code, out, err = call(capsys, "shard", f"{tmp_path}/*.csv", "--to", to, "--json")
    assert code == 0
    assert "writing tokens" in err
    made = json.loads(out)
    assert (made["path"], made["documents"], made["tokens"], made["words"]) == (to, 3, 9, 4)
    assert made["fingerprint"] == pt.Corpus.from_texts(TEXTS).fingerprint


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--text-column", "txt"], "0.csv:1: the header has no column 'txt', only text, topic"),
        (["--min-count", "9"], "0.csv and 2 more: none of the 4 words passes --min-count 9"),
        (["--label-kind", "real"], "--label-kind is given without --label-column"),
        (["--first-id", "1"], "No such option: --first-id"),
        (["--cluster", "nonsense"], "--cluster nonsense: expected a Dask client"),
    ],
)
def test_errors(
    given: list[str], says: str, posts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(os.listdir(tmp_path))
    assert says in refused(capsys, "shard", *posts, *given, "--to", str(tmp_path / "a"), "--no-progress")
    assert sorted(os.listdir(tmp_path)) == before


def test_workers_name_options_as_they_were_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "a.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    given = ["shard", str(tmp_path / "a.csv"), "--to", str(tmp_path / "a"), "--no-progress"]
    assert "--encoding latin-1" in refused(capsys, *given, "--cluster", "local:1")
