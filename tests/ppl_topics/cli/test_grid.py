"""``grid``: the combinations, the table, what fails in it, its plot, and an interrupt."""

import json
import os
import signal
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from commands import call, coloured, refused

import ppl_topics as pt
from ppl_topics._util.paths import file_names
from ppl_topics.api.grid_table import METRICS, SCORES
from ppl_topics.diagnostics.grid_plot import plot_grid
from ppl_topics.errors import CorpusError, PplTopicsError, SpecError

mpl.use("Agg")

FAST = {"draws": 5, "warmup": 10, "chains": 2, "seed": 1, "threads": 1, "progress": False}
QUICK = ["--draws", "5", "--warmup", "10", "--chains", "2", "--seed", "1", "--threads", "1", "--no-progress"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    for name, seed in (("train", 1), ("test", 2)):
        rows = [json.dumps({"text": text, "y": y}) for text, y in zip(*coloured(10, seed), strict=True)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def corpus():
    texts, labels = coloured(10, 1)
    return pt.Corpus.from_texts(texts, labels=labels)


def noisy():
    """Return texts and labels, a third of which are at random."""
    texts, labels = coloured(10, 1)
    rng = np.random.default_rng(3)
    return texts, [str(rng.choice(labels)) if rng.random() < 1 / 3 else label for label in labels]


@pytest.fixture(scope="module")
def table(corpus):
    return pt.grid("slda_logistic", corpus, {"topics": [1, 3], "alpha": [0.1, 1.0]}, held_out=6, **FAST)


def test_a_grid(table):
    assert list(table) == ["topics", "alpha", *SCORES]
    assert table[["topics", "alpha"]].to_numpy().tolist() == [[1, 0.1], [1, 1.0], [3, 0.1], [3, 1.0]]
    assert table["problem"].tolist() == [""] * 4
    row = table.iloc[int(table["accuracy"].argmax())]
    expected = {"over": ["topics", "alpha"], "stopped": False, "by": "accuracy"}
    assert table.attrs == {**expected, "best": {"topics": row["topics"], "alpha": row["alpha"]}}
    missing = [name for name in SCORES if name.endswith("_error") and name.startswith(METRICS)]
    filled = [name for name in SCORES if name not in ("r2", "path", "problem", *missing)]
    assert np.isfinite(table[filled].to_numpy(dtype=float)).all()
    assert table[missing].isna().all(axis=None)
    # There are three topics in truth.
    best = table["perplexity"].idxmin()
    assert table["topics"][best] == 3
    assert table.loc[best, ["below_best", "below_best_error"]].tolist() == [0.0, 0.0]
    expected = table["per_token"][best] - table["per_token"]
    np.testing.assert_allclose(table["below_best"], expected, atol=1e-12)
    assert (table["below_best"].drop(best) > 0.0).all()


def test_a_row_is_what_its_run_says(table, corpus):
    train, test = corpus.split(6, seed=1)
    fit = pt.sample("slda_logistic", train, topics=3, alpha=1.0, **FAST)
    row = table.iloc[3]
    found = fit.held_out(test, seed=1)
    assert (row["log_likelihood"], row["error"]) == (found.log_likelihood, found.error)
    assert row["accuracy"] == fit.metrics(test, seed=1)["accuracy"]
    assert row["ess_lp"] == fit.efficiency().loc["lp", "ess_bulk_min"]


def test_test_documents_and_numbers(corpus):
    texts, _ = coloured(4, 2)
    test = pt.Corpus.from_texts(texts)
    found = pt.grid("lda", corpus, {"topics": [2]}, test=test, method="document_completion", particles=8, **FAST)
    assert np.isnan(found["accuracy"][0])
    fit = pt.sample("lda", corpus, topics=2, **FAST)
    expected = fit.held_out(test, method="document_completion", particles=8, seed=1)
    assert found["log_likelihood"][0] == expected.log_likelihood


def test_folds(tmp_path):
    texts, labels = noisy()
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    over = {"cost": [0.0, 2.0]}
    table = pt.grid("medlda", corpus, over, folds=3, topics=3, out=tmp_path, **FAST)
    fits = [pt.sample("medlda", train, topics=3, cost=2.0, **FAST) for train, _ in corpus.folds(3, seed=1)]
    tests = [test for _, test in corpus.folds(3, seed=1)]
    found = [fit.metrics(test, seed=1) for fit, test in zip(fits, tests, strict=True)]
    assert len({metrics["accuracy"] for metrics in found}) > 1
    row = table.iloc[1]
    for name in ("accuracy", "f1_micro", "f1_macro"):
        values = [metrics[name] for metrics in found]
        assert row[name] == pytest.approx(np.mean(values), rel=1e-12)
        assert row[f"{name}_error"] == pytest.approx(scipy.stats.sem(values), rel=1e-12)
    assert np.isnan(row["r2"])
    assert np.isnan(row["log_score_error"])
    # The likelihood is that of all documents, each held out once.
    parts = [fit.held_out(test, seed=1) for fit, test in zip(fits, tests, strict=True)]
    assert row["log_likelihood"] == pytest.approx(sum(part.log_likelihood for part in parts), rel=1e-12)
    assert row["error"] == pytest.approx(np.sqrt(sum(part.error**2 for part in parts)), rel=1e-12)
    assert row["per_token"] == pytest.approx(row["log_likelihood"] / corpus.n_tokens, rel=1e-12)
    names = [f"cost={cost},fold={fold}.nc" for cost in (0.0, 2.0) for fold in (1, 2, 3)]
    assert sorted(os.listdir(tmp_path)) == [*names, "table.csv"]
    assert row["path"] == "; ".join(str(tmp_path / name) for name in names[3:])
    # Without the labels, topics do not tell the classes apart as well.
    assert table.attrs == {"over": ["cost"], "stopped": False, "by": "accuracy", "best": {"cost": 2.0}}
    bars = plot_grid(table)[-2].collections
    assert len(bars) == 1
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("model", "labels", "by", "also"),
    [
        ("slda_gaussian", np.linspace(-1.0, 1.0, 30), "r2", ["log_score"]),
        ("slda_logistic", [["x", "y"], ["x"], ["y"]] * 10, "f1_micro", ["accuracy", "f1_macro", "log_score"]),
        ("lda", None, "per_token", []),
    ],
)
def test_what_folds_measure(corpus, model, labels, by, also):
    table = pt.grid(model, corpus.with_labels(labels), {"topics": [2, 3]}, folds=2, **FAST)
    errors = [f"{name}_error" for name in (by, *also)]
    assert np.isfinite(table[[by, *also, *errors]].to_numpy(dtype=float)).all()
    assert table.attrs["by"] == by
    assert table.attrs["best"] == {"topics": [2, 3][int(table[by].argmax())]}


def test_a_fold_that_fails_leaves_no_mean(corpus, monkeypatch):
    grid = sys.modules["ppl_topics.api.grid"]
    run, runs = grid.run_in_memory, []

    def failing(*arguments):
        runs.append(arguments)
        if len(runs) == 2:
            raise pt.RunError("out of luck")
        return run(*arguments)

    monkeypatch.setattr(grid, "run_in_memory", failing)
    table = pt.grid("medlda", corpus, {"cost": [0.5, 1.0]}, folds=3, topics=2, **FAST)
    assert table["problem"].tolist() == ["fold 2: out of luck", ""]
    for name in ("accuracy", "accuracy_error", "perplexity", "npmi", "seconds"):
        assert np.isnan(table[name][0])
        assert np.isfinite(table[name][1])
    assert table.attrs["best"] == {"cost": 1.0}


def test_folds_from_the_command_line(capsys):
    rows = [json.dumps({"text": text, "y": y}) for text, y in zip(*noisy(), strict=True)]
    Path("noisy.jsonl").write_text("\n".join(rows))
    data = ("--data", "noisy.jsonl", "--label-column", "y", *QUICK)
    how = ("medlda", *data, "--over", "cost=0.0,2.0", "--set", "topics=3", "--folds", "3")
    code, out, _ = call(capsys, "grid", *how)
    assert code == 0
    assert "micro F1" not in out
    code, text, _ = call(capsys, "grid", *how, "--json")
    found = json.loads(text)
    accuracy, error = (found["rows"][1][name] for name in ("accuracy", "accuracy_error"))
    assert out.splitlines()[-1] == f"best by accuracy: cost 2.0 ({accuracy:.3g} +- {error:.3g})"
    assert (found["by"], found["best"], len(found["rows"])) == ("accuracy", {"cost": 2.0}, 2)
    assert error > 0.0
    assert f" {accuracy:.3g} {error:.3g} " in " ".join(out.splitlines()[2].split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "1"], "--folds: must be a whole number at least 2, got 1"),
        (["--folds", "31"], "--folds: the corpus has 30 documents, so at most as many folds, got 31"),
        (
            ["--folds", "3", "--test", "test.jsonl"],
            "--folds: folds are held out of the documents themselves; leave out --test",
        ),
    ],
)
def test_wrong_folds_are_refused(capsys, arguments, message):
    assert message in refused(capsys, "grid", "lda", "--data", "train.jsonl", *QUICK, *TWO, *arguments)


