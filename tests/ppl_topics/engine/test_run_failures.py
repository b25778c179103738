"""Debug mode, failing kernels, interrupts, dying workers: what the user sees and what is kept."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel

MAIN = {"topics": 3, "draws": 20, "warmup": 2, "seed": 3, "progress": False, "chains": 3}
PHI = {"updates": "phi", "reads": ("z", "beta"), "handles": ("dirichlet", "words"), "exact": True}


@pytest.fixture
def run(corpus):
    """Run LDA with one more kernel of phi, given by its step."""

    def with_step(step, init=lambda state: None, **options):
        @pt.kernel("planted", **PHI)
        def build(binding):
            return pt.KernelFunctions(step, init)

        schedule = pt.cycle(
            pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
        )
        try:
            return pt.sample("lda", corpus, schedule=schedule, **{**MAIN, **options})
        finally:
            unregister_kernel("planted")

    return with_step


def move_z(state, memory, key):
    state.set_z((state.z + 1) % 3)


def break_counts(state, memory, key):
    state.n_wk[0, 0] += 1


def break_totals(state, memory, key):
    state.n_k[0] += 1


def write_nan(state, memory, key):
    state.arrays["phi"][0, 1] = np.nan


def topic_out_of_range(state, memory, key):
    state.z[0] = 3


def other_type(state, memory, key):
    state.arrays["phi"] = state.arrays["phi"].astype(np.float64) * 0.5


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (move_z, r"kernel 'planted' \(sweep 0, chain 0\) changed z, but declares that it updates phi"),
        (break_counts, r"kernel 'planted' \(sweep 0, chain 0\): the counts n_wk .* word that differs is number 0"),
        (break_totals, r"kernel 'planted' \(sweep 0, chain 0\): the counts n_k are not those of z"),
        (write_nan, r"kernel 'planted' \(sweep 0, chain 0\) drew phi of word 0, topic 1 as not a number"),
    ],
)
def test_debug_mode_catches(run, step, message):
    with pytest.raises(pt.RunError, match=message):
        run(step, debug=True)


def test_a_script_without_its_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import ppl_topics as pt\n"
        "corpus = pt.Corpus.from_texts(['red green red', 'green blue'])\n"
        "pt.sample('lda', corpus, topics=2, draws=4, chains=2, processes=2, progress=False)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "RunError: no worker process could start" in done.stderr.splitlines()[-1]
    assert 'if __name__ == "__main__"' in done.stderr.splitlines()[-1]


def new_variable(state, memory, key):
    state.arrays["mine"] = np.zeros(1)


def z_as_list(state, memory, key):
    state.z = state.z.tolist()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (topic_out_of_range, r"kernel 'planted' \(sweep 0, chain 0\) wrote topic 3 into z; there are 3 topics"),
        (other_type, r"kernel 'planted' \(sweep 0, chain 0\) changed the type, shape or name of phi"),
        (new_variable, r"kernel 'planted' \(sweep 0, chain 0\) changed the type, shape or name of mine"),
        (z_as_list, r"kernel 'planted' \(sweep 0, chain 0\) changed the type, shape or name of z"),
        (lambda state, memory, key: "ab", r"failed: TypeError: step returned str; expected None, or numbers by name"),
        (lambda state, memory, key: {"a": [1, 2]}, r"failed: TypeError: step returned 'a': \[1, 2\]"),
    ],
)
def test_what_would_break_compiled_code_is_always_caught(run, step, message):
    with pytest.raises(pt.RunError, match=message):
        run(step)


@pytest.mark.parametrize("built", [None, (lambda state, memory, key: None,), KeyError("oops")])
def test_a_builder_that_is_wrong(corpus, built):
    @pt.kernel("planted", **PHI)
    def build(binding):
        if isinstance(built, Exception):
            raise built
        return built

    schedule = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "planted"))
    try:
        with pytest.raises(pt.RunError, match=r"kernel 'planted': its builder (failed|returned)"):
            pt.sample("lda", corpus, schedule=schedule, **MAIN)
    finally:
        unregister_kernel("planted")


@pytest.mark.parametrize("model", ["lda", "lda_collapsed", "lda_learned"])
def test_debug_mode_passes_our_kernels_and_changes_no_draw(model, corpus):
    plain, checked = (pt.sample(model, corpus, **MAIN, debug=debug) for debug in (False, True))
    for name in plain.posterior.data_vars:
        np.testing.assert_array_equal(plain.posterior[name], checked.posterior[name])


def test_a_kernel_that_raises(run):
    def step(state, memory, key):
        if (key.chain, key.sweep) == (1, 4):
            raise ZeroDivisionError("by nothing")

    with pytest.raises(
        pt.RunError, match=r"kernel 'planted' \(sweep 4, chain 1\) failed: ZeroDivisionError: by nothing"
    ) as e:
        run(step)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_a_kernel_that_returns_nonsense(run):
    with pytest.raises(pt.RunError, match=r"kernel 'planted' \(sweep 0, chain 0\) failed: TypeError"):
        run(lambda state, memory, key: 3.0)


def test_a_kernel_that_fails_at_the_start(run):
    def init(state):
        raise ValueError("no memory of that")

    with pytest.raises(pt.RunError, match="kernel 'planted' failed to initialise: ValueError: no memory of that") as e:
        run(move_z, init)
    assert isinstance(e.value.__cause__, ValueError)


@pytest.mark.parametrize("chain", [0, 1, 2])
def test_interrupt_keeps_what_was_drawn(run, chain):
    def step(state, memory, key):
        if (key.chain, key.sweep) == (chain, 9):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    fit = run(step)
    assert signal.getsignal(signal.SIGINT) is before
    # Sweep 9 is the tenth, two of them warmup; chains that had not reached it end there.
    assert dict(fit.posterior.sizes) | {"draw": 0} == dict(run(lambda *_: None).posterior.sizes) | {"draw": 0}
    assert fit.posterior.sizes["draw"] == (8 if chain == 2 else 7)
    assert fit.posterior.attrs["stopped"] == 1
    assert fit.groups["sample_stats"].sizes["draw"] == fit.posterior.sizes["draw"]
    whole = run(lambda *_: None)
    assert whole.posterior.attrs["stopped"] == 0
    cut = whole.posterior.isel(draw=slice(fit.posterior.sizes["draw"]))
    np.testing.assert_array_equal(fit.posterior["phi"], cut["phi"])


def test_interrupt_in_warmup_keeps_nothing(run):
    def step(state, memory, key):
        if key.sweep == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(pt.RunError, match="stopped after 1 sweep of warmup, before the first draw"):
        run(step, warmup=5)
    assert signal.getsignal(signal.SIGINT) is before


def test_second_interrupt_aborts(run):
    def step(state, memory, key):
        if key.sweep == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(step)
    assert signal.getsignal(signal.SIGINT) is before


def test_handler_and_threads_are_restored_after_a_failure(run):
    import numba

    def step(state, memory, key):
        raise ValueError("no")

    before, threads = signal.getsignal(signal.SIGINT), numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(threads)
    with pytest.raises(pt.RunError):
        run(step, threads=1)
    assert signal.getsignal(signal.SIGINT) is before
    assert numba.get_num_threads() == threads


def test_sampling_outside_the_main_thread(corpus):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(pt.sample, "lda", corpus, **MAIN).result()
    np.testing.assert_array_equal(fit.posterior["phi"], pt.sample("lda", corpus, **MAIN).posterior["phi"])


def test_a_kernel_that_workers_do_not_know(run):
    """A kernel registered in this process only: the worker's error comes back as it is, and says what to do."""
    with pytest.raises(pt.RunError, match=r"unknown kernel 'planted'.*in a module that workers can import"):
        run(lambda *_: None, processes=2, threads=1)


