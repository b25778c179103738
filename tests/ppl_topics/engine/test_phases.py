"""The kernels of a warmup run before the first kept draw, and nowhere else: bits, distribution, memory, trace."""

import warnings

import numpy as np
import pytest
from folder_runs import same
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.engine.phases import Phases

W = 4
PHI = pt.step("phi", "dirichlet_rows")
INEXACT, KEPT = pt.cycle(pt.step("z", "ad_lda"), PHI), pt.cycle(pt.step("z", "partially_collapsed"), PHI)
ALIAS = pt.cycle(pt.step("z", "light_collapsed"), PHI)
HOW = {"topics": 3, "warmup": W, "draws": 5, "chains": 2, "seed": 7, "progress": False, "threads": 1}
FALSE_ALARM = 1e-5


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    return pt.Corpus.from_tokens([[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)])


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda", corpus, schedule=KEPT, warmup_schedule=INEXACT, record={"z": "all"}, **HOW)


def one_too_long(self, sweep):
    """Leave the warmup a sweep too late."""
    return self.all[0] if sweep <= self.first_kept else self.kept


def assert_state(chain, other):
    np.testing.assert_array_equal(chain.state.z, other.state.z)
    np.testing.assert_array_equal(chain.state.arrays["phi"], other.state.arrays["phi"])


def move(chain, to):
    """Put a chain into the state of another one."""
    to.state.set_z(chain.state.z)
    to.state.arrays["phi"][:] = chain.state.arrays["phi"]


def test_first_the_warmup_and_then_the_schedule(corpus, fit):
    before, after, whole = (
        pt.Chain("lda", corpus, topics=3, seed=7, schedule=schedule, warmup=W if warmup else 0, warmup_schedule=warmup)
        for schedule, warmup in ((INEXACT, None), (KEPT, None), (KEPT, INEXACT))
    )
    before.sweep(W)
    whole.sweep(W)
    assert_state(whole, before)
    after.sweep(W)
    move(before, after)
    for draw in range(5):
        after.sweep()
        whole.sweep()
        assert_state(whole, after)
        np.testing.assert_array_equal(fit.posterior["z"].values[0, draw], whole.state.z)


def test_an_end_that_is_too_late_is_seen(corpus, fit, monkeypatch):
    monkeypatch.setattr(Phases, "at", one_too_long)
    late = pt.sample("lda", corpus, schedule=KEPT, warmup_schedule=INEXACT, record={"z": "all"}, **HOW)
    assert not np.array_equal(late.posterior["z"], fit.posterior["z"])


@pytest.fixture
def all_in_one():
    """Register a kernel that moves all tokens to the first topic."""

    factors = ("dirichlet", "assignments", "words")

    @pt.kernel("all_in_one", updates="z", integrates_out="theta", reads=("phi", "alpha"), handles=factors, exact=False)
    def build(binding):
        return pt.KernelFunctions(lambda state, memory, key: state.set_z(np.zeros_like(state.z)))

    yield {"z": "all_in_one"}
    unregister_kernel("all_in_one")


def least_p_value(warmup):
    """Return the smallest p-value of the topics of all words in all draws, of which there are nine.

    Given phi, the topic of a document's only token has the distribution phi_kw / sum_j phi_jw in every kept draw.
    """
    phi = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    corpus = pt.Corpus.from_tokens([[word] for word in "abc" for _ in range(400)])
    how = {**HOW, "topics": 2, "draws": 3, "chains": 1, "alpha": 0.7, "record": {"z": "all"}, "given": {"phi": phi}}
    with warnings.catch_warnings():
        # The inexact kernel is not in the schedule.
        warnings.simplefilter("error")
        fit = pt.sample("lda", corpus, schedule={"z": "partially_collapsed"}, warmup_schedule=warmup, **how)
    assert fit.exact
    words, z = corpus.words, fit.posterior["z"].values[0]
    counted = [np.bincount(draw[words == word], minlength=2) for draw in z for word in range(3)]
    expected = [400 * phi[:, word] / phi[:, word].sum() for _ in z for word in range(3)]
    return min(stats.chisquare(f, e).pvalue for f, e in zip(counted, expected, strict=True))


def test_kept_draws_have_the_distribution_of_the_model(all_in_one):
    """From the first on, since a sweep forgets the one before here. A right program fails once in 10,000 seeds."""
    assert least_p_value(all_in_one) > FALSE_ALARM


def test_a_draw_of_the_warmup_that_is_kept_is_refused(all_in_one, monkeypatch):
    monkeypatch.setattr(Phases, "at", one_too_long)
    assert least_p_value(all_in_one) < FALSE_ALARM


@pytest.mark.parametrize(
    "kernel", ["ad_lda", "collapsed_gibbs", "block_collapsed", "partially_collapsed", "light_partially_collapsed"]
)
def test_at_temperature_t_concentrations_are_t_times_as_large(corpus, kernel):
    """Sweeps at 4 and 2 are, bit for bit, those of models with such concentrations; the log posterior is that at 1."""
    tree = pt.cycle(PHI, pt.step("z", kernel), PHI)
    how = {"topics": 3, "seed": 7, "schedule": tree}
    annealed = pt.Chain("lda", corpus, alpha=0.5, beta=0.25, warmup=2, warmup_schedule={"temperature": 4}, **how)
    four, two, one = (pt.Chain("lda", corpus, alpha=0.5 * t, beta=0.25 * t, **how) for t in (4, 2, 1))
    annealed.sweep()
    four.sweep()
    assert_state(annealed, four)
    two.sweep()
    move(four, two)
    two.sweep()
    annealed.sweep()
    assert_state(annealed, two)
    one.sweep(2)
    move(two, one)
    assert annealed.log_posterior() == one.log_posterior()
    assert annealed.log_posterior() != two.log_posterior()
    annealed.sweep()
    one.sweep()
    assert_state(annealed, one)


