"""What a trace holds: groups, dims, coordinates, types, attributes, and the numbers in them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import gamma

import ppl_topics as pt

OPTIONS = {"topics": 3, "draws": 5, "warmup": 4, "chains": 2, "seed": 7, "progress": False}
FALSE_ALARM = 1e-6
GROUPS = ["posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "observed_data", "constant_data"]


def make_corpus(**annotations):
    rng = np.random.default_rng(5)
    words = ["größe", "日本語", "naïve", "a", "b", "c", "d", "🎲"]
    documents = [[words[i] for i in rng.integers(0, 8, n)] for n in (20, 0, 1, 15, 9)]
    return pt.Corpus.from_tokens(documents, doc_ids=["é1", "two", "3", "4", "5"], **annotations)


@pytest.fixture(scope="module")
def corpus():
    return make_corpus()


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda_learned", corpus, **OPTIONS, record={"z": "all", "phi": "all", "theta": "all"})


def test_groups_and_dims(fit, corpus):
    assert list(fit.groups) == GROUPS
    posterior = fit.posterior
    dims = {name: array.dims[2:] for name, array in posterior.data_vars.items()}
    assert dims == {
        "alpha": ("topic",),
        "beta": (),
        "theta": ("doc", "topic"),
        "phi": ("topic", "word"),
        "z": ("token",),
        "topic_share": ("topic",),
    }
    assert all(array.dims[:2] == ("chain", "draw") for array in posterior.data_vars.values())
    assert dict(posterior.sizes) == {"chain": 2, "draw": 5, "topic": 3, "doc": 5, "word": 8, "token": 45}
    assert posterior["word"].values.tolist() == corpus.vocabulary.tolist()
    assert posterior["doc"].values.tolist() == corpus.doc_ids.tolist() == ["é1", "two", "3", "4", "5"]
    types = {name: str(posterior[name].dtype) for name in posterior.data_vars}
    assert (types["phi"], types["theta"], types["z"], types["alpha"]) == ("float32", "float32", "uint8", "float64")
    assert (posterior["z"] < 3).all()
    np.testing.assert_allclose(posterior["phi"].sum("word"), 1, atol=1e-5)
    np.testing.assert_allclose(posterior["theta"].sum("topic"), 1, atol=1e-5)


def test_warmup_keeps_what_is_small(fit):
    assert set(fit.groups["warmup_posterior"].data_vars) == {"alpha", "beta", "topic_share"}
    assert fit.groups["warmup_posterior"].sizes["draw"] == 4
    assert set(fit.groups["warmup_sample_stats"].data_vars) == set(fit.groups["sample_stats"].data_vars)


def test_statistics(fit):
    stats = fit.groups["sample_stats"]
    assert set(stats.data_vars) == {
        "lp",
        "log_marginal",
        "density_n_dk",
        "density_n_kw",
        "step_seconds",
        "acceptance_rate",
    }
    assert stats["acceptance_rate"].dims == stats["step_seconds"].dims == ("chain", "draw", "kernel")
    assert sorted(str(k).split(":")[0] for k in stats["kernel"].values) == ["alpha", "beta", "phi", "z"]
    assert (stats["step_seconds"] >= 0).all()
    assert (stats["acceptance_rate"] == 1).all()


def log_rows(counts, concentration):
    total = concentration.sum()
    cells = (gammaln(counts + concentration) - gammaln(concentration)).sum()
    return cells - (gammaln(counts.sum(axis=1) + total) - gammaln(total)).sum()


def test_log_densities_are_those_of_the_recorded_draws(fit, corpus):
    docs = np.repeat(np.arange(5), np.diff(corpus.doc_ptr))
    for chain in range(2):
        for draw in range(5):
            point, stats = (fit.groups[g].isel(chain=chain, draw=draw) for g in ("posterior", "sample_stats"))
            z, alpha, beta = point["z"].values, point["alpha"].values, float(point["beta"])
            n_dk, n_kw = np.zeros((5, 3)), np.zeros((3, 8))
            np.add.at(n_dk, (docs, z), 1)
            np.add.at(n_kw, (z, corpus.words), 1)
            marginal = log_rows(n_dk, alpha) + log_rows(n_kw, np.full(8, beta))
            priors = gamma.logpdf(alpha, 1.0, scale=1.0).sum() + gamma.logpdf(beta, 1.0, scale=0.1)
            assert float(stats["log_marginal"]) == pytest.approx(marginal, rel=1e-10)
            assert float(stats["lp"]) == pytest.approx(marginal + priors, rel=1e-10)
            assert float(stats["density_n_dk"]) == pytest.approx((n_dk > 0).mean())
            assert float(stats["density_n_kw"]) == pytest.approx((n_kw > 0).mean())
            np.testing.assert_allclose(point["topic_share"], n_dk.sum(axis=0) / 45)


def test_constants(fit, corpus):
    constants = fit.groups["constant_data"]
    assert constants["doc_length"].values.tolist() == [20, 0, 1, 15, 9]
    assert constants["word_count"].values.tolist() == np.bincount(corpus.words, minlength=8).tolist()
    np.testing.assert_array_equal(constants["z_last"], fit.posterior["z"].isel(draw=-1))
    assert constants["sweeps"].values.tolist() == [9, 9]
    assert constants["phi_mean"].dims == ("chain", "topic", "word")
    np.testing.assert_allclose(constants["phi_mean"].sum("word"), 1, atol=1e-5)
    fixed = pt.sample("lda", corpus, **OPTIONS, alpha=0.25, beta=0.5).groups["constant_data"]
    assert fixed["alpha"].values.tolist() == [0.25] * 3
    assert fixed["beta"].dims == ("word",)


def test_mean_of_the_expected_topics(corpus):
    fit = pt.sample("lda_collapsed", corpus, **OPTIONS, beta=0.5, record={"z": "all"})
    expected = np.zeros((2, 3, 8))
    for chain, draws in enumerate(fit.posterior["z"].values):
        for z in draws:
            counts = np.zeros((3, 8))
            np.add.at(counts, (z, corpus.words), 1)
            expected[chain] += (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 4) / 5
    np.testing.assert_allclose(fit.groups["constant_data"]["phi_mean"], expected, rtol=1e-5)


def test_attributes(fit, corpus):
    attributes = fit.posterior.attrs
    assert attributes["inference_library"] == "ppl-topics"
    assert attributes["inference_library_version"] == pt.__version__
    assert (attributes["seed"], attributes["draws"], attributes["warmup"], attributes["thin"]) == (7, 5, 4, 1)
    assert (attributes["stopped"], attributes["exact"], attributes["empty_documents"]) == (0, 1, 1)
    assert attributes["numpy_version"] == np.__version__
    assert "slice_alpha" in attributes["schedule"]
    assert pd.Timestamp(attributes["created_at"]) <= pd.Timestamp.now(tz="UTC")
    assert all(group.attrs == attributes for group in fit.groups.values())


def test_the_model_in_the_attributes_runs_again(fit, corpus):
    reloaded = pt.load_spec(fit.posterior.attrs["model_yaml"])
    assert reloaded.topics == 3
    options = {name: value for name, value in OPTIONS.items() if name != "topics"}
    again = pt.sample(reloaded, corpus, **options)
    for name in again.posterior.data_vars:
        np.testing.assert_array_equal(again.posterior[name], fit.posterior[name], err_msg=name)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"phi": "none", "theta": "none"}, {"topic_share"}),
        ({}, {"topic_share", "phi", "theta"}),
        ({"z": "all", "theta": "none"}, {"topic_share", "phi", "z"}),
    ],
)
@pytest.mark.parametrize("model", ["lda", "lda_collapsed"])
def test_record_chooses_variables(model, record, expected, corpus):
    assert set(pt.sample(model, corpus, **OPTIONS, record=record).posterior.data_vars) == expected


@pytest.mark.parametrize("model", ["lda", "lda_collapsed"])
def test_record_chooses_words_and_documents(model, corpus):
    everything = pt.sample(model, corpus, **OPTIONS, record={"phi": "all", "theta": "all"}).posterior
    some = pt.sample(model, corpus, **OPTIONS, record={"phi": {"top_words": 3}, "theta": {"docs": 2}}).posterior
    counts = np.bincount(corpus.words, minlength=8)
    top = np.sort(np.argsort(-counts, kind="stable")[:3])
    assert some["word"].values.tolist() == corpus.vocabulary[top].tolist()
    assert some["doc"].values.tolist() == ["é1", "two"]
    # Drawn for the trace: of these words alone, with other numbers than among all.
    assert some["phi"].shape == (*everything["phi"].shape[:3], 3)
    np.testing.assert_array_equal(some["theta"], everything["theta"].isel(doc=slice(2)))


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("model", ["lda", "lda_collapsed"])
def test_topics_drawn_for_the_trace_have_the_right_distribution(model, words):
    """Given z: mean and variance of Dirichlet(n + beta), against the topics of one word too few (1e-6)."""
    corpus = pt.Corpus.from_tokens([["a", "a", "a", "b"]])
    options = {**OPTIONS, "topics": 1, "draws": 1500, "chains": 1, "threads": 1}
    options |= {"schedule": {"cycle": [{"z": "block_collapsed"}, {"phi": "dirichlet_rows"}]}} if model == "lda" else {}
    fit = pt.sample(model, corpus, **options, beta=0.4, record={"phi": {"top_words": words}})
    a = fit.posterior["phi"].sel(word="a").values.ravel().astype(float)
    mean, total = 3.4 / 4.8, 4.8
    variance = mean * (1 - mean) / (total + 1)
    score = (a.mean() - mean) / np.sqrt(variance / len(a))
    assert abs(score) < 4.9
    assert a.var() == pytest.approx(variance, rel=0.15)
    planted = (a.mean() - 2.4 / 3.8) / np.sqrt(variance / len(a))
    assert abs(planted) > 4.9


@pytest.mark.parametrize(
    ("labels", "kind", "dims", "names"),
    [
        (["spam", "häm", None, "spam", "häm"], "class", ("doc",), ["häm", "spam"]),
        ([0.5, 1.5, None, 2.0, 3.25], "real", ("doc",), None),
        ([["p", "q"], [], ["q"], None, ["p"]], "multi_label", ("doc", "response"), ["p", "q"]),
    ],
)
def test_labels(labels, kind, dims, names, tmp_path):
    corpus = make_corpus(labels=labels)
    fit = pt.sample("lda", corpus, **OPTIONS)
    loaded = pt.load_fit(fit.save(tmp_path / "run.nc"))
    for groups in (fit.groups, loaded.groups):
        observed = groups["observed_data"]
        assert observed["labels"].dims == dims
        assert observed["labels"].attrs["kind"] == kind
        np.testing.assert_array_equal(observed["labels"], corpus.labels.values)
        assert observed["doc"].values.tolist() == corpus.doc_ids.tolist()
        np.testing.assert_array_equal(observed["words"], corpus.words)
        if names is not None:
            assert observed["class" if kind == "class" else "response"].values.tolist() == names


def test_counts_as_labels():
    corpus = make_corpus(labels=[3, 0, None, 2, 7], label_kind="count")
    observed = pt.sample("lda", corpus, **OPTIONS).groups["observed_data"]
    assert observed["labels"].values.tolist() == [3, 0, -1, 2, 7]
    assert observed["labels"].attrs["kind"] == "count"


def test_covariates():
    frame = pd.DataFrame({"year": [1.0, 2, 3, 4, 5], "from": ["x", "y", "x", "z", "x"]})
    corpus = make_corpus(covariates=frame)
    with pytest.warns(pt.CovariateWarning, match="model 'lda' does not use covariates 'year', 'from' of the corpus"):
        constants = pt.sample("lda", corpus, **OPTIONS).groups["constant_data"]
    assert constants["covariates"].dims == ("doc", "covariate")
    assert constants["covariate"].values.tolist() == corpus.covariates.names.tolist()
    assert constants["covariates"].sel(covariate="year", doc="two").item() == 2
