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
from folder_runs import OPTIONS, load_all, made_corpus, same
from zarr.codecs import Crc32cCodec, ZstdCodec

import ppl_topics as pt
from ppl_topics.registry import unregister_kernel
from ppl_topics.run.keeping import ChainKeeper, Keeping
from ppl_topics.storage import checkpoint as checkpoints_module
from ppl_topics.storage.checkpoint import checkpoints, read_checkpoint, write_checkpoint
from ppl_topics.storage.draws import COMPRESSION, Place
from ppl_topics.storage.folder import RunFolder
from ppl_topics.storage.lazy import lazy_group
from ppl_topics.storage.lock import OWNER, locked
from ppl_topics.storage.manifest import Manifest, read_manifest


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


@pytest.fixture(scope="module")
def whole(corpus):
    return pt.sample("lda", corpus, draws=12, **OPTIONS)


@pytest.fixture(scope="module")
def made(corpus, tmp_path_factory):
    """A run of 12 draws in a folder, with a checkpoint after 14 sweeps and one at the end."""
    path = tmp_path_factory.mktemp("runs") / "a"
    pt.sample("lda", corpus, draws=12, out=path, checkpoint_sweeps=7, **OPTIONS)
    return path


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "a")


def newest(run, chain=0):
    return checkpoints(run / "checkpoints" / f"chain-{chain}")[0]


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
    assert "begun: 2 chains, 3 sweeps of warmup, 12 draws" in log
    assert "ended: all draws are made" in log
    assert pt.load_spec(made / "model.yaml").topics == 3


def test_a_file_is_written_too(corpus, whole, tmp_path):
    pt.sample("lda", corpus, draws=12, out=tmp_path / "x.nc", **OPTIONS)
    same(whole, pt.load_fit(tmp_path / "x.nc"))
    with pytest.raises(pt.TraceError, match=r"x\.nc: a run stands there already"):
        pt.sample("lda", corpus, draws=12, out=tmp_path / "x.nc", **OPTIONS)
    with pytest.raises(pt.PplTopicsError, match=r"checkpoint_sweeps: only a run with a folder has checkpoints"):
        pt.sample("lda", corpus, draws=12, out=tmp_path / "y.nc", checkpoint_sweeps=3, **OPTIONS)


def test_more_draws(corpus, run):
    longer = pt.sample("lda", corpus, draws=20, **OPTIONS)
    same(longer, pt.resume(run, draws="+8", progress=False))
    same(longer, pt.resume(run, draws=20, progress=False))
    with pytest.raises(pt.PplTopicsError, match=r"draws: the run was asked for 20 draws a chain"):
        pt.resume(run, draws=5, progress=False)
    with pytest.raises(pt.PplTopicsError, match="draws: must be a whole number, or one after a"):
        pt.resume(run, draws="many", progress=False)


@pytest.fixture
def interrupting(corpus):
    """Run LDA in a folder with one more kernel of phi, which is sent a signal in a sweep of chain 1."""

    def interrupted(path, sweep, number, **options):
        def step(state, memory, key):
            if (key.chain, key.step) == (1, sweep) and not (path / "stopped").exists():
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


def flip(path, place=-200):
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(bytes(data))


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("damage", [flip, cut, lambda path: path.write_bytes(b""), lambda path: flip(path, 20)])
def test_a_damaged_checkpoint(damage, run, corpus):
    """The one before it is taken, and the draws are the same."""
    damage(newest(run))
    with pytest.warns(pt.RunWarning, match=r"000000000015\.ckpt: the checkpoint is damaged or cut short"):
        fit = pt.load_fit(run)
    assert fit.posterior.sizes["draw"] == 11
    with pytest.warns(pt.RunWarning) as warned:
        resumed = pt.resume(run, draws=14, progress=False)
    assert [str(w.message) for w in warned][1] == "chain 0 goes on from the one before, 000000000014.ckpt"
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
    assert [str(w.message) for w in warned][-1] == "chain 0 begins anew, with the same draws"


def test_a_checkpoint_of_another_run(run, corpus, tmp_path):
    pt.sample("lda", corpus, draws=12, out=tmp_path / "b", **{**OPTIONS, "seed": 4})
    shutil.copy(newest(tmp_path / "b"), newest(run))
    with pytest.warns(pt.RunWarning, match="the checkpoint is of another run"):
        assert pt.load_fit(run).posterior.sizes["draw"] == 11


def resumed_from_the_one_before(run, whole, message):
    with pytest.warns(pt.RunWarning) as warned:
        same(whole, pt.resume(run, progress=False))
    # The chain says so when it is restored; what remains there is told of again where the run is read.
    problem, what = (str(warning.message) for warning in warned[:2])
    assert message in problem
    assert what.startswith("chain 0 goes on from the one before")


