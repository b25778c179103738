"""Runs side by side: effective draws a second, inefficiency factors, and what makes runs not comparable."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.comparison import compare, inefficiency_table, kernel_seconds
from ppl_topics.diagnostics.efficiency import all_statistics
from ppl_topics.errors import TraceError

C, T = 2, 1000


def slow(rho, seed, shape=()):
    """Return draws of an autoregression: IF = (1 + rho) / (1 - rho)."""
    rng = np.random.default_rng(seed)
    noise, draws = rng.normal(size=(C, T, *shape)), np.zeros((C, T, *shape))
    for t in range(1, T):
        draws[:, t] = rho * draws[:, t - 1] + noise[:, t]
    return draws


def run(rho=0.5, seconds=0.25, seed=1, **attributes):
    coords = {"chain": np.arange(C), "draw": np.arange(T)}
    phi = np.exp(slow(rho, seed, (3, 4)))
    posterior = xr.Dataset(
        {
            "phi": (("chain", "draw", "topic", "word"), phi / phi.sum(axis=-1, keepdims=True)),
            "beta": (("chain", "draw"), slow(rho, seed + 1)),
            "z": (("chain", "draw", "token"), np.zeros((C, T, 2), dtype=np.uint8)),
        },
        {**coords, "topic": np.arange(3), "word": list("abcd")},
        {"corpus_fingerprint": "1" * 64, "corpus_name": "ones", "model_yaml": "name: a\nparameters: {topics: 3}"}
        | {"exact": 1, "thin": 2, "threads": 1}
        | attributes,
    )
    step = np.tile([0.8 * seconds, 0.2 * seconds], (C, T, 1))
    statistics = xr.Dataset(
        {"lp": (("chain", "draw"), slow(rho, seed + 2)), "step_seconds": (("chain", "draw", "kernel"), step)},
        {**coords, "kernel": ["z:gibbs", "phi:rows"]},
    )
    return {"posterior": posterior, "sample_stats": statistics}


def test_effective_draws_a_second():
    runs = {"fast": run(0.9, 0.01, 1), "slow": run(0.0, 0.1, 10)}
    table = compare(runs)
    assert table["variable"].unique().tolist() == ["lp", "phi", "beta"]
    assert table["scalars"].tolist() == [1, 1, 12, 12, 1, 1]
    assert table.attrs == {"notes": []}
    by = table.set_index(["variable", "run"])
    # Two chains of 1,000 draws, two sweeps each.
    assert by["seconds"]["lp"].tolist() == pytest.approx([40.0, 400.0])
    ess = sum(float(all_statistics(runs["fast"]["posterior"]["beta"].values[c : c + 1])["ess_bulk"]) for c in range(C))
    assert by["ess_median"]["beta", "fast"] == pytest.approx(ess)
    assert by["ess_per_second"]["beta", "fast"] == pytest.approx(ess / 40.0)
    assert by["ratio"]["beta"].tolist() == pytest.approx([1.0, by["ess_per_second"]["beta", "slow"] / (ess / 40.0)])
    # IF 19 at ten times the speed: about half the effective draws a second.
    assert 0.3 < 1.0 / by["ratio"]["lp", "slow"] < 0.9
    assert (by["ess_q05"] <= by["ess_median"]).all()
    assert compare(runs, ["beta"])["variable"].tolist() == ["beta", "beta"]


def test_chains_in_other_modes_or_with_other_numbers_are_no_worse():
    one, other = run(), run()
    phi = other["posterior"]["phi"].values
    phi[1] = phi[1][:, [1, 2, 0]]
    other["sample_stats"]["lp"][1] += 10_000.0
    table = compare({"one": one, "other": other}, ["phi", "lp"])
    assert table["ratio"].tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0], rel=0.05)


def test_seconds_of_kernels():
    table = kernel_seconds({"a": run(seconds=0.5), "b": {"posterior": run()["posterior"]}})
    assert table["run"].tolist() == ["a", "a"]
    assert table["kernel"].tolist() == ["z:gibbs", "phi:rows"]
    assert table["seconds"].tolist() == pytest.approx([0.4, 0.1])
    assert table["share"].tolist() == pytest.approx([0.8, 0.2])


def test_inefficiency_factors_in_the_form_of_the_paper():
    runs = {"collapsed": run(0.0), "partially": run(0.8, seed=5)}
    table = inefficiency_table(runs, top_words=None)
    assert table["variable"].tolist() == ["phi", "phi"]
    assert table["topics"].tolist() == [3, 3]
    assert (table["scalars"] == 12).all()
    assert table["mean"].tolist() == pytest.approx([1.0, 9.0], rel=0.35)
    assert table["ratio"].tolist() == pytest.approx([1.0, table["mean"][1] / table["mean"][0]])
    assert (table[["q05", "median"]].to_numpy() <= table[["median", "q95"]].to_numpy()).all()
    draws = runs["partially"]["posterior"]["phi"].values
    factors = C * T / all_statistics(draws, ["ess_spectral"])["ess_spectral"]
    assert table["sd"][1] == pytest.approx(factors.std())
    # Of each topic, by chain, its two most probable words only.
    assert inefficiency_table(runs, top_words=2)["scalars"].tolist() == [6, 6]
    # What never changes has no factor.
    still = run()
    still["posterior"]["phi"].values[..., 0] = 0.25
    assert inefficiency_table({"still": still})["constant"].tolist() == [3]
    still["posterior"]["phi"].values[:] = 0.25
    assert np.isnan(inefficiency_table({"still": still})["mean"][0])


def test_runs_that_are_not_comparable_are_refused_or_noted():
    other = run(corpus_fingerprint="2" * 64, corpus_name="twos")
    with pytest.raises(
        TraceError, match=r"a and b are runs on different corpora \(ones, 11111111 and twos, 22222222\)"
    ):
        compare({"a": run(), "b": other})
    with pytest.raises(TraceError, match="at least two runs, got 1"):
        compare({"a": run()})
    with pytest.raises(TraceError, match=r"b has no variable 'bta'; did you mean 'beta'\?|a has no variable 'bta'"):
        compare({"a": run(), "b": run()}, ["bta"])
    with pytest.raises(TraceError, match="at least one run"):
        inefficiency_table({})
    with pytest.raises(TraceError, match="top_words"):
        inefficiency_table({"a": run()}, top_words=0)
    with pytest.raises(TraceError, match="b: the group `posterior` lacks the dimensions"):
        compare({"a": run(), "b": {"posterior": xr.Dataset(attrs=run()["posterior"].attrs)}})
    # Other schedules, starts and recordings are of the same posterior; other parameters are not.
    again = run(model_yaml="name: b\nparameters: {topics: 3, start: labels}\nschedule: {z: gibbs}\nrecord: {phi: none}")
    more = run(model_yaml="name: a\nparameters: {topics: 4}", threads=4, exact=0)
    bare = run()
    del bare["posterior"].attrs["corpus_fingerprint"], bare["sample_stats"]["step_seconds"]
    notes = compare({"a": run(), "again": again, "more": more, "bare": bare}).attrs["notes"]
    assert notes == [
        "bare: the corpus is not recorded and may be different",
        "more and a have different posteriors, since their models differ (topics 3 and 4)",
        "more is not exact: its draws are approximate, so more draws per second may be no gain",
        "threads differ: a 1, again 1, more 4, bare 1",
        "bare holds no times of its kernels",
    ]


def test_few_draws_and_sampled_runs():
    corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"], labels=["a", "b", "a"])
    how = {"topics": 2, "warmup": 3, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    runs = {name: pt.sample(name, corpus, draws=8, **how).groups for name in ("lda", "lda_collapsed")}
    table = compare(runs)
    assert table.attrs["notes"] == []
    assert (table["ess_per_second"] > 0).all()
    one = {name: pt.sample("medlda_one_vs_all", corpus, draws=1, **how).groups for name in ("x", "y")}
    table = compare(one)
    assert {"eta", "lp"} <= set(table["variable"])
    assert table["ess_median"].isna().all()
    assert set(inefficiency_table(one)["variable"]) == {"theta", "phi", "eta"}


def test_fits_are_taken_as_their_groups():
    runs = {"fast": run(0.9, 0.01, 1), "slow": run(0.0, 0.1, 10)}
    fits = {name: pt.Fit(groups) for name, groups in runs.items()}
    for function in (compare, kernel_seconds, inefficiency_table):
        pd.testing.assert_frame_equal(function(fits), function(runs))
    for wrong, message in (
        ([fits["fast"], fits["slow"]], "runs: expected fits by name"),
        (fits["fast"], "runs: expected fits by name"),
        ({"a": 1, "b": 2}, "expected the groups of a trace, a fit"),
    ):
        with pytest.raises(TraceError, match=message):
            compare(wrong)
