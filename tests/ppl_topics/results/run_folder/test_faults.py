"""What the fault harness (tests/faults) found: losses are reported, what can be repaired is, and draws never differ."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import xarray as xr
import zarr
from folder_runs import OPTIONS, load_all, made_corpus, same

import ppl_topics as pt
from ppl_topics._util.files import remove_parts
from ppl_topics.api.saving import save_somewhere
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.results import store
from ppl_topics.results.run_folder.checkpoint import checkpoints, write_checkpoint
from ppl_topics.results.run_folder.lock import OWNER, locked


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


@pytest.fixture(scope="module")
def whole(corpus):
    return pt.sample("lda", corpus, draws=14, **OPTIONS)


@pytest.fixture(scope="module")
def made(corpus, tmp_path_factory):
    """A run of 10 draws in chunks of 4, to be continued to 14."""
    path = tmp_path_factory.mktemp("runs") / "a"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ppl_topics.results.run_folder.draws.CHUNK_DRAWS", 4)
        pt.sample("lda", corpus, draws=10, out=path, checkpoint_sweeps=5, **OPTIONS)
    return path


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "a")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def cut(path):
    path.write_bytes(path.read_bytes()[:9])


@pytest.mark.parametrize(
    ("damage", "array"),
    [(flip, "posterior/phi"), (cut, "sample_stats/acceptance_rate"), (Path.unlink, "sample_stats/log_marginal")],
)
def test_a_damaged_chunk(damage, array, run, whole):
    """The draws of the chunk that is filled next are read again: never are others taken for them."""
    chunk = run / "draws.zarr" / array / "c" / "1" / "2"
    damage(next(path for path in [chunk, *sorted(chunk.rglob("*"))] if path.is_file()))
    with pytest.raises(pt.TraceError, match=rf"{array}.*(damaged|missing).* Remove .*checkpoints, then `ppl-topic"):
        load_all(run)
    with pytest.raises(pt.TraceError, match=rf"{array}/c/1/2.*: draws are lost or damaged \(.*\). Remove .*/chain-1,"):
        pt.resume(run, draws=14, progress=False)
    assert "failed: " in (run / "log.txt").read_text()
    shutil.rmtree(run / "checkpoints" / "chain-1")
    same(whole, pt.resume(run, draws=14, progress=False))


def test_a_full_chunk_that_is_lost(run, whole):
    """It is not read when the run goes on, but its loss is seen when draws are."""
    (run / "draws.zarr" / "sample_stats" / "lp" / "c" / "0" / "0").unlink()
    with pytest.raises(
        pt.TraceError, match=r"sample_stats/lp: 1 of its 8 chunks are missing\. Remove .*checkpoints, th"
    ):
        pt.resume(run, draws=14, progress=False)
    shutil.rmtree(run / "checkpoints")
    same(whole, pt.resume(run, progress=False))


@pytest.mark.parametrize("what", ["unlink", "garbage"])
def test_a_lost_description_of_an_array(what, run, whole):
    path = run / "draws.zarr" / "sample_stats" / "log_marginal" / "zarr.json"
    path.unlink() if what == "unlink" else path.write_text('{"zarr_format": 3, "node')
    with pytest.raises(pt.TraceError, match="sample_stats"):
        load_all(run)
    with pytest.raises(pt.TraceError, match=r"log_marginal/zarr\.json: draws are lost or damaged .* Remove .*/check"):
        pt.resume(run, progress=False)
    if what == "garbage":
        with pytest.raises(
            pt.TraceError, match=r"zarr/sample_stats/log_marginal: cannot be read .*damaged\. Start the run again"
        ):
            pt.resume(run, draws=14, progress=False)
    else:
        shutil.rmtree(run / "checkpoints")
        same(whole, pt.resume(run, draws=14, progress=False))


@pytest.mark.parametrize("part", ["", "posterior", "sample_stats", "constant_data"])
@pytest.mark.parametrize("draws", [None, 14])
def test_a_lost_group(part, run, draws):
    shutil.rmtree(run / "draws.zarr" / part)
    with pytest.raises(pt.TraceError, match=r"draws\.zarr"):
        pt.resume(run, draws=draws, progress=False)


def test_killed_while_room_is_made_for_more_draws(run, whole):
    """Some arrays are longer then than others, and than the manifest says."""
    zarr.open_group(run / "draws.zarr" / "posterior", mode="r+")["phi"].resize((2, 14, 3, 30))
    assert pt.load_fit(run).posterior.sizes["draw"] == 10
    assert pt.resume(run, progress=False).posterior.sizes["draw"] == 10
    same(whole, pt.resume(run, draws=14, progress=False))


def test_no_checkpoint_of_before_stands_after_a_damaged_one(tmp_path):
    """Those that were passed over must not push out the good ones."""
    for sweep in (10, 20):
        write_checkpoint(tmp_path, sweep, {}, {"x": np.arange(3)})
    write_checkpoint(tmp_path, 15, {}, {"x": np.arange(3)})
    assert [int(path.stem) for path in checkpoints(tmp_path)] == [15, 10]


def test_reading_a_run_that_goes_on(run, monkeypatch):
    """It replaces its checkpoints, and the ones that were listed are gone when they are to be read."""
    place = run / "checkpoints" / "chain-0"
    newest = checkpoints(place)[0]
    listed = [place / "000000000001.ckpt", newest]

    def after(folder):
        return [listed.pop(0)] if listed and folder == place else checkpoints(folder)

    monkeypatch.setattr("ppl_topics.results.run_folder.newest.checkpoints", after)
    assert pt.load_fit(run).posterior.sizes["draw"] == 10


def test_what_a_killed_process_leaves_is_removed(run):
    left = [run / "draws.zarr/posterior/phi/c/0/0/0/0.5f.partial", run / "checkpoints/chain-0/1.ckpt.5f.part"]
    for path in left:
        path.write_bytes(b"half")
    (run / ".corpus.5f.part").mkdir()
    (run / ".corpus.5f.part" / "words.npy").touch()
    assert pt.resume(run, progress=False).posterior.sizes["draw"] == 10
    assert not any(path.exists() for path in [*left, run / ".corpus.5f.part"])
    remove_parts(run / "nothing")


def test_a_full_disk_is_no_reason_to_refuse_the_lock(tmp_path, monkeypatch):
    """The word of who has it is for others; that of the last process must go."""
    (tmp_path / OWNER).write_text(json.dumps({"process": 1, "host": "x", "since": "y"}))

    def fail(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ppl_topics.results.run_folder.lock.write_text", fail)
    with locked(tmp_path):
        assert not (tmp_path / OWNER).exists()


def test_a_checkpoint_folder_that_cannot_be_made(run):
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").touch()
    with pytest.raises(pt.RunError, match=r"chain-0: cannot create the folder for checkpoints \(Not a directory\)"):
        pt.resume(run, progress=False)


@pytest.mark.parametrize("sweep", [8, 11])
def test_a_statistic_that_comes_late(sweep, corpus, tmp_path, monkeypatch):
    """One that a kernel first returns after chunks are full, in one chain, and that a resumed run has again."""
    monkeypatch.setattr("ppl_topics.results.run_folder.draws.CHUNK_DRAWS", 2)

    @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def build(binding):
        late = lambda key: key.chain == 1 and key.sweep in (7, 10)  # noqa: E731
        return pt.KernelFunctions(lambda state, memory, key: {"late": 1.0 * key.sweep} if late(key) else {})

    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
    )
    try:
        whole = pt.sample("lda", corpus, schedule=schedule, draws=10, **OPTIONS)
        pt.sample("lda", corpus, schedule=schedule, draws=sweep - 3, out=tmp_path / "a", **OPTIONS)
        same(whole, pt.resume(tmp_path / "a", draws=10, progress=False))
    finally:
        unregister_kernel("planted")
    assert np.isfinite(whole.groups["sample_stats"]["late"].values).sum() == 2


def test_a_file_for_which_there_may_be_no_room_is_made_in_memory(whole, tmp_path, monkeypatch):
    """HDF5 ends the process with a segmentation fault where the disk is full."""

    def refuse(path, size):
        assert size > 2 * whole.groups["posterior"].nbytes or size > 2**16
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "preallocate", refuse)
    path = whole.save(tmp_path / "x.nc")
    same(whole, pt.load_fit(path))
    with xr.open_dataset(path) as root:
        assert root.attrs.keys() == whole.posterior.attrs.keys()


def test_room_is_given_back(whole, tmp_path):
    whole.save(tmp_path / "x.nc")
    assert (tmp_path / "x.nc").stat().st_size < 400_000


def test_draws_that_cannot_be_written_are_put_aside(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "full").touch()
    with pytest.raises(pt.RunError, match=r"All draws are in .*x\.nc: move it to a disk with enough space") as error:
        save_somewhere(whole, tmp_path / "full" / "x.nc")
    same(whole, pt.load_fit(str(error.value).partition("draws are in ")[2].partition(": move")[0]))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))
    with pytest.raises(pt.RunError, match=r"the draws are lost; a run whose output does not end in \.nc keeps them"):
        save_somewhere(whole, tmp_path / "full" / "x.nc")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_as_the_draws_are_written_loses_none(whole, tmp_path, monkeypatch, number):
    write = store._write

    def interrupted(groups, path):
        os.kill(os.getpid(), number)
        write(groups, path)

    monkeypatch.setattr(store, "_write", interrupted)
    before = signal.getsignal(number)
    same(whole, pt.load_fit(save_somewhere(whole, tmp_path / "x.nc")))
    assert signal.getsignal(number) is before


SCRIPT = """
import sys
import numpy as np
import ppl_topics as pt

