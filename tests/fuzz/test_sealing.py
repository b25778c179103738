"""What the fuzzer changes and seals is read as if a run had written it, or all its cases would be refused alike."""

import json

import numpy as np
import pytest
from sealing import content_of_chunk, seal_corpus, seal_manifest, sealed_chunk
from trace_reading import small_corpus

import ppl_topics as pt
from ppl_topics.results.run_folder.manifest import read_manifest


@pytest.fixture
def run(tmp_path):
    pt.sample("lda", small_corpus("lda"), topics=2, draws=3, warmup=1, seed=1, progress=False, out=tmp_path / "run")
    return tmp_path / "run"


def test_manifests(run):
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "seed": 7}))
    with pytest.raises(pt.TraceError, match="its digest differs"):
        read_manifest(run)
    seal_manifest(run)
    assert read_manifest(run).seed == 7


def test_models(run):
    model = run / "model.yaml"
    model.write_text(model.read_text().replace("0.01", "0.02"))
    with pytest.raises(pt.TraceError, match=r"model\.yaml: has changed"):
        pt.resume(run, draws=5, progress=False)
    seal_manifest(run)
    assert pt.resume(run, draws=5, progress=False).posterior.sizes["draw"] == 5


def test_corpora(run):
    words = run / "corpus" / "words.npy"
    held = np.load(words)
    held[0] = held[1]
    np.save(words, held)
    with pytest.raises(pt.TraceError, match=r"words\.npy has changed since it was saved"):
        pt.resume(run, draws=5, progress=False)
    seal_corpus(run / "corpus")
    seal_manifest(run)
    assert pt.resume(run, draws=5, progress=False).posterior.sizes["draw"] == 5


def test_links_are_not_read(run):
    (run / "run.json").unlink()
    (run / "run.json").symlink_to("/dev/zero")
    seal_manifest(run)
    assert (run / "run.json").is_symlink()


def test_chunks(run):
    path = run / "draws.zarr" / "posterior" / "theta" / "c" / "0" / "0" / "0" / "0"
    before = pt.load_fit(run).posterior["theta"].values
    content = content_of_chunk(path.read_bytes())
    assert len(content) == before[:1].nbytes
    path.write_bytes(sealed_chunk(bytes(4) + content[4:]))
    after = pt.load_fit(run).posterior["theta"].values
    assert after[0, 0, 0, 0] == 0.0 != before[0, 0, 0, 0]
    assert (after == before).sum() == before.size - 1
    path.write_bytes(sealed_chunk(content, times=2))
    with pytest.raises(pt.TraceError, match="belong to it"):
        pt.load_fit(run).posterior["theta"].load()
    assert content_of_chunk(b"no chunk") == b"no chunk"