def test_folds_and_test_documents_are_refused(corpus):
    with pytest.raises(PplTopicsError, match="folds: folds are held out of the documents themselves; leave out test"):
        pt.grid("lda", corpus, {"topics": [2]}, folds=3, test=corpus, **FAST)


def test_responses_with_topics_of_their_own_have_no_likelihood(corpus):
    found = pt.grid("medlda_one_vs_all", corpus, {"margin": [1.0]}, topics=2, **FAST)
    assert np.isnan(found["perplexity"][0])
    assert "no one likelihood" in found["problem"][0]
    assert np.isfinite(found["accuracy"][0])


def test_files(capsys):
    how = ["lda", "--data", "train.jsonl", "--test", "test.jsonl", *QUICK]
    code, out, err = call(capsys, "grid", *how, "--over", "topics=2,3,0", "--out", "runs", "--plot", "runs.png")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[0] == "topics"
    assert [line.split()[0] for line in lines[1:4]] == ["2", "3", "0"]
    assert "topics must be a whole number from 1" in lines[3]
    assert lines[-2:] == ["written: runs", "written: runs.png"]
    assert "topics 3: perplexity" in err
    assert sorted(os.listdir("runs")) == ["table.csv", "topics=2.nc", "topics=3.nc"]
    table = pd.read_csv("runs/table.csv")
    fit = pt.load_fit(table["path"][1])
    test = pt.read_corpus("test.jsonl", text_column="text")
    assert table["log_likelihood"][1] == pytest.approx(fit.held_out(test, seed=1).log_likelihood)
    assert os.path.getsize("runs.png") > 1000
    code, out, _ = call(capsys, "grid", *how, "--over", "topics=2", "--out", "one.csv", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["over"], found["stopped"]) == (["topics"], False)
    assert found["rows"][0]["log_likelihood"] == pytest.approx(table["log_likelihood"][0])
    assert found["rows"][0]["accuracy"] is None
    assert pd.read_csv("one.csv")["path"].isna().all()


