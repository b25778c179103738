"""Plots of chains: what is drawn where, from traces made by hand."""

import numpy as np
import pytest
import xarray as xr
from chain_traces import DRAWS, THIN, WARMUP, made, paths_of
from scipy.stats import rankdata

import ppl_topics as pt
from ppl_topics.diagnostics.efficiency import all_statistics
from ppl_topics.diagnostics.plots import plot_drift, plot_ess, plot_rank, plot_trace
from ppl_topics.results.arviz_compat import ARVIZ_MAJOR, from_groups


def test_a_trace_has_a_line_for_each_chain_and_the_warm_up_shaded():
    groups = made()
    axes = plot_trace(groups)
    # log_marginal equals lp here, and the kernel phi:rows always accepts: neither shows anything.
    assert [panel.get_title("left") for panel in axes] == ["lp", "acceptance_rate, z:mh"]
    lines = paths_of(axes[0])
    assert [line.get_label() for line in lines] == ["chain 0", "chain 1"]
    for chain, line in enumerate(lines):
        sweeps = [*range(1, WARMUP + 1), *(WARMUP + THIN * np.arange(1, DRAWS + 1))]
        np.testing.assert_array_equal(line.get_xdata(), sweeps)
        parts = [groups[name]["lp"].values[chain] for name in ("warmup_sample_stats", "sample_stats")]
        np.testing.assert_array_equal(line.get_ydata(), np.concatenate(parts))
    # The shading ends with the warm-up; the start, far below, does not set the range.
    (shade,) = axes[0].patches
    np.testing.assert_allclose(
        shade.get_extents().transformed(axes[0].transData.inverted()).intervalx, [0, WARMUP], atol=1e-9
    )
    low, high = axes[0].get_ylim()
    kept = groups["sample_stats"]["lp"].values
    assert -51_000 < low < kept.min() < kept.max() < high
    axes[0].figure.canvas.draw()
    assert axes[0].get_yticklabels()[0].get_text().replace("\N{MINUS SIGN}", "-").startswith(("-50,0", "-49,9"))


def test_a_trace_without_warm_up():
    groups = made()
    for axes in (
        plot_trace(groups, "lp", warmup=False),
        plot_trace({name: groups[name] for name in ("posterior", "sample_stats")}, "lp"),
    ):
        (panel,) = axes
        assert not panel.patches
        np.testing.assert_array_equal(paths_of(panel)[0].get_xdata()[:2], [WARMUP + THIN, WARMUP + 2 * THIN])
        assert panel.get_xlabel() == "sweep"


@pytest.mark.parametrize("same", [True, False])
def test_topics_are_called_by_words_where_chains_agree(same):
    groups = made(same_topics=same)
    titles = [panel.get_title("left") for panel in plot_trace(groups, "topic_share")]
    if same:
        assert titles[0].startswith(r"topic_share, \$5 ball")
        assert titles[1].startswith("topic_share, law vote")
        assert titles[1].endswith("(topic 1)")
    else:
        assert titles == [f"topic_share, topic {k} (different in each chain)" for k in (0, 1)]
    # Of one chain there are its own words.
    (panel,) = plot_trace(groups, "topic_share", coords={"topic": 1, "chain": 1})
    assert panel.get_title("left").startswith("topic_share, law" if same else r"topic_share, \$5")
    np.testing.assert_array_equal(
        paths_of(panel)[0].get_ydata()[WARMUP:], groups["posterior"]["topic_share"].values[1, :, 1]
    )


def histograms(panel, n_chains=2):
    """Heights of the bars that ArviZ 0.x draws, by chain."""
    return np.array([bar.get_height() for bar in panel.patches]).reshape(n_chains, -1)


def names_of_chains(panel):
    """The names that ArviZ 0.x writes at the axis, and 1.x in the legend."""
    texts = panel.get_legend().get_texts() if ARVIZ_MAJOR >= 1 else panel.get_yticklabels()
    return [text.get_text() for text in texts]


def test_ranks_are_drawn_for_each_chain():
    groups = made()
    (panel,) = plot_rank(groups)
    assert names_of_chains(panel) == ["chain 0", "chain 1"]
    ranks = rankdata(groups["sample_stats"]["lp"].values).reshape(2, DRAWS)
    if ARVIZ_MAJOR >= 1:
        for line, of_chain in zip(panel.get_lines(), ranks, strict=True):
            # How far the share of the ranks up to each point is from what it would be, were they uniform.
            x, y = line.get_data()
            expected = [(of_chain / (2 * DRAWS) <= point).mean() - point for point in x]
            np.testing.assert_allclose(y[1:-1], expected[1:-1], atol=2 / DRAWS)
    else:
        heights = histograms(panel)
        n_bins = heights.shape[1]
        counts = np.array([np.histogram(each, n_bins, (0, 2 * DRAWS))[0] for each in ranks])
        np.testing.assert_allclose(heights / heights.sum(), counts / counts.sum())


