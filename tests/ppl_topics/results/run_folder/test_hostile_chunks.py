"""Arrays, chunks and codecs of run folders made to do harm: what the fuzzer of tests/fuzz found in them."""

import functools
import json
import tracemalloc

import pytest
import zarr
import zstandard
from sealing import checked

import ppl_topics as pt
from ppl_topics.results.run_folder.checkpoint import read_checkpoint, write_checkpoint
from ppl_topics.results.run_folder.chunks import codecs


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
    """Draws are read again a chunk at a time, or started again if the checkpoints count none."""
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
