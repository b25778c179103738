"""A chain in the hand draws what `sample` draws, sweep by sweep or step by step."""

import numpy as np
import pytest

import ppl_topics as pt

MODELS = ["lda", "lda_collapsed", "lda_learned", "slda_gaussian", "lda_spike_slab"]


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    return pt.Corpus.from_tokens(documents, labels=rng.normal(size=8))


def values_of(chain):
    return {"z": chain.state.z, **chain.state.values}


def assert_same(one, other):
    for (name, a), b in zip(values_of(one).items(), values_of(other).values(), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_bits_as_sample(model, corpus):
    fit = pt.sample(model, corpus, topics=3, draws=4, warmup=3, chains=2, seed=11, progress=False)
    for number in (0, 1):
        chain = pt.Chain(model, corpus, topics=3, seed=11, chain=number, threads=1, warmup=3)
        chain.sweep(7)
        np.testing.assert_array_equal(chain.state.z, fit.groups["constant_data"]["z_last"].values[number])
        assert chain.log_posterior() == fit.groups["sample_stats"]["lp"].values[number, -1]
        assert chain.sweeps == 7


@pytest.mark.parametrize("model", MODELS)
def test_steps_in_order_are_a_sweep(model, corpus):
    whole, single = (pt.Chain(model, corpus, topics=3, seed=11) for _ in range(2))
    whole.sweep(3)
    for _ in range(3):
        for label in single.seconds:
            single.step(label)
    assert_same(whole, single)
    assert single.sweeps == 3


def test_a_sweep_after_single_steps_has_other_random_numbers(corpus):
    stepped, fresh = (pt.Chain("lda", corpus, topics=3, seed=11) for _ in range(2))
    stepped.step("z")
    before = stepped.state.z.copy()
    stepped.sweep()
    assert stepped.sweeps == 2
    fresh.step("z")
    np.testing.assert_array_equal(fresh.state.z, before)
    fresh.step("z")
    assert not np.array_equal(fresh.state.z, stepped.state.z)


@pytest.mark.parametrize("model", ["lda", "medlda_light"])
def test_a_copy_goes_on_by_itself(model, corpus):
    labelled = corpus if model == "lda" else corpus.with_labels(["a", "b"] * 4)
    chain = pt.Chain(model, labelled, topics=3, seed=11)
    chain.sweep(2)
    copied = chain.copy()
    copied.sweep(3)
    assert (chain.sweeps, copied.sweeps) == (2, 5)
    assert not np.array_equal(chain.state.z, copied.state.z)
    chain.sweep(3)
    assert_same(chain, copied)


def test_steps_are_named_by_variable_kernel_or_both(corpus):
    schedule = pt.cycle(
        pt.step("phi", "dirichlet_rows"), pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows")
    )
    chain = pt.Chain("lda", corpus, topics=3, seed=1, schedule=schedule)
    assert chain.step("z") == chain.step("partially_collapsed") == {"acceptance_rate": 1.0}
    chain.step("phi:dirichlet_rows#2")
    with pytest.raises(pt.PplTopicsError, match="several steps have the name 'phi'; give one of phi:dirichlet_rows#1"):
        chain.step("phi")
    with pytest.raises(pt.PplTopicsError, match="no step has the name 'theta'; give one of phi:dirichlet_rows#1"):
        chain.step("theta")


def test_what_it_says_of_itself(corpus):
    chain = pt.Chain("lda", corpus, topics=3, seed=4)
    assert all(np.isnan(seconds) for seconds in chain.seconds.values())
    chain.sweep(2)
    assert set(chain.seconds) == {
        f"{step}" for step in ("z:" + chain.plan.to_dict()["schedule"]["cycle"][0]["z"]["kernel"], "phi:dirichlet_rows")
    }
    assert all(seconds > 0 for seconds in chain.seconds.values())
    assert chain.statistics()["lp"] == chain.log_posterior()
    assert repr(chain) == "Chain: lda, seed 4, chain 0, 2 sweeps"
    assert chain.values["phi"] is chain.state.arrays["phi"]


def test_a_chain_of_what_is_given(corpus):
    fit = pt.sample("lda", corpus, topics=3, draws=4, warmup=3, seed=11, progress=False)
    chain = pt.Chain("lda", corpus, topics=3, seed=1, given={"phi": fit})
    before = chain.state.arrays["phi"].copy()
    chain.sweep(5)
    np.testing.assert_array_equal(chain.state.arrays["phi"], before)
    with pytest.raises(
        pt.ScheduleError, match=r"rule 5: kernel 'dirichlet_rows' updates phi, which is given; drop this"
    ):
        pt.Chain("lda", corpus, topics=3, given={"phi": fit}, schedule={"phi": "dirichlet_rows"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"chain": 1.5}, "chain"),
        ({"threads": 0}, "threads"),
        ({"topic": 3}, "no parameter 'topic'"),
    ],
)
def test_errors(corpus, wrong, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.Chain("lda", corpus, **wrong)
    with pytest.raises(pt.PplTopicsError, match="times"):
        pt.Chain("lda", corpus, topics=3).sweep(-1)
