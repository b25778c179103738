"""Groups of traces that do not fit together: refused where they are loaded, or by what would read them."""

import json

import numpy as np
import pytest
from hostile_runs import CORPUS, OPTIONS, TEXTS

import ppl_topics as pt
from ppl_topics.diagnostics.report.traces import traces_section
from ppl_topics.diagnostics.summary import seconds_by_kernel
from ppl_topics.fit import Fit
from ppl_topics.results.store import save_groups
from ppl_topics.results.validation import check_groups


@pytest.fixture(scope="module")
def runs():
    """Groups of runs of a few draws, by model."""
    return {model: pt.sample(model, CORPUS, **OPTIONS).groups for model in ("lda", "medlda")}


def with_covariates():
    return pt.Corpus.from_tokens(TEXTS, labels=CORPUS.labels, covariates=[[i] for i in range(5)])


@pytest.mark.parametrize("dim", ["word", "doc"])
def test_draws_of_what_is_not_there(runs, dim):
    groups = runs["lda"]
    names = [f"{name} more" for name in groups["posterior"][dim].values]
    with pytest.raises(pt.TraceError, match=f"posterior has {dim}s that constant_data lacks"):
        check_groups({**groups, "posterior": groups["posterior"].assign_coords({dim: names})}, "run.nc")


@pytest.mark.parametrize("value", [-1, 2, 2**40])
def test_draws_of_topics_that_are_not_there(value, tmp_path):
    """Compiled code counts by them: it would write beyond its arrays."""
    groups = dict(pt.sample("lda", CORPUS, record={"z": "all"}, **OPTIONS).groups)
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
        with pytest.raises(pt.TraceError, match="draws of z that are not topics from 0 to 1"):
            read()


@pytest.mark.parametrize(
    ("group", "dim", "values", "message"),
    [
        ("constant_data", "doc", [0.5, 1.5, 2.5, 3.5, 4.5], "constant_data/doc does not hold names"),
        ("posterior", "draw", [0.0, 1.0, 2.0, 3.0], "posterior/draw does not hold numbers"),
        ("posterior", "draw", [-1, 0, 1, 2], "posterior/draw does not hold numbers"),
        ("constant_data", "word", ["a", "a", "b", "c", "d"], "constant_data/word holds the same name twice"),
    ],
)
def test_coordinates(runs, group, dim, values, message):
    groups = runs["lda"]
    changed = {**groups, group: groups[group].assign_coords({dim: values})}
    with pytest.raises(pt.TraceError, match=message):
        check_groups(changed, "run.nc")


def test_coefficients_of_no_response_predict_nothing(runs):
    groups = dict(runs["medlda"])
    groups["posterior"] = groups["posterior"].isel(response=slice(0))
    with pytest.raises(pt.TraceError, match="coefficients of no response"):
        Fit(groups).predict(["red green"])


def test_steps_that_have_one_name(runs):
    groups = dict(runs["lda"])
    draws = groups["sample_stats"]
    groups["sample_stats"] = draws.assign_coords(kernel=["z:x"] * draws.sizes["kernel"])
    with pytest.raises(pt.TraceError, match="of the warm-up and of the draws belong to different steps"):
        traces_section(groups)


def test_steps_without_names(runs):
    groups = dict(runs["lda"])
    groups["sample_stats"] = groups["sample_stats"].drop_vars("kernel")
    assert seconds_by_kernel(groups) == {}
    with pytest.raises(pt.TraceError, match=r"sample_stats has no names along kernel"):
        check_groups(groups, "run.nc")


@pytest.mark.parametrize(
    ("group", "dim"), [("posterior", "draw"), ("constant_data", "topic"), ("observed_data", "doc")]
)
def test_dims_without_names_or_numbers(runs, group, dim):
    groups = dict(runs["lda"])
    groups[group] = groups[group].drop_vars(dim)
    with pytest.raises(pt.TraceError, match=f"{group} has no (names|numbers) along {dim}"):
        check_groups(groups, "run.nc")


@pytest.mark.parametrize(
    ("group", "dim"),
    [("posterior", "word"), ("constant_data", "doc"), ("posterior", "response"), ("sample_stats", "chain")],
)
def test_dims_along_which_there_is_nothing(runs, group, dim):
    groups = dict(runs["medlda"])
    groups[group] = groups[group].isel({dim: []})
    with pytest.raises(pt.TraceError, match=f"{group} has no {dim}"):
        check_groups(groups, "run.nc")


