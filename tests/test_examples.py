"""The examples run, on a corpus small enough for a test."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import ppl_topics as pt
from ppl_topics.registry import unregister_kernel

EXAMPLES = Path(__file__).parents[1] / "examples"


def names(script: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / script), run_name="example")


@pytest.fixture(scope="module")
def corpus() -> pt.Corpus:
    texts = ["chain sampler posterior", "bread butter bread", "sampler chain draw", "butter bake bread", "draw chain"]
    return pt.Corpus.from_texts(texts * 4)


def test_every_example_is_tested() -> None:
    tested = {"compare_schedules.py", "newsgroups.py", "own_kernel.py", "rare_words.yaml"}
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
