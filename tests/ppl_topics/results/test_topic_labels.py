"""Topics named by their words in what ArviZ shows."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.results.arviz_compat import _arviz, to_groups

HOW = {"topics": 2, "draws": 20, "warmup": 40, "chains": 2, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    texts = ["goal match team goal match goal"] * 8 + ["vote law state vote law vote"] * 8
    return pt.Corpus.from_texts(texts, labels=["sport", "law"] * 8)


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda", corpus, **HOW)


@pytest.mark.parametrize("chain", [0, 1])
def test_topics_of_a_chain(fit, chain):
    posterior = to_groups(fit.labelled(words=2, chain=chain))["posterior"]
    assert posterior["chain"].values.tolist() == [chain]
    words = fit.topics(2, chain=chain).sort_values("topic")["words"]
    assert posterior["topic"].values.tolist() == [f"{k}: {each}" for k, each in enumerate(words)]
    assert set(words) == {"goal match", "vote law"}
    np.testing.assert_array_equal(posterior["phi"].values[0], fit.posterior["phi"].values[chain])


def test_all_chains_after_alignment(fit):
    posterior = to_groups(fit.aligned().labelled(words=1, chain=None))["posterior"]
    assert posterior.sizes["chain"] == 2
    assert sorted(name.partition(": ")[2] for name in posterior["topic"].values) == ["goal", "vote"]


def test_coefficients_of_topics_are_named_too(corpus):
    fit = pt.sample("slda_logistic", corpus, **HOW)
    posterior = to_groups(fit.labelled(words=1))["posterior"]
    assert posterior["coefficient"].values.tolist()[:2] == posterior["topic"].values.tolist()
    assert posterior["coefficient"].values.tolist()[2:] == fit.posterior["coefficient"].values.tolist()[2:]


def test_arviz_shows_the_names(fit):
    summary = _arviz().summary(fit.labelled(words=1), var_names=["topic_share"], kind="stats")
    assert any("goal" in name for name in summary.index)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"words": 0}, "words: must be a whole number of at least 1, got 0"), ({"chain": 7}, "the trace has no chain 7")],
)
def test_errors(fit, wrong, message):
    with pytest.raises(pt.TraceError, match=message):
        fit.labelled(**wrong)


def test_topics_of_each_response_have_no_one_name(corpus):
    three = corpus.with_labels(["a", "b", "c", "d"] * 4)
    fit = pt.sample("medlda_one_vs_all", three, **HOW | {"draws": 2, "warmup": 2})
    with pytest.raises(pt.TraceError, match="each response has its own topics"):
        fit.labelled()
