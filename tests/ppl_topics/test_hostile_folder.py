"""Run folders made to do harm: what the fuzzer of tests/fuzz found in them."""

import errno
import gc
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import zarr
import zstandard
from google_crc32c import value as crc32c
from hostile_runs import CORPUS, OPTIONS

import ppl_topics as pt
from ppl_topics.storage.checkpoint import read_checkpoint, write_checkpoint
from ppl_topics.storage.chunks import codecs
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


def compressed(*parts, sized=True):
    """Return the bytes of a chunk: parts of what it expands to, each a number of times."""
    size = sum(len(part) * times for part, times in parts)
    making = zstandard.ZstdCompressor(write_content_size=sized).compressobj(**({"size": size} if sized else {}))
    return b"".join(making.compress(part) for part, times in parts for _ in range(times)) + making.flush()


def checked(frames):
    return frames + crc32c(frames).to_bytes(4, "little")


@pytest.mark.parametrize("count", [0, 4, 6, 2**31, 2**32 - 1])
def test_a_chunk_of_text_that_says_it_holds_billions(run, count):
    """There are five words."""
    path = run / "draws.zarr" / "posterior" / "word" / "c" / "0"
    path.write_bytes(checked(compressed((count.to_bytes(4, "little"), 1), (bytes(4), 5))))
    with pytest.raises(pt.TraceError, match=rf"word: a chunk cannot be read \(it holds {count:,} texts of 5\)"):
        pt.load_fit(run)


GIGABYTE = (bytes(2**20), 2**10)

NO_CHUNKS = {
    "of a gigabyte": (compressed(GIGABYTE), r"its .* bytes expand to 1,073,741,824"),
    "that say no size": (compressed(GIGABYTE, sized=False), "it does not say how much it expands to"),
    "of two frames": (compressed((bytes(160), 1)) + compressed(GIGABYTE), "it has .* bytes, and .* belong to it"),
    "that are cut off": (compressed((bytes(160), 1))[:-2], "it has .* bytes, and .* belong to it"),
    "without blocks": (compressed((bytes(160), 1))[:6], "it is cut off|belong to it"),
    "of something else": (b"no Zstandard at all", "it is not compressed"),
}


@pytest.mark.parametrize("kind", NO_CHUNKS)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("phi", lambda run: pt.load_fit(run).posterior["phi"].load()),
        ("word", pt.load_fit),
        ("phi", lambda run: pt.resume(run, draws=7, progress=False)),
    ],
)
def test_chunks_that_are_none(run, kind, name, read):
    """Each has the checksum that it should have, and no memory is taken for what it would expand to."""
    pt.resume(run, draws=6, progress=False)
    chunk, message = NO_CHUNKS[kind]
    place = run / "draws.zarr" / "posterior" / name / "c"
    (place / ("0/1/0/0" if name == "phi" else "0")).write_bytes(checked(chunk))
    tracemalloc.start()
    try:
        with pytest.raises(pt.TraceError, match=rf"posterior/{name}.* \(({message})"):
            read(run)
        assert tracemalloc.get_traced_memory()[1] < 2**29
    finally:
        tracemalloc.stop()


def test_chunks_without_content(run):
    (run / "draws.zarr" / "posterior" / "phi" / "c" / "0" / "0" / "0" / "0").write_bytes(b"")
    with pytest.raises(pt.TraceError, match="phi: a chunk cannot be read"):
        pt.load_fit(run).posterior["phi"].load()


@pytest.mark.parametrize(
    "change",
    [
        lambda codecs: codecs[:2],
        lambda codecs: [codecs[0], {"name": "gzip", "configuration": {"level": 1}}, codecs[2]],
        lambda codecs: [{"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}}, *codecs],
        lambda codecs: [*codecs, codecs[2]],
    ],
)
def test_codecs_of_others(run, change):
    """What a run does not write is not read: there are many codecs, and packages bring more."""
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text())
    path.write_text(json.dumps({**described, "codecs": change(described["codecs"])}))
    with pytest.raises(pt.TraceError, match="phi: is not cut and compressed as a run does it"):
        pt.load_fit(run)
    with pytest.raises(pt.TraceError, match=r"phi/zarr\.json: draws are lost or damaged \(it describes other chunks"):
        pt.resume(run, draws=5, progress=False)


@pytest.mark.parametrize("size", [2**62, 10**400])
@pytest.mark.parametrize("where", ["shape", "chunks"])
def test_sizes_beyond_all_bounds(run, size, where):
    path = run / "draws.zarr" / "observed_data" / "words" / "zarr.json"
    described = json.loads(path.read_text())
    if where == "shape":
        described["shape"] = [size]
    else:
        described["chunk_grid"]["configuration"]["chunk_shape"] = [size]
    path.write_text(json.dumps(described))
    with pytest.raises(pt.TraceError, match=r"observed_data/words: says that it holds more than any array does"):
        pt.load_fit(run)


def test_constants_that_expand_to_gigabytes(run):
    """Each chunk is what the metadata say: a gigabyte of zeros, which is read at once."""
    place = run / "draws.zarr" / "constant_data" / "cells"
    zarr.create_array(
        place, shape=(2**27,), chunks=(2**27,), dtype="f8", compressors=codecs(0), dimension_names=("cell",)
    )
    (place / "c").mkdir()
    (place / "c" / "0").write_bytes(checked(compressed(GIGABYTE)))
    with pytest.raises(pt.TraceError, match=r"constant_data: says that .* bytes of constants hold 1,073,7"):
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
