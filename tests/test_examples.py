"""The examples run, on a corpus small enough for a test."""

from __future__ import annotations

import ast
import gzip
import json
import re
import runpy
import shutil
import sys
from argparse import Namespace
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel

EXAMPLES = Path(__file__).parents[1] / "examples"
PAPERS = EXAMPLES / "papers"
TEXTS = ["chain sampler posterior", "bread butter bread", "sampler chain draw", "butter bake bread", "draw chain"] * 4
STUDIES = {
    "inefficiency.py": ["--common", "5", "--warmup", "2", "--draws", "20"],
    "ad_lda_drift.py": ["--sweeps", "5", "--shards", "1", "2", "--kernels", "collapsed_gibbs"],
    "race.py": ["--sweeps", "5", "--kernels", "ad_lda", "partially_collapsed"],
    "spike_slab_zeros.py": ["--sweeps", "5", "--inclusion", "0.3", "1.0"],
}
SUPERVISED = {
    "zheng_2015.py": ("fig1", "light"),
    "zhu_2013.py": ("fig5", "logistic"),
    "dolda_2020.py": ("fig2", "two steps, horseshoe"),
    "defaults.py": ("reviews", "variance 100"),
}
"""Scripts with a study to run, and a line of it."""


@pytest.fixture(autouse=True)
def _import_from_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PAPERS))


def names(script: str, folder: Path = PAPERS) -> dict[str, Any]:
    return runpy.run_path(str(folder / script), run_name="example")


@pytest.fixture(scope="module")
def corpus() -> pt.Corpus:
    return pt.Corpus.from_texts(TEXTS)


def inner_names(source: str) -> list[str]:
    """Return what a script imports of ours that docs/api.md does not have."""
    api = (EXAMPLES.parent / "docs" / "api.md").read_text(encoding="utf-8")
    public = {name: set(import_module(name).__all__) for name in re.findall(r"automodule:: (\S+)", api)}
    for path in re.findall(r"auto(?:function|class):: (\S+)", api):
        module, _, name = path.rpartition(".")
        public.setdefault(module, set()).add(name)
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ppl_topics":
            module = node.module or ""
            found += [f"{module}.{each.name}" for each in node.names if each.name not in public.get(module, ())]
        if isinstance(node, ast.Import):
            ours = [each.name for each in node.names if each.name.split(".")[0] == "ppl_topics"]
            found += [name for name in ours if name not in public]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pt":
            found += [] if node.attr in pt.__all__ else [f"pt.{node.attr}"]
    return found


@pytest.mark.parametrize("script", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.name)
def test_examples_use_public_names_only(script: Path) -> None:
    assert not inner_names(script.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "from ppl_topics.engine.bind import bind",
        "import ppl_topics.engine.bind",
        "import ppl_topics as pt\npt.engine",
        "from ppl_topics.diagnostics.verdict import wrong",
    ],
)
def test_inner_names_are_noticed(source: str) -> None:
    assert len(inner_names(source)) == 1


def test_every_example_is_tested() -> None:
    own = {
        "all_at_once.py",
        "bills.py",
        "compare_schedules.py",
        "newsgroups.py",
        "number_of_topics.py",
        "own_kernel.py",
        "pictures.py",
        "rare_words.yaml",
        "serve.py",
        "shrinkage_kernels.py",
        "treatment.py",
    }
    shared = {
        "studies.py",
        "study_corpora.py",
        "supervised_studies.py",
        "dolda_2020_topics.py",
        "overnight.py",
        "page.py",
    }
    found = {
        folder: {path.name for path in folder.iterdir() if path.suffix in {".py", ".yaml"}}
        for folder in (EXAMPLES, PAPERS)
    }
    assert found == {EXAMPLES: own | {"alignment_20news.py"}, PAPERS: shared | {*STUDIES, *SUPERVISED}}


def test_rare_words_plans(corpus: pt.Corpus) -> None:
    assert pt.plan(EXAMPLES / "rare_words.yaml", corpus, topics=3).exact


