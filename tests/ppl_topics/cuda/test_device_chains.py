"""Chains whose kernels run on a device: whole, reproducible, and refused where they cannot be."""

import numpy as np
import pytest
from numba import config

import ppl_topics as pt
from ppl_topics.cuda import launching
from ppl_topics.cuda.steps import STEPS
from ppl_topics.engine import device, placing
from ppl_topics.engine.log_joint import log_marginal
from ppl_topics.errors import PplTopicsError, RunError, ScheduleError

TEXTS = ["red green red", "green blue blue", "", "blue red"]
SMALL = {"topics": 3, "seed": 1, "device": "cuda"}
simulated = bool(config.ENABLE_CUDASIM)


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS)


@pytest.fixture(scope="module")
def labelled():
    return pt.Corpus.from_texts(TEXTS, labels=["a", "b", "a", "b"])


def draw(corpus, **how):
    how = {"draws": 2, "warmup": 1, "chains": 1, "progress": False, **SMALL, **how}
    return pt.sample("lda", corpus, **how)


def equal(one, other):
    return all(one.groups["posterior"][name].equals(other.groups["posterior"][name]) for name in ("phi", "theta"))


def test_kernels_that_declare_a_device_run_there():
    declared = {name for name, kernel in pt.kernels().items() if "cuda" in kernel.devices}
    assert declared == set(STEPS)


def test_a_chain(corpus):
    chain = pt.Chain("lda", corpus, **SMALL)
    chain.sweep(2)
    lp, found = chain.log_posterior(), chain.statistics()
    state = chain.state
    state.check()
    given = (state.tokens.doc_ptr, state.z, state.n_wk, state.n_k, state.alpha, state.beta)
    assert lp == pytest.approx(log_marginal(*given), rel=1e-12)
    assert found["density_n_dk"] == np.count_nonzero(state.n_dk) / state.n_dk.size
    assert found["density_n_kw"] == np.count_nonzero(state.n_wk) / state.n_wk.size


def test_a_state_that_is_changed_is_where_the_chain_goes_on(corpus):
    chain, other = (pt.Chain("lda", corpus, **SMALL) for _ in range(2))
    chain.sweep()
    other.sweep()
    chain.state.set_z(np.zeros(8, np.uint8))
    copied = other.copy()
    other.state.set_z(np.zeros(8, np.uint8))
    for each in (chain, other, copied):
        each.sweep(2)
        each.state.check()
    assert np.array_equal(chain.state.z, other.state.z)
    assert not np.array_equal(chain.state.arrays["phi"], copied.state.arrays["phi"])


def test_the_same_seed_gives_the_same_bits(corpus, monkeypatch):
    first = draw(corpus)
    if not simulated:
        monkeypatch.setattr(launching, "WARPS", 3)
    assert equal(first, draw(corpus))
    assert not equal(first, draw(corpus, seed=2))


@pytest.mark.slow
def test_a_run_that_is_resumed(corpus, tmp_path):
    whole = draw(corpus, draws=3)
    draw(corpus, out=tmp_path / "run", checkpoint_sweeps=1)
    assert equal(pt.resume(tmp_path / "run", draws=3, progress=False), whole)
    with pytest.raises(PplTopicsError, match="processes: with device cuda, the chains run in this process"):
        pt.resume(tmp_path / "run", draws=6, processes=2)


@pytest.mark.parametrize("model", ["medlda", "slda_logistic", "hdp_lda"])
def test_models_of_which_some_kernels_run_on_the_host(model, labelled):
    chain = pt.Chain(model, labelled, **SMALL)
    before = chain.state.z.copy()
    chain.sweep(2)
    chain.state.check()
    assert not np.array_equal(chain.state.z, before)
    assert np.isfinite(chain.log_posterior())
    assert all(np.isfinite(value).all() for value in chain.values.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "warmup", [[{"z": "alias_partially_collapsed"}, {"phi": "polya_urn_rows"}], {"temperature": 20.0}]
)
def test_a_warmup_of_its_own(warmup, corpus):
    """Of kernels of the host alone, or annealed: the log posterior is that of the model."""
    found = []
    chain = pt.Chain("lda", corpus, warmup=2, warmup_schedule=warmup, **SMALL)
    for _ in range(3):
        chain.sweep()
        lp, state = chain.log_posterior(), chain.state
        given = (state.tokens.doc_ptr, state.z, state.n_wk, state.n_k, state.alpha, state.beta)
        assert lp == pytest.approx(log_marginal(*given), rel=1e-12)
        found.append(state.z.copy())
    assert not np.array_equal(found[1], found[2])
    fit = draw(corpus, warmup_schedule=warmup, warmup=2, draws=1, record={"z": "all"})
    lp = fit.groups["sample_stats"]["lp"].values[0, 0]
    assert lp == pytest.approx(other_lp(corpus, warmup), rel=1e-12)


def other_lp(corpus, warmup):
    """Return the log posterior after the three sweeps of a run, by a chain."""
    chain = pt.Chain("lda", corpus, warmup=2, warmup_schedule=warmup, **SMALL)
    chain.sweep(3)
    return chain.log_posterior()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"processes": 2}, "argument processes: with device cuda, the chains run in this process, one after the other"),
        ({"debug": True}, "argument debug: with device cuda"),
    ],
)
def test_arguments_that_a_device_does_not_take(how, message, corpus):
    with pytest.raises(PplTopicsError, match=message.replace("argument ", "(argument )?")):
        draw(corpus, **how)


def test_schedules_without_a_kernel_for_the_device(corpus):
    with pytest.raises(ScheduleError, match="none of the kernels collapsed_gibbs runs on a GPU; partially_collapsed"):
        pt.sample("lda_collapsed", corpus, schedule={"z": "collapsed_gibbs"}, progress=False, **SMALL)
    with pytest.raises(ScheduleError, match="on the CPU only, and no other kernel draws z; leave out"):
        pt.sample("lda_collapsed", corpus, progress=False, **SMALL)


def test_a_model_that_has_no_room(corpus, monkeypatch):
    monkeypatch.setattr(placing, "MOST_TOPICS", 2)
    with pytest.raises(RunError, match="a GPU takes up to 2 topics, and the model has 3; leave out"):
        pt.Chain("lda", corpus, **SMALL)
    monkeypatch.setattr(placing, "MOST_TOPICS", 100)
    monkeypatch.setattr(device, "free_bytes", lambda: 100)
    with pytest.raises(RunError, match=r"has 0.0 GiB free, and the corpus and its topics take 0.0 GiB; use fewer"):
        pt.Chain("lda", corpus, **SMALL)


@pytest.mark.slow
@pytest.mark.skipif(simulated, reason="takes hours in the simulator")
@pytest.mark.parametrize("model", ["lda", "medlda", "slda_logistic"])
def test_certified(model):
    assert pt.verify(model, device="cuda").passed


def test_kernels_that_are_not_certified_there():
    with pytest.raises(ScheduleError, match="kernel 'collapsed_gibbs' does not run on cuda; partially_collapsed"):
        pt.verify("lda", kernel="collapsed_gibbs", device="cuda")
