"""Draws depend on the seed and the model alone: not on threads, processes, other chains, or what is recorded."""

import numba
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics._util.threads import enough_threads
from ppl_topics.core.registry import unregister_kernel

OPTIONS = {"topics": 4, "draws": 6, "warmup": 3, "seed": 11, "progress": False}
RECORD = {"z": "all", "phi": "all", "theta": "all"}
LEARNED = {"topics": 4, "draws": 4, "warmup": 2, "seed": 11, "progress": False, "record": RECORD}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    return pt.Corpus.from_tokens(documents)


@pytest.fixture
def counting():
    """Kernels `first` and `second` of phi, which note when they run."""
    runs = []

    def register(name):
        @pt.kernel(name, updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
        def build(binding):
            def step(state, memory, key):
                runs.append((name, key.chain, key.sweep, key.kernel))

            return pt.KernelFunctions(step)

    for name in ("first", "second"):
        register(name)
    yield runs
    for name in ("first", "second"):
        unregister_kernel(name)


def same(a, b):
    assert set(a.data_vars) == set(b.data_vars)
    for name in a.data_vars:
        if name != "step_seconds":
            np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=name)


@pytest.mark.parametrize("model", ["lda", "lda_collapsed", "lda_learned"])
def test_threads_do_not_matter(model, corpus):
    one, two = (pt.sample(model, corpus, **LEARNED, chains=2, threads=threads) for threads in (1, 2))
    for group in ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "constant_data"):
        same(one.groups[group], two.groups[group])


def test_processes_do_not_matter(corpus):
    one, two = (pt.sample("lda", corpus, **LEARNED, chains=3, threads=1, processes=p) for p in (1, 2))
    same(one.posterior, two.posterior)
    same(one.groups["sample_stats"], two.groups["sample_stats"])
    same(one.groups["constant_data"], two.groups["constant_data"])


def test_a_chain_does_not_depend_on_the_others(corpus):
    one, three = (pt.sample("lda", corpus, **OPTIONS, record=RECORD, chains=chains) for chains in (1, 3))
    same(one.posterior, three.posterior.isel(chain=[0]))
    z = three.posterior["z"].values
    assert not np.array_equal(z[0], z[1])
    assert not np.array_equal(z[1], z[2])


def test_recording_does_not_matter(corpus):
    much = pt.sample("lda_collapsed", corpus, **OPTIONS, record=RECORD)
    little = pt.sample("lda_collapsed", corpus, **OPTIONS, record={"phi": "none", "theta": "none"})
    same(much.posterior[["topic_share"]], little.posterior[["topic_share"]])
    same(much.groups["constant_data"], little.groups["constant_data"])


def test_draws_of_one_topic_are_not_the_last_one(corpus):
    fit = pt.sample("lda", corpus, **{**OPTIONS, "topics": 1, "draws": 20})
    assert fit.posterior["phi"].std("draw").max() > 1e-3


def test_seeds_matter(corpus):
    options = {**OPTIONS, "chains": 1}
    first = pt.sample("lda", corpus, **options)
    second = pt.sample("lda", corpus, **{**options, "seed": 12})
    assert not np.array_equal(first.posterior["phi"], second.posterior["phi"])
    drawn = [pt.sample("lda", corpus, **{**options, "seed": None}) for _ in range(2)]
    seeds = [int(fit.posterior.attrs["seed"]) for fit in drawn]
    assert seeds[0] != seeds[1]
    again = pt.sample("lda", corpus, **{**options, "seed": seeds[0]})
    same(again.posterior, drawn[0].posterior)


def test_thin_and_warmup_select_sweeps(corpus):
    """Every third draw, and draws without warmup, are those of the unthinned run of the same seed: none is annealed."""
    options = {**OPTIONS, "record": RECORD, "chains": 1}
    every = pt.sample("lda", corpus, **{**options, "warmup": 0, "draws": 15})
    options |= {"warmup_schedule": {"temperature": 1}}
    third = pt.sample("lda", corpus, **{**options, "warmup": 3, "draws": 4, "thin": 3})
    same(every.posterior.isel(draw=[5, 8, 11, 14]).assign_coords(draw=np.arange(4)), third.posterior)
    assert third.groups["warmup_sample_stats"].sizes["draw"] == 3
    assert every.groups["warmup_sample_stats"].sizes["draw"] == 0
    assert third.groups["constant_data"]["sweeps"].values.tolist() == [15]


