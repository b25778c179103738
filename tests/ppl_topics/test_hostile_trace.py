"""Traces made to do harm: what the fuzzers of tests/fuzz found in stored runs, and what they look for."""

import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.cli import main
from ppl_topics.diagnostics.page.traces import traces_section
from ppl_topics.diagnostics.report import seconds_by_kernel
from ppl_topics.fit import Fit
from ppl_topics.trace import opening
from ppl_topics.trace.validation import check_groups

TEXTS = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"], ["red"]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Stored runs of a few draws, by model."""
    folder = tmp_path_factory.mktemp("runs")
    corpus = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "a", "b", "b"])
    options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 2, "seed": 1, "progress": False}
    return {model: pt.sample(model, corpus, **options).save(folder / f"{model}.nc") for model in ("lda", "medlda")}


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


class TestElsewhere:
    """Nothing outside the file is read, whatever it refers to."""

    def test_links(self, copy):
        path = copy()
        for link in (h5py.SoftLink("/posterior/theta"), h5py.ExternalLink("/etc/hostname", "/x"), h5py.SoftLink("/no")):
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
        assert "/posterior/more stands in another file" in refusal(path)

    def test_virtual_datasets(self, copy, runs):
        path = copy()
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(str(runs["medlda"]), "/sample_stats/lp", shape=(4,))
        with h5py.File(path, "r+") as file:
            file["posterior"].create_virtual_dataset("more", layout)
        assert "/posterior/more stands in another file" in refusal(path)

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

    def test_promises(self, copy):
        for shape, options in (((10**12,), {"chunks": (1000,)}), ((2**40,), {}), ((10**9,), {"chunks": (10**8,)})):
            path = copy()
            with h5py.File(path, "r+") as file:
                file["posterior"].create_dataset("more", shape, "f8", **options)
            message = refusal(path)
            assert "promises" in message or "has chunks of" in message

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
        assert "stands under two names" in refusal(path)

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

    def test_objects(self, copy):
        for dtype in (h5py.ref_dtype, h5py.vlen_dtype("i4"), np.dtype([("a", "f8"), ("b", "i4")]), "c16", "V8"):
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
    ("constant_data/doc_length", 2**62, "doc_length comes to"),
    ("constant_data/doc_length", -1, "doc_length holds what is below 0"),
    ("constant_data/word_count", 7, "comes to"),
    ("constant_data/phi_mean", np.nan, "phi_mean holds what is not finite"),
    ("constant_data/phi_mean", 1e30, "phi_mean holds what is above 1"),
    ("constant_data/alpha", 0.0, "alpha is not above 0"),
    ("observed_data/words", 2**31, "words does not hold whole numbers below 5"),
    ("constant_data/topic", 1, "topic holds the same twice"),
    ("posterior/chain", 7, "do not have the same chain"),
]


@pytest.mark.parametrize(("name", "value", "message"), VALUES)
def test_values_out_of_range(copy, name, value, message):
    path = copy()
    with h5py.File(path, "r+") as file:
        file[name][(0,) * file[name].ndim] = value
    assert message in refusal(path)


@pytest.mark.parametrize("dim", ["word", "doc"])
def test_draws_of_what_is_not_there(runs, dim):
    groups = pt.load_fit(runs["lda"]).groups
    names = [f"{name} more" for name in groups["posterior"][dim].values]
    with pytest.raises(pt.TraceError, match=f"posterior has {dim}s that constant_data has not"):
        check_groups({**groups, "posterior": groups["posterior"].assign_coords({dim: names})}, "run.nc")