@pytest.fixture
def interruptible():
    """Where the tests run in the background, interrupts are ignored from the beginning."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_warning_is_shown_once(capsys):
    how = ("lda", "--data", "train.jsonl", "--covariates", "y", *QUICK, "--over", "topics=2,3", "--json")
    for _ in range(2):
        code, _, err = call(capsys, "grid", *how)
        assert code == 0
        assert err.count("warning: model 'lda' does not use covariate 'y' of the corpus") == 1
        assert "or leave out --covariates" in err


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_is_done(corpus, tmp_path):
    def interrupt(row):
        if row["topics"] == 2:
            # Comes to the next run, while it samples or before.
            signal.raise_signal(signal.SIGINT)

    out = tmp_path / "table.csv"
    found = pt.grid("lda", corpus, {"topics": [1, 2, 3]}, out=out, done=interrupt, **FAST)
    assert found["topics"].tolist() == [1, 2]
    assert found.attrs["stopped"]
    assert pd.read_csv(out)["topics"].tolist() == [1, 2]


@pytest.mark.parametrize("after", [3, 12])
def test_an_interrupt_of_a_run(corpus, monkeypatch, after):
    # In warm-up, and among the draws.
    from ppl_topics.engine import chains

    advance, calls = chains._advance, []

    def interrupting(chain, executor, settings):
        calls.append(chain)
        if len(calls) == 30 + after * 2:
            signal.raise_signal(signal.SIGINT)
        return advance(chain, executor, settings)

    monkeypatch.setattr(chains, "_advance", interrupting)
    found = pt.grid("lda", corpus, {"topics": [1, 2, 3]}, **FAST)
    assert found["topics"].tolist() == [1]
    assert found.attrs["stopped"]


def test_a_failing_run_does_not_lose_the_others(corpus, monkeypatch):
    grid = sys.modules["ppl_topics.api.grid"]
    run = grid.run_in_memory

    def failing(plan, *arguments, **options):
        if plan.model.spec.parameters["topics"] == 2:
            raise pt.RunError("out of luck")
        return run(plan, *arguments, **options)

    monkeypatch.setattr(grid, "run_in_memory", failing)
    found = pt.grid("lda", corpus, {"topics": [1, 2, 3]}, **FAST)
    assert found["problem"].tolist() == ["", "out of luck", ""]
    assert np.isnan(found["perplexity"][1])
    assert np.isfinite(found["perplexity"][[0, 2]]).all()


def test_a_plot(table, tmp_path):
    axes = plot_grid(table)
    labels = [panel.get_ylabel() for panel in axes]
    assert labels[0] == "held-out log likelihood a token"
    assert len(labels) == 5
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["alpha 0.1", "alpha 1.0"]
    np.testing.assert_allclose(axes[1].lines[0].get_ydata(), table["npmi"].to_numpy()[[0, 2]])
    # Also of a table from a file, and of values that are no numbers.
    table.to_csv(tmp_path / "table.csv", index=False)
    assert len(plot_grid(pd.read_csv(tmp_path / "table.csv"))) == 5
    named = table.assign(topics=["a", "a", "b$", "b$"])
    named.attrs = table.attrs
    assert [text.get_text() for text in plot_grid(named)[0].get_xticklabels()] == ["a", r"b\$"]
    with pytest.raises(PplTopicsError, match="2 were given for 5 measures"):
        plot_grid(table, axes[:2])
    with pytest.raises(PplTopicsError, match="lacks per_token"):
        plot_grid(table.drop(columns="per_token"))
    mpl.pyplot.close("all")


EXAMPLE = "expected NAME=V1,V2,..., such as --over topics=10,20,50"
TWO = ["--over", "topics=2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--over", "topisc=1,2"], "--over topisc: model 'lda' has no parameter"),
        (["--over", "topics="], "the value is missing"),
        (["--over", "topics=0,-1"], "--over topics: topics must be"),
        (["--over", "topics"], f"error: --over topics: {EXAMPLE}"),
        (["--over", ""], f"error: --over: {EXAMPLE}"),
        ([*TWO, "--set", "topics=3"], "topics: given both a fixed value and values"),
        ([*TWO, "--plot", "x.txt"], "--plot x.txt: expected a file"),
        ([*TWO, "--plot", "no/x.png"], "no/x.png: cannot be written; the folder no is missing"),
        ([*TWO, "--out", "train.jsonl"], "train.jsonl: an existing file"),
        ([*TWO, "--method", "x"], "--method: expected"),
        ([*TWO, "--draws", "0"], "--draws"),
    ],
)
def test_wrong_options_are_refused(capsys, arguments, message):
    assert message in refused(capsys, "grid", "lda", "--data", "train.jsonl", *QUICK, *arguments)


@pytest.mark.parametrize("share", ["0", "1", "nan", "50"])
def test_wrong_shares_are_refused(capsys, share):
    line = refused(capsys, "grid", "lda", "--data", "train.jsonl", *QUICK, *TWO, "--held-out", share)
    assert f"--held-out: expected a share of the documents, above 0 and below 1, such as 0.2, got {share}" in line


@pytest.mark.parametrize("number", [0, 30, True, 1.0, "x"])
def test_wrong_numbers_of_documents_are_refused(corpus, number):
    with pytest.raises(CorpusError, match=r"held_out: expected a share .* or a number of them, from 1 to 29, got "):
        pt.grid("lda", corpus, {"topics": [2]}, **{**FAST, "held_out": number})


@pytest.mark.parametrize(
    ("over", "message"),
    [({}, "expected parameters"), ({"topics": 3}, "a list of values"), ({"topics": []}, "a list")],
)
def test_wrong_values_are_refused(corpus, over, message):
    with pytest.raises(SpecError, match=message):
        pt.grid("lda", corpus, over, **FAST)


def test_corpora_that_do_not_suit_are_refused(capsys, tmp_path):
    (tmp_path / "one.csv").write_text("text\nred orange\n")
    line = refused(capsys, "grid", "lda", "--data", str(tmp_path / "one.csv"), *QUICK, *TWO)
    assert "--held-out: the corpus has one document, so none can be held out; give test documents" in line
    # As ``run`` says it, and with its exit code: nothing was run.
    line = refused(capsys, "grid", "medlda", "--data", "train.jsonl", *QUICK, *TWO)
    assert "needs labels, and the corpus has none" in line


def test_each_run_has_its_own_file():
    long = [{"topics": 2, "start": "x" * 200 + end} for end in "ab"]
    names = file_names([*long, {"topics": 3, "start": 1.5}, {"topics": 3, "start": -1.5}])
    assert names[2:] == ["topics=3,start=1.5", "topics=3,start=-1.5"]
    assert [name[-6:] for name in names[:2]] == [",run=1", ",run=2"]
    # With ``.nc``, as long as a run's name may be.
    assert max(map(len, names)) < 120
    assert len({name.casefold() for name in names}) == 4


def test_nothing_is_replaced_unless_asked(capsys, tmp_path):
    taken, runs = tmp_path / "keep.csv", tmp_path / "runs"
    taken.write_text("mine\n")
    runs.mkdir()
    (runs / "old.nc").write_bytes(b"mine")
    arguments = ("lda", "--data", "train.jsonl", "--over", "topics=2,3")
    for out, message in (
        (str(taken), "the file already exists; choose another --out, or give --overwrite"),
        (str(runs), "old.nc already exists there; choose another --out, or give --overwrite"),
        ("", "--out: the name is empty; name a file"),
        (str(taken / "x.csv"), "is missing or not writable"),
    ):
        assert message in refused(capsys, "grid", *arguments, "--out", out)
    assert taken.read_text() == "mine\n"
    assert "--over topics: 2 is given twice" in refused(
        capsys, "grid", "lda", "--data", "train.jsonl", "--over", "topics=2,2"
    )