def test_executions_of_every_repeat_and_mixture(corpus, counting):
    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"),
        pt.every(3, pt.step("phi", "first")),
        pt.repeat(2, pt.step("phi", "second")),
        pt.step("phi", "dirichlet_rows"),
    )
    fit = pt.sample("lda", corpus, **{**OPTIONS, "chains": 2, "schedule": schedule, "draws": 5, "warmup": 2})
    firsts = [run for run in counting if run[0] == "first"]
    assert [(chain, step) for _, chain, step, _ in firsts] == [(0, 0), (1, 0), (0, 3), (1, 3), (0, 6), (1, 6)]
    assert sum(run[0] == "second" for run in counting) == 2 * 7 * 2
    assert len({run[1:] for run in counting}) == len(counting), "each execution has a key of its own"
    rate = fit.groups["sample_stats"]["acceptance_rate"].sel(kernel="phi:first", chain=0).values
    assert np.isnan(rate).tolist() == [True, False, True, True, False]


def test_a_mixture_follows_its_weights(corpus, counting):
    """False alarms: 1e-6."""
    schedule = pt.cycle(
        pt.mixture(pt.step("phi", "first"), pt.step("phi", "second"), weights=[1, 3]),
        pt.step("z", "partially_collapsed"),
        pt.step("phi", "dirichlet_rows"),
    )
    pt.sample("lda", corpus, **{**OPTIONS, "chains": 1, "schedule": schedule, "draws": 600, "warmup": 0})
    n_first = sum(run[0] == "first" for run in counting)
    assert len(counting) == 600
    assert abs(n_first - 150) < 4.9 * (600 * 3 / 16) ** 0.5


def test_statistics_of_a_kernel_that_runs_now_and_then(corpus):
    """A statistic stands at the draws whose sweeps returned it, and is missing elsewhere."""

    @pt.kernel("reporting", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def reporting(binding):
        def step(state, memory, key):
            return {"sweep_number": float(key.sweep)} if key.sweep % 4 == 2 else None

        return pt.KernelFunctions(step)

    try:
        schedule = pt.cycle(
            pt.step("z", "partially_collapsed"), pt.step("phi", "reporting"), pt.step("phi", "dirichlet_rows")
        )
        fit = pt.sample("lda", corpus, **{**OPTIONS, "schedule": schedule, "warmup": 0, "draws": 8, "chains": 2})
    finally:
        unregister_kernel("reporting")
    values = fit.groups["sample_stats"]["sweep_number"].sel(kernel="phi:reporting")
    expected = np.array([np.nan, np.nan, 2, np.nan, np.nan, np.nan, 6, np.nan])
    np.testing.assert_array_equal(values, [expected, expected])


@pytest.mark.parametrize(
    "documents", [[["a"], ["b"], ["a"], ["c"]], [["a", "a", "a", "a"]], [["a"]]], ids=["single", "repeated", "one"]
)
@pytest.mark.parametrize("model", ["lda", "lda_collapsed", "lda_learned"])
@pytest.mark.parametrize("topics", [1, 3])
def test_small_corpora_and_one_topic(model, documents, topics):
    corpus = pt.Corpus.from_tokens(documents)
    fit = pt.sample(model, corpus, topics=topics, draws=4, warmup=2, seed=1, progress=False, debug=True)
    assert np.isfinite(fit.groups["sample_stats"]["lp"]).all()
    assert np.allclose(fit.posterior["theta"].sum("topic"), 1, atol=1e-5)


def test_no_more_threads_than_a_sweep_has_work_for(corpus):
    """By default; how many that is, the forecast says too."""
    all_of_them = int(numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(all_of_them)
    assert pt.sample("lda", corpus, **OPTIONS).posterior.attrs["threads"] == 1
    assert pt.plan("lda", corpus, topics=4).forecast.threads == 1
    assert pt.sample("lda", corpus, threads=all_of_them, **OPTIONS).posterior.attrs["threads"] == all_of_them
    assert enough_threads(None, 1.0) == enough_threads(all_of_them, 0.0) == all_of_them
    assert enough_threads(None, 0.0) == 1
