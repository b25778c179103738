"""Run folders: stopped, damaged, changed, shared; what is resumed and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import zarr
from folder_runs import OPTIONS, flip, load_all, made_corpus, made_run, same
from zarr.codecs import Crc32cCodec, ZstdCodec

import ppl_topics as pt
from ppl_topics.core.keys import STREAMS
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.results.run_folder.checkpoint import checkpoints
from ppl_topics.results.run_folder.draws import COMPRESSION
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.lazy import lazy_group
from ppl_topics.results.run_folder.lock import OWNER, locked
from ppl_topics.results.run_folder.manifest import read_manifest


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


def test_a_folder_holds_the_trace_of_a_file(whole, made, tmp_path):
    fit = pt.load_fit(made)
    same(whole, fit)
    left_out = ("created_at", "threads")
    keep = lambda attrs: {name: value for name, value in attrs.items() if name not in left_out}  # noqa: E731
    assert keep(fit.posterior.attrs) == keep(whole.posterior.attrs)
    assert list(fit.posterior.data_vars) == list(whole.posterior.data_vars)
    fit.save(tmp_path / "x.nc")
    same(whole, pt.load_fit(tmp_path / "x.nc"))


def test_what_is_in_a_folder(made):
    assert {p.name for p in made.iterdir()} >= {
        "run.json", "model.yaml", "corpus", "draws.zarr", "checkpoints", "log.txt"
    }  # fmt: skip
    assert [p.name for p in checkpoints(made / "checkpoints" / "chain-1")] == ["000000000015.ckpt", "000000000014.ckpt"]
    assert not list(made.rglob("*.part"))
    log = (made / "log.txt").read_text()
    assert "started: 2 chains, 3 sweeps of warmup, 12 draws" in log
    assert "finished: all draws are made" in log
    assert pt.load_spec(made / "model.yaml").topics == 3


def test_a_file_is_written_too(corpus, whole, tmp_path):
    pt.sample("lda", corpus, draws=12, out=tmp_path / "x.nc", **OPTIONS)
    same(whole, pt.load_fit(tmp_path / "x.nc"))
    with pytest.raises(pt.TraceError, match=r"x\.nc: an existing result"):
        pt.sample("lda", corpus, draws=12, out=tmp_path / "x.nc", **OPTIONS)
    with pytest.raises(pt.PplTopicsError, match=r"checkpoint_sweeps: only a run with a folder has checkpoints"):
        pt.sample("lda", corpus, draws=12, out=tmp_path / "y.nc", checkpoint_sweeps=3, **OPTIONS)


def test_more_draws(corpus, run):
    longer = pt.sample("lda", corpus, draws=20, **OPTIONS)
    same(longer, pt.resume(run, draws="+8", progress=False))
    same(longer, pt.resume(run, draws=20, progress=False))
    with pytest.raises(pt.PplTopicsError, match=r"draws: the run was asked for 20 draws a chain"):
        pt.resume(run, draws=5, progress=False)
    with pytest.raises(pt.PplTopicsError, match=r"draws: must be a whole number, or \+N for N more"):
        pt.resume(run, draws="many", progress=False)


@pytest.fixture
def interrupting(corpus):
    """Run LDA in a folder with one more kernel of phi, which is sent a signal in a sweep of chain 1."""

    def interrupted(path, sweep, number, **options):
        def step(state, memory, key):
            if (key.chain, key.sweep) == (1, sweep) and not (path / "stopped").exists():
                (path.parent / f"{path.name}-stopped").touch()
                os.kill(os.getpid(), number)

        @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
        def build(binding):
            return pt.KernelFunctions(step)

        schedule = pt.cycle(
            pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
        )
        return pt.sample("lda", corpus, schedule=schedule, draws=12, out=path, **{**OPTIONS, **options})

    yield interrupted
    unregister_kernel("planted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_goes_on(interrupting, corpus, number, tmp_path):
    before = signal.getsignal(number)
    fit = interrupting(tmp_path / "a", 9, number)
    assert signal.getsignal(number) is before
    assert fit.posterior.attrs["stopped"] == 1
    assert fit.posterior.sizes["draw"] == 7
    assert "stopped after 10 of 15 sweeps" in (tmp_path / "a" / "log.txt").read_text()
    resumed = pt.resume(tmp_path / "a", progress=False)
    assert resumed.posterior.attrs["stopped"] == 0
    schedule = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"))
    again = pt.sample("lda", corpus, schedule=schedule, draws=12, **OPTIONS)
    np.testing.assert_array_equal(again.posterior["phi"], resumed.posterior["phi"])


def test_a_run_stopped_in_warmup_goes_on(interrupting, tmp_path):
    with pytest.raises(pt.RunError, match=r"stopped after 2 sweeps, before the first draw; `ppl-topics resume "):
        interrupting(tmp_path / "a", 1, signal.SIGTERM)
    with pytest.raises(pt.TraceError, match=r"no draw yet: 2 of 3 sweeps of warmup are done"):
        pt.load_fit(tmp_path / "a")
    assert pt.resume(tmp_path / "a", progress=False).posterior.sizes["draw"] == 12


def test_a_run_that_grows_while_it_is_read(run, monkeypatch):
    """The manifest that was read before knows of fewer draws than the checkpoints."""
    before = read_manifest(run)
    grown = pt.resume(run, draws=15, progress=False)
    opened = iter([RunFolder(run, before)])
    monkeypatch.setattr(RunFolder, "opened", lambda path: next(opened, None) or RunFolder(path, read_manifest(path)))
    same(grown, pt.load_fit(run))


def test_names_and_covariates_that_compress_well(tmp_path):
    """Thousands of addresses that begin alike, and as many columns of zeros as a trace holds."""
    texts = [["red", "green"]] * 3_160
    ids = [f"https://{'archive/' * 150}{number}" for number in range(len(texts))]
    years = pd.DataFrame({"year": pd.Categorical([str(number) for number in range(len(texts))])})
    corpus = pt.Corpus.from_tokens(texts, doc_ids=ids, covariates=years)
    options = {"topics": 2, "draws": 1, "warmup": 0, "seed": 1, "progress": False}
    with pytest.warns(pt.CovariateWarning, match="model 'lda' does not use covariate 'year' of the corpus"):
        constants = pt.sample("lda", corpus, out=tmp_path / "a", **options).groups["constant_data"]
    assert constants["covariates"].size > 9_900_000
    assert float(constants["covariates"].sum()) == len(texts)
    assert constants["doc"].values.tolist() == ids


def test_what_is_refused(run, corpus, monkeypatch):
    other = pt.Corpus.from_tokens([["w1", "w2"]])
    with pytest.raises(pt.TraceError, match=r"the corpus has changed since the run .* started: 1 documents, 2 tokens"):
        pt.resume(run, corpus=other, progress=False)
    same(pt.load_fit(run), pt.resume(run, corpus=corpus, progress=False))
    monkeypatch.setattr("ppl_topics.results.run_folder.folder.STREAMS", 99)
    with pytest.raises(pt.TraceError, match=rf"whose random streams have version {STREAMS}; this one has version 99"):
        pt.resume(run, progress=False)
    monkeypatch.undo()
    model = run / "model.yaml"
    model.write_text(model.read_text().replace("topics: 3", "topics: 4"))
    with pytest.raises(pt.TraceError, match=r"model\.yaml: has changed since the run started"):
        pt.resume(run, progress=False)


def test_a_changed_copy_of_the_corpus(run):
    words = run / "corpus" / "words.npy"
    flip(words, -1)
    with pytest.raises(pt.TraceError, match=r"the run's copy of the corpus cannot be read: .*words\.npy has changed"):
        pt.resume(run, progress=False)


def test_another_schedule(run):
    manifest = read_manifest(run)
    plan = manifest.plan.replace("collapsed_gibbs", "sparse_collapsed")
    manifest.model_copy(update={"plan": plan}).write(run)
    changed = r"'  z: sparse_collapsed' is now '  z: collapsed_gibbs'\. Resume with the version that started the run$"
    with pytest.raises(pt.TraceError, match=rf"schedule of the model has changed since .* changed: {changed}"):
        pt.resume(run, progress=False)
    manifest.model_copy(update={"plan": "x" * 10_000 + "\n\x1b[31m" * 9}).write(run)
    with pytest.raises(pt.TraceError, match=f"changed: '{'x' * 120}' is now 'model lda .*'") as caught:
        pt.resume(run, progress=False)
    assert str(caught.value).isprintable()


def test_other_versions_warn(run):
    manifest = read_manifest(run)
    manifest.model_copy(update={"software": {**manifest.software, "numba": "0.0"}}).write(run)
    with pytest.warns(pt.RunWarning, match=r"started with numba 0\.0, now .*last bits may differ"):
        pt.resume(run, progress=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("seed"), "seed: Field required"),
        (lambda m: m.update(draws="many"), "draws: Input should be a valid integer"),
        (lambda m: m.update(version=2), "version: Input should be 1"),
        (lambda m: m.update(more=1), "more: Extra inputs are not permitted"),
        (lambda m: m.update({"mo\nre": 1}), r"mo\\nre: Extra inputs are not permitted"),
        (lambda m: m["software"].update(numba="0.1\n"), "software.numba: String should match"),
        (lambda m: m.update(draws=10**30), "draws: "),
        (lambda m: m.update(seed=4), r"run\.json: is not what the run wrote .*put that back\. Start the run again"),
        (lambda m: m.pop("digest"), "is not what the run wrote"),
    ],
)
@pytest.mark.parametrize("read", [pt.load_fit, lambda path: pt.resume(path, progress=False)])
def test_a_changed_manifest(run, change, message, read):
    manifest = json.loads((run / "run.json").read_text())
    change(manifest)
    (run / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(pt.TraceError, match=message):
        read(run)


@pytest.mark.parametrize("array", ["observed_data/words", "constant_data/alpha", "posterior/word"])
def test_a_changed_bit_in_what_no_chain_writes(run, array):
    """Data, constants and names have checksums as draws do."""
    flip(run / "draws.zarr" / array / "c" / "0", -9)
    with pytest.raises(pt.TraceError, match=rf"{array}: a chunk cannot be read .*Start the run again with"):
        load_all(run)


@pytest.mark.parametrize("array", ["observed_data/words", "posterior/word"])
def test_a_lost_description_of_what_no_chain_writes(run, array):
    (run / "draws.zarr" / array / "zarr.json").unlink()
    with pytest.raises(pt.TraceError, match=rf"{array}/zarr\.json: this array is missing\. Start the run again"):
        load_all(run)


def test_folders_that_are_no_runs(corpus, run, tmp_path):
    with pytest.raises(pt.TraceError, match="no such folder"):
        pt.resume(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    with pytest.raises(pt.TraceError, match=r"not the folder of a run: it has no run\.json"):
        pt.resume(tmp_path / "other")
    with pytest.raises(pt.TraceError, match=r"other: no run in this folder: it has neither run\.json"):
        pt.load_fit(tmp_path / "other")
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(pt.TraceError, match=r"holds 'thesis\.tex', which is not part of a run"):
        pt.sample("lda", corpus, draws=2, out=tmp_path / "other", overwrite=True, **OPTIONS)
    with pytest.raises(pt.TraceError, match="a run exists here"):
        pt.sample("lda", corpus, draws=2, out=run, **OPTIONS)
    fit = pt.sample("lda", corpus, draws=2, out=run, overwrite=True, **OPTIONS)
    assert fit.posterior.sizes["draw"] == 2


@pytest.mark.parametrize("attributes", ["of text", ["a", "list"], 3, {"fine": "text"}])
def test_attributes_that_are_none(run, attributes):
    path = run / "draws.zarr" / "posterior" / "phi" / "zarr.json"
    described = json.loads(path.read_text()) | {"attributes": attributes}
    path.write_text(json.dumps(described))
    if isinstance(attributes, dict):
        assert pt.load_fit(run).posterior["phi"].attrs == attributes
    else:
        with pytest.raises(pt.TraceError, match=r"phi: its attributes cannot be read|cannot be read"):
            pt.load_fit(run)


def test_a_second_process_is_refused(run):
    code = "import sys, ppl_topics as pt\npt.resume(sys.argv[1], progress=False)"
    with locked(run):
        result = subprocess.run([sys.executable, "-c", code, run], capture_output=True, text=True, check=False)
    assert f"RunError: {run}: another process is writing to it (process {os.getpid()} on" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        "1" * 5_000,
        '{"process": 1e999, "host": 1, "since": 2}',
        '{"process": null}',
        "\ud800",
    ],
)
def test_an_owner_that_is_damaged_is_not_named(tmp_path, text):
    (tmp_path / OWNER).write_text(text, errors="surrogatepass")
    with locked(tmp_path):
        (tmp_path / OWNER).write_text(text, errors="surrogatepass")
        with pytest.raises(pt.RunError, match=r"another process is writing to it; wait"), locked(tmp_path):
            pass


def test_processes(corpus, tmp_path):
    options = {**OPTIONS, "chains": 3}
    one = pt.sample("lda", corpus, draws=4, **options)
    pt.sample("lda", corpus, draws=2, out=tmp_path / "a", processes=2, **options)
    same(one, pt.resume(tmp_path / "a", draws=4, processes=1, progress=False))


def test_draws_that_are_all_equal_are_read(tmp_path):
    """They take so little room that a file which lies about its size might be thought of."""
    codecs = [ZstdCodec(level=COMPRESSION), Crc32cCodec()]
    group = zarr.create_group(tmp_path / "posterior", zarr_format=3)
    options = {"chunks": (1, 1, 2**24), "dtype": "u1", "compressors": codecs, "dimension_names": ("chain", "draw", "x")}
    array = group.create_array("included", shape=(1, 1, 2**24), fill_value=0, **options)
    array[:] = 1
    (chunk,) = [path for path in (tmp_path / "posterior" / "included" / "c").rglob("*") if path.is_file()]
    assert chunk.stat().st_size < 2**24 / 25_000
    assert lazy_group(tmp_path, "posterior", 1)["included"].values.all()
