"""Checkpoints: when they are written, how many are kept, and what becomes of those that are damaged or wrong."""

import shutil

import numpy as np
import pytest
from folder_runs import OPTIONS, cut, flip, made_corpus, made_run, newest, same

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.engine.checkpointing import ChainCheckpoints, Checkpointing
from ppl_topics.results.run_folder.checkpoint import checkpoints, read_checkpoint, write_checkpoint
from ppl_topics.results.run_folder.draws import DrawLayout
from ppl_topics.results.run_folder.manifest import Manifest


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


@pytest.fixture(scope="module")
def whole(corpus):
    return pt.sample("lda", corpus, draws=12, **OPTIONS)


@pytest.fixture(scope="module")
def made(corpus, tmp_path_factory):
    return made_run(corpus, tmp_path_factory.mktemp("runs") / "a")


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "a")


@pytest.mark.parametrize("damage", [flip, cut, lambda path: path.write_bytes(b""), lambda path: flip(path, 20)])
def test_a_damaged_checkpoint(damage, run, corpus):
    """The one before it is taken, and the draws are the same."""
    damage(newest(run))
    with pytest.warns(pt.RunWarning, match=r"000000000015\.ckpt: the checkpoint is damaged or cut short"):
        fit = pt.load_fit(run)
    assert fit.posterior.sizes["draw"] == 11
    with pytest.warns(pt.RunWarning) as warned:
        resumed = pt.resume(run, draws=14, progress=False)
    assert [str(w.message) for w in warned][1] == "chain 0 continues from the one before, 000000000014.ckpt"
    same(pt.sample("lda", corpus, draws=14, **OPTIONS), resumed)


def test_no_whole_checkpoint(run, whole):
    for path in checkpoints(run / "checkpoints" / "chain-0"):
        flip(path)
    with (
        pytest.warns(pt.RunWarning, match="damaged"),
        pytest.raises(pt.TraceError, match="no checkpoint of chain 0 to read"),
    ):
        pt.load_fit(run)
    with pytest.warns(pt.RunWarning) as warned:
        same(whole, pt.resume(run, progress=False))
    assert [str(w.message) for w in warned][-1] == "chain 0 starts again, with the same draws"


def test_a_checkpoint_of_another_run(run, corpus, tmp_path):
    pt.sample("lda", corpus, draws=12, out=tmp_path / "b", **{**OPTIONS, "seed": 4})
    shutil.copy(newest(tmp_path / "b"), newest(run))
    with pytest.warns(pt.RunWarning, match="the checkpoint belongs to another run"):
        assert pt.load_fit(run).posterior.sizes["draw"] == 11


def resumed_from_the_one_before(run, whole, message):
    with pytest.warns(pt.RunWarning) as warned:
        same(whole, pt.resume(run, progress=False))
    # The chain says so when it is restored; what remains there is reported again when the run is read.
    problem, what = (str(warning.message) for warning in warned[:2])
    assert message in problem
    assert what.startswith("chain 0 continues from the one before")


def test_a_checkpoint_of_another_chain(run, whole):
    """It would go on from there with the random numbers of this chain."""
    shutil.copy(newest(run, 1), newest(run, 0))
    resumed_from_the_one_before(run, whole, "the checkpoint belongs to another chain")


@pytest.mark.parametrize(
    ("name", "value"), [("sweep", 0), ("draws", 11), ("draws", 13), ("warmup", 0), ("warmup", True), ("draws", "12")]
)
def test_a_checkpoint_that_counts_wrong(run, whole, name, value):
    """Whoever writes one writes a checksum that fits."""
    path = newest(run)
    held = read_checkpoint(path)
    write_checkpoint(path.parent, int(path.stem), {**held.about, name: value}, held.arrays)
    resumed_from_the_one_before(run, whole, f"the checkpoint contradicts its file name ({name} is not ")


def test_a_checkpoint_beyond_the_run(run, whole):
    path = newest(run)
    held = read_checkpoint(path)
    beyond = {**held.about, "sweep": 99, "draws": 99 - held.about["warmup"]}
    write_checkpoint(path.parent, 99, beyond, held.arrays)
    resumed_from_the_one_before(run, whole, "the checkpoint is from sweep 99, but the run has")


def test_a_failing_kernel_names_the_checkpoint(corpus, tmp_path):
    @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def build(binding):
        def step(state, memory, key):
            if key.sweep == 8:
                raise ZeroDivisionError("by nothing")

        return pt.KernelFunctions(step)

    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
    )
    try:
        with pytest.raises(
            pt.RunError,
            match=r"sweep 8, chain 0\) failed.*; the last checkpoint is .*000000000006.ckpt \(sweep 6\)",
        ):
            pt.sample("lda", corpus, draws=9, schedule=schedule, out=tmp_path / "a", checkpoint_sweeps=3, **OPTIONS)
    finally:
        unregister_kernel("planted")
    assert "failed: kernel 'planted'" in (tmp_path / "a" / "log.txt").read_text()
    assert pt.load_fit(tmp_path / "a").posterior.sizes["draw"] == 3