def test_the_trace_has_each_kernel_where_it_ran(fit):
    early, late = fit.groups["warmup_sample_stats"], fit.groups["sample_stats"]
    assert early["kernel"].values.tolist() == ["z:ad_lda", "phi:dirichlet_rows"]
    assert late["kernel"].values.tolist() == ["z:partially_collapsed", "phi:dirichlet_rows"]
    assert (early.sizes["draw"], late.sizes["draw"]) == (W, 5)
    assert fit.exact
    assert fit.posterior.attrs["warmup_inexact"] == "ad_lda"
    assert fit.posterior.attrs["warmup_schedule"].splitlines() == [
        "cycle",
        "  z: ad_lda",
        "  phi: dirichlet_rows",
        "inexact, before the first kept draw only: ad_lda",
    ]
    assert pt.load_spec(fit.spec.to_yaml()).warmup == INEXACT


@pytest.mark.parametrize("steps", [1, 3])
def test_schedules_of_different_length(corpus, tmp_path, steps):
    """Statistics have as many places as their schedule has steps, in memory, in a folder and in a file."""
    trees = {"schedule": KEPT, "warmup_schedule": pt.cycle(*[pt.step("z", "collapsed_gibbs")] * steps, PHI)}
    memory = pt.sample("lda", corpus, **trees, **HOW)
    folder = pt.sample("lda", corpus, **trees, **HOW, out=tmp_path / "a")
    same(memory, folder)
    memory.save(tmp_path / "a.nc")
    same(memory, pt.load_fit(tmp_path / "a.nc"))
    assert memory.groups["warmup_sample_stats"].sizes["kernel"] == steps + 1


def test_it_is_silent_where_nothing_is_run_before(corpus):
    """A model that has a warmup can be run without."""
    model = {"extends": "lda", "name": "own", "warmup": INEXACT}
    none = pt.sample(model, corpus, schedule=KEPT, **{**HOW, "warmup": 0})
    plain = pt.sample("lda", corpus, schedule=KEPT, **{**HOW, "warmup": 0})
    np.testing.assert_array_equal(none.posterior["phi"], plain.posterior["phi"])
    assert "warmup_schedule" not in none.posterior.attrs
    with pytest.raises(pt.PplTopicsError, match="warmup_schedule: runs before the first kept draw, and warmup is 0"):
        pt.sample("lda", corpus, warmup_schedule=INEXACT, **{**HOW, "warmup": 0})


class Stop:
    """Stops a run when it is asked for the nth time, at once if it is `hard`."""

    def __init__(self, at, hard):
        self.at, self.hard, self.asked = at, hard, 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __call__(self):
        self.asked += 1
        if self.hard and self.asked > self.at:
            raise KeyboardInterrupt
        return self.asked > self.at


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("trees", [(INEXACT, KEPT), (KEPT, ALIAS), (ALIAS, KEPT)])
def test_a_run_that_is_resumed_has_the_same_draws(corpus, tmp_path, monkeypatch, trees, hard):
    """Stopped in the warmup, between, and after it; a kernel with a memory that checkpoints hold may be in either."""
    warmup, schedule = trees
    how = {"schedule": schedule, "warmup_schedule": {"temperature": 3, **warmup}, **HOW, "chains": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.InexactKernelWarning)
        whole = pt.sample("lda", corpus, **how)
        for sweeps in (1, W - 1, W, W + 1, W + 3):
            out = tmp_path / str(sweeps)
            with monkeypatch.context() as patch:
                patch.setattr("ppl_topics.engine.run.GracefulStop", lambda sweeps=sweeps: Stop(sweeps, hard))
                if hard or sweeps <= W:
                    with pytest.raises((KeyboardInterrupt, pt.RunError)):
                        pt.sample("lda", corpus, **how, out=out, checkpoint_sweeps=1 if sweeps % 2 else 2)
                else:
                    pt.sample("lda", corpus, **how, out=out)
            same(whole, pt.resume(out, progress=False))


def test_processes(corpus, fit):
    trees = {"schedule": KEPT, "warmup_schedule": INEXACT}
    same(fit, pt.sample("lda", corpus, record={"z": "all"}, processes=2, **trees, **HOW))


def test_steps_of_both_are_held_to_their_declarations(corpus, fit):
    trees = {"schedule": KEPT, "warmup_schedule": {"temperature": 3, **INEXACT}}
    checked = pt.sample("lda", corpus, debug=True, **trees, **HOW)
    same(checked, pt.sample("lda", corpus, **trees, **HOW))


def test_single_steps_cross_the_boundary(corpus):
    whole, single = (
        pt.Chain("lda", corpus, topics=3, seed=7, schedule=KEPT, warmup=2, warmup_schedule=INEXACT) for _ in range(2)
    )
    whole.sweep(3)
    for _ in range(2):
        assert list(single.seconds) == ["z:ad_lda", "phi:dirichlet_rows"]
        for label in list(single.seconds):
            single.step(label)
    assert list(single.seconds) == ["z:partially_collapsed", "phi:dirichlet_rows"]
    twin = single.copy()
    for chain in (single, twin):
        for label in list(chain.seconds):
            chain.step(label)
        assert_state(whole, chain)