def test_compare_schedules(corpus: pt.Corpus) -> None:
    table = names("compare_schedules.py", EXAMPLES)["compare"](corpus, topics=2, warmup=5, draws=20)
    assert list(table.index) == ["collapsed", "topics kept"]
    assert (table["seconds"] > 0).all()


# Of weights that are few; the table has the share of Pareto k that are too large.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_number_of_topics() -> None:
    how = {"truth": 2, "documents": 30, "words": 20, "warmup": 10, "draws": 20}
    table = names("number_of_topics.py", EXAMPLES)["study"]((1, 2), **how)
    assert table.loc[2, "LOO, words"] > table.loc[1, "LOO, words"]
    assert np.isfinite(table).all(axis=None)


def test_bills(tmp_path: Path) -> None:
    """Topics are found under the names of their keywords."""
    path, bills = tmp_path / "bills.jsonl.gz", names("bills.py", EXAMPLES)
    with gzip.open(path, "wt") as lines:
        for place in range(40):
            words = {"court": 3, "trial": 2, "judge": 2} if place % 2 else {"nurse": 3, "clinic": 2, "doctor": 2}
            lines.write(json.dumps({"congress": 101 + place % 3, "counts": words}) + "\n")
    corpus = bills["read_bills"](path)
    assert corpus.n_tokens == 280
    assert corpus.covariates.columns[0].levels == ("101", "102", "103")
    keywords = {"health": ["nurse"], "law": ["court"]}
    _, table = bills["topics"](corpus, keywords, topics=2, warmup=50, draws=50, chains=1, progress=False)
    table = table.set_index("name")
    assert set(table.loc["law", "words"].split()[:3]) == {"court", "trial", "judge"}
    assert (table["2.5%"] < table["p"]).all()
    assert (table["p"] < table["97.5%"]).all()