@pytest.mark.parametrize(
    ("functions", "refused"), [({}, True), ({"scratch": True}, False), ({"keep": lambda m: {}}, True)]
)
def test_kernels_with_a_memory(corpus, tmp_path, functions, refused):
    """What a kernel keeps between steps must be declared, or a resumed run would draw something else."""

    @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def build(binding):
        return pt.KernelFunctions(lambda state, memory, key: None, lambda state: [], **functions)

    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
    )
    try:
        if refused:
            with pytest.raises(pt.RunError, match="'planted' has memory between steps but does not say"):
                pt.sample("lda", corpus, draws=2, schedule=schedule, out=tmp_path / "a", **OPTIONS)
            assert not (tmp_path / "a").exists()
        else:
            pt.sample("lda", corpus, draws=2, schedule=schedule, out=tmp_path / "a", **OPTIONS)
    finally:
        unregister_kernel("planted")


def test_a_memory_that_is_not_kept_is_caught(corpus, tmp_path):
    """The planted bug of all comparisons here: a kernel that counts its steps, and says that this is scratch."""

    @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def build(binding):
        def step(state, memory, key):
            memory[0] += 1
            state.arrays["phi"][:] = 1.0 / memory[0]

        return pt.KernelFunctions(step, lambda state: [0], scratch=True)

    schedule = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "planted"))
    try:
        whole = pt.sample("lda", corpus, draws=6, schedule=schedule, **OPTIONS)
        pt.sample("lda", corpus, draws=2, schedule=schedule, out=tmp_path / "a", **OPTIONS)
        resumed = pt.resume(tmp_path / "a", draws=6, progress=False)
    finally:
        unregister_kernel("planted")
    assert not np.array_equal(whole.posterior["phi"], resumed.posterior["phi"])


def test_when_checkpoints_are_due(monkeypatch, tmp_path):
    place = DrawLayout(tmp_path, 0, None, 1, 1, 10, 10, {}, 1, 1)
    now = [1000.0]
    monkeypatch.setattr("ppl_topics.engine.checkpointing.time.monotonic", lambda: now[0])

    def store(sweeps=None, minutes=None, cost=0.0, together=1):
        checkpointing = Checkpointing(
            place, Manifest.model_construct(checkpoint_sweeps=sweeps, checkpoint_minutes=minutes)
        )
        return ChainCheckpoints(checkpointing, 0, together, tmp_path, place, sweep=10, since=1000.0, cost=cost)

    assert not store(sweeps=5).due(14)
    assert store(sweeps=5).due(15)
    for seconds, default, costly, asked in [
        (59, False, False, False),
        (61, True, False, False),
        (130, True, True, True),
    ]:
        now[0] = 1000.0 + seconds
        assert store().due(11) == default
        assert store(cost=1.2).due(11) == costly
        assert store(cost=0.4, together=3).due(11) == costly
        assert store(minutes=2.0, cost=50.0).due(11) == asked
        assert not store(sweeps=5).due(11)


@pytest.mark.parametrize(("speed", "kept"), [(1.0, 1), (np.inf, 2)])
def test_first_checkpoint_waits_for_what_it_is_thought_to_cost(corpus, monkeypatch, tmp_path, speed, kept):
    monkeypatch.setattr("ppl_topics.engine.checkpointing.EVERY_MINUTES", 0.0)
    monkeypatch.setattr("ppl_topics.engine.checkpointing.WRITE_SPEED", speed)
    pt.sample("lda", corpus, draws=3, out=tmp_path / "a", **{**OPTIONS, "chains": 1})
    assert len(checkpoints(tmp_path / "a" / "checkpoints" / "chain-0")) == kept


def test_two_checkpoints_are_kept(tmp_path):
    for sweep, kept in ((3, [3]), (20, [20, 3]), (1_000, [1_000, 20]), (1_001, [1_001, 1_000])):
        write_checkpoint(tmp_path, sweep, {"sweep": sweep}, {"x": np.arange(3)})
        assert [int(path.stem) for path in checkpoints(tmp_path)] == kept
    held = read_checkpoint(checkpoints(tmp_path)[0])
    assert held.about == {"sweep": 1001}
    np.testing.assert_array_equal(held.arrays["x"], np.arange(3))


def test_arrays_of_all_shapes_come_back(tmp_path):
    arrays = {
        "empty": np.zeros((0, 3)),
        "number": np.asarray(2.5),
        "by columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "every other": np.arange(10, dtype=np.uint16)[::2],
        "truth": np.array([True, False]),
    }
    path = write_checkpoint(tmp_path, 1, {}, arrays)
    for mapped in (False, True):
        held = read_checkpoint(path, mapped=mapped).arrays
        for name, array in arrays.items():
            assert held[name].dtype == array.dtype
            np.testing.assert_array_equal(held[name], array)
    with pytest.raises(TypeError, match="holds object"):
        write_checkpoint(tmp_path, 2, {}, {"x": np.array([None])})
    assert [p.stem for p in checkpoints(tmp_path)] == ["000000000001"]