@pytest.mark.parametrize("value", [-1, 2, 2**40])
def test_draws_of_topics_that_are_not_there(value, tmp_path):
    """Compiled code counts by them: it would write beyond its arrays."""
    options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 2, "seed": 1, "progress": False}
    groups = dict(pt.sample("lda", pt.Corpus.from_tokens(TEXTS), record={"z": "all"}, **options).groups)
    posterior = groups["posterior"]
    z = posterior["z"].astype(np.int64)
    z[:, :, 0] = value
    groups["posterior"] = posterior.assign(z=z)
    check_groups(groups, "run.nc")
    fit = Fit(groups)
    for read in (
        lambda: fit.topic_quality(measures=["entropy"], probability=0.9),
        lambda: fit.predictive_checks(draws=2, replications=2),
        lambda: fit.plot_document(0),
    ):
        with pytest.raises(pt.TraceError, match="draws of z that are no topics below 2"):
            read()


def test_labels_of_no_class(copy):
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        file["observed_data/labels"][0] = 9
    assert "labels holds what is no label" in refusal(path)
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        file["observed_data/labels"].attrs["kind"] = "nothing"
    assert "labels is not of a kind of labels" in refusal(path)


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        ("constant_data/z_last", "f8", "z_last is of type float64, expected whole numbers"),
        ("constant_data/alpha", "i1", "alpha is of type int8, expected floats"),
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


@pytest.mark.parametrize(
    ("group", "dim", "values", "message"),
    [
        ("constant_data", "doc", [0.5, 1.5, 2.5, 3.5, 4.5], "constant_data/doc does not hold names"),
        ("posterior", "draw", [0.0, 1.0, 2.0, 3.0], "posterior/draw does not hold numbers"),
        ("posterior", "draw", [-1, 0, 1, 2], "posterior/draw does not hold numbers"),
        ("constant_data", "word", ["a", "a", "b", "c", "d"], "constant_data/word holds the same twice"),
    ],
)
def test_coordinates(runs, group, dim, values, message):
    groups = pt.load_fit(runs["lda"]).groups
    changed = {**groups, group: groups[group].assign_coords({dim: values})}
    with pytest.raises(pt.TraceError, match=message):
        check_groups(changed, "run.nc")


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


def test_coefficients_of_no_response_predict_nothing(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    groups["posterior"] = groups["posterior"].isel(response=slice(0))
    with pytest.raises(pt.TraceError, match="coefficients of no response"):
        Fit(groups).predict(["red green"])


def test_steps_that_have_one_name(runs):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    draws = groups["sample_stats"]
    groups["sample_stats"] = draws.assign_coords(kernel=["z:x"] * draws.sizes["kernel"])
    with pytest.raises(pt.TraceError, match="of the warm-up is not of the steps"):
        traces_section(groups)


def test_steps_without_names(runs):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    groups["sample_stats"] = groups["sample_stats"].drop_vars("kernel")
    assert seconds_by_kernel(groups) == {}
    with pytest.raises(pt.TraceError, match=r"sample_stats has no names along kernel"):
        check_groups(groups, "run.nc")


@pytest.mark.parametrize(
    ("group", "dim"), [("posterior", "draw"), ("constant_data", "topic"), ("observed_data", "doc")]
)
def test_dims_without_names_or_numbers(runs, group, dim):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    groups[group] = groups[group].drop_vars(dim)
    with pytest.raises(pt.TraceError, match=f"{group} has no (names|numbers) along {dim}"):
        check_groups(groups, "run.nc")


def test_steps_of_one_name_are_taken_together(runs):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    seconds = seconds_by_kernel(groups)
    draws = groups["sample_stats"]
    groups["sample_stats"] = draws.assign_coords(kernel=["z:x"] * draws.sizes["kernel"])
    assert seconds_by_kernel(groups) == {"z:x": pytest.approx(sum(seconds.values()))}


@pytest.mark.parametrize("name", ["observed_data", "observed_data/labels"])
def test_labels_that_are_gone(copy, name):
    path = copy("medlda")
    with h5py.File(path, "r+") as file:
        del file[name]
    with pytest.raises(pt.TraceError, match="lacks `labels` in `observed_data`"):
        pt.load_fit(path).predict(["red green"])


def test_coefficients_of_a_model_without_response(runs):
    groups = pt.load_fit(runs["medlda"]).groups
    text = pt.load_fit(runs["lda"]).posterior.attrs["model_yaml"]
    groups = {name: group.assign_attrs(model_yaml=text) for name, group in groups.items()}
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="has no response"):
        Fit(groups).effective_coefficients()


