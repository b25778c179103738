"""p-values are uniform under the null hypothesis, small under a small shift; the other parts of `verify`."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

import ppl_topics as pt
from ppl_topics.diagnostics.exactness import goodness
from ppl_topics.diagnostics.exactness.goodness import chi_square, expected_total_variation, same_mean, total_variation

FALSE_ALARM = 1e-6


def distribution(size=60, seed=1):
    return np.random.default_rng(seed).dirichlet(np.full(size, 0.4))


def test_chi_square_is_uniform():
    rng, q = np.random.default_rng(2), distribution()
    p = [chi_square(counts, q) for counts in rng.multinomial(1500, q, size=4000)]
    assert stats.kstest(p, "uniform").pvalue > FALSE_ALARM


def test_chi_square_tail():
    """No more alarms than stated far out, though cells are expected ten times only (false alarms here: 1e-6)."""
    rng, q = np.random.default_rng(3), np.array([0.01, 0.012, 0.015, 0.02, 0.03, 0.1, 0.2, 0.613])
    trials = 40_000
    found = sum(chi_square(counts, q) <= 1e-4 for counts in rng.multinomial(1000, q, size=trials))
    assert found <= stats.poisson.isf(1e-6, 1.25e-4 * trials)


def test_chi_square_rejects_a_small_shift():
    rng, q = np.random.default_rng(4), distribution()
    shifted = q.copy()
    shifted[np.argsort(q)[-2:]] *= [0.8, 1.0]
    shifted /= shifted.sum()
    assert chi_square(rng.multinomial(40_000, shifted), q) < FALSE_ALARM


def test_chi_square_corner_cases():
    assert chi_square(np.array([5, 1]), np.array([1.0, 0.0])) == 0.0
    assert chi_square(np.array([6, 0]), np.array([1.0, 0.0])) == 1.0
    assert chi_square(np.array([3, 3]), np.array([0.5, 0.5])) == 1.0  # all in one cell: nothing to compare
    equal = chi_square(np.array([50, 50]), np.array([0.5, 0.5]))
    assert equal == pytest.approx(1.0)


def chains(rng, n, sticky, shift=0.0, sweeps=5):
    """Starts, averages of the states after them, and further starts of chains that keep an exponential distribution."""
    states = [rng.exponential(size=n)]
    for _ in range(sweeps):
        states.append(np.where(rng.random(n) < sticky, states[-1], rng.exponential(size=n) + shift))
    return states[0], np.mean(states[1:], axis=0), rng.exponential(size=2 * n)


@pytest.mark.parametrize("sticky", [0.0, 0.6, 0.9])
def test_same_mean_is_uniform(sticky):
    rng = np.random.default_rng(5)
    p = np.array([same_mean(*chains(rng, 300, sticky)) for _ in range(4000)])
    assert stats.kstest(p, "uniform").pvalue > FALSE_ALARM
    # Small p-values decide.
    assert (p < 1e-3).mean() < 3e-3


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 10))])
def test_same_mean_of_few_chains(n, monkeypatch):
    """Larger corpora have few chains. No more alarms than stated (false alarms here: 1e-6); the normal law has more."""

    def alarms():
        rng = np.random.default_rng(9)
        normal = ([rng.normal(size=size) for size in (n, n, 2 * n)] for _ in range(20_000))
        return sum(same_mean(before, 0.6 * before + after, 1.6 * more) < 1e-3 for before, after, more in normal)

    assert alarms() <= stats.poisson.isf(1e-6, 20)
    monkeypatch.setattr(goodness.t, "sf", lambda x, freedom: norm.sf(x))
    assert alarms() > stats.poisson.isf(1e-6, 20)


def test_same_mean_rejects_a_small_shift():
    rng = np.random.default_rng(6)
    assert same_mean(*chains(rng, 1000, 0.0, 0.15)) < FALSE_ALARM
    # What hardly moves shows a shift that independent values would hide.
    before, after, reference = chains(rng, 1000, 1.0)
    assert same_mean(before, after + rng.normal(0.01, 0.05, 1000), reference) < FALSE_ALARM


def test_same_mean_has_less_noise_than_pairs():
    """The same error in a chain that mixes well: a z-score half as large again, as of twice the chains and more."""
    rng = np.random.default_rng(8)
    ratios = []
    for _ in range(50):
        before, after, reference = chains(rng, 1000, 0.3, 0.1)
        last = np.where(rng.random(1000) < 0.3**5, before, rng.exponential(size=1000) + 0.1) - before
        ratios.append(norm.isf(same_mean(before, after, reference) / 2) / (last.mean() / last.std() * np.sqrt(1000)))
    assert np.mean(ratios) > 1.5


def test_same_mean_without_spread():
    values, more = np.arange(5.0), np.arange(10.0)
    assert same_mean(values, values, more) == 1.0
    assert same_mean(values, values + 1, more) < 1e-30
    assert same_mean(np.full(5, 0.1), np.full((5, 3), 0.1).mean(axis=1), np.full(10, 0.1)) > 0.9


def test_total_variation():
    q = distribution()
    assert total_variation(np.array([3, 1]), np.array([0.25, 0.75])) == pytest.approx(0.5)
    rng = np.random.default_rng(7)
    drawn = np.mean([total_variation(c, q) for c in rng.multinomial(2000, q, size=300)])
    assert drawn == pytest.approx(expected_total_variation(2000, q), rel=0.05)


def test_verify_is_reproducible_and_prints():
    first, again = (pt.verify("lda", kernel="collapsed_gibbs", replicates=300, long_run=500) for _ in range(2))
    (a,), (b,) = first.certificates, again.certificates
    assert (a.p_value, a.total_variation) == (b.p_value, b.total_variation)
    assert first.passed
    assert "z: collapsed_gibbs" in str(first)
    assert "certified" in str(first)
    assert first.to_dict()["certificates"][0]["stuck"] == ()


def test_verify_leaves_the_threads_alone():
    import numba

    before = numba.get_num_threads()
    pt.verify("lda_collapsed", kernel="collapsed_gibbs", replicates=50, long_run=50)
    assert numba.get_num_threads() == before


def test_verify_names_what_is_wrong():
    with pytest.raises(pt.ScheduleError, match="did you mean 'collapsed_gibbs'"):
        pt.verify("lda", kernel="colapsed_gibbs")
    with pytest.raises(pt.ScheduleError, match=r"updates alpha; model 'lda' has no such variable"):
        pt.verify("lda", kernel="slice_alpha")
    with pytest.raises(pt.ScheduleError, match=r"updates theta; model 'lda' has no such variable to draw"):
        pt.verify("lda", kernel="dirichlet_weights")
    with pytest.raises(pt.ScheduleError, match="rule 3"):
        pt.verify("lda_collapsed", kernel="partially_collapsed")


@pytest.mark.parametrize(
    ("argument", "values", "expected"),
    [
        ("kernel", [3, 1.5, [], ["collapsed_gibbs", 3], b"collapsed_gibbs"], "must be the name of a kernel, or a list"),
        ("seed", [-1, 2**63, 1.5, "1", None, True], f"must be a whole number from 0 to {2**63 - 1}"),
        ("replicates", [1, -5, 2.0, "many", None], "must be a whole number at least 2"),
        ("sweeps", [0, 1.0, None], "must be a whole number at least 1"),
        ("long_run", [0, "long", None], "must be a whole number at least 1"),
        ("false_alarm", [0, 1.0, -1e-5, "small", None, float("nan"), True], "must be a number between 0 and 1"),
    ],
)
def test_verify_refuses_arguments_of_the_wrong_type(argument, values, expected):
    for value in values:
        with pytest.raises(pt.PplTopicsError, match=f"argument {argument}: {expected}.*, got "):
            pt.verify("lda", **{argument: value})


@pytest.mark.parametrize(("argument", "value"), [("model", 3), ("model", None), ("schedule", 3), ("topics", "five")])
def test_verify_refuses_models_and_schedules_of_the_wrong_type(argument, value):
    with pytest.raises(pt.PplTopicsError):
        pt.verify(**({"model": "lda"} | {argument: value}))
