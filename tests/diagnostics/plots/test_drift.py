"""The drift of approximate samplers next to exact ones."""

import numpy as np
import pytest
import xarray as xr
from chain_traces import DRAWS, THIN, WARMUP, made, paths_of
from plot_helpers import FAST, corpus

import ppl_topics as pt
from ppl_topics.diagnostics.plots import (
    plot_drift,
)


def test_drift_of_runs_that_are_not_exact():
    exact, other = made(), made(shift=3.0)
    other["posterior"] = other["posterior"].assign_attrs(exact=0)
    axes = plot_drift({"exact": exact, "AD-LDA": pt.Fit(other)})
    assert [panel.get_title() for panel in axes] == [
        "log p(w, z) / N",
        "nonzero share of n_dk",
        "nonzero share of n_kw",
    ]
    assert [line.get_label() for line in paths_of(axes[0])] == ["exact", "AD-LDA (not exact)"]
    # A line for each chain of each run; the approximate ones are dashed.
    assert [line.get_linestyle() for line in axes[0].get_lines()] == ["-", "-", "--", "--"]
    log = np.hstack([other[name]["log_marginal"].values[1] for name in ("warmup_sample_stats", "sample_stats")])
    np.testing.assert_allclose(axes[0].get_lines()[3].get_ydata(), log / 100)
    assert axes[0].get_lines()[3].get_xdata()[-1] == WARMUP + THIN * DRAWS
    # The first tenth, with the jump from the start, does not set the range.
    assert axes[0].get_ylim()[0] > -600
    for runs, options, words in (
        ({}, {}, "expected traces by name"),
        (exact, {}, "expected the groups of a trace"),
        ({"a": exact}, {"skip": 1}, "skip"),
        ({"a": {"posterior": exact["posterior"]}}, {}, "run 'a' holds no numbers of tokens"),
        ({"a": {**exact, "sample_stats": xr.Dataset()}}, {}, "run 'a' holds no log_marginal"),
        ({"a": exact, "b": {**exact, "constant_data": exact["constant_data"] * 2}}, {}, "their corpora differ"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            plot_drift(runs, **options)


def test_drift_is_drawn_beside_other_runs(plain):
    approximate = {"schedule": pt.cycle(pt.step("z", "ad_lda", shards=3))}
    with pytest.warns(pt.InexactKernelWarning):
        fit = pt.sample("lda_collapsed", corpus(), topics=4, chains=1, **approximate, **FAST)
    axes = fit.plot_drift({"exact": plain}, name="3 shards", skip=0.0)
    assert [line.get_label() for line in axes[1].get_lines() if line.get_label()[0] != "_"] == [
        "3 shards (not exact)",
        "exact",
    ]