def test_coefficients_of_no_response(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    groups["posterior"] = groups["posterior"].isel(response=[])
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="coefficients of no response"):
        Fit(groups).signal_topics()


def test_coefficients_of_topics_that_are_not_there(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    posterior = groups["posterior"].isel(coefficient=[0, 1, 1])
    groups["posterior"] = posterior.assign_coords(coefficient=["topic 0", "topic 1", "topic 2"])
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="coefficients of more topics than it holds"):
        Fit(groups).signal_topics()


def test_coefficients_of_other_features(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    posterior = groups["posterior"].pad(coefficient=(0, 1), mode="edge")
    names = ["topic 0", "topic 1", *posterior["coefficient"].values[2:-1], "more"]
    groups["posterior"] = posterior.assign_coords(coefficient=names)
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match=r"has \d coefficients for 2 topics"):
            read()


def test_an_intercept_of_another_name():
    corpus = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "a", "b", "b"], covariates=[[i] for i in range(5)])
    options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 1, "seed": 1, "progress": False}
    groups = dict(pt.sample("slda_covariates", corpus, **options).groups)
    names = [*groups["posterior"]["coefficient"].values[:-1], "red"]
    groups["posterior"] = groups["posterior"].assign_coords(coefficient=names)
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match="has coefficients of other features than its model"):
            read()


def test_coefficients_of_other_responses(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    posterior = groups["posterior"].isel(response=[0, 0])
    groups["posterior"] = posterior.assign_coords(response=["a", "c"])
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match=r"coefficients of 2 responses, and the labels .* make 1"):
            read()


def test_labels_of_another_model(runs):
    groups = dict(pt.load_fit(runs["medlda"]).groups)
    labels = groups["observed_data"]["labels"]
    real = (labels.dims, labels.values * 0.5, {"kind": "real"})
    groups["observed_data"] = groups["observed_data"].drop_vars(["labels", "class"]).assign(labels=real)
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="labels in `observed_data` are not those of the model"):
        Fit(groups).predict(["red green"])


def test_a_variable_in_place_of_a_constant(tmp_path):
    """Alpha is fixed in this model, and the trace has draws of it all the same."""
    options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 2, "seed": 1, "progress": False}
    fit = pt.sample("lda", pt.Corpus.from_tokens(TEXTS), record={"phi": "all"}, **options)
    groups = dict(fit.groups)
    alpha = groups["constant_data"]["alpha"].drop_vars("topic")
    groups["constant_data"] = groups["constant_data"].drop_vars("alpha")
    groups["posterior"] = groups["posterior"].assign(alpha=alpha.expand_dims({"chain": [0, 1], "draw": range(4)}))
    check_groups(groups, "run.nc")
    found = Fit(groups).held_out(["red green"], phi="draws", draws=2, seed=1)
    assert found.log_likelihood == fit.held_out(["red green"], phi="draws", draws=2, seed=1).log_likelihood


@pytest.fixture(scope="module")
def apart():
    """Groups of a run in which each response has topics of its own."""
    corpus = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "c", "b", "c"])
    options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 1, "seed": 1, "progress": False}
    groups = pt.sample("medlda_one_vs_all", corpus, **options).groups
    check_groups(groups, "run.nc")
    return groups


