"""Run folders made to do harm: what the fuzzer of tests/fuzz found in them."""

import errno
import functools
import gc
import json
import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import zarr
import zstandard
from hostile_runs import CORPUS, OPTIONS
from sealing import checked

import ppl_topics as pt
from ppl_topics._util.files import refuse_links
from ppl_topics.results.run_folder.checkpoint import DIGEST, MAGIC, read_checkpoint, write_checkpoint
from ppl_topics.results.run_folder.checkpoint import digest_of as checksum_of
from ppl_topics.results.run_folder.chunks import codecs
from ppl_topics.results.run_folder.manifest import digest_of, read_manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run of one chain, of four draws, and one of six of which the last two stand in a second chunk."""
    folder = tmp_path_factory.mktemp("runs")
    pt.sample("lda", CORPUS, **{**OPTIONS, "chains": 1}, out=folder / "four")
    pt.resume(shutil.copytree(folder / "four", folder / "six"), draws=6, progress=False)
    return folder


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made / "four", tmp_path / "run")


@pytest.fixture
def longer(made, tmp_path):
    return shutil.copytree(made / "six", tmp_path / "run")


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m"])
def test_names_that_are_no_words(run, name):
    (run / "draws.zarr" / name).mkdir()
    with pytest.raises(pt.TraceError, match=r"holds '.*', which no run writes") as caught:
        pt.load_fit(run)
    assert str(caught.value).isprintable()


def test_folders_in_folders(run):
    place = run / "draws.zarr"
    for _ in range(30):
        place = place / "x"
        place.mkdir()
    for read in (pt.load_fit, lambda path: pt.resume(path, progress=False)):
        with pytest.raises(pt.TraceError, match="holds folders in folders, over 20 deep"):
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
    """Zarr would look for each chunk of an array that shrinks, as far as its description says."""
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text())
    described["shape"][1] = 2**40
    path.write_text(json.dumps(described))
    assert pt.resume(run, draws=6, progress=False).posterior["phi"].sizes["draw"] == 6


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


@functools.cache
def compressed(*parts, sized=True):
    """Return the bytes of a chunk: parts of what it expands to, each a number of times."""
    size = sum(len(part) * times for part, times in parts)
    making = zstandard.ZstdCompressor(write_content_size=sized).compressobj(**({"size": size} if sized else {}))
    return b"".join(making.compress(part) for part, times in parts for _ in range(times)) + making.flush()


@pytest.mark.parametrize("count", [0, 4, 6, 2**31, 2**32 - 1])
def test_a_chunk_of_text_that_says_it_holds_billions(run, count):
    """There are five words."""
    path = run / "draws.zarr" / "posterior" / "word" / "c" / "0"
    path.write_bytes(checked(compressed((count.to_bytes(4, "little"), 1), (bytes(4), 5))))
    with pytest.raises(pt.TraceError, match=rf"word: a chunk cannot be read \(it holds {count:,} texts of 5\)"):
        pt.load_fit(run)


GIGABYTE = (bytes(2**20), 2**10)

# A gigabyte takes a quarter of a second, which only the tests that need it should take.
NO_CHUNKS = {
    "of a gigabyte": (lambda: compressed(GIGABYTE), r"its .* bytes expand to 1,073,741,824|it holds 0 texts of 5"),
    "that say no size": (lambda: compressed(GIGABYTE, sized=False), "it does not state its expanded size"),
    "of two frames": (
        lambda: compressed((bytes(160), 1)) + compressed(GIGABYTE),
        "it has .* bytes, but .* belong to it",
    ),
    "that are cut off": (lambda: compressed((bytes(160), 1))[:-2], "it has .* bytes, but .* belong to it"),
    "without blocks": (lambda: compressed((bytes(160), 1))[:6], "it is cut off|belong to it"),
    "of something else": (lambda: b"no Zstandard at all", "it is not compressed"),
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
def test_chunks_that_are_none(longer, kind, name, read):
    """Each has the checksum that it should have, and no memory is taken for what it would expand to."""
    make, message = NO_CHUNKS[kind]
    place = longer / "draws.zarr" / "posterior" / name / "c"
    (place / ("0/1/0/0" if name == "phi" else "0")).write_bytes(checked(make()))
    tracemalloc.start()
    try:
        with pytest.raises(pt.TraceError, match=rf"posterior/{name}.* \(({message})"):
            read(longer)
        assert tracemalloc.get_traced_memory()[1] < 2**29
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("chunks", [1, 300])
def test_text_of_gigabytes(run, chunks):
    """In one chunk or in many, each of which would be let through alone."""
    place = run / "draws.zarr" / "posterior" / "doc"
    described = json.loads((place / "zarr.json").read_text())
    described["shape"] = [5 * chunks]
    (place / "zarr.json").write_text(json.dumps(described))
    texts = compressed(((5).to_bytes(4, "little"), 1), (bytes(2**20), 1024 // chunks))
    for number in range(chunks):
        (place / "c" / str(number)).write_bytes(checked(texts))
    with pytest.raises(pt.TraceError, match=r"posterior: claims that its .* bytes hold [\d,]{11,} besides draws"):
        pt.load_fit(run)


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
        None,
    ],
)
def test_codecs_of_others(run, change):
    """What a run does not write is not read: there are many codecs, and chunks may have other names."""
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text())
    if change is None:
        described["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": "."}}
    else:
        described["codecs"] = change(described["codecs"])
    path.write_text(json.dumps(described))
    with pytest.raises(pt.TraceError, match="phi: is not chunked and compressed the way a run does it"):
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
    with pytest.raises(pt.TraceError, match=r"observed_data/words: claims to be larger than any array can be"):
        pt.load_fit(run)


def test_constants_that_expand_to_gigabytes(run):
    """Each chunk is what the metadata say: a gigabyte of zeros, which is read at once."""
    place = run / "draws.zarr" / "constant_data" / "cells"
    zarr.create_array(
        place, shape=(2**27,), chunks=(2**27,), dtype="f8", compressors=codecs(0), dimension_names=("cell",)
    )
    (place / "c").mkdir()
    (place / "c" / "0").write_bytes(checked(compressed(GIGABYTE)))
    with pytest.raises(pt.TraceError, match=r"constant_data: claims that its .* bytes hold 1,073,7.* besides draws"):
        pt.load_fit(run)


def test_other_names_of_chunks(run):
    """Zarr takes 00 for no chunk, and would give what is missing as not a number."""
    place = run / "draws.zarr" / "sample_stats" / "lp" / "c" / "0"
    (place / "0").rename(place / "00")
    with pytest.raises(pt.TraceError, match="lp: 1 of its 1 chunks are missing"):
        pt.load_fit(run)


def test_arrays_of_many_dims(run):
    """The files of one are looked for in folders in folders."""
    place = run / "draws.zarr" / "constant_data" / "alpha"
    described = json.loads((place / "zarr.json").read_text())
    described["shape"] = [1] * 1_500
    described["chunk_grid"]["configuration"]["chunk_shape"] = [1] * 1_500
    described["dimension_names"] = [f"d{number}" for number in range(1_500)]
    (place / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(pt.TraceError, match="alpha: claims 1,500 dims"):
        pt.load_fit(run)


def test_chunks_of_nothing(run):
    path = run / "draws.zarr" / "posterior" / "theta" / "zarr.json"
    described = json.loads(path.read_text())
    described["chunk_grid"]["configuration"]["chunk_shape"][2] = 0
    path.write_text(json.dumps(described))
    with pytest.raises(pt.TraceError, match="theta: has a chunk length of 0"):
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
