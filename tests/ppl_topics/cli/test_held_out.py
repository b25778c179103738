"""``held-out``: what it prints and writes, and how it refuses."""

import json

import pandas as pd
import pytest
from commands import call, coloured, refused

import ppl_topics as pt

FAST = {"topics": 3, "draws": 5, "warmup": 10, "chains": 2, "seed": 1, "threads": 1, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held_out")
    texts, labels = coloured(10)
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    pt.sample("lda", corpus, **FAST).save(folder / "lda.nc")
    pt.sample("medlda_one_vs_all", corpus, margin=1.0, **FAST).save(folder / "apart.nc")
    rows = [{"id": "a", "text": "red orange red"}, {"id": "b", "text": ""}, {"id": "c", "text": "blue violet teal"}]
    (folder / "new.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "other.jsonl").write_text(json.dumps({"text": "violet pink"}))
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_lines(capsys):
    code, out, err = call(capsys, "held-out", "lda.nc", "--data", "new.jsonl", "--id-column", "id", "--seed", "3")
    assert code == 0
    assert "new.jsonl: 3 documents" in err
    found = pt.load_fit("lda.nc").held_out(["red orange red", "", "blue violet teal"], seed=3)
    lines = out.splitlines()
    assert lines[0] == "left_to_right, phi mean (2 chains), particles 128"
    assert lines[1] == "3 documents, 5 tokens scored"
    assert lines[2].startswith(f"log likelihood {found.log_likelihood:,.1f} (Monte Carlo error ")
    assert lines[4].startswith(f"perplexity {found.perplexity:,.2f} (Monte Carlo error ")
    assert lines[5:] == [
        "documents without a token to score: 1",
        "tokens dropped, their words not being in training: 1",
    ]


def test_json_and_a_table(capsys):
    how = ["--data", "new.jsonl", "--id-column", "id", "--method", "document_completion", "--particles", "8"]
    code, out, _ = call(capsys, "held-out", "lda.nc", *how, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["method"], found["particles"], found["tokens"]) == ("document_completion", 8, 3)
    assert [row["id"] for row in found["by_document"]] == ["a", "b", "c"]
    assert sum(row["log_likelihood"] for row in found["by_document"]) == pytest.approx(found["log_likelihood"])
    code, out, _ = call(capsys, "held-out", "lda.nc", *how, "--out", "table.csv")
    assert code == 0
    assert out.splitlines()[-1] == "written: table.csv"
    table = pd.read_csv("table.csv")
    assert table["log_likelihood"].tolist() == [row["log_likelihood"] for row in found["by_document"]]
    assert "table.csv: the file already exists" in refused(capsys, "held-out", "lda.nc", *how, "--out", "table.csv")


def test_topics_of_their_own(capsys):
    assert "name one of them (--response): cold, dark, warm" in refused(
        capsys, "held-out", "apart.nc", "--data", "new.jsonl"
    )
    code, out, _ = call(capsys, "held-out", "apart.nc", "--data", "new.jsonl", "--response", "warm", "--json")
    assert code == 0
    assert json.loads(out)["tokens"] == 5


def test_errors_are_one_line(capsys):
    data = ["--data", "new.jsonl"]
    assert "--method: expected left_to_right or document_completion" in refused(
        capsys, "held-out", "lda.nc", *data, "--method", "x"
    )
    assert "--draws: counts the draws of phi" in refused(capsys, "held-out", "lda.nc", *data, "--draws", "3")
    assert "--moves: does not apply to --method document_completion" in refused(
        capsys, "held-out", "lda.nc", *data, "--moves", "3", "--method", "document_completion"
    )
    assert "--particles: must be a multiple of 4" in refused(capsys, "held-out", "lda.nc", *data, "--particles", "7")
    assert "--phi: expected mean or draws" in refused(capsys, "held-out", "lda.nc", *data, "--phi", "last")
    assert "error: lda.nc: --response: all responses share the topics; omit 'warm'" in refused(
        capsys, "held-out", "lda.nc", *data, "--response", "warm"
    )
    assert "none of the 2 tokens is a word" in refused(capsys, "held-out", "lda.nc", "--data", "other.jsonl")
    assert "no such file" in refused(capsys, "held-out", "lda.nc", "--data", "none.jsonl")
    assert "no such file" in refused(capsys, "held-out", "none.nc", *data)
