"""``export``: what it writes is what the fit gives, and errors are one line."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from commands import call, coloured, refused

import ppl_topics as pt

FAST = {"topics": 3, "draws": 6, "warmup": 4, "chains": 2, "seed": 1, "threads": 1, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    texts, labels = coloured(6)
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    pt.sample("slda_logistic", corpus, **FAST).save(folder / "run.nc")
    pt.sample("slda_logistic_one_vs_all", corpus, **FAST).save(folder / "apart.nc")
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def written(capsys, *arguments):
    out = arguments[arguments.index("-o") + 1]
    assert call(capsys, "export", *arguments) == (0, f"written: {out}\n", "")
    return out


def test_each_kind(capsys):
    fit = pt.load_fit("run.nc")
    for what in ("topics", "theta", "eta"):
        words = () if what == "theta" else ("--words", "2")
        out = written(capsys, "run.nc", "--what", what, "-o", f"{what}.csv", "--chain", "1", *words)
        table, expected = pd.read_csv(out), fit.to_frame(what, chain=1, n_words=2)
        assert list(table) == list(expected)
        assert len(table) == len(expected)
        numbers = expected.select_dtypes("float").columns
        np.testing.assert_allclose(table[numbers], expected[numbers], rtol=1e-8)
    out = written(capsys, "run.nc", "--what", "state", "-o", "state.gz")
    with gzip.open(out, "rt") as file:
        assert file.readline() == "#doc source pos typeindex type topic\n"
    out = written(capsys, "run.nc", "--what", "json", "-o", "model.json", "--probability", "0.5")
    with open(out) as file:
        assert json.load(file) == json.loads(json.dumps(fit.topic_model(probability=0.5)))


def test_options(capsys):
    fit = pt.load_fit("run.nc")
    out = written(capsys, "run.nc", "--what", "topics", "-o", "all.tsv", "--all-words")
    assert len(pd.read_csv(out, sep="\t")) == len(fit.to_frame(n_words=None)) == 3 * 9
    out = written(capsys, "run.nc", "--what", "theta", "-o", "z.csv", "--estimate", "z_last")
    assert set(pd.read_csv(out)["estimate"]) == {"z_last"}
    out = written(capsys, "run.nc", "--what", "theta", "-o", "draws.csv")
    assert set(pd.read_csv(out)["estimate"]) == {"draws"}
    out = written(capsys, "apart.nc", "--what", "json", "-o", "apart.json", "--response", "warm")
    with open(out) as file:
        assert json.load(file)["response"] == "warm"


def test_a_file_that_stands_there_is_kept_unless_asked(capsys, folder):
    arguments = ("run.nc", "--what", "topics", "-o", "once.csv")
    written(capsys, *arguments)
    before = (folder / "once.csv").read_bytes()
    assert "the file already exists; choose another --out, or give --overwrite" in refused(capsys, "export", *arguments)
    written(capsys, *arguments, "--overwrite")
    assert (folder / "once.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run.nc", "--what", "phi", "-o", "x.csv"), "nothing called 'phi' to export"),
        (("run.nc", "--what", "topics", "-o", "x.xls"), "a file that ends in .csv, "),
        (("run.nc", "--what", "state", "-o", "x.csv"), "a file that ends in .gz"),
        (("run.nc", "--what", "topics", "-o", "none/x.csv"), "the folder none does not exist"),
        (("run.nc", "--what", "topics", "-o", "."), "this is a folder"),
        (("run.nc", "--what", "topics", "-o", "x.csv", "--overwrite", "--chain", "5"), "no chain 5; it has 0, 1"),
        (("run.nc", "--what", "topics", "-o", "x.csv", "--words", "0"), "--words: must be a whole number"),
        (("run.nc", "--what", "theta", "-o", "x.csv", "--estimate", "best"), "estimate: expected one of"),
        (("run.nc", "--what", "topics", "-o", "x.csv", "--response", "warm"), "share the topics"),
        (("run.nc", "--what", "topics", "-o", "x.csv", "--words", "3", "--all-words"), "--all-words: give one of them"),
        (
            ("run.nc", "--what", "theta", "-o", "x.csv", "--words", "3"),
            "--words: applies to --what topics, eta, json, not",
        ),
        (
            ("run.nc", "--what", "eta", "-o", "x.csv", "--all-words"),
            "applies to --what topics, json, not to eta",
        ),
        (
            ("run.nc", "--what", "state", "-o", "x.gz", "--probability", "0.5"),
            "--probability: applies to --what",
        ),
        (
            ("run.nc", "--what", "topics", "-o", "x.csv", "--estimate", "draws"),
            "theta, json, not to topics; leave it out",
        ),
        (("apart.nc", "--what", "state", "-o", "x.gz"), "name one of them (--response): cold, dark, warm"),
        (("none.nc", "--what", "topics", "-o", "x.csv"), "no such file"),
        (("run.nc", "--what", "topics"), "--out"),
    ],
)
def test_errors_are_one_line(capsys, arguments, words):
    assert words in refused(capsys, "export", *arguments)