def test_a_checkpoint_of_another_chain(run, whole):
    """It would go on from there with the random numbers of this chain."""
    shutil.copy(newest(run, 1), newest(run, 0))
    resumed_from_the_one_before(run, whole, "the checkpoint is of another chain")


@pytest.mark.parametrize(
    ("name", "value"), [("sweep", 0), ("draws", 11), ("draws", 13), ("warmup", 0), ("warmup", True), ("draws", "12")]
)
def test_a_checkpoint_that_counts_wrong(run, whole, name, value):
    """Whoever writes one writes a checksum that fits."""
    path = newest(run)
    held = read_checkpoint(path)
    write_checkpoint(path.parent, int(path.stem), {**held.about, name: value}, held.arrays)
    resumed_from_the_one_before(run, whole, f"the checkpoint does not say how far it is ({name} is not ")


def test_a_checkpoint_beyond_the_run(run, whole):
    path = newest(run)
    held = read_checkpoint(path)
    beyond = {**held.about, "sweep": 99, "draws": 99 - held.about["warmup"]}
    write_checkpoint(path.parent, 99, beyond, held.arrays)
    resumed_from_the_one_before(run, whole, "the checkpoint is of sweep 99, and the run has")


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
    constants = pt.sample("lda", corpus, out=tmp_path / "a", **options).groups["constant_data"]
    assert constants["covariates"].size > 9_900_000
    assert float(constants["covariates"].sum()) == len(texts)
    assert constants["doc"].values.tolist() == ids


def test_what_is_refused(run, corpus, monkeypatch):
    other = pt.Corpus.from_tokens([["w1", "w2"]])
    with pytest.raises(pt.TraceError, match=r"the corpus has changed since the run .* began: 1 documents, 2 tokens"):
        pt.resume(run, corpus=other, progress=False)
    same(pt.load_fit(run), pt.resume(run, corpus=corpus, progress=False))
    monkeypatch.setattr("ppl_topics.storage.folder.STREAMS", 99)
    with pytest.raises(pt.TraceError, match=r"whose random streams are of version 1; this one has version 99"):
        pt.resume(run, progress=False)
    monkeypatch.undo()
    model = run / "model.yaml"
    model.write_text(model.read_text().replace("topics: 3", "topics: 4"))
    with pytest.raises(pt.TraceError, match=r"model\.yaml: has changed since the run began"):
        pt.resume(run, progress=False)


def test_a_changed_copy_of_the_corpus(run):
    words = run / "corpus" / "words.npy"
    flip(words, -1)
    with pytest.raises(pt.TraceError, match=r"the run's copy of its corpus cannot be read: .*words\.npy has changed"):
        pt.resume(run, progress=False)


def test_another_schedule(run):
    manifest = read_manifest(run)
    plan = manifest.plan.replace("collapsed_gibbs", "sparse_collapsed")
    manifest.model_copy(update={"plan": plan}).write(run)
    changed = r"'  z: sparse_collapsed' is '  z: collapsed_gibbs' now\. Resume with the version that began the run$"
    with pytest.raises(pt.TraceError, match=rf"another schedule than when the run began, .* changed: {changed}"):
        pt.resume(run, progress=False)
    manifest.model_copy(update={"plan": "x" * 10_000 + "\n\x1b[31m" * 9}).write(run)
    with pytest.raises(pt.TraceError, match=f"changed: '{'x' * 120}' is 'model lda .*' now") as caught:
        pt.resume(run, progress=False)
    assert str(caught.value).isprintable()


def test_other_versions_warn(run):
    manifest = read_manifest(run)
    manifest.model_copy(update={"software": {**manifest.software, "numba": "0.0"}}).write(run)
    with pytest.warns(pt.RunWarning, match=r"begun with numba 0\.0, now .*last bits may differ"):
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
        (lambda m: m.update(seed=4), r"run\.json: is not what the run wrote .*put that back\. Begin the run anew"),
        (lambda m: m.pop("digest"), "is not what the run wrote"),
    ],
)
def test_a_changed_manifest(run, change, message):
    manifest = json.loads((run / "run.json").read_text())
    change(manifest)
    (run / "run.json").write_text(json.dumps(manifest))
    for read in (pt.load_fit, lambda path: pt.resume(path, progress=False)):
        with pytest.raises(pt.TraceError, match=message):
            read(run)


@pytest.mark.parametrize("array", ["observed_data/words", "constant_data/alpha", "posterior/word"])
def test_a_changed_bit_in_what_no_chain_writes(run, array):
    """Data, constants and names have checksums as draws do."""
    flip(run / "draws.zarr" / array / "c" / "0", -9)
    with pytest.raises(pt.TraceError, match=rf"{array}: a chunk cannot be read .*Begin the run anew with"):
        load_all(run)


