"""``grid``: the combinations, the table, what fails in it, its plot, and an interrupt."""

import json
import os
import signal
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from commands import call, coloured, refused

import ppl_topics as pt
from ppl_topics._util.paths import file_names
from ppl_topics.api.grid_table import SCORES
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


@pytest.fixture(scope="module")
def table(corpus):
    return pt.grid("slda_logistic", corpus, {"topics": [1, 3], "alpha": [0.1, 1.0]}, held_out=6, **FAST)


def test_a_grid(table):
    assert list(table) == ["topics", "alpha", *SCORES]
    assert table[["topics", "alpha"]].to_numpy().tolist() == [[1, 0.1], [1, 1.0], [3, 0.1], [3, 1.0]]
    assert table["problem"].tolist() == [""] * 4
    assert table.attrs == {"over": ["topics", "alpha"], "stopped": False}
    filled = [name for name in SCORES if name not in ("r2", "path", "problem")]
    assert np.isfinite(table[filled].to_numpy(dtype=float)).all()
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