@pytest.mark.usefixtures("interrupted")
def test_interrupt_of_processes(corpus):
    """Workers are told to stop, and what all chains have is kept."""
    options = {**MAIN, "chains": 2, "threads": 1}
    fit = pt.sample("lda", corpus, **{**options, "draws": 10**6}, processes=2, record={"phi": "none", "theta": "none"})
    assert fit.posterior.attrs["stopped"] == 1
    assert fit.posterior.sizes["draw"] >= 8
    again = pt.sample("lda", corpus, **options).posterior["topic_share"]
    n = min(again.sizes["draw"], fit.posterior.sizes["draw"])
    np.testing.assert_array_equal(fit.posterior["topic_share"].isel(draw=slice(n)), again.isel(draw=slice(n)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws: must be a whole number from 1"),
        ({"warmup": -1}, "warmup: must be a whole number from 0"),
        ({"chains": 1.5}, "chains: must be a whole number from 1"),
        ({"thin": True}, "thin: must be a whole number"),
        ({"draws": np.array([2])}, "draws: must be a whole number from 1"),
        ({"draws": 10**30}, "draws: must be a whole number from 1 to 1000000000"),
        ({"seed": 2**63}, "seed: must be a whole number from 0 to"),
        ({"threads": 4096}, "threads: must be at most"),
    ],
)
def test_settings_are_checked(corpus, options, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.sample("lda", corpus, **{**MAIN, **options})