@pytest.mark.parametrize("array", ["observed_data/words", "posterior/word"])
def test_a_lost_description_of_what_no_chain_writes(run, array):
    (run / "draws.zarr" / array / "zarr.json").unlink()
    with pytest.raises(
        pt.TraceError, match=rf"{array}/zarr\.json: there is no such array any more\. Begin the run anew"
    ):
        load_all(run)


def test_folders_that_are_no_runs(corpus, run, tmp_path):
    with pytest.raises(pt.TraceError, match="no such folder"):
        pt.resume(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    with pytest.raises(pt.TraceError, match=r"not the folder of a run: it has no run\.json"):
        pt.resume(tmp_path / "other")
    with pytest.raises(pt.TraceError, match=r"other: holds no run: neither run\.json"):
        pt.load_fit(tmp_path / "other")
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(pt.RunError, match=r"holds 'thesis\.tex', which is no part of a run"):
        pt.sample("lda", corpus, draws=2, out=tmp_path / "other", overwrite=True, **OPTIONS)
    with pytest.raises(pt.RunError, match="a run stands there already"):
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
        with pytest.raises(pt.TraceError, match=r"phi: its attributes are none|cannot be read"):
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


def test_a_failing_kernel_names_the_checkpoint(corpus, tmp_path):
    @pt.kernel("planted", updates="phi", reads=("z", "beta"), handles=("dirichlet", "words"), exact=True)
    def build(binding):
        def step(state, memory, key):
            if key.step == 8:
                raise ZeroDivisionError("by nothing")

        return pt.KernelFunctions(step)

    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("phi", "planted")
    )
    try:
        with pytest.raises(
            pt.RunError,
            match=r"sweep 8, chain 0\) failed.*; the checkpoint before it is .*000000000006.ckpt \(sweep 6\)",
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
            with pytest.raises(pt.RunError, match="'planted' has a memory between steps, and does not say"):
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


def test_processes(corpus, tmp_path):
    options = {**OPTIONS, "chains": 3}
    one = pt.sample("lda", corpus, draws=4, **options)
    pt.sample("lda", corpus, draws=2, out=tmp_path / "a", processes=2, **options)
    same(one, pt.resume(tmp_path / "a", draws=4, processes=1, progress=False))


def test_when_checkpoints_are_due(monkeypatch, tmp_path):
    place = Place(tmp_path, 0, None, 1, 1, 10, 10, {}, 1)
    now = [1000.0]
    monkeypatch.setattr("ppl_topics.run.keeping.time.monotonic", lambda: now[0])

    def keeper(sweeps=None, minutes=None, cost=0.0, together=1):
        keeping = Keeping(place, Manifest.model_construct(checkpoint_sweeps=sweeps, checkpoint_minutes=minutes))
        return ChainKeeper(keeping, 0, together, tmp_path, place, sweep=10, since=1000.0, cost=cost)

    assert not keeper(sweeps=5).due(14)
    assert keeper(sweeps=5).due(15)
    for seconds, default, costly, asked in [
        (59, False, False, False),
        (61, True, False, False),
        (130, True, True, True),
    ]:
        now[0] = 1000.0 + seconds
        assert keeper().due(11) == default
        assert keeper(cost=1.2).due(11) == costly
        assert keeper(cost=0.4, together=3).due(11) == costly
        assert keeper(minutes=2.0, cost=50.0).due(11) == asked
        assert not keeper(sweeps=5).due(11)


@pytest.mark.parametrize(("speed", "kept"), [(1.0, 1), (np.inf, 2)])
def test_first_checkpoint_waits_for_what_it_is_thought_to_cost(corpus, monkeypatch, tmp_path, speed, kept):
    monkeypatch.setattr("ppl_topics.run.keeping.EVERY_MINUTES", 0.0)
    monkeypatch.setattr("ppl_topics.run.keeping.WRITE_SPEED", speed)
    pt.sample("lda", corpus, draws=3, out=tmp_path / "a", **{**OPTIONS, "chains": 1})
    assert len(checkpoints(tmp_path / "a" / "checkpoints" / "chain-0")) == kept


def test_two_checkpoints_are_kept(tmp_path):
    for sweep, kept in ((3, [3]), (20, [20, 3]), (1_000, [1_000, 20]), (1_001, [1_001, 1_000])):
        checkpoints_module.write_checkpoint(tmp_path, sweep, {"sweep": sweep}, {"x": np.arange(3)})
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
    path = checkpoints_module.write_checkpoint(tmp_path, 1, {}, arrays)
    for mapped in (False, True):
        held = read_checkpoint(path, mapped=mapped).arrays
        for name, array in arrays.items():
            assert held[name].dtype == array.dtype
            np.testing.assert_array_equal(held[name], array)
    with pytest.raises(TypeError, match="holds object"):
        checkpoints_module.write_checkpoint(tmp_path, 2, {}, {"x": np.array([None])})
    assert [p.stem for p in checkpoints(tmp_path)] == ["000000000001"]


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