if __name__ == "__main__":
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    pt.sample("lda", pt.Corpus.from_tokens(documents), topics=3, warmup=3, draws=20_000, seed=3, chains=2, threads=1,
              progress=False, processes=2, out=sys.argv[1], checkpoint_sweeps=50, record=dict(theta="none", phi="none"))
"""


def begin(tmp_path, ready):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "a")]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_a_worker_that_is_killed(tmp_path):
    process = begin(tmp_path, lambda: len(list(tmp_path.glob("a/checkpoints/*/*.ckpt"))) >= 4)
    worker = next(p for p in psutil.Process(process.pid).children() if "spawn_main" in " ".join(p.cmdline()))
    worker.kill()
    said = process.communicate(timeout=120)[1]
    assert "a worker process died (exit code -9; was it killed, or out of memory?)" in said
    assert f"`ppl-topics resume {tmp_path / 'a'}` continues from the checkpoints" in said


@pytest.mark.slow
def test_ctrl_c_while_workers_start(tmp_path):
    """It goes to all processes at once; workers must not take it, even before they have begun."""
    process = begin(tmp_path, lambda: len(workers(tmp_path)) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert "stopped after 0 sweeps, before the first draw" in said
    assert "KeyboardInterrupt" not in said


def workers(tmp_path):
    """Return the children of the process that owns the run; none before it does."""
    owner = tmp_path / "a" / OWNER
    return psutil.Process(int(json.loads(owner.read_text())["process"])).children() if owner.exists() else []
