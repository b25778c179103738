"""The examples run, on a corpus small enough for a test."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ppl_topics as pt
from ppl_topics.registry import unregister_kernel

EXAMPLES = Path(__file__).parents[1] / "examples"
TEXTS = ["chain sampler posterior", "bread butter bread", "sampler chain draw", "butter bake bread", "draw chain"] * 4
STUDIES = {
    "inefficiency.py": ["--common", "5", "--warmup", "2", "--draws", "20"],
    "ad_lda_drift.py": ["--sweeps", "5", "--shards", "1", "2", "--kernels", "collapsed_gibbs"],
    "race.py": ["--sweeps", "5", "--kernels", "ad_lda", "partially_collapsed"],
}


@pytest.fixture(autouse=True)
def _import_from_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def names(script: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / script), run_name="example")


@pytest.fixture(scope="module")
def corpus() -> pt.Corpus:
    return pt.Corpus.from_texts(TEXTS)


def test_every_example_is_tested() -> None:
    tested = {"compare_schedules.py", "newsgroups.py", "own_kernel.py", "rare_words.yaml", "studies.py", *STUDIES}
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".yaml"}} == tested


def test_rare_words_plans(corpus: pt.Corpus) -> None:
    assert pt.plan(EXAMPLES / "rare_words.yaml", corpus, topics=3).exact


def test_compare_schedules(corpus: pt.Corpus) -> None:
    table = names("compare_schedules.py")["compare"](corpus, topics=2, warmup=5, draws=20)
    assert list(table.index) == ["collapsed", "topics kept"]
    assert (table["seconds"] > 0).all()


def test_newsgroups(corpus: pt.Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    fit = names("newsgroups.py")["fit_newsgroups"](corpus, topics=2, warmup=5, draws=10)
    assert fit.posterior.sizes["draw"] == 10
    assert "beta" in capsys.readouterr().out


def test_own_kernel_is_certified_and_the_printed_one_refused() -> None:
    try:
        right, wrong = names("own_kernel.py")["main"](replicates=1000, long_run=3000)
    finally:
        unregister_kernel("doc_proposal")
        unregister_kernel("doc_proposal_as_printed")
    assert right.passed
    assert not wrong.passed


@pytest.mark.parametrize("script", STUDIES)
def test_study_runs(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "texts.jsonl", tmp_path / "out.csv"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    given = ["--data", str(data), "--min-count", "1", "--topics", "2", "3", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [script, *given, *STUDIES[script]])
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert set(pd.read_csv(out)["topics"]) == {2, 3}
    assert "7 words" in capsys.readouterr().out


def test_study_refuses_a_place_that_it_could_not_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["inefficiency.py", "--out", str(tmp_path / "figure.png")])
    with pytest.raises(SystemExit, match=r"give a file that ends in \.csv"):
        runpy.run_path(str(EXAMPLES / "inefficiency.py"), run_name="__main__")


def test_inefficiency(corpus: pt.Corpus) -> None:
    kernels = ["collapsed_gibbs", "sparse_partially_collapsed"]
    compare = names("inefficiency.py")["compare"]
    table = compare(corpus, kernels, 2, common=20, warmup=5, draws=100, top_words=4, docs=10)
    assert list(table.index) == [(2, kernel) for kernel in kernels]
    assert np.isfinite(table.to_numpy()).all()
    assert (table[["IF theta", "IF phi"]] > 0.5).all(axis=None)
    assert (table[["constant theta", "constant phi"]] == 0).all(axis=None)


def test_drift_starts_everywhere_alike_and_one_shard_is_exact(corpus: pt.Corpus, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = names("ad_lda_drift.py")
    paths = study["drift"](corpus, ["collapsed_gibbs"], [1, 2], topics=3, sweeps=10)
    values = paths.pivot(index="sweep", columns="sampler", values=study["LOG"])
    assert values.loc[0].nunique() == 1
    assert (values["ad_lda, P = 1"] == values["collapsed_gibbs"]).all()
    assert (values["ad_lda, P = 2"] != values["collapsed_gibbs"]).any()
    study["write"](paths, [tmp_path / "drift.png"], "sweep", study["MEASURES"], skip=0.1)
    assert (tmp_path / "drift.png").stat().st_size > 1000


def test_race_has_a_place_for_every_kernel_of_z(corpus: pt.Corpus) -> None:
    study = names("race.py")
    assert {"ad_lda", "collapsed_gibbs", "partially_collapsed"} <= set(study["kernels_of_z"]())
    for kernel in study["kernels_of_z"]():
        study["plan"](kernel, 2)
    paths = study["race"](corpus, ["collapsed_gibbs", "ad_lda"], 2, seconds=60.0, sweeps=8)
    table = study["results"](paths)
    assert list(table["exact"]) == ["yes", "no"]
    assert (table["sweeps"] == 8).all()
    assert (table["seconds to 1%"] >= 0).any()
