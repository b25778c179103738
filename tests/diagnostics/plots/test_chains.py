"""Plots of chains: what is drawn where, from traces made by hand, and by ArviZ's numbers."""

import arviz
import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_drift, plot_ess, plot_rank, plot_trace
from ppl_topics.results.arviz_compat import from_groups

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

WARMUP, DRAWS, THIN = 10, 40, 2


def made(shift=0.0, draws=DRAWS, chains=2, same_topics=True):
    """A trace of AR(1) chains, the last of them shifted, with two topics that may be another's in each chain."""
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(chains, WARMUP + draws))
    path = np.zeros_like(steps)
    for t in range(1, WARMUP + draws):
        path[:, t] = 0.5 * path[:, t - 1] + steps[:, t]
    path[-1] += shift
    path[:, :3] -= 1e6
    dims = ("chain", "draw")
    coords = {"chain": np.arange(chains)}
    rates = np.stack([np.ones_like(path), 0.5 + 0.01 * np.tanh(path)], axis=2)

    def statistics(part):
        return xr.Dataset(
            {
                "lp": (dims, path[:, part] - 50_000),
                "log_marginal": (dims, path[:, part] - 50_000),
                "density_n_dk": (dims, 0.3 + 0.01 * np.tanh(path[:, part])),
                "density_n_kw": (dims, 0.2 + 0.01 * np.tanh(path[:, part])),
                "acceptance_rate": ((*dims, "kernel"), rates[:, part]),
            },
            {**coords, "draw": np.arange(path[:, part].shape[1]), "kernel": ["phi:rows", "z:mh"]},
        )

    share = rng.random((chains, WARMUP + draws))
    shares = np.stack([share, 1 - share], axis=2)
    phi = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4]], dtype=np.float32)
    of_chains = np.stack([phi if same_topics or chain == 0 else phi[::-1] for chain in range(chains)])
    attributes = {"thin": THIN, "warmup": WARMUP, "exact": 1}
    topics = {**coords, "topic": [0, 1]}
    return {
        "posterior": xr.Dataset({"topic_share": ((*dims, "topic"), shares[:, WARMUP:])}, topics, attributes),
        "warmup_posterior": xr.Dataset({"topic_share": ((*dims, "topic"), shares[:, :WARMUP])}, topics),
        "sample_stats": statistics(slice(WARMUP, None)),
        "warmup_sample_stats": statistics(slice(0, WARMUP)),
        "constant_data": xr.Dataset(
            {"phi_mean": (("chain", "topic", "word"), of_chains), "doc_length": ("doc", [60, 40])},
            {**topics, "word": ["$5", "ball", "law", "vote"]},
        ),
    }


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def paths_of(panel):
    """The lines of chains: those with a label, in their order."""
    return [line for line in panel.get_lines() if not line.get_label().startswith("_")]


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
        assert titles == [f"topic_share, topic {k} (another in each chain)" for k in (0, 1)]
    # Of one chain there are its own words.
    (panel,) = plot_trace(groups, "topic_share", coords={"topic": 1, "chain": 1})
    assert panel.get_title("left").startswith("topic_share, distribution" if same else r"topic_share, \$5")
    np.testing.assert_array_equal(
        paths_of(panel)[0].get_ydata()[WARMUP:], groups["posterior"]["topic_share"].values[1, :, 1]
    )


def test_ranks_are_counted_by_chain():
    groups = made()
    (panel,) = plot_rank(groups)
    values = groups["sample_stats"]["lp"].values
    order = values.ravel().argsort().argsort().reshape(values.shape)
    n_bins = len(panel.patches) // 2
    assert n_bins == DRAWS // 5
    heights = np.array([bar.get_height() for bar in panel.patches]).reshape(2, n_bins)
    counts = np.array([np.bincount(ranks // (2 * DRAWS // n_bins), minlength=n_bins) for ranks in order])
    np.testing.assert_allclose(heights / heights.sum(), counts / counts.sum())
    assert [label.get_text() for label in panel.get_yticklabels()] == ["chain 0", "chain 1"]
    # The dashed line is where each bin would have as many draws of a chain.
    expected = panel.get_lines()[1].get_ydata()[0]
    np.testing.assert_allclose(expected, heights[1].mean())
    # A chain that sits elsewhere has all of its ranks at the end.
    (panel,) = plot_rank(made(shift=100.0), "lp")
    heights = np.array([bar.get_height() for bar in panel.patches]).reshape(2, n_bins)
    assert not heights[0, n_bins // 2 :].any()
    assert not heights[1, : n_bins // 2].any()


def test_ranks_of_one_chain_are_of_its_halves():
    (panel,) = plot_rank(made(chains=1))
    assert [label.get_text() for label in panel.get_yticklabels()] == ["first half", "second half"]


def test_effective_sample_sizes_are_those_of_arviz():
    groups = made()
    (panel,) = plot_ess(groups)
    lines = {line.get_label(): line for line in paths_of(panel)}
    draws = groups["sample_stats"]["lp"].values
    for name in ("bulk", "tail"):
        x, y = lines[name].get_data()
        assert x[-1] == draws.size
        expected = [arviz.ess(draws[:, : number // 2], method=name) for number in x]
        np.testing.assert_allclose(y, np.array(expected, dtype=float), rtol=1e-9)
    assert lines["100 a chain"].get_ydata()[0] == 200


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
        ((groups, []), "name one variable at least"),
        (([1, 2],), "expected the groups of a trace"),
        (({"prior": groups["posterior"]},), "no group `posterior`"),
        (({"posterior": groups["posterior"]},), "none of lp, log_marginal"),
    ):
        for plot in (plot_trace, plot_rank, plot_ess):
            with pytest.raises(pt.TraceError, match=words):
                plot(*call)
    with pytest.raises(pt.TraceError, match="'topic_share' has no topic 9"):
        plot_trace(groups, "topic_share", coords={"topic": [0, 9]})
    with pytest.raises(pt.TraceError, match="'lp' has no dim 'topic'"):
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
        with pytest.raises(pt.TraceError, match="1 draws a chain are too few"):
            plot(groups, "lp")
        with pytest.raises(pt.TraceError, match="not finite numbers"):
            plot(missing, "lp")
    # A variable that never varies is drawn if it is named.
    rate = {"coords": {"kernel": "phi:rows"}}
    assert len(plot_trace(made(), "acceptance_rate", **rate)) == 1
    plot_rank(made(), "acceptance_rate", **rate)[0].figure.canvas.draw()


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
        ({"a": exact, "b": {**exact, "constant_data": exact["constant_data"] * 2}}, {}, "not of one corpus"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            plot_drift(runs, **options)