class TestDims:
    """Variables have the dims that the model gives them."""

    def refused(self, groups, where, changed, message):
        with pytest.raises(pt.TraceError, match=message):
            check_groups({**groups, where: changed}, "run.nc")

    @pytest.mark.parametrize("name", ["phi", "theta", "topic_share"])
    def test_of_the_posterior(self, runs, name):
        groups = pt.load_fit(runs["lda"]).groups
        posterior = groups["posterior"]
        dims = posterior[name].dims
        swapped = posterior[name].transpose(*dims[:2], *dims[:1:-1])
        further = posterior[name].expand_dims(response=["y"], axis=2)
        for changed in (swapped, further, posterior[name].isel(topic=0, drop=True)):
            if changed.dims != dims:
                self.refused(groups, "posterior", posterior.assign({name: changed}), "has the dims")

    @pytest.mark.parametrize("where", ["posterior", "constant_data"])
    def test_responses_without_names(self, apart, where):
        groups = apart[where].drop_vars("response")
        self.refused(apart, where, groups, f"{where} has no names along response")
        groups = apart[where].assign_coords(response=[0, 1, 2])
        self.refused(apart, where, groups, "have no names")

    def test_other_responses(self, apart):
        posterior = apart["posterior"].assign_coords(response=["a", "b", "x"])
        self.refused(apart, "posterior", posterior, "do not have the same responses")

    def test_topics_of_all_beside_topics_of_each(self, apart):
        posterior = apart["posterior"]
        share = posterior["topic_share"].isel(response=0, drop=True)
        self.refused(apart, "posterior", posterior.assign(topic_share=share), "topic_share has the dims")

    @pytest.mark.parametrize("name", ["covariate_columns", "covariate_mean", "covariate_scale"])
    def test_scales_of_covariates(self, name):
        corpus = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "a", "b", "b"], covariates=[[i] for i in range(5)])
        options = {"topics": 2, "draws": 4, "warmup": 1, "chains": 1, "seed": 1, "progress": False}
        groups = pt.sample("slda_covariates", corpus, **options).groups
        check_groups(groups, "run.nc")
        self.refused(groups, "constant_data", groups["constant_data"].drop_vars(name), "lacks some of covariate")


def test_topics_without_words(runs):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    constants = groups["constant_data"]
    groups["constant_data"] = constants.assign(phi_mean=constants["phi_mean"] * 0.0)
    assert np.isnan(Fit(groups).topic_diversity())


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_topics_that_are_not_finite(runs, tmp_path):
    """Where there are no mean topics, the page takes draws of them, whatever they hold."""
    groups = dict(pt.load_fit(runs["lda"]).groups)
    posterior = groups["posterior"].drop_vars("topic_share")
    groups["posterior"] = posterior.assign(phi=posterior["phi"] * np.inf)
    groups["constant_data"] = groups["constant_data"].drop_vars("phi_mean")
    check_groups(groups, "run.nc")
    page = Fit(groups).report(tmp_path / "page.html").read_text()
    assert "probabilities that are not finite" in page


def test_topics_that_cannot_be_told_from_others(runs):
    """A word that is not finite in all draws but the first, from which switches are looked for."""
    groups = dict(pt.load_fit(runs["lda"]).groups)
    phi = groups["posterior"]["phi"].copy()
    phi[:, 1:, 0, 0] = np.nan
    groups["posterior"] = groups["posterior"].assign(phi=phi)
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="draws that are not finite"):
        Fit(groups).aligned()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["theta", "topic_share"])
def test_shares_that_are_not_finite(runs, tmp_path, name):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    posterior = groups["posterior"]
    values = posterior[name].values.copy()
    values.reshape(-1)[0] = np.inf
    groups["posterior"] = posterior.assign({name: (posterior[name].dims, values)})
    check_groups(groups, "run.nc")
    assert Fit(groups).report(tmp_path / "page.html").stat().st_size > 0


def test_a_kernel_without_a_name(runs, tmp_path):
    groups = dict(pt.load_fit(runs["lda"]).groups)
    for name in ("sample_stats", "warmup_sample_stats"):
        groups[name] = groups[name].assign_coords(kernel=["", *groups[name]["kernel"].values[1:]])
    check_groups(groups, "run.nc")
    assert Fit(groups).report(tmp_path / "page.html").stat().st_size > 0


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
    assert error.startswith(f"error: {path}: not a trace that can be read")
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