def test_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A posting loses its header, and all blocks have draws."""
    path, example = tmp_path / "postings.jsonl.gz", names("all_at_once.py", EXAMPLES)
    with gzip.open(path, "wt") as lines:
        for place in range(60):
            words = " ".join(word.strip("*") for words in example["KEYWORDS"].values() for word in words)
            text = f"From: x\tSubject: {'Re: ' * (place % 2)}y\t\t{words} the the of\t" + "z\t" * (place % 3)
            lines.write(json.dumps({"split": "train", "label": f"g{place % 4}", "text": text}) + "\n")
    corpus = example["read_postings"](path)
    assert "subject" not in corpus.vocabulary
    assert corpus.covariates.columns[0].levels == ("no", "yes")
    np.testing.assert_allclose(corpus.labels_of("length").values[:3].astype(float), np.log([2.0, 3.0, 4.0]))
    fit = example["fit_all"](corpus, topics=6, warmup=5, draws=5, chains=1, progress=False)
    assert {"gamma", "keyword_weight", "background_share", "eta_group", "eta_length"} <= set(fit.posterior)
    assert not {"the", "of"} <= set(example["own_words"](fit, 3)["words"][0].split())
    assert "keyword_background_rows" in capsys.readouterr().out


def test_treatment() -> None:
    """Of ten answers each, those of the treated are about bread."""
    rows = [{"treatment": int("bread" in text), "party": i / 20} for i, text in enumerate(TEXTS)]
    corpus = pt.Corpus.from_texts(TEXTS, covariates=rows)
    effects = names("treatment.py", EXAMPLES)["effects"]
    _, table = effects(corpus, topics=2, warmup=50, draws=50, chains=1, progress=False)
    first = table.iloc[0]
    assert "bread" in first["words"]
    assert first["2.5%"] > 0.0
    assert table["difference"].sum() == pytest.approx(0.0)


def test_newsgroups(corpus: pt.Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    fit = names("newsgroups.py", EXAMPLES)["fit_newsgroups"](corpus, topics=2, warmup=5, draws=10)
    assert fit.posterior.sizes["draw"] == 10
    assert "beta" in capsys.readouterr().out


def test_alignment_names_a_planted_chain(corpus: pt.Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    main = names("alignment_20news.py", EXAMPLES)["main"]
    table, of_chains, of_planted = main(corpus, topics=2, warmup=10, draws=20, chains=3)
    assert len(table) == 2
    assert of_chains.alignment is not None
    assert of_planted.alignment is not None
    out = capsys.readouterr().out
    assert "agree: R-hat of their top words" in out
    assert "verdict, the last chain planted: " in out


@pytest.mark.slow
def test_own_kernel_is_certified_and_the_printed_one_refused() -> None:
    try:
        right, wrong = names("own_kernel.py", EXAMPLES)["main"](replicates=1000, long_run=3000)
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
    runpy.run_path(str(PAPERS / script), run_name="__main__")
    assert set(pd.read_csv(out)["topics"]) == {2, 3}
    assert "7 words" in capsys.readouterr().out


def test_study_refuses_a_place_that_it_could_not_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["inefficiency.py", "--out", str(tmp_path / "figure.png")])
    with pytest.raises(SystemExit, match=r"give a file that ends in \.csv"):
        runpy.run_path(str(PAPERS / "inefficiency.py"), run_name="__main__")


def test_inefficiency(corpus: pt.Corpus) -> None:
    kernels = ["collapsed_gibbs", "sparse_partially_collapsed"]
    compare = names("inefficiency.py")["compare"]
    table = compare(corpus, kernels, 2, common=20, warmup=5, draws=100, top_words=4, docs=10)
    assert list(table.index) == [(2, kernel, 1) for kernel in kernels]
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
    study["draw"](paths, [tmp_path / "drift.png"], "sweep", study["MEASURES"], skip=0.1)
    assert (tmp_path / "drift.png").stat().st_size > 1000


def test_race_has_a_place_for_every_kernel_of_z(corpus: pt.Corpus) -> None:
    study = names("race.py")
    assert {"ad_lda", "collapsed_gibbs", "partially_collapsed"} <= set(study["kernels_of_z"]())
    for kernel in study["kernels_of_z"]():
        study["plan"](kernel, 2)
    given = {"topics": [2], "alpha": [0.1], "beta": [0.01], "threads": [None], "seeds": 1, "seconds": 60.0, "sweeps": 8}
    paths = pd.concat(study["race"](corpus, Namespace(**given, kernels=["collapsed_gibbs", "ad_lda"])))
    table = study["results"](paths)
    assert list(table["exact"]) == ["yes", "no"]
    assert (table["sweeps"] == 8).all()
    assert (table["seconds to 1%"] >= 0).any()


@pytest.mark.parametrize("script", SUPERVISED)
def test_supervised_study_runs_without_a_file(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, line = SUPERVISED[script]
    out = tmp_path / "out.csv"
    small = ["--lines", line, "--topics", "2", "3", "--seeds", "1", "--sweeps", "2", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", [script, "--study", study, *small, "--out", str(out)])
    runpy.run_path(str(PAPERS / script), run_name="__main__")
    table = pd.read_csv(out)
    assert set(table["line"]) == {line}
    assert set(table["topics"]) == {2, 3}
    assert table.filter(like="accuracy").stack().between(0, 1).all()
    assert np.allclose(table.filter(like="share of").sum(axis=1), 1.0, atol=1e-4)
    assert "simulated" in capsys.readouterr().out


@pytest.mark.parametrize("script", SUPERVISED)
def test_every_line_of_a_supervised_study_plans(script: str) -> None:
    for study in names(script)["STUDIES"].values():
        for line in study.lines:
            given = {name: {"sum": value} if name == "alpha" else value for name, value in line.parameters.items()}
            planned = pt.plan(line.model, schedule=line.schedule, topics=3, **given)
            assert planned.exact == (line.name != "light, stale")
            assert line.sweeps >= 1


def test_supervised_studies_learn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shared, zhu = names("supervised_studies.py"), names("zhu_2013.py")["STUDIES"]
    corpora = names("study_corpora.py")
    train, test = (corpora["two_classes"](corpus, None) for corpus in corpora["simulated"]("pair"))
    assert list(train.labels.classes) == ["class 0", "class 3"]
    # Logistic, without a response, and words alone: the lines that no other test of the examples runs.
    study = replace(zhu["fig1"], lines=zhu["fig1"].lines[1:2] + zhu["fig1"].lines[3:])
    table = shared["run"](study, train, test, topics=(5,), seeds=2, sweeps=20, threads=1)
    assert (table["accuracy"] > 0.8).all()
    assert len(table) == 6
    burn_in = shared["run"](zhu["fig3"], train, test, topics=(3,), seeds=1, sweeps=2, threads=1)
    assert list(burn_in["sweeps"]) == [1, 2]
    shared["draw"](zhu["fig3"], burn_in, tmp_path / "burn_in.png")
    assert (tmp_path / "burn_in.png").stat().st_size > 1000


def test_two_steps_predict_by_the_topics_of_the_first() -> None:
    corpora, dolda = names("study_corpora.py"), names("dolda_2020.py")["STUDIES"]["fig2"]
    line = replace(next(line for line in dolda.lines if line.name == "two steps, horseshoe"), sweeps=60, draws=20)
    train, test = corpora["simulated"]("classes")
    fits = line.run(train, 6, seed=1, threads=1)
    assert [fit.spec.name for fit in fits] == ["lda", "two_step"]
    assert fits[1].posterior["eta"].sizes["coefficient"] == 7
    found = line.measure(fits, test, train, seed=1, threads=1)["accuracy"]
    # The planted bug: shares of the topics in other documents.
    order = np.random.default_rng(1).permutation(test.n_docs)
    shuffled = test.select(order).with_labels(corpora["names_of"](test), kind="class")
    assert found > line.measure(fits, shuffled, train, seed=1, threads=1)["accuracy"] + 0.2


def test_topics_of_dolda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out = [tmp_path / name for name in ("topics.csv", "fig4.png", "fig5.png", "fig6.png", "fig7.png", "fig8.png")]
    small = ["--topics", "4", "--warmup", "5", "--draws", "10", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["dolda_2020_topics.py", *small, "--out", *map(str, out)])
    runpy.run_path(str(PAPERS / "dolda_2020_topics.py"), run_name="__main__")
    table = pd.read_csv(out[0])
    assert list(table["model"].unique()) == ["horseshoe", "normal", "LDA"]
    assert (table.loc[table["model"] != "LDA", "r_k"] > 0).all()
    assert table["document entropy"].between(0, np.log(240)).all()
    assert all(path.stat().st_size > 1000 for path in out[1:])
    assert "rank correlation of r_k" in capsys.readouterr().out


def test_supervised_studies_of_numbers() -> None:
    shared, study = names("supervised_studies.py"), names("zheng_2015.py")["STUDIES"]["fig5"]
    train, test = names("study_corpora.py")["simulated"]("numbers")
    lines = tuple(line for line in study.lines if line.name in ("Gibbs", "ours"))
    table = shared["run"](replace(study, lines=lines), train, test, topics=(6,), seeds=1, threads=1)
    assert (table["r2"] > 0.4).all()


@pytest.mark.filterwarnings("ignore::ppl_topics.OverfitWarning")
def test_a_supervised_study_goes_on_where_it_was(tmp_path: Path) -> None:
    shared, study = names("supervised_studies.py"), names("zheng_2015.py")["STUDIES"]["fig1"]
    corpora, csv = names("study_corpora.py"), tmp_path / "fig1.csv"
    study = replace(study, lines=tuple(line for line in study.lines if line.name != "light, stale"))
    train, test = (corpora["two_classes"](corpus, None) for corpus in corpora["simulated"]("pair"))
    how = {"sweeps": 2, "threads": 1, "table": csv}
    first = shared["run"](study, train, test, topics=(2,), seeds=1, **how)
    csv.write_text(csv.read_text().replace(f"{first['seconds'][0]:.5g}", "12345"))
    both = shared["run"](study, train, test, topics=(2, 3), seeds=1, starts=("uniform", "labels"), **how)
    assert list(both["seconds"] == 12345) == [True] + [False] * 11
    assert both.groupby(["line", "start", "topics"]).size().eq(1).all()


def test_a_study_borrows_the_chains_of_another(tmp_path: Path) -> None:
    source, table = tmp_path / "fig2.csv", tmp_path / "fig6.csv"
    known = {"line": ["light", "ours", "light"], "topics": [5, 5, 10], "accuracy": [0.5, 0.6, 0.7]}
    pd.DataFrame(known).to_csv(source, index=False)
    names("supervised_studies.py")["borrow"]((5,), table, source, "light", "mixture")
    assert pd.read_csv(table).to_dict("records") == [{"line": "mixture", "topics": 5, "accuracy": 0.5}]
    # What the table has already stays.
    names("supervised_studies.py")["borrow"]((10,), table, source, "light", "mixture")
    assert list(pd.read_csv(table)["topics"]) == [5]


def test_figures_of_the_page_come_from_the_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "line": ["light", "light", "Gibbs", "light"],
            "start": ["uniform", "uniform", "uniform", "labels"],
            "topics": [5, 5, 5, 5],
            "accuracy": [0.5, 0.6, 0.11, 0.9],
        }
    )
    frame.to_csv(tmp_path / "fig.csv", index=False)
    tables = names("page.py")["Tables"](tmp_path)
    assert not tables.has("fig")
    (tmp_path / "fig.png").touch()
    assert tables.has("fig")
    assert tables.mean("fig", "accuracy", line="light") == "0.550"
    assert tables.mean("fig", "accuracy", 1, line="light", start="labels") == "0.9"
    assert tables.over("fig", "accuracy", {"line": "light"}, {"line": "Gibbs"}, topics=5) == "5"
    table = tables.pivot("fig", "accuracy", "line", "topics", 2)
    assert table.splitlines() == ["| line | 5 |", "| --- | ---: |", "| light | 0.55 ± 0.07 |", "| Gibbs | 0.11 |"]
    both = tables.beside({"any start": ("fig", "accuracy"), "K": ("fig", "topics")}, 1)
    assert both.splitlines()[2:] == ["| light | 0.7 ± 0.2 | 5.0 ± 0.0 |", "| Gibbs | 0.1 | 5.0 |"]
    with pytest.raises(SystemExit, match="no row with"):
        tables.mean("fig", "accuracy", line="dark")


def test_the_page_of_the_papers_is_that_of_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = EXAMPLES.parent / "docs"
    shutil.copytree(docs / "papers", tmp_path / "papers")
    monkeypatch.setattr(sys, "argv", ["page.py", str(tmp_path / "papers")])
    runpy.run_path(str(PAPERS / "page.py"), run_name="__main__")
    assert (tmp_path / "papers.md").read_text() == (docs / "papers.md").read_text(), "run examples/papers/page.py"


def test_levels_of_names_are_labels() -> None:
    corpora = names("study_corpora.py")
    corpus = pt.Corpus.from_texts(TEXTS[:3], labels=["a.b.c", "a.b", "d"], label_kind="class")
    labels = corpora["levels"](corpus).labels
    assert list(labels.classes) == ["a", "a.b", "a.b.c", "d"]
    assert labels.values.tolist() == [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]]


def test_linear_models_of_words_predict_labels_and_numbers() -> None:
    corpora, words = names("study_corpora.py"), names("supervised_studies.py")["Words"]("words", "lda", None, 1)

    def several(corpus: pt.Corpus) -> pt.Corpus:
        own = [[str(name), f"pair {int(name[-1]) // 2}"] for name in corpora["names_of"](corpus)]
        return corpus.with_labels(own, kind="multi_label")

    changed = {
        "numbers": lambda corpus: corpus,
        "halves": lambda corpus: corpora["halves"](corpus, 0.0),
        "classes": several,
    }
    for (data, change), metric in zip(changed.items(), ("r2", "accuracy", "f1_micro"), strict=True):
        train, test = (change(corpus) for corpus in corpora["simulated"](data))
        assert words.measure([], test, train)[metric] > 0.6, data
        # The planted bug: labels of other documents.
        order = np.random.default_rng(1).permutation(test.n_docs)
        shuffled = replace(test.select(order), labels=test.labels)
        assert words.measure([], shuffled, train)[metric] < 0.6, data


def test_ratings_are_moved_to_equal_steps(corpus: pt.Corpus) -> None:
    corpora = names("study_corpora.py")
    rated = corpus.select([0, 1, 2]).with_labels([0.7, -2.0, 0.1], kind="real")
    moved = corpora["scaled"](rated, np.array([-2.0, 0.1, 0.7]), 1.0, 5.0)
    assert corpora["numbers_of"](moved).tolist() == [5.0, 1.0, 3.0]


def test_threads_are_labels_of_both_parts(tmp_path: Path) -> None:
    path = tmp_path / "postings.jsonl.gz"
    rows = [
        {
            "id": str(n),
            "label": "a.b" if n % 2 else "c",
            "text": f"Subject: {'Re: ' * (n % 3)}T{n % 4}\n\n{TEXTS[n % 20]}",
        }
        for n in range(60)
    ]
    with gzip.open(path, "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    train, test = names("study_corpora.py")["threads"](str(path), {}, least=3)
    assert list(train.labels.classes) == ["a", "a.b", "c", "thread t0", "thread t1", "thread t2", "thread t3"]
    assert list(test.labels.classes) == list(train.labels.classes)
    assert (train.n_docs, test.n_docs) == (40, 20)
    assert "re" not in train.vocabulary


def test_senders_are_covariates(tmp_path: Path) -> None:
    path = tmp_path / "postings.jsonl.gz"
    heads = ["From: a@b.Old.edu", "From: c@old.edu (d@e.org)", "From: f@g.com", "From: nobody", "From: h@i.old.edu"]
    rows = [
        {"id": str(n), "label": "x", "split": "test" if n == 4 else "train", "text": f"{head}\n\n{TEXTS[n]}"}
        for n, head in enumerate(heads)
    ]
    with gzip.open(path, "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    train, test = names("study_corpora.py")["senders"](str(path), {}, least=2)
    assert list(train.covariates.names) == ["domain[old.edu]", "domain[other]"]
    assert train.covariates.toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert test.covariates.toarray().tolist() == [[1, 0]]
    assert "old" not in train.vocabulary


def test_commands_of_a_night_name_studies_that_exist() -> None:
    night = names("overnight.py")
    for name in (*night["STUDIES"], *night["THREADS"]):
        script, *given = night["command"](name).split()[1:]
        assert (EXAMPLES.parent / script).exists(), name
        if "--study" in given:
            assert given[given.index("--study") + 1] in names(Path(script).name)["STUDIES"], name
        known = {"OUT", *night["VARIABLES"]}
        assert all(word[1:].partition("/")[0] in known for word in given if word.startswith("$")), name


def test_supervised_study_refuses_a_line_that_it_lacks() -> None:
    only, study = names("supervised_studies.py")["only"], names("zheng_2015.py")["STUDIES"]["fig1"]
    assert [line.name for line in only(study, ["Gibbs"]).lines] == ["Gibbs"]
    with pytest.raises(SystemExit, match=r"--lines: x: there are light; light, stale; Gibbs; ours"):
        only(study, ["x"])


def test_supervised_study_reads_files(tmp_path: Path) -> None:
    read_pair = names("study_corpora.py")["read_pair"]
    path = tmp_path / "texts.jsonl"
    rows = [{"text": f"the {text}", "label": "ab"[number % 2]} for number, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"train": str(path), "test": str(path), "vocabulary": None, "label_column": "label", "classes": None}
    given |= {"min_count": 1, "class_names": None, "postings": None, "scale": None, "docs": None}
    train, test = read_pair(Namespace(**given, stop_words=True), "pair")
    assert "the" not in train.vocabulary
    assert (train.n_docs, test.n_words) == (20, 7)
    with pytest.raises(SystemExit, match=r"--classes a c: expected two of a, b"):
        read_pair(Namespace(**(given | {"classes": ["a", "c"]}), stop_words=False), "pair")
    with pytest.raises(SystemExit, match="give both --train and --test"):
        read_pair(Namespace(**(given | {"test": None}), stop_words=False), "pair")
