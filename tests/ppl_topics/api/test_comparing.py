"""Schedules compared over several seeds."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.api.comparing import MODE, _interval, _seconds_until, _table
from ppl_topics.diagnostics.efficiency import ess

SWEEP = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"))
TWICE = pt.cycle(pt.repeat(2, pt.step("z", "partially_collapsed")), pt.step("phi", "dirichlet_rows"))


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    return pt.Corpus.from_tokens([[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 25, 60, 80)])


@pytest.fixture(scope="module")
def found(corpus):
    record = {"largest": lambda state: state.n_k.max()}
    schedules = {"once": SWEEP, "twice": TWICE}
    return pt.compare(
        "lda", corpus, schedules, seeds=range(4), topics=3, draws=60, warmup=20, thin=2, threads=1, record=record
    )


def rows(table, **cells):
    for column, value in cells.items():
        table = table[table[column] == value]
    return table


def test_a_row_for_each_run_and_quantity(found):
    assert set(found.runs["quantity"]) == {"lp", "log_marginal", "topic_share", "largest", MODE}
    assert len(found.runs) == 4 * 2 * 5
    own = rows(found.runs, quantity="lp", schedule="once")
    assert own["seed"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(own["ess"] / own["seconds"], own["ess_per_second"])
    assert found.table["schedule"].tolist() == ["once", "twice"] * 5


def test_means_and_ratios_over_seeds():
    """Seed by seed one schedule has 4 times as many effective draws a second, though the seeds differ more."""
    seconds = {"slow": np.array([1.0, 20.0, 3.0]), "fast": np.array([4.0, 84.0, 11.5])}
    runs = [
        {"seed": seed, "schedule": name, "quantity": "lp", "ess": 9.0, "seconds": 1.0, "ess_per_second": value}
        for name, values in seconds.items()
        for seed, value in enumerate(values)
    ]
    table = _table(pd.DataFrame(runs), ["slow", "fast"], 0.95)
    slow, fast = table.to_dict("records")
    assert fast["mean"] == pytest.approx(np.exp(np.log(seconds["fast"]).mean()))
    assert (slow["ratio_low"], slow["ratio"], slow["ratio_high"]) == (1, 1, 1)
    assert fast["ratio"] == pytest.approx(fast["mean"] / slow["mean"])
    assert 3.5 < fast["ratio_low"] < 4 < fast["ratio_high"] < 4.6
    assert fast["low"] < slow["high"], "over seeds alone, nothing could be said"


def test_seconds_until_the_mode():
    stats = {
        name: xr.Dataset(
            {"log_marginal": (("chain", "draw"), [values]), "step_seconds": (("chain", "draw", "kernel"), [seconds])},
            attrs={"thin": 3},
        )
        for name, values, seconds in (
            ("warmup_sample_stats", [-9.0, -5.0], [[1.0, 0.5], [1.0, np.nan]]),
            ("sample_stats", [-4.0, -3.0], [[1.0, 1.0], [1.0, 1.0]]),
        )
    }
    assert _seconds_until(stats, -5.0) == 2.5
    assert _seconds_until(stats, -4.0) == 2.5 + 3 * 2
    assert np.isnan(_seconds_until(stats, -2.0))


def test_warmups_are_annealed_only_if_asked_for(corpus, monkeypatch):
    """Else the mode of each schedule would come at the end of its warmup."""
    made = []

    def kept(*arguments, **how):
        made.append(pt.sample(*arguments, **how))
        return made[-1]

    monkeypatch.setattr("ppl_topics.api.comparing.sample", kept)
    how = {"seeds": [1], "topics": 3, "draws": 4, "threads": 1}
    pt.compare("lda", corpus, {"plain": None, "annealed": {"warmup": {"temperature": 5}}}, warmup=2, **how)
    said = [fit.posterior.attrs.get("warmup_inexact") for fit in made[-2:]]
    assert said == [None, "temperature 5, falling to 1"]
    pt.compare("lda", corpus, {"none": None, "other": SWEEP}, warmup=0, **how)


def test_a_mode_that_is_not_reached(corpus):
    stuck = pt.cycle(pt.every(1000, pt.step("z", "partially_collapsed")), pt.step("phi", "dirichlet_rows"))
    separate = pt.Corpus.from_texts(["red green blue " * 10] * 5 + ["salt bread oil " * 10] * 5)
    found = pt.compare("lda", separate, {"once": SWEEP, "stuck": stuck}, seeds=[1, 2], topics=2, draws=30, warmup=20)
    row = rows(found.table, quantity=MODE, schedule="stuck").iloc[0]
    assert (row["seeds"], np.isnan(row["mean"])) == (0, True)
    assert "not reached" in str(found)


def test_the_table_as_text(found):
    lines = str(found).splitlines()
    assert lines[0] == "Effective draws a second, and seconds to the mode; 95% intervals over seeds."
    assert len(lines) == 2 + len(found.table)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    """Of 4,000 intervals of 90%, 3,600 cover in expectation; 4.9 standard errors: a false alarm in a million."""
    rng = np.random.default_rng(7)
    bounds = np.log([_interval(rng.normal(size=5), 0.9)[1:] for _ in range(4_000)])
    covered = ((bounds[:, 0] < 0) & (bounds[:, 1] > 0)).mean()
    error = np.sqrt(0.9 * 0.1 / 4_000)
    assert abs(covered - 0.9) < 4.9 * error
    # With the quantile of a normal distribution, the intervals of 5 seeds would be too short.
    short = np.exp(-1.645 * np.abs(np.diff(bounds))[:, 0] / (2 * 2.132))
    assert abs((np.abs(bounds.mean(axis=1)) < -np.log(short)).mean() - 0.9) > 4.9 * error


def test_the_plot_has_a_panel_for_each_quantity(found):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    panels = found.plot()
    assert [panel.get_title() for panel in panels] == list(dict.fromkeys(found.table["quantity"]))
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["once", "twice"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"schedules": {"once": SWEEP}}, "schedules: expected two schedules or more, by name"),
        ({"seeds": []}, r"seeds: expected one or more, all different, got \[\]"),
        ({"seeds": [1, 1]}, r"seeds: expected one or more, all different, got \[1, 1\]"),
        ({"draws": 3}, "draws"),
        ({"confidence": 95}, "confidence: must be between 0 and 1, got 95"),
        ({"quantities": ["lq"]}, "quantities: no quantity has the name 'lq'; valid: log_marginal, lp"),
        ({"topic": 3}, "model 'lda' has no parameter 'topic'"),
    ],
)
def test_errors(corpus, wrong, message):
    given = {"schedules": {"once": SWEEP, "twice": TWICE}, "seeds": [1], "draws": 4, "warmup": 1, **wrong}
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.compare("lda", corpus, **given)


def test_runs_are_data(found):
    assert isinstance(found.runs, pd.DataFrame)
    assert found.confidence == 0.95


def test_an_entry_with_a_wrong_key(corpus):
    wrong = {"schedule": SWEEP, "warm": SWEEP}
    with pytest.raises(pt.PplTopicsError, match="schedules: a: expected `schedule` and `warmup`, found 'warm'"):
        pt.compare("lda", corpus, {"a": wrong, "b": SWEEP}, seeds=range(1), topics=3, draws=4, warmup=1)


@pytest.fixture(scope="module")
def fits(corpus):
    how = {"topics": 3, "draws": 30, "warmup": 10, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    return {name: pt.sample("lda", corpus, schedule=each, **how) for name, each in (("once", SWEEP), ("twice", TWICE))}


def test_fits_are_compared_chain_by_chain(fits):
    found = pt.compare(fits)
    assert set(found.runs["quantity"]) == {"lp", "log_marginal", "topic_share", MODE}
    for row in found.runs[found.runs["quantity"] != MODE].to_dict("records"):
        fit = fits[row["schedule"]]
        group = fit.posterior if row["quantity"] == "topic_share" else fit.groups["sample_stats"]
        draws = group[row["quantity"]].isel(chain=[row["seed"]]).values
        assert row["ess"] == pytest.approx(np.median(ess(draws)))
        seconds = float(fit.groups["sample_stats"]["step_seconds"].isel(chain=row["seed"]).sum())
        assert row["seconds"] == pytest.approx(seconds)
    own = rows(found.runs, quantity="lp", schedule="twice")["ess_per_second"]
    expected = rows(found.table, quantity="lp", schedule="twice").iloc[0]
    assert expected["mean"] == pytest.approx(np.exp(np.log(own).mean()))
    assert str(found).startswith("Effective draws a second, and seconds to the mode; 95% intervals over chains.")
    assert set(pt.compare(fits, quantities=["phi"]).runs["quantity"]) == {"phi", MODE}


def test_notes_on_fits_that_differ(fits, corpus):
    how = {"draws": 10, "warmup": 0, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    other = pt.sample("lda", corpus, topics=2, **how)
    found = pt.compare({"once": fits["once"], "other": other})
    assert found.notes == ("other and once have different posteriors, since their models differ (topics 3 and 2)",)
    assert str(found).endswith(f"note: {found.notes[0]}")


def first_chain(fit):
    return pt.Fit(
        {name: group.isel(chain=[0]) if "chain" in group.dims else group for name, group in fit.groups.items()}
    )


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        (lambda fits: {"once": fits["once"]}, {}, "a comparison needs at least two runs, got 1"),
        (lambda fits: fits, {"draws": 50}, "fits are compared as they are"),
        (lambda fits: fits, {"topics": 3}, "fits are compared as they are"),
        (lambda fits: fits, {"seeds": [1]}, "fits are compared as they are"),
        (lambda fits: fits, {"quantities": ["lq"]}, "has no variable 'lq'"),
        (lambda fits: "lda", {}, "corpus: missing; give a corpus to run the model on, or fits by name"),
        (
            lambda fits: {**fits, "one": first_chain(fits["once"])},
            {},
            r"different numbers of chains \(once 2, twice 2, one 1\)",
        ),
    ],
)
def test_errors_of_fits(fits, change, given, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.compare(change(fits), **given)