def test_ranks_of_a_chain_elsewhere_are_at_one_end():
    (panel,) = plot_rank(made(shift=100.0), "lp")
    if ARVIZ_MAJOR >= 1:
        below, above = (line.get_ydata() for line in panel.get_lines())
        assert below.max() > 0.45
        assert above.min() < -0.45
    else:
        heights = histograms(panel)
        # Rank 40 of 80 lies on the edge of a bin.
        assert not heights[0, heights.shape[1] // 2 + 1 :].any()
        assert not heights[1, : heights.shape[1] // 2].any()


def test_ranks_of_one_chain_are_of_its_halves():
    (panel,) = plot_rank(made(chains=1))
    assert names_of_chains(panel) == ["first half", "second half"]


def test_effective_sample_sizes_are_those_of_all_draws_at_the_end():
    groups = made()
    (panel,) = plot_ess(groups)
    bulk, tail, enough = (line.get_data() for line in panel.get_lines())
    draws = groups["sample_stats"]["lp"].values
    expected = all_statistics(draws, ["ess_bulk", "ess_tail"])
    for (x, y), name in ((bulk, "ess_bulk"), (tail, "ess_tail")):
        assert x[-1] == draws.size
        # ArviZ 0.x interpolates between equal draws with a rounding error.
        np.testing.assert_allclose(y[-1], expected[name], rtol=1e-9)
        assert np.isfinite(y).all()
    assert enough[1][0] == 200


@pytest.mark.parametrize("form", ["groups", "fit", "arviz", "tree"])
def test_all_forms_of_a_trace(form):
    groups = made()
    trace = {
        "groups": lambda: groups,
        "fit": lambda: pt.Fit(groups),
        "arviz": lambda: from_groups(groups),
        # As ArviZ 1.x holds it, whatever is installed.
        "tree": lambda: xr.DataTree.from_dict({"/": xr.Dataset(attrs={"seed": 1}), **groups}),
    }[form]()
    for plot in (plot_trace, plot_rank, plot_ess):
        expected, found = plot(groups, "topic_share"), plot(trace, "topic_share")
        assert [panel.get_title("left") for panel in found] == [panel.get_title("left") for panel in expected]
        np.testing.assert_array_equal(found[1].get_lines()[0].get_data(), expected[1].get_lines()[0].get_data())


def test_axes_that_are_given_need_no_pyplot_and_stay_open():
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    groups = made()
    mine, _ = pyplot.subplots()
    panels = Figure().subplots(1, 3)
    for plot in (plot_trace, plot_rank, plot_ess):
        (drawn,) = plot(groups, "lp", axes=panels[0])
        assert drawn is panels[0]
    plot_drift({"a": groups}, axes=panels)
    assert pyplot.get_fignums() == [mine.number]
    with pytest.raises(pt.TraceError, match="3 were given for 1 scalars"):
        plot_trace(groups, "lp", axes=panels)


def test_what_is_missing_is_named():
    groups = made()
    for call, words in (
        ((groups, "lpp"), "no variable 'lpp'; did you mean 'lp'"),
        ((groups, []), "name at least one variable"),
        (([1, 2],), "expected the groups of a trace"),
        (({"prior": groups["posterior"]},), "no group `posterior`"),
        (({"posterior": groups["posterior"]},), "no varying lp or log_marginal"),
    ):
        for plot in (plot_trace, plot_rank, plot_ess):
            with pytest.raises(pt.TraceError, match=words):
                plot(*call)
    with pytest.raises(pt.TraceError, match="'topic_share' has no topic 9"):
        plot_trace(groups, "topic_share", coords={"topic": [0, 9]})
    with pytest.raises(pt.TraceError, match="'lp' has no dimension 'topic'"):
        plot_trace(groups, "lp", coords={"topic": 0})
    many = groups["posterior"].isel(topic=np.zeros(60, dtype=int)).assign_coords(topic=np.arange(60))
    with pytest.raises(pt.TraceError, match="60 scalars, too many for one figure; name some"):
        plot_trace({**groups, "posterior": many, "constant_data": xr.Dataset()}, "topic_share")
    named = groups["sample_stats"].assign(name=(("chain", "draw"), np.full((2, DRAWS), "x")))
    with pytest.raises(pt.TraceError, match="expected numbers"):
        plot_trace({**groups, "sample_stats": named}, "name")


def test_few_draws_and_draws_that_are_no_numbers():
    groups = made(draws=1)
    missing = groups | {"sample_stats": made()["sample_stats"] * np.nan}
    assert len(paths_of(plot_trace(groups, "lp")[0])) == 2
    for plot in (plot_rank, plot_ess):
        with pytest.raises(pt.TraceError, match="1 draws per chain are too few"):
            plot(groups, "lp")
        with pytest.raises(pt.TraceError, match="not finite numbers"):
            plot(missing, "lp")
    # A variable that never varies is drawn if it is named.
    rate = {"coords": {"kernel": "phi:rows"}}
    assert len(plot_trace(made(), "acceptance_rate", **rate)) == 1
    plot_rank(made(), "acceptance_rate", **rate)[0].figure.canvas.draw()


def test_a_warm_up_of_other_kernels_is_not_drawn_as_theirs():
    """Steps are found by name: one that only the warm-up had is in no line, and one that it lacked has a gap there."""
    groups = made()
    early = groups["warmup_sample_stats"].assign_coords(kernel=["z:ad_lda", "phi:rows"])
    other = groups | {"warmup_sample_stats": early}
    (panel,) = plot_trace(other, "acceptance_rate", coords={"kernel": "z:mh"})
    for line in paths_of(panel):
        assert np.isnan(line.get_ydata()[:WARMUP]).all()
        assert np.isfinite(line.get_ydata()[WARMUP:]).all()
    (panel,) = plot_trace(other, "acceptance_rate", coords={"kernel": "phi:rows"})
    for chain, line in enumerate(paths_of(panel)):
        np.testing.assert_array_equal(line.get_ydata()[:WARMUP], early["acceptance_rate"].values[chain, :, 1])