def test_steps_of_one_name_are_taken_together(runs):
    groups = dict(runs["lda"])
    seconds = seconds_by_kernel(groups)
    draws = groups["sample_stats"]
    groups["sample_stats"] = draws.assign_coords(kernel=["z:x"] * draws.sizes["kernel"])
    assert seconds_by_kernel(groups) == {"z:x": pytest.approx(sum(seconds.values()))}


def test_coefficients_of_a_model_without_response(runs):
    groups = runs["medlda"]
    text = runs["lda"]["posterior"].attrs["model_yaml"]
    groups = {name: group.assign_attrs(model_yaml=text) for name, group in groups.items()}
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="has no response"):
        Fit(groups).effective_coefficients()


def test_coefficients_of_no_response(runs):
    groups = dict(runs["medlda"])
    groups["posterior"] = groups["posterior"].isel(response=[])
    with pytest.raises(pt.TraceError, match="coefficients without a response"):
        Fit(groups).signal_topics()


def test_coefficients_of_topics_that_are_not_there(runs):
    groups = dict(runs["medlda"])
    posterior = groups["posterior"].isel(coefficient=[0, 1, 1])
    groups["posterior"] = posterior.assign_coords(coefficient=["topic 0", "topic 1", "topic 2"])
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="coefficients of more topics than it holds"):
        Fit(groups).signal_topics()


def test_coefficients_of_other_features(runs):
    groups = dict(runs["medlda"])
    posterior = groups["posterior"].pad(coefficient=(0, 1), mode="edge")
    names = ["topic 0", "topic 1", *posterior["coefficient"].values[2:-1], "more"]
    groups["posterior"] = posterior.assign_coords(coefficient=names)
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match=r"has \d coefficients for 2 topics"):
            read()


def test_an_intercept_of_another_name():
    groups = dict(pt.sample("slda_covariates", with_covariates(), **OPTIONS).groups)
    names = [*groups["posterior"]["coefficient"].values[:-1], "red"]
    groups["posterior"] = groups["posterior"].assign_coords(coefficient=names)
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match="has coefficients of other features than its model"):
            read()


def test_coefficients_of_other_responses(runs):
    groups = dict(runs["medlda"])
    posterior = groups["posterior"].isel(response=[0, 0])
    groups["posterior"] = posterior.assign_coords(response=["a", "c"])
    check_groups(groups, "run.nc")
    for read in (Fit(groups).effective_coefficients, lambda: Fit(groups).predict(["red green"])):
        with pytest.raises(pt.TraceError, match=r"coefficients of 2 responses, and the labels .* make 1"):
            read()


def test_labels_of_another_model(runs):
    groups = dict(runs["medlda"])
    labels = groups["observed_data"]["labels"]
    real = (labels.dims, labels.values * 0.5, {"kind": "real"})
    groups["observed_data"] = groups["observed_data"].drop_vars(["labels", "class"]).assign(labels=real)
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="labels in `observed_data` are not those of the model"):
        Fit(groups).predict(["red green"])


def test_numbers_with_names_of_classes(runs, tmp_path):
    groups = dict(runs["medlda"])
    labels = groups["observed_data"]["labels"]
    groups["observed_data"] = groups["observed_data"].assign(
        labels=(labels.dims, labels.values * 0.5, {"kind": "real"})
    )
    assert "0.5" in Fit(groups).report(tmp_path / "page.html").read_text()
    with pytest.raises(pt.TraceError, match="labels is of kind real, but there are names of classes"):
        check_groups(groups, "run.nc")


def test_a_variable_in_place_of_a_constant(tmp_path):
    """Alpha is fixed in this model, and the trace has draws of it all the same."""
    fit = pt.sample("lda", CORPUS, record={"phi": "all"}, **OPTIONS)
    groups = dict(fit.groups)
    alpha = groups["constant_data"]["alpha"].drop_vars("topic")
    groups["constant_data"] = groups["constant_data"].drop_vars("alpha")
    groups["posterior"] = groups["posterior"].assign(alpha=alpha.expand_dims({"chain": [0, 1], "draw": range(4)}))
    check_groups(groups, "run.nc")
    found = Fit(groups).held_out(["red green"], phi="draws", draws=2, seed=1)
    assert found.log_likelihood == fit.held_out(["red green"], phi="draws", draws=2, seed=1).log_likelihood


