"""Traces on disk: what is written is read, by us and by ArviZ; whole files or none; clear errors."""

import os
import warnings

import arviz
import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.results import opening, store
from ppl_topics.results.arviz_compat import from_groups, to_groups

OPTIONS = {"topics": 3, "draws": 6, "chains": 2, "seed": 7, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    words = ["größe", "日本語", "naïve", "a", "b", "c", "d", "🎲"]
    documents = [[words[i] for i in rng.integers(0, 8, n)] for n in (20, 0, 1, 15, 9)]
    return pt.Corpus.from_tokens(documents, labels=["x", "ÿ", None, "x", "x"])


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda_learned", corpus, **OPTIONS, warmup=3)


@pytest.fixture
def saved(fit, tmp_path):
    return fit.save(tmp_path / "run.nc")


def test_round_trip(fit, saved):
    loaded = pt.load_fit(saved)
    assert set(loaded.groups) == set(fit.groups)
    for name, group in fit.groups.items():
        xr.testing.assert_equal(loaded.groups[name], group)
        assert {k: str(v) for k, v in loaded.groups[name].attrs.items()} == {k: str(v) for k, v in group.attrs.items()}
        for variable in group.data_vars:
            assert loaded.groups[name][variable].dtype == group[variable].dtype
    assert loaded.exact
    assert loaded.spec.topics == 3
    assert loaded.topics(3).equals(fit.topics(3))


def test_round_trip_without_warmup(corpus, tmp_path):
    fit = pt.sample("lda", corpus, **OPTIONS, warmup=0)
    loaded = pt.load_fit(fit.save(tmp_path / "run.nc"))
    for name, group in fit.groups.items():
        xr.testing.assert_equal(loaded.groups[name], group)


def test_run_folder(fit, tmp_path):
    assert fit.save(tmp_path / "run") == tmp_path / "run" / "trace.nc"
    assert fit.save(tmp_path / "run") == tmp_path / "run" / "trace.nc"
    xr.testing.assert_equal(pt.load_fit(tmp_path / "run").posterior, fit.posterior)


def test_arviz_reads_it(fit, saved):
    read = to_groups(arviz.from_netcdf(saved))
    for name, group in fit.groups.items():
        xr.testing.assert_equal(read[name].load(), group)


def test_arviz_functions_work(fit):
    idata = fit.idata
    table = arviz.summary(idata, var_names=["alpha", "beta"], kind="diagnostics")
    assert len(table) == 4
    effective = arviz.ess(idata, var_names=["topic_share"])
    assert np.isfinite(np.asarray(effective["topic_share"])).all()
    again = to_groups(from_groups(fit.groups))
    assert set(again) == set(fit.groups)
    xr.testing.assert_identical(again["posterior"], fit.posterior)


def test_a_run_makes_no_warnings(corpus, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = pt.sample("lda_learned", corpus, **OPTIONS, warmup=2)
        pt.load_fit(fit.save(tmp_path / "run.nc")).idata  # noqa: B018
    assert not [w for w in caught if issubclass(w.category, UserWarning | FutureWarning | RuntimeWarning)]


def test_long_attributes(corpus, tmp_path):
    """A concentration for each of many words makes the model's text longer than HDF5 keeps in an object's header."""
    words = [f"w{i}" for i in range(20_000)]
    large = pt.Corpus.from_tokens([words])
    beta = np.round(np.random.default_rng(1).uniform(0.01, 0.02, 20_000), 6).tolist()
    fit = pt.sample("lda", large, **{**OPTIONS, "draws": 1, "chains": 1}, warmup=0, beta=beta)
    loaded = pt.load_fit(fit.save(tmp_path / "run.nc"))
    assert len(loaded.posterior.attrs["model_yaml"]) > 2**17
    assert loaded.posterior.attrs["model_yaml"] == fit.posterior.attrs["model_yaml"]


def test_a_failed_write_leaves_the_old_file(fit, tmp_path, monkeypatch):
    path = fit.save(tmp_path / "run.nc")
    before = path.read_bytes()
    original, calls = xr.Dataset.to_netcdf, []

    for error in (OSError(28, "No space left on device"), RuntimeError("unable to flush file's cached information")):

        def failing(self, *args, error=error, **kwargs):
            calls.append(kwargs.get("group"))
            if len(calls) % 2 == 0:
                raise error
            return original(self, *args, **kwargs)

        monkeypatch.setattr(xr.Dataset, "to_netcdf", failing)
        with pytest.raises(pt.TraceError, match=r"run\.nc: cannot write the trace \((No space|unable to flush)"):
            fit.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_what_is_no_file_is_not_replaced(fit, tmp_path):
    pipe, link = tmp_path / "pipe.nc", tmp_path / "link.nc"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(pt.TraceError, match="exists and is neither a file nor a folder; it would be lost"):
            fit.save(path)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.nc", "pipe.nc"]


def test_places_that_cannot_be_written(fit, tmp_path):
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "missing" / "run.nc", tmp_path / "folder.nc", tmp_path / "file" / "run.nc"):
        with pytest.raises(pt.TraceError, match="cannot write the trace"):
            fit.save(path)
        with pytest.raises(pt.TraceError, match="folder"):
            store.check_writable(path)
    store.check_writable(tmp_path / "run.nc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.nc"]


@pytest.mark.own_process
def test_files_that_are_no_traces(saved, tmp_path):
    with pytest.raises(pt.TraceError, match="no such file"):
        pt.load_fit(tmp_path / "other.nc")
    raw = saved.read_bytes()
    bad = tmp_path / "bad.nc"
    for content in (b"", b"not HDF5 at all", raw[:600], raw[: len(raw) // 2], raw[:-1]):
        bad.write_bytes(content)
        with pytest.raises(pt.TraceError, match=r"bad\.nc: cannot be read as a trace"):
            pt.load_fit(bad)
    xr.Dataset({"x": 1}).to_netcdf(bad, group="prior", engine="h5netcdf")
    with pytest.raises(pt.TraceError, match=r"no group `posterior` \(groups: prior\)"):
        pt.load_fit(bad)


@pytest.mark.own_process
def test_damaged_files(saved, tmp_path, monkeypatch):
    """Bytes that were changed: read, or refused with our error, also where HDF5 would not come to an end."""
    monkeypatch.setattr(opening, "SECONDS", 1)
    raw, rng = saved.read_bytes(), np.random.default_rng(1)
    bad = tmp_path / "bad.nc"
    refused = 0
    for _ in range(15):
        damaged = bytearray(raw)
        for position in rng.integers(0, len(raw), 60):
            damaged[position] = rng.integers(256)
        bad.write_bytes(damaged)
        try:
            pt.load_fit(bad)
        except pt.TraceError:
            refused += 1
    assert refused > 0


def test_topics_of_a_trace(fit):
    table = fit.topics(n_words=2, chain=1)
    assert list(table.columns) == ["topic", "share", "words"]
    assert table["share"].is_monotonic_decreasing
    assert table["share"].sum() == pytest.approx(1)
    for options, message in (({"chain": 5}, "has no chain 5; it has 0, 1"), ({"n_words": 0}, "at least 1")):
        with pytest.raises(pt.TraceError, match=message):
            fit.topics(**options)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "expected the path of a run"),
        (3, "expected the path of a run"),
        ("a\0b", "contains a NUL character"),
        ("x" * 300, "is longer than the 255 bytes"),
    ],
)
def test_what_is_no_path(fit, path, message):
    with pytest.raises(pt.TraceError, match=message):
        pt.load_fit(path)
    with pytest.raises(pt.TraceError, match=message):
        fit.save(path)


def test_a_trace_under_another_name_is_loaded(saved, tmp_path):
    other = tmp_path / "trace.h5"
    other.write_bytes(saved.read_bytes())
    assert repr(pt.load_fit(other)) == repr(pt.load_fit(saved))


@pytest.mark.parametrize("arguments", [("x",), (1.5,), (3, "x"), (True,)])
def test_wrong_types_of_topics(fit, arguments):
    with pytest.raises(pt.TraceError, match=r"must be a whole number( of at least 1)?, got"):
        fit.topics(*arguments)
