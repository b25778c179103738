"""The first number that is not finite stops a run, in the very sweep, and the message says where it is."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics._util.finite import all_finite, first_not_finite
from ppl_topics.core.keys import Key
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.finite_check import check_recorded
from ppl_topics.errors import KernelError, NotFiniteError
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi
from ppl_topics.samplers.topics.included_rows import draw_included_phi
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.tree import Cycle

BAD = (np.nan, np.inf, -np.inf)
TEXTS = ["red green red apple", "green blue apple", "blue blue red sky", "sky sea blue", "pear apple pie", "pie pear"]
HELD = {"extends": "lda", "name": "held", "blocks": {"theta": {"integrate_out": False}}}
LEARNED_SLAB = {
    "extends": "lda_spike_slab",
    "name": "learned_slab",
    "parameters": {"inclusion": None},
    "blocks": {"pi": {"block": "beta", "a": 1.0, "b": 1.0}, "phi": {"inclusion": "pi"}},
}
KINDS = [
    ("lda", "phi", (2, 1), "of word 2, topic 1"),
    (HELD, "theta", (3, 2), "of doc 3, topic 2"),
    ("lda_learned", "alpha", (1,), "of topic 1"),
    ("lda_learned", "beta", (), "as"),
    ("dolda", "eta", (2, 1), "of response 'c', topic 1"),
    ("dolda", "eta", (2, 3), "of response 'c', 'intercept'"),
    ("dolda", "lambda", (0, 2), "of response 'a', topic 2"),
    ("dolda", "tau", (1,), "of response 'b'"),
    ("slda_logistic", "omega", (4, 1), "of doc 4, response 'b'"),
    (LEARNED_SLAB, "pi", (), "as"),
    ("lda_spike_slab", "phi", (1, 0), "of word 1, topic 0"),
]


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS * 2, labels=list("abccba") * 2)


def bound_model(model, corpus, **parameters):
    return bind(make_plan(pt.load_spec(model, {"topics": 3, **parameters})), corpus)


def with_bug(bound, variable, write, sweep):
    """Return the same model, in which the kernel of a variable also does something else, in one sweep."""

    def planted(step):
        if step.variable != variable:
            return step

        def build(binding, **options):
            functions = step.kernel.build(binding, **options)

            def buggy(state, memory, key):
                statistics = functions.step(state, memory, key)
                if key.sweep == sweep:
                    write(state)
                return statistics

            return functions._replace(step=buggy, checked=())

        return replace(step, kernel=replace(step.kernel, build=build))

    schedule = bound.plan.schedule
    assert any(step.variable == variable for step in schedule.children)
    return replace(bound, plan=replace(bound.plan, schedule=Cycle(tuple(map(planted, schedule.children)))))


def advance(bound, sweeps, chain=0):
    executor = Executor(bound)
    state = bound.initial_state(1, chain)
    memories = executor.memories(state)
    for sweep in range(sweeps):
        executor.sweep(state, memories, 1, chain, sweep)
    return state


def caught(bound, sweeps=6, chain=0):
    with pytest.raises(NotFiniteError) as found:
        advance(bound, sweeps, chain)
    return found.value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 15, 16, 33, 70])
def test_one_value_among_many_is_found_at_any_place(dtype, size):
    largest, smallest = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    values = np.resize(np.array([largest, -largest, 0.0, -0.0, smallest, 1.0], dtype), size)
    assert all_finite(values)
    assert first_not_finite(values) is None
    for place in range(size):
        for bad in BAD:
            wrong = values.copy()
            wrong[place] = bad
            assert not all_finite(wrong)
            assert first_not_finite(wrong) == (place,)


def test_arrays_of_any_layout_are_looked_through():
    values = np.zeros((40, 6, 5))
    values[31, 2, 3] = np.nan
    assert first_not_finite(values) == (31, 2, 3)
    assert first_not_finite(values.T) == (3, 2, 31)
    assert first_not_finite(values[::31, ::2]) == (1, 1, 3)
    assert all_finite(values[:31])
    assert all_finite(np.zeros((0, 3)))
    assert all_finite(np.arange(3))
    assert not all_finite(np.array([1.0, np.inf], np.float16))


@pytest.mark.parametrize("bad", BAD[:2])
@pytest.mark.parametrize(("model", "variable", "index", "place"), KINDS)
def test_a_kernel_that_draws_it_is_stopped_in_that_sweep(corpus, model, variable, index, place, bad):
    def write(state):
        state.arrays[variable][index] = bad

    bound = bound_model(model, corpus)
    error = caught(with_bug(bound, variable, write, sweep=4), chain=2)
    kernel = next(step.kernel.name for step in bound.plan.schedule.children if step.variable == variable)
    assert (error.kernel, error.variable, error.sweep, error.chain) == (kernel, variable, 4, 2)
    value = "not a number" if np.isnan(bad) else "infinity"
    where = f"drew {variable}{' ' + place if place != 'as' else ''} as {value}"
    assert f"kernel '{kernel}' (sweep 4, chain 2) {where}" in str(error)
    # Neither the model without that bug nor the sweeps before it are stopped.
    advance(with_bug(bound, variable, write, sweep=4), 4, chain=2)
    advance(bound, 6, chain=2)


def test_sparse_topics(corpus):
    places = []

    def write(state):
        entry = state.sparse_topics.size - 2
        word = int(np.flatnonzero(state.sparse_topics.pointer <= entry)[-1])
        places.append(f"of word {word}, topic {state.sparse_topics.topics[entry]} as not a number")
        state.sparse_topics.values[entry] = np.nan
        # The last entries are unused.

    bound = bound_model("lda_spike_slab", corpus, storage="sparse")
    error = caught(with_bug(bound, "phi", write, sweep=3))
    assert (error.variable, error.sweep) == ("phi", 3)
    assert places[0] in str(error)

    def write_beyond(state):
        state.sparse_topics.values[state.sparse_topics.size :] = np.nan

    advance(with_bug(bound, "phi", write_beyond, sweep=3), 6)


def test_integers_and_what_a_kernel_does_not_update_cost_nothing(corpus, monkeypatch):
    seen = []
    monkeypatch.setattr("ppl_topics.engine.finite_check.all_finite", lambda array: seen.append(array.shape) or True)
    advance(bound_model("lda", corpus), 2)
    # The kernel of phi looks at its sums, and z is whole numbers.
    assert seen == []
    advance(bound_model("dolda", corpus), 1)
    # lambda, tau, the augmentation and eta.
    assert sorted(seen) == [(3,), (3, 3), (3, 4), (12, 3)]


@pytest.mark.parametrize("beta", [0.01, 1.0, 1e4, 1e30, 1e36, 1e38, 1e39, 1e300, np.inf, np.nan])
@pytest.mark.parametrize("tokens", [0, 9])
def test_kernels_that_look_at_their_sums_tell_of_every_value(beta, tokens):
    rng = np.random.default_rng(3)
    n_wk = (rng.integers(0, 4, (20, 3)) * tokens).astype(np.int32)
    n_k, concentrations = n_wk.sum(axis=0, dtype=np.int64), np.full(20, 0.01)
    concentrations[7] = beta
    phi = np.empty((20, 3), np.float32)
    assert draw_phi(n_wk, n_k, concentrations, Key(1, 0, 0), phi) == np.isfinite(phi).all()
    assert np.isfinite(phi).all() == (beta < 1e39)
    shapes = GammaShapes(n_wk, concentrations, np.ones((20, 3), np.uint8))
    assert draw_included_phi(shapes, n_k, Key(1, 0, 0), phi) == np.isfinite(phi).all()


@pytest.mark.parametrize("model", ["lda_learned", "lda_spike_slab"])
def test_a_kernel_that_looks_itself_is_stopped_too(corpus, model):
    bound = bound_model(model, corpus)
    executor = Executor(bound)
    state = bound.initial_state(1, 0)
    memories = executor.memories(state)
    number = next(i for i, step in enumerate(executor.steps) if step.variable == "phi")
    huge = np.full(state.sizes.words, 1e39)
    state.concentrations = {**state.concentrations, "beta": huge}
    step, functions = executor.steps[number], executor.functions[number]
    assert functions.checked == ("phi",)
    bound = replace(bound, plan=replace(bound.plan, schedule=Cycle((step,))))
    alone = Executor(bound)
    with pytest.raises(KernelError, match=r"kernel '\w+_rows' \(sweep 5, chain 1\)") as found:
        alone.sweep(state, memories, 1, 1, 5)
    assert (found.value.sweep, found.value.chain) == (5, 1)
    assert isinstance(found.value, NotFiniteError)
    assert found.value.variable == "phi"


def test_what_is_recorded_is_looked_at():
    check_recorded({"lp": -3.0, "phi": np.ones((2, 3), np.float32)}, 7, 1)
    with pytest.raises(NotFiniteError, match=r"lp, to be recorded after sweep 7 of chain 1, is not a number") as found:
        check_recorded({"lp": float("nan")}, 7, 1)
    assert (found.value.variable, found.value.sweep, found.value.chain, found.value.kernel) == ("lp", 7, 1, "")
    with pytest.raises(NotFiniteError, match=r"phi\[1, 2\], to be recorded"):
        check_recorded({"lp": 0.0, "phi": np.array([[1.0, 2.0, 3.0], [0.0, 1.0, -np.inf]])}, 7, 1)


def test_a_run_is_stopped_and_says_so_in_other_processes_too(corpus):
    def write(state):
        state.arrays["eta"][0, 1] = np.inf

    error = caught(with_bug(bound_model("slda_logistic", corpus), "eta", write, sweep=2), chain=1)
    error.args = (f"{error}; and more",)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is NotFiniteError
    assert str(again) == str(error)
    assert str(again).endswith("; and more")
    assert (again.kernel, again.variable, again.sweep, again.chain) == (error.kernel, "eta", 2, 1)


def test_a_kernel_that_fails_of_itself_says_in_which_sweep(corpus):
    bound = bound_model("lda", corpus)

    def write(state):
        raise np.linalg.LinAlgError("singular")

    with pytest.raises(KernelError, match=r"\(sweep 3, chain 0\) failed: LinAlgError: singular") as found:
        advance(with_bug(bound, "phi", write, sweep=3), 6)
    assert (found.value.kernel, found.value.sweep, found.value.chain) == ("dirichlet_rows", 3, 0)


def test_arithmetic_that_fails_names_the_variable_where_there_is_one(corpus):
    def write(state):
        state.arrays["phi"][0, 2] = np.nan
        raise FloatingPointError("planted")

    def fail(state):
        raise FloatingPointError("planted")

    bound = bound_model("lda", corpus)
    assert caught(with_bug(bound, "phi", write, sweep=1)).variable == "phi"
    with pytest.raises(KernelError, match="FloatingPointError: planted") as found:
        advance(with_bug(bound, "phi", fail, sweep=1), 2)
    assert not isinstance(found.value, NotFiniteError)
