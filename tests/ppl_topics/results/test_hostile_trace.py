"""Files of stored runs made to do harm: what the fuzzers of tests/fuzz found in them, and what they look for."""

import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from hostile_runs import CORPUS, OPTIONS

import ppl_topics as pt
from ppl_topics.cli import main
from ppl_topics.results import opening


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Stored runs of a few draws, by model."""
    folder = tmp_path_factory.mktemp("runs")
    return {model: pt.sample(model, CORPUS, **OPTIONS).save(folder / f"{model}.nc") for model in ("lda", "medlda")}


@pytest.fixture
def copy(runs, tmp_path):
    """A function that gives a stored run of its own to damage."""

    def make(model="lda"):
        path = tmp_path / "run.nc"
        path.write_bytes(runs[model].read_bytes())
        return path

    return make


def refusal(path):
    with pytest.raises(pt.TraceError) as caught:
        pt.load_fit(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def replaced(file, name, *args, **options):
    """Put another dataset in the place of one, with its dims."""
    old = file[name]
    attributes = {key: old.attrs[key] for key in old.attrs if key != "REFERENCE_LIST"}
    del file[name]
    new = file.create_dataset(name, *args, **options)
    new.attrs.update(attributes)


@pytest.mark.own_process
def test_sound_runs_are_read(runs, tmp_path):
    for path in runs.values():
        fit = pt.load_fit(path)
        assert fit.posterior.sizes["draw"] == 4
        assert fit.save(tmp_path / "again.nc").stat().st_size > 0


@pytest.mark.own_process
def test_a_run_of_many_tokens_and_names_is_read(tmp_path):
    """NetCDF names a dim that has no coordinate by as many numbers as it is long, which are not in the file."""
    texts = [["red", f"w{number}"] * 12 for number in range(12_000)]
    corpus = pt.Corpus.from_tokens(texts, doc_ids=[f"document {number}" for number in range(len(texts))])
    options = {"topics": 2, "draws": 1, "warmup": 0, "chains": 1, "seed": 1, "progress": False}
    constants = pt.load_fit(pt.sample("lda", corpus, **options).save(tmp_path / "run.nc")).groups["constant_data"]
    assert constants.sizes["token"] * 4 > opening.SLACK
    assert constants.sizes["word"] > opening.ONE_BY_ONE
    np.testing.assert_array_equal(constants["doc_length"], 24)


class TestElsewhere:
    """Nothing outside the file is read, whatever it refers to."""

    @pytest.mark.parametrize(
        "link", [h5py.SoftLink("/posterior/theta"), h5py.ExternalLink("/etc/hostname", "/x"), h5py.SoftLink("/no")]
    )
    def test_links(self, copy, link):
        path = copy()
        with h5py.File(path, "r+") as file:
            del file["posterior/phi"]
            file["posterior/phi"] = link
        assert "/posterior/phi is a link" in refusal(path)

    def test_links_of_groups(self, copy, runs):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["prior"] = h5py.ExternalLink(str(runs["medlda"]), "/posterior")
        assert "//prior is a link" in refusal(path)

    def test_datasets_in_other_files(self, copy, tmp_path):
        (tmp_path / "secret").write_bytes(b"secret" * 100)
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].create_dataset("more", (100,), "u1", external=[(str(tmp_path / "secret"), 0, 100)])
        assert "/posterior/more is stored in another file" in refusal(path)

    def test_virtual_datasets(self, copy, runs):
        path = copy()
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(str(runs["medlda"]), "/sample_stats/lp", shape=(4,))
        with h5py.File(path, "r+") as file:
            file["posterior"].create_virtual_dataset("more", layout)
        assert "/posterior/more is stored in another file" in refusal(path)

    @pytest.mark.parametrize(
        "text",
        ["/etc/hostname", "lda", "extends: lda\nname: x\n", "extends: /etc/hostname\nname: x\n", "a: &a [*a]\n", ""],
    )
    def test_models(self, copy, text):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].attrs["model_yaml"] = text
        assert "model_yaml" in refusal(path)

    def test_a_model_with_a_tag(self, copy, tmp_path):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].attrs["model_yaml"] = f"a: !!python/object/apply:os.mkdir ['{tmp_path}/made']\n"
        assert "YAML tags" in refusal(path)
        assert not (tmp_path / "made").exists()


class TestGreed:
    """Nothing is allocated that the file does not bear out."""

    @pytest.mark.parametrize(
        ("shape", "options"), [((10**12,), {"chunks": (1000,)}), ((2**40,), {}), ((10**9,), {"chunks": (10**8,)})]
    )
    def test_promises(self, copy, shape, options):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].create_dataset("more", shape, "f8", **options)
        message = refusal(path)
        assert "claims" in message or "has chunks of" in message

    def test_many_small_promises(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            for number in range(20):
                file.create_dataset(f"posterior/empty{number}", shape=(10_000,), dtype="f8")
        assert "claims 80,000 bytes, but 0 are there" in refusal(path)

    def test_datasets_in_one_place(self, copy):
        """Two of them, each as large as the data of the file."""
        path, count = copy(), 10**6
        with h5py.File(path, "r+") as file:
            place = file.create_dataset("posterior/first", data=np.ones(count)).id
            file.create_dataset("posterior/second", shape=(count,), dtype="f8")
            place = place.get_offset()
        nowhere, size = b"\xff" * 8, (8 * count).to_bytes(8, "little")
        data = path.read_bytes()
        assert data.count(nowhere + size) == 1
        path.write_bytes(data.replace(nowhere + size, place.to_bytes(8, "little") + size))
        assert "posterior/second claims 8,000,000 bytes" in refusal(path)

    def test_chunks_larger_than_what_they_hold(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].create_dataset("more", (4,), "f8", chunks=(2**28,), maxshape=(None,))
        assert "has chunks of 2,147,483,648 bytes" in refusal(path)

    def test_filters(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].create_dataset("more", (4,), "f8", compression="lzf")
        assert "is stored by the filters" in refusal(path)

    def test_one_dataset_under_many_names(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            for number in range(20):
                file["posterior"][f"more{number}"] = file["posterior/theta"]
        assert "is stored under two names" in refusal(path)

    def test_one_text_a_thousand_times(self, copy):
        """References to a string of variable length take 16 bytes each, and may all be to one."""
        path = copy()
        with h5py.File(path, "r+") as file:
            long = file["posterior"].create_dataset("more", (20_000,), h5py.string_dtype())
            long[0] = "x" * 50_000
            place = long.id.get_offset()
        raw = bytearray(path.read_bytes())
        raw[place : place + 16 * 20_000] = raw[place : place + 16] * 20_000
        path.write_bytes(raw)
        assert "come to 1,0" in refusal(path)

    @pytest.mark.parametrize(
        "dtype", [h5py.ref_dtype, h5py.vlen_dtype("i4"), np.dtype([("a", "f8"), ("b", "i4")]), "c16", "V8"]
    )
    def test_objects(self, copy, dtype):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].create_dataset("more", (4,), dtype)
        assert "is of type" in refusal(path)

    def test_attributes(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior"].attrs.create("more", ["x"] * 100, dtype=h5py.string_dtype())
        assert "is a list of 100 texts" in refusal(path)

    def test_packed_numbers_and_dates(self, copy):
        path = copy()
        with h5py.File(path, "r+") as file:
            file["posterior/draw"].attrs["units"] = "days since 0001-01-01"
        assert pt.load_fit(path).posterior["draw"].values.tolist() == [0, 1, 2, 3]
        with h5py.File(path, "r+") as file:
            file["posterior/phi"].attrs["scale_factor"] = 1e300
        assert "/posterior/phi is packed" in refusal(path)


VALUES = [
    ("constant_data/z_last", 255, "z_last does not hold whole numbers below 2"),
    ("constant_data/doc_length", 2**62, "doc_length adds up to"),
    ("constant_data/doc_length", -1, "doc_length holds values below 0"),
    ("constant_data/word_count", 7, "adds up to"),
    ("constant_data/phi_mean", np.nan, "phi_mean holds values that are not finite"),
    ("constant_data/phi_mean", 1e30, "phi_mean holds values above 1"),
    ("constant_data/alpha", 0.0, "alpha is not above 0"),
    ("observed_data/words", 2**31, "words does not hold whole numbers below 5"),
    ("constant_data/topic", 1, "topic holds the same number twice"),
    ("posterior/chain", 7, "do not have the same chain"),
]


@pytest.mark.parametrize(("name", "value", "message"), VALUES)
def test_values_out_of_range(copy, name, value, message):
    path = copy()
    with h5py.File(path, "r+") as file:
        file[name][(0,) * file[name].ndim] = value
    assert message in refusal(path)


def test_labels_of_no_class(copy):
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        file["observed_data/labels"][0] = 9
    assert "labels holds values that are not labels" in refusal(path)
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        file["observed_data/labels"].attrs["kind"] = "nothing"
    assert "labels is not of a kind of labels" in refusal(path)


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        ("constant_data/z_last", "f8", "z_last is of type float64, expected whole numbers"),
        ("constant_data/alpha", "i1", "alpha is of type int8, expected floats"),
        ("constant_data/doc_length", "u8", "doc_length is of type uint64"),
        ("posterior/phi", "S4", "phi is of type"),
    ],
)
def test_types(copy, name, dtype, message):
    path = copy()
    with h5py.File(path, "r+") as file:
        replaced(file, name, file[name].shape, dtype)
    assert message in refusal(path)


@pytest.mark.parametrize(("name", "value"), [("exact", "yes"), ("seed", -1), ("draws", 1.5), ("model_name", 3)])
def test_attributes_of_another_type(copy, name, value):
    path = copy()
    with h5py.File(path, "r+") as file:
        file["posterior"].attrs[name] = value
    assert f"the attribute {name} is no" in refusal(path)


def test_a_constant_that_is_gone(copy):
    """Alpha is fixed in this model, so no variable of the draws stands in for it."""
    path = copy()
    with h5py.File(path, "r+") as file:
        del file["constant_data/alpha"]
    with pytest.raises(pt.TraceError, match="does not hold alpha"):
        pt.load_fit(path).transform(["red green"])


@pytest.mark.parametrize("name", ["exact", "model_yaml"])
def test_attributes_that_are_gone(copy, name):
    path = copy()
    with h5py.File(path, "r+") as file:
        del file["posterior"].attrs[name]
    fit = pt.load_fit(path)
    with pytest.raises(pt.TraceError, match=f"lacks the attribute `{name}`"):
        fit.exact if name == "exact" else fit.spec  # noqa: B018


@pytest.mark.parametrize("name", ["observed_data", "observed_data/labels"])
def test_labels_that_are_gone(copy, name):
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        del file[name]
    with pytest.raises(pt.TraceError, match="lacks `labels` in `observed_data`"):
        pt.load_fit(path).predict(["red green"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("posterior/phi", np.nan, r"posterior/phi\[1, 3, 0, 1\] is not a number"),
        ("posterior/theta", np.inf, r"posterior/theta\[1, 3, 0, 1\] is infinity"),
        ("warmup_posterior/topic_share", -np.inf, r"warmup_posterior/topic_share\[1, 0, 0\] is minus infinity"),
    ],
)
def test_draws_that_are_not_finite(copy, name, value, message):
    path = copy()
    with h5py.File(path, "r+") as file:
        values = file[name]
        values[(1, -1, 0, 1)[: values.ndim]] = value
    assert re.search(message, refusal(path))


def test_without_draws(copy):
    path = copy()
    with h5py.File(path, "r+") as file:
        for name in list(file["posterior"]):
            del file[f"posterior/{name}"]
    assert "posterior has no chain" in refusal(path)


# The free space of a heap of strings may be as large as it likes, and HDF5 2.0 walks over it for ever.
def heap_without_end(raw):
    changed = bytearray(raw)
    at = changed.find(b"GCOL")
    while at >= 0:
        changed[at + 24 : at + 32] = (2**64 - 16).to_bytes(8, "little")
        at = changed.find(b"GCOL", at + 4)
    return bytes(changed)


@pytest.mark.own_process
def test_what_hdf5_does_not_bear(copy, monkeypatch, capsys):
    monkeypatch.setattr(opening, "SECONDS", 1)
    path = copy()
    path.write_bytes(heap_without_end(path.read_bytes()))
    assert main(["topics", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: cannot be read as a trace")
    assert error.count("\n") == 1


@pytest.mark.own_process
def test_a_reader_that_dies(copy, monkeypatch):
    monkeypatch.setattr(opening, "__file__", os.devnull)
    assert "the HDF5 library fails on it" in refusal(copy())


@pytest.mark.own_process
def test_the_reader_reports_alone(runs):
    command = [sys.executable, "-I", opening.__file__, str(runs["lda"]), "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert sorted(pt.load_fit(runs["lda"]).groups) == sorted(json.loads(done.stdout))


def test_no_pipe_is_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.nc")
    assert "no such file" in refusal(tmp_path / "run.nc")