@pytest.mark.parametrize(
    "value", [None, {}, [{}], [1, "a"], [[1], [2]], 2**64, -(2**63) - 1, ["a"] * 65, [0.5] * 4097, 1j]
)
@pytest.mark.parametrize("variable", [None, "doc_length"])
def test_attributes_that_no_file_holds(runs, tmp_path, value, variable):
    """They stand in the JSON of run folders, and in what users put together."""
    groups = dict(runs["lda"])
    constants = groups["constant_data"].copy()
    (constants if variable is None else constants[variable]).attrs["further"] = value
    groups["constant_data"] = constants
    where = "constant_data" if variable is None else f"constant_data/{variable}"
    for refuse in (check_groups, save_groups):
        with pytest.raises(pt.TraceError, match=f"the attribute 'further' of {where}, of type .* is neither text nor"):
            refuse(groups, tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value", ["text", "", 2**64 - 1, -(2**63), 0.5, np.array(0.5), [1, 2.5], ["a", "b"], [0.5] * 4096, []]
)
def test_attributes_that_files_hold(runs, tmp_path, value):
    groups = dict(runs["lda"])
    groups["posterior"] = groups["posterior"].assign_attrs(further=value)
    found = pt.load_fit(save_groups(groups, tmp_path / "run.nc")).posterior.attrs["further"]
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("name", "value"), [("x" * 70_000, 1), ("CLASS", 1), ("\0", 1), ("\ud800", 1), ("", 1), ("further", True)]
)
def test_attributes_that_only_the_library_refuses(runs, tmp_path, name, value):
    groups = dict(runs["lda"])
    groups["posterior"] = groups["posterior"].assign_attrs({name: value})
    with pytest.raises(pt.TraceError, match=r"run\.nc: cannot write the trace"):
        save_groups(groups, tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def apart():
    """Groups of a run in which each response has its own topics."""
    corpus = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "c", "b", "c"])
    groups = pt.sample("medlda_one_vs_all", corpus, **OPTIONS).groups
    check_groups(groups, "run.nc")
    return groups


