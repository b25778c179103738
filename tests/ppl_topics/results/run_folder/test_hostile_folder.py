"""Run folders made to do harm: what the fuzzer of tests/fuzz found in them."""

import errno
import gc
import json
import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import zarr

import ppl_topics as pt
from ppl_topics._util.files import refuse_links
from ppl_topics.results.run_folder.checkpoint import DIGEST, MAGIC, read_checkpoint, write_checkpoint
from ppl_topics.results.run_folder.checkpoint import digest_of as checksum_of
from ppl_topics.results.run_folder.manifest import digest_of, read_manifest


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m"])
def test_names_that_are_no_words(run, name):
    (run / "draws.zarr" / name).mkdir()
    with pytest.raises(pt.TraceError, match=r"contains '.*', which no run writes") as caught:
        pt.load_fit(run)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("read", [pt.load_fit, lambda path: pt.resume(path, progress=False)])
def test_folders_in_folders(run, read):
    place = run / "draws.zarr"
    for _ in range(30):
        place = place / "x"
        place.mkdir()
    with pytest.raises(pt.TraceError, match="contains folders more than 20 levels deep"):
        read(run)


def test_a_model_that_extends_another(run, tmp_path):
    """With a digest that fits, it would lead to any file."""
    (tmp_path / "secret.yaml").write_text("secret: 1\n")
    model = run / "model.yaml"
    model.write_text("extends: ../secret.yaml\n" + model.read_text())
    read_manifest(run).model_copy(update={"model_digest": digest_of(model.read_text())}).write(run)
    with pytest.raises(pt.TraceError, match=r"model\.yaml: extends another model, but .* is self-contained"):
        pt.resume(run, draws=5, progress=False)


@pytest.mark.parametrize("kind", ["(1,,)i4", "f8,(", "|O8", "f8,f8", "i4i4"])
def test_types_of_others_in_checkpoints(run, kind):
    for path in sorted((run / "checkpoints").rglob("*.ckpt")):
        data = path.read_bytes()[:-DIGEST]
        start = len(MAGIC) + 8
        end = start + int.from_bytes(data[len(MAGIC) : start], "little")
        header = json.loads(data[start:end])
        for entry in header["arrays"]:
            entry["type"] = kind
        text = json.dumps(header).encode().ljust(end - start)
        content = MAGIC + len(text).to_bytes(8, "little") + text + data[end:]
        path.write_bytes(content + checksum_of(content))
    with pytest.raises(pt.TraceError, match="no checkpoint of chain 0 to read"), pytest.warns(pt.RunWarning):
        pt.load_fit(run)


@pytest.mark.parametrize(
    "text",
    ['{"zarr_format": 3, "node_type": "array"}', "[" * 100_000, '{"shape": [-1]}', "{}", ""],
)
def test_a_description_that_is_none(run, text):
    """Where the checkpoints are gone, the array is there before the first draw."""
    shutil.rmtree(run / "checkpoints")
    (run / "draws.zarr" / "posterior" / "phi" / "zarr.json").write_text(text)
    with pytest.raises(pt.TraceError, match=r"posterior/phi"):
        pt.resume(run, draws=5, progress=False)


def test_room_is_made_for_no_other_draws(run):
    """Of a draw of gigabytes, by its description, before one is drawn."""
    shutil.rmtree(run / "checkpoints")
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text())
    described["shape"][2:] = [2**15, 2**15]
    described["chunk_grid"]["configuration"]["chunk_shape"][2:] = [2**15, 2**15]
    path.write_text(json.dumps(described))
    tracemalloc.start()
    try:
        with pytest.raises(pt.TraceError, match=r"phi/zarr\.json: draws are lost or damaged \(it describes something"):
            pt.resume(run, draws=5, progress=False)
        assert tracemalloc.get_traced_memory()[1] < 2**30
    finally:
        tracemalloc.stop()


def test_variables_that_no_model_has(run):
    (path,) = sorted((run / "checkpoints").rglob("*.ckpt"))[-1:]
    held = read_checkpoint(path)
    about = {**held.about, "names": [*held.about["names"], "posterior/evil"]}
    write_checkpoint(path.parent, int(path.stem), about, held.arrays)
    shutil.copytree(run / "draws.zarr" / "posterior" / "phi", run / "draws.zarr" / "posterior" / "evil")
    with pytest.raises(
        pt.TraceError, match=r"evil/zarr\.json: draws are lost or damaged \(it describes something else"
    ):
        pt.resume(run, draws=5, progress=False)


def test_many_checkpoints(run):
    """As many as somebody puts there are not all tried."""
    folder = run / "checkpoints" / "chain-0"
    for number in range(2_000):
        (folder / f"{number + 100:012}.ckpt").write_bytes(b"x")
    with pytest.warns(pt.RunWarning) as warned, pytest.raises(pt.TraceError, match="no checkpoint of chain 0"):
        pt.load_fit(run)
    assert len(warned) == 8


def test_room_for_more_draws_stays(run):
    """Zarr would look for every chunk that the description of a shrinking array promises."""
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text())
    described["shape"][1] = 2**40
    path.write_text(json.dumps(described))
    assert pt.resume(run, draws=6, progress=False).posterior["phi"].sizes["draw"] == 6


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo])
def test_run_folders_lead_nowhere(tmp_path, make):
    (tmp_path / "draws.zarr" / "posterior").mkdir(parents=True)
    refuse_links(tmp_path)
    path = tmp_path / "draws.zarr" / "posterior" / "zarr.json"
    make(path)
    with pytest.raises(pt.TraceError, match=r"zarr\.json: a link, a pipe or a device"):
        refuse_links(tmp_path)


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
    """Whoever may not read a file would be told to remove the run, or to start it again."""
    opened = Path.open

    def refuse(path, *args, **options):
        if path.as_posix().endswith(part):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(pt.TraceError, match=r"posterior/phi.*: cannot be read \(Permission denied\)$"):
        read(run)
