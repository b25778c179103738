"""Draws that nobody reads are left out, and what is recorded keeps its bits."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel, unregister_kernel
from ppl_topics.engine.bind import bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.phases import Phases
from ppl_topics.results.run_folder.checkpoint import checkpoints, read_checkpoint
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.dead_steps import dead_steps, dead_variables, dirichlet_step

OUT, GIVEN, PHI = (
    pt.step("z", "collapsed_gibbs"),
    pt.step("z", "partially_collapsed"),
    pt.step("phi", "dirichlet_rows"),
)
SOME = pt.step("z", "collapsed_gibbs", words={"max_count": 3})
REST = pt.step("z", "partially_collapsed", words={"min_count": 4})
THETA = pt.step("theta", "dirichlet_weights")
HELD = {"extends": "lda", "name": "held", "blocks": {"theta": {"integrate_out": False}}}


def unread(model, schedule):
    plan = make_plan(pt.load_spec(model).with_schedule(schedule, "s"))
    return {number: set(names) for number, names in dead_steps(plan.schedule, plan.model).items()}


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (pt.cycle(OUT, PHI), {1}),
        (pt.cycle(OUT, PHI, PHI), {1, 2}),
        (pt.cycle(OUT, OUT, PHI), {2}),
        (pt.cycle(pt.repeat(3, OUT), PHI), {1}),
        (pt.cycle(pt.mixture(OUT, OUT), PHI), {2}),
        (pt.cycle(OUT, PHI, pt.every(5, OUT), PHI), {1, 3}),
        # The next sweep reads it.
        (pt.cycle(GIVEN, PHI), set()),
        (pt.cycle(OUT, PHI, GIVEN, PHI), {3}),
        (pt.cycle(OUT, PHI, GIVEN, OUT, PHI), {4}),
        (pt.cycle(OUT, PHI, pt.every(5, GIVEN), PHI), {3}),
        (pt.cycle(SOME, PHI, REST, PHI), {3}),
        # What need not run, or is no entry of the outermost cycle, is left alone.
        (pt.cycle(OUT, pt.cycle(PHI)), set()),
        (pt.cycle(OUT, pt.repeat(2, PHI)), set()),
        (pt.cycle(pt.mixture(pt.cycle(OUT, PHI), pt.cycle(GIVEN, PHI))), set()),
    ],
)
def test_steps_whose_draws_no_kernel_reads(schedule, expected):
    assert unread("lda", schedule) == {number: {"phi"} for number in expected}


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (pt.cycle(OUT, PHI), True),
        (pt.cycle(PHI, GIVEN), True),
        (pt.cycle(GIVEN, PHI, OUT, PHI), False),
        (pt.cycle(OUT, PHI, GIVEN, PHI), True),
        (pt.cycle(OUT, PHI, pt.every(5, GIVEN), PHI), True),
        (pt.cycle(GIVEN, PHI), False),
        (pt.cycle(pt.every(5, GIVEN), OUT, PHI), False),
        (pt.cycle(pt.mixture(pt.cycle(OUT, PHI), pt.cycle(GIVEN, PHI))), False),
    ],
)
def test_variables_whose_value_before_a_sweep_nobody_reads(schedule, expected):
    plan = make_plan(pt.load_spec("lda").with_schedule(schedule, "s"))
    assert dead_variables(plan.schedule, plan.model) == ({"phi"} if expected else set())


def test_other_variables():
    assert unread(HELD, pt.cycle(OUT, THETA, PHI)) == {1: {"theta"}, 2: {"phi"}}
    # The log posterior of every sweep reads the concentrations.
    learned = pt.cycle(OUT, pt.step("alpha", "slice_alpha"), pt.step("beta", "slice_beta"), PHI)
    assert unread("lda_learned", learned) == {3: {"phi"}}
    assert unread("lda_collapsed", OUT) == {}


def test_a_block_whose_density_enters_the_log_posterior_is_read(monkeypatch):
    block = pt.blocks()["dirichlet"]
    monkeypatch.setattr(block, "log_density", lambda self, value, state: 0.0)
    assert unread("lda", pt.cycle(OUT, PHI)) == {}


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(["red green red", "green blue", "blue blue red yellow", "yellow red"] * 3)


def draws(corpus, schedule, record, thin, whole, monkeypatch, model="lda"):
    spec = pt.load_spec(model, {"topics": 3}, record=record).with_schedule(schedule, "s")
    # Nothing is left out at the end of a warmup that is not the schedule.
    spec = spec.with_warmup({"temperature": 1}, "w")
    if whole:
        monkeypatch.setattr("ppl_topics.engine.executor.dead_steps", lambda schedule, model: {})
    settings = Settings(draws=4, warmup=3, thin=thin, seed=5, threads=1)
    return run_chains(Phases.here(bind(make_plan(spec), corpus), 3), [0], settings, lambda report: None, lambda: False)[
        0
    ]


@pytest.mark.parametrize("thin", [1, 3])
@pytest.mark.parametrize("rule", ["all", "none"])
@pytest.mark.parametrize("schedule", [pt.cycle(OUT, PHI), pt.cycle(OUT, PHI, GIVEN, PHI, pt.mixture(OUT, OUT), PHI)])
def test_what_is_recorded_keeps_its_bits(corpus, schedule, rule, thin, monkeypatch):
    record = {"phi": rule, "z": "all"}
    fast = draws(corpus, schedule, record, thin, False, monkeypatch)
    whole = draws(corpus, schedule, record, thin, True, monkeypatch)
    for ours, theirs in ((fast.posterior, whole.posterior), (fast.warmup, whole.warmup)):
        assert list(ours) == list(theirs)
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name])
    np.testing.assert_array_equal(fast.statistics["lp"], whole.statistics["lp"])
    np.testing.assert_array_equal(fast.warmup_statistics["lp"], whole.warmup_statistics["lp"])
    last = -1
    ran = np.array([rates[last] for rates in fast.statistics["acceptance_rate"]]) == 1
    assert ran.all() if rule == "all" else not ran.any()
    assert all(seconds[last] == 0 for seconds in fast.warmup_statistics["step_seconds"])
    assert all(np.isnan(rates[last]) for rates in fast.warmup_statistics["acceptance_rate"])
    assert all(rates[last] == 1 for rates in whole.warmup_statistics["acceptance_rate"])


def test_few_words_of_topics_are_drawn_without_the_step(corpus, monkeypatch):
    """The step counts as run, and all else keeps its bits; test_group_builder tests the distribution of these words."""
    record, schedule = {"phi": {"top_words": 2}, "z": "all"}, pt.cycle(OUT, PHI)
    steps = []
    monkeypatch.setattr(Executor, "check_finite", lambda self, place, state, key: steps.append(place))
    few = draws(corpus, schedule, record, 1, False, monkeypatch)
    assert 0 in steps
    assert 1 not in steps
    assert np.isfinite(few.posterior["phi"]).all()
    whole = draws(corpus, schedule, record, 1, True, monkeypatch)
    np.testing.assert_array_equal(few.posterior["z"], whole.posterior["z"])
    np.testing.assert_array_equal(few.statistics["lp"], whole.statistics["lp"])
    assert all(rates[1] == 1 for rates in few.statistics["acceptance_rate"])
    assert all(seconds[1] > 0 for seconds in few.statistics["step_seconds"])


@pytest.mark.parametrize(
    ("model", "schedule", "expected"),
    [
        ("lda", pt.cycle(OUT, PHI), 1),
        ("lda", pt.cycle(GIVEN, PHI), None),
        ("lda", pt.cycle(OUT, pt.step("phi", "polya_urn_rows")), None),
        ("lda_collapsed", OUT, None),
    ],
)
def test_which_step_may_be_left_out(model, schedule, expected):
    plan = make_plan(pt.load_spec(model).with_schedule(schedule, "s"))
    assert dirichlet_step(plan.schedule, plan.model) == expected


def test_a_kernel_that_keeps_something_between_steps_always_runs(corpus):
    def build(binding):
        def step(state, memory, key):
            memory.append(key)

        return KernelFunctions(step, lambda state: [])

    declared = {"updates": "phi", "reads": ("z", "beta"), "handles": ("dirichlet", "words"), "exact": True}
    kernel("counting", **declared, full_conditional=True)(build)
    try:
        spec = pt.load_spec("lda", {"topics": 3}).with_schedule(pt.cycle(OUT, pt.step("phi", "counting"), PHI), "s")
        executor = Executor(bind(make_plan(spec), corpus))
        assert set(executor.dead_steps) == {1, 2}
        state = executor.bound.initial_state(1, 0)
        memories = executor.memories(state)
        before = state.arrays["phi"].copy()
        for number in range(3):
            executor.sweep(state, memories, 1, 0, number, frozenset())
        assert len(memories[1]) == 3
        np.testing.assert_array_equal(state.arrays["phi"], before)
        executor.sweep(state, memories, 1, 0, 3, {"phi"})
        assert not np.array_equal(state.arrays["phi"], before)
    finally:
        unregister_kernel("counting")


def resumed(corpus, schedule, folder):
    """Return whether a checkpoint held phi, the draws of a resumed run, and those of one that was never stopped."""
    spec = pt.load_spec("lda", {"topics": 3}, record={"phi": "all"}).with_schedule(schedule, "s")
    options = {"warmup": 2, "chains": 1, "seed": 5, "threads": 1, "progress": False}
    pt.sample(spec, corpus, draws=2, out=folder, **options)
    # Where the machine is slow there are two, the newest first.
    path = checkpoints(folder / "checkpoints" / "chain-0")[0]
    held = "value/phi" in read_checkpoint(path).arrays
    return held, pt.resume(folder, draws=5, progress=False), pt.sample(spec, corpus, draws=5, **options)


@pytest.mark.parametrize(("schedule", "held"), [(pt.cycle(OUT, PHI), False), (pt.cycle(GIVEN, PHI), True)])
def test_checkpoints_hold_what_the_next_sweep_reads(corpus, tmp_path, schedule, held):
    found, ours, theirs = resumed(corpus, schedule, tmp_path / "a")
    assert found == held
    np.testing.assert_array_equal(ours.posterior["phi"], theirs.posterior["phi"])


def test_a_checkpoint_without_what_is_read_would_be_seen(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("ppl_topics.engine.executor.dead_variables", lambda schedule, model: frozenset({"phi"}))
    found, ours, theirs = resumed(corpus, pt.cycle(GIVEN, PHI), tmp_path / "a")
    assert not found
    assert not np.array_equal(ours.posterior["phi"], theirs.posterior["phi"])
