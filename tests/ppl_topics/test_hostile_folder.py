"""Run folders made to do harm: what the fuzzer of tests/fuzz found in them."""

import errno
import gc
import json
import os
from pathlib import Path

import numpy as np
import pytest
import zarr
from hostile_runs import CORPUS, OPTIONS

import ppl_topics as pt
from ppl_topics.storage.checkpoint import read_checkpoint, write_checkpoint
from ppl_topics.storage.files import refuse_links


@pytest.fixture
def run(tmp_path):
    """The folder of a run of one chain."""
    pt.sample("lda", CORPUS, **{**OPTIONS, "chains": 1}, out=tmp_path / "run")
    return tmp_path / "run"


def test_run_folders_lead_nowhere(tmp_path):
    (tmp_path / "draws.zarr" / "posterior").mkdir(parents=True)
    refuse_links(tmp_path)
    for make in (lambda path: path.symlink_to("/dev/zero"), os.mkfifo):
        path = tmp_path / "draws.zarr" / "posterior" / "zarr.json"
        make(path)
        with pytest.raises(pt.TraceError, match=r"zarr\.json: a link, a pipe or a device"):
            refuse_links(tmp_path)
        path.unlink()


def test_run_folders_are_checked_as_files_are(run):
    """A checkpoint with a checksum that fits may hold anything, and so may the draws."""
    (path,) = sorted((run / "checkpoints").rglob("*.ckpt"))[-1:]
    held = read_checkpoint(path)
    arrays = {**held.arrays, "z": np.full_like(held.arrays["z"], 7)}
    write_checkpoint(path.parent, int(path.stem), held.about, arrays)
    with pytest.raises(pt.TraceError, match="z_last does not hold whole numbers below 2"):
        pt.load_fit(run)


def test_draws_that_are_not_finite(run):
    """They are on disk until somebody looks at them."""
    theta = zarr.open_array(run / "draws.zarr" / "posterior" / "theta", mode="r+")
    theta[0, 1, 2, 0] = np.nan
    posterior = pt.load_fit(run).posterior
    assert np.isfinite(posterior["theta"].isel(draw=0).values).all()
    with pytest.raises(pt.TraceError, match=r"posterior/theta: holds draws that are not finite"):
        posterior["theta"].load()


def test_several_arrays_that_cannot_be_opened(run, caplog):
    """One line is said of the first, and nothing of the others."""
    for name in ("phi", "theta", "word"):
        (run / "draws.zarr" / "posterior" / name / "zarr.json").write_text('{"shape')
    with pytest.raises(pt.TraceError, match=r"posterior/phi: cannot be read \(Unterminated string"):
        pt.load_fit(run)
    gc.collect()
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ("phi/zarr.json", pt.load_fit),
        ("phi/c/0/0/0/0", lambda run: pt.load_fit(run).posterior["phi"].load()),
        ("phi/zarr.json", lambda run: pt.resume(run, draws=8, progress=False)),
    ],
)
def test_what_may_not_be_read_is_not_called_damaged(run, monkeypatch, part, read):
    """Whoever may not read a file would be told to remove the run, or to begin it anew."""
    opened = Path.open

    def refuse(path, *args, **options):
        if path.as_posix().endswith(part):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(pt.TraceError, match=r"posterior/phi.*: cannot be read \(Permission denied\)$"):
        read(run)


def test_a_chunk_of_text_that_says_it_holds_billions(run):
    place = run / "draws.zarr" / "posterior" / "word"
    described = json.loads((place / "zarr.json").read_text())
    (place / "zarr.json").write_text(json.dumps({**described, "codecs": described["codecs"][:1]}))
    (place / "c" / "0").write_bytes((4_247_762_216).to_bytes(4, "little") + bytes(8))
    with pytest.raises(pt.TraceError, match=r"posterior/word: a chunk cannot be read"):
        pt.load_fit(run)


def test_chunks_of_nothing(run):
    path = run / "draws.zarr" / "posterior" / "theta" / "zarr.json"
    described = json.loads(path.read_text())
    described["chunk_grid"]["configuration"]["chunk_shape"][2] = 0
    path.write_text(json.dumps(described))
    with pytest.raises(pt.TraceError, match="chunks hold nothing"):
        pt.load_fit(run)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("known", [True, False])
def test_chunks_of_gigabytes_in_a_run_that_goes_on(run, place, known):
    """Draws are read again, or begun anew where the checkpoints know of none, a chunk at a time."""
    path = run / "draws.zarr" / "posterior" / "theta" / "zarr.json"
    described = json.loads(path.read_text())
    described["chunk_grid"]["configuration"]["chunk_shape"][place] = 2**31
    path.write_text(json.dumps(described))
    (checkpoint,) = sorted((run / "checkpoints").rglob("*.ckpt"))[-1:]
    if not known:
        held = read_checkpoint(checkpoint)
        about = {**held.about, "names": [name for name in held.about["names"] if name != "posterior/theta"]}
        write_checkpoint(checkpoint.parent, int(checkpoint.stem), about, held.arrays)
    with pytest.raises(pt.TraceError, match="describes other chunks"):
        pt.resume(run, draws=5, progress=False)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("lp", {"dimension_names": ["chain", "sweep"]}),
        ("lp", {"shape": [2, 4]}),
        ("step_seconds", {"shape": [1, 4, 9]}),
        (
            "step_seconds",
            {"shape": [1, 4, 0], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 4, 1]}}},
        ),
        ("lp", {"data_type": "float32"}),
    ],
)
def test_arrays_that_draws_do_not_go_into(run, name, changed):
    """More draws are asked for, and there is no room for them, or they have another form."""
    path = run / "draws.zarr" / "sample_stats" / name / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.raises(pt.TraceError, match=rf"sample_stats/{name}/.*draws are lost or damaged"):
        pt.resume(run, draws=8, progress=False)