class TestDims:
    """Variables have the dims that the model gives them."""

    def refused(self, groups, where, changed, message):
        with pytest.raises(pt.TraceError, match=message):
            check_groups({**groups, where: changed}, "run.nc")

    @pytest.mark.parametrize("name", ["phi", "theta", "topic_share"])
    def test_of_the_posterior(self, runs, name):
        groups = runs["lda"]
        posterior = groups["posterior"]
        dims = posterior[name].dims
        swapped = posterior[name].transpose(*dims[:2], *dims[:1:-1])
        further = posterior[name].expand_dims(response=["y"], axis=2)
        for changed in (swapped, further, posterior[name].isel(topic=0, drop=True)):
            if changed.dims != dims:
                self.refused(groups, "posterior", posterior.assign({name: changed}), "has the dims")

    @pytest.mark.parametrize("name", ["lp", "step_seconds"])
    def test_of_statistics(self, runs, name):
        groups = runs["lda"]
        for where in ("sample_stats", "warmup_sample_stats"):
            statistics = groups[where]
            for changed in (
                statistics[name].expand_dims(z_last=2, axis=2),
                statistics[name].expand_dims(response=["y"], axis=2),
                statistics[name].expand_dims(kernel=statistics["kernel"], axis=2)
                if name == "lp"
                else statistics[name].isel(kernel=0, drop=True),
            ):
                message = rf"{where}/{name} has the dims .*, expected \('chain', 'draw'"
                self.refused(groups, where, statistics.assign({name: changed}), message)

    def test_of_statistics_of_others(self, runs):
        """A statistic of another library, which we never ask for, has the dims that it has."""
        groups = dict(runs["lda"])
        further = groups["sample_stats"]["lp"].expand_dims(obs=3, axis=2)
        groups["sample_stats"] = groups["sample_stats"].assign(further=further)
        self.refused(groups, "sample_stats", groups["sample_stats"], "further has the dims")
        groups["sample_stats"].attrs["inference_library"] = "another"
        check_groups(groups, "run.nc")

    def test_names_stay_on_one_line(self, runs):
        statistics = runs["lda"]["sample_stats"]
        changed = statistics.rename(lp="l\np").assign(lp=statistics["lp"])
        changed["l\np"] = changed["l\np"].expand_dims(obs=3, axis=2)
        self.refused(runs["lda"], "sample_stats", changed, r"sample_stats/l\\np has the dims")

    def test_of_statistics_of_each_response(self, apart):
        statistics = apart["sample_stats"]
        density = statistics["lp"].isel(response=0, drop=True)
        self.refused(apart, "sample_stats", statistics.assign(lp=density), r"expected \('chain', 'draw', 'response'\)")

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
        groups = pt.sample("slda_covariates", with_covariates(), **OPTIONS).groups
        check_groups(groups, "run.nc")
        self.refused(groups, "constant_data", groups["constant_data"].drop_vars(name), "lacks some of covariate")

    def test_covariates_without_scales(self):
        """Those of a model that does not look at them have none; who needs them says so."""
        groups = pt.sample("slda_covariates", with_covariates(), **OPTIONS).groups
        without = groups["constant_data"].drop_vars(["covariate_mean", "covariate_scale"])
        groups = {**groups, "constant_data": without}
        check_groups(groups, "run.nc")
        with pytest.raises(pt.TraceError, match="lacks the scales of the covariates"):
            Fit(groups).predict(with_covariates())

    def test_a_formula_of_covariates(self):
        groups = pt.sample(
            "slda_covariates",
            with_covariates().with_covariates([{"x0": float(i)} for i in range(5)]),
            formula="x0",
            **OPTIONS,
        ).groups
        check_groups(groups, "run.nc")
        constants = groups["constant_data"]
        for name in ("covariate_columns", "covariate_formula", "feature_mean", "feature_scale"):
            self.refused(groups, "constant_data", constants.drop_vars(name), "lacks some of covariate")
        for text in (
            "x",
            "{}",
            "[1, 2]",
            json.dumps(["{exit()}", ["x0"], [True], {"transforms": {}, "categories": {}}]),
        ):
            damaged = constants.assign(covariate_formula=((), text))
            self.refused(groups, "constant_data", damaged, "covariate_formula is no formula of the covariates")


def test_topics_without_words(runs):
    groups = dict(runs["lda"])
    constants = groups["constant_data"]
    groups["constant_data"] = constants.assign(phi_mean=constants["phi_mean"] * 0.0)
    assert np.isnan(Fit(groups).topic_diversity())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_topics_that_are_not_finite(runs, tmp_path):
    """Where there are no mean topics, the page takes draws of them, whatever they hold."""
    groups = dict(runs["lda"])
    posterior = groups["posterior"].drop_vars("topic_share")
    groups["posterior"] = posterior.assign(phi=posterior["phi"] * np.inf)
    groups["constant_data"] = groups["constant_data"].drop_vars("phi_mean")
    check_groups(groups, "run.nc")
    page = Fit(groups).report(tmp_path / "page.html").read_text()
    assert "probabilities that are not finite" in page


def test_topics_that_cannot_be_told_from_others(runs):
    """A word that is not finite in all draws but the first, from which switches are looked for."""
    groups = dict(runs["lda"])
    phi = groups["posterior"]["phi"].copy()
    phi[:, 1:, 0, 0] = np.nan
    groups["posterior"] = groups["posterior"].assign(phi=phi)
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match="draws that are not finite"):
        Fit(groups).aligned()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["theta", "topic_share"])
def test_shares_that_are_not_finite(runs, tmp_path, name):
    groups = dict(runs["lda"])
    posterior = groups["posterior"]
    values = posterior[name].values.copy()
    values.reshape(-1)[0] = np.inf
    groups["posterior"] = posterior.assign({name: (posterior[name].dims, values)})
    check_groups(groups, "run.nc")
    assert Fit(groups).report(tmp_path / "page.html").stat().st_size > 0


def test_a_kernel_without_a_name(runs, tmp_path):
    groups = dict(runs["lda"])
    for name in ("sample_stats", "warmup_sample_stats"):
        groups[name] = groups[name].assign_coords(kernel=["", *groups[name]["kernel"].values[1:]])
    check_groups(groups, "run.nc")
    assert Fit(groups).report(tmp_path / "page.html").stat().st_size > 0
