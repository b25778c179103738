"""Debug runs hold each step against all that its kernel declares."""

import threading

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.engine.bind import bind
from ppl_topics.engine.contract import Contract
from ppl_topics.engine.executor import Executor
from ppl_topics.samplers.assignments.partially_collapsed import partially_collapsed
from ppl_topics.schedule import make_plan

OF_Z = {"updates": "z", "handles": ("dirichlet", "assignments", "words"), "exact": True}
GIVEN = {**OF_Z, "integrates_out": "theta", "reads": ("alpha", "phi")}
OUT = {**OF_Z, "integrates_out": ("theta", "phi"), "reads": ("alpha", "beta")}
ROWS = {"updates": "phi", "reads": ("z", "beta"), "handles": ("dirichlet", "words"), "exact": True}


@pytest.fixture
def run(corpus):
    """Run a model in debug mode with one more kernel of a variable."""

    def with_kernel(variable, build, declared, model="lda", debug=True):
        pt.kernel("planted", **declared)(lambda binding: build(binding))
        kept = [pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows")]
        learned = [pt.step("alpha", "slice_alpha"), pt.step("beta", "slice_beta"), kept[1]] * (model == "lda_learned")
        schedule = pt.cycle(kept[0], pt.step(variable, "planted"), kept[1], *learned)
        try:
            pt.sample(
                model, corpus, topics=3, draws=3, warmup=2, seed=3, progress=False, schedule=schedule, debug=debug
            )
        finally:
            unregister_kernel("planted")

    return with_kernel


def of(step, init=lambda state: None, **more):
    return lambda binding: pt.KernelFunctions(step, init, **more)


def moved(state, by):
    state.set_z((state.z + by) % 3)


SHARED = {"array": np.zeros(2)}


def write_shared(state, memory, key):
    SHARED["array"] += 1


def remember(state, memory, key):
    """Uses what the step before left, in a memory that is said to be scratch."""
    moved(state, int(memory.get("sweep", 0) > 0))
    memory["sweep"] = key.sweep + 1


@pytest.mark.parametrize(
    ("variable", "build", "declared", "model", "message"),
    [
        ("z", partially_collapsed, OUT, "lda", "reads phi, which it declares integrated out"),
        ("z", of(lambda s, m, k: moved(s, int(9 * s.beta[0]))), GIVEN, "lda_learned",
         "reads beta, which it does not declare to read"),
        ("z", of(lambda s, m, k: moved(s, np.random.randint(3, size=s.z.size))), GIVEN, "lda",  # noqa: NPY002
         "drew other values when it was run again"),
        ("z", of(remember, lambda s: {}, scratch=True), GIVEN, "lda", "drew other values when it was run again"),
        ("z", of(lambda s, m, k: setattr(s, "note", 1)), GIVEN, "lda", "changed the state's attributes"),
        ("z", of(lambda s, m, k: s.concentrations["alpha"].fill(1)), GIVEN, "lda", r"changed concentrations\.alpha"),
        ("phi", of(lambda s, m, k: s.arrays["phi"][:].sort(axis=0)), {**ROWS, "full_conditional": True}, "lda",
         "reads the old value of phi, which it declares to draw from its full conditional"),
    ],
)  # fmt: skip
def test_debug_mode_refuses(run, variable, build, declared, model, message):
    with pytest.raises(pt.errors.DeclarationError, match=rf"kernel 'planted' \(sweep \d, chain 0\) {message}") as error:
        run(variable, build, declared, model)
    assert str(error.value).endswith(error.value.breach)


def test_the_memory_of_another_kernel_is_not_its_own(corpus):
    pt.kernel("keeper", **ROWS)(of(lambda s, m, k: None, lambda s: SHARED["array"]))
    pt.kernel("planted", **GIVEN)(of(write_shared))
    rows = pt.step("phi", "dirichlet_rows")
    schedule = pt.cycle(pt.step("phi", "keeper"), pt.step("z", "planted"), pt.step("z", "partially_collapsed"), rows)
    try:
        with pytest.raises(pt.errors.DeclarationError, match=r"'planted' .* changed the memory of step 1"):
            pt.sample("lda", corpus, topics=2, draws=1, warmup=0, progress=False, schedule=schedule, debug=True)
    finally:
        unregister_kernel("keeper")
        unregister_kernel("planted")


def test_a_memory_that_cannot_be_copied(run):
    with pytest.raises(
        pt.RunError, match=r"kernel 'planted': its memory cannot be copied .*keep arrays and plain values"
    ):
        run("z", of(lambda s, m, k: None, lambda s: threading.Lock()), GIVEN)


HIDDEN = {
    "partially_collapsed": {"beta", "included"},
    "block_collapsed": {"phi", "included"},
    "dirichlet_rows": {"phi", "alpha"},
    "slice_alpha": {"phi", "beta"},
    "slice_beta": {"phi", "alpha"},
    "included_rows": {"phi"},
    "indicator_scan": {"phi"},
}
"""What kernels do not read, of all that the models below hold."""


@pytest.mark.parametrize("model", ["lda", "lda_learned", "lda_spike_slab"])
@pytest.mark.parametrize("nan", [False, True])
def test_what_is_hidden_comes_back(corpus, model, nan):
    """All values of hidden variables are replaced but zeros, and nothing else; `reveal` undoes it."""
    bound = bind(make_plan(pt.load_spec(model, {"topics": 3})), corpus)
    executor = Executor(bound)
    for step, functions in zip(executor.steps, executor.functions, strict=True):
        state = bound.initial_state(1, 0)
        contract, before = Contract(bound, step, functions), state.copy()
        assert set(contract.hidden) == HIDDEN[step.kernel.name] & set(state.values)
        contract.hide(state, nan)
        for name, array in state.values.items():
            changed = array != before.values[name]
            assert changed[before.values[name] != 0].all() if name in contract.hidden else not changed.any(), name
        contract.reveal(state, before)
        assert not set(contract.changed(before, state)) - contract.updates
