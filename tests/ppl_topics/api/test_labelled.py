"""Topics that are labels: documents keep to their own, and new ones show which labels they might have."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.errors import CorpusError, SpecError, TraceError
from ppl_topics.results.documents import document_topics

HOW = {"alpha": 0.5, "beta": 0.1, "draws": 30, "warmup": 30, "chains": 1, "seed": 1, "progress": False}
NAMES = ("law", "sport", "war")
WORDS = {"law": "vote court judge", "sport": "goal match team", "war": "army tank front", "": "the of and"}


def corpus(documents=60, seed=1):
    """Documents with one label or two, a fifth of them unknown, whose words are those of the labels and common ones."""
    rng = np.random.default_rng(seed)
    labels = [sorted(rng.choice(NAMES, size=rng.integers(1, 3), replace=False).tolist()) for _ in range(documents)]
    texts = [" ".join(rng.choice(WORDS[rng.choice([*own, ""])].split()) for _ in range(12)) for own in labels]
    known = [None if i % 5 == 4 else own for i, own in enumerate(labels)]
    return pt.Corpus.from_texts(texts, labels=known, label_kind="multi_label"), labels


@pytest.fixture(scope="module")
def fit():
    return pt.sample("labelled_lda", corpus()[0], topics=4, background=1, **HOW, debug=True)


def test_topics_are_labels(fit):
    phi = fit.groups["constant_data"]["phi_mean"][0]
    for topic, name in enumerate((*NAMES, "")):
        assert phi.sel(topic=topic, word=WORDS[name].split()).sum() > 0.6, name


def test_documents_have_the_topics_of_their_labels_alone(fit):
    made, _ = corpus()
    z = fit.groups["constant_data"]["z_last"][0].values
    docs = np.repeat(np.arange(60), made.doc_lengths)
    values = made.labels.values
    allowed = np.hstack([np.where(values < 0, 1, values), np.ones((60, 1))])
    assert allowed[docs, z].all()
    theta = document_topics(fit.groups, estimate="z_last").theta
    assert theta[allowed == 0].max() < 1e-90
    assert theta[allowed == 1].min() > 0.0


def test_unknown_labels_are_found(fit):
    _, truth = corpus()
    theta = document_topics(fit.groups, estimate="z_last").theta
    for doc in range(4, 60, 5):
        own = [NAMES.index(name) for name in truth[doc]]
        assert theta[doc, own].sum() > np.delete(theta[doc, :3], own).sum()


def test_new_documents_may_have_all_topics(fit):
    theta = fit.transform(["vote court judge vote", "army tank tank front"])
    assert theta[:, :3].argmax(axis=1).tolist() == [0, 2]
    assert np.isfinite(fit.held_out(["vote army"], seed=1).log_likelihood)
    with pytest.raises(TraceError, match="MALLET's state has one for all"):
        fit.export("state", "state.gz")


def test_predictive_checks_keep_to_the_labels():
    made, _ = corpus(20)
    fit = pt.sample("labelled_lda", made, topics=3, **HOW | {"record": {"phi": "all"}, "draws": 5})
    assert np.isfinite(fit.log_likelihood(draws=3)["words"]).all()
    assert set(fit.posterior_predictive(draws=3)) == {"words"}


def test_labels_above_and_a_rating_below(tmp_path):
    made, truth = corpus()
    rated = made.with_labels([float("sport" in own) for own in truth], name="rating", kind="real")
    spec = {
        "name": "rated",
        "extends": "labelled_lda",
        "blocks": {
            "eta": {"block": "normal", "per": "response"},
            "y": {"block": "gaussian", "coefficients": "eta", "features": ["z"], "observed": "rating"},
        },
    }
    fit = pt.sample(spec, rated, topics=4, background=1, out=tmp_path / "run", **HOW)
    eta = fit.posterior["eta"].mean(("chain", "draw"))[0]
    assert int(eta.values[:3].argmax()) == NAMES.index("sport")
    assert fit.metrics(rated)["r2"] > 0.5
    assert pt.load_fit(tmp_path / "run").groups["observed_data"]["topic_label"].values.tolist() == list(NAMES)


def test_simulated_documents_keep_to_their_labels():
    made = pt.simulate("labelled_lda", topics=4, background=1, documents=30, lengths=10, words=12, seed=1)
    z = made.values["z"].values.reshape(30, 10)
    allowed = np.hstack([made.corpus.labels.values, np.ones((30, 1))])
    assert allowed[np.arange(30)[:, None], z].all()
    assert (made.corpus.labels.values.sum(axis=1) >= 1).all()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"topics": 5}, "the corpus has 3 labels, each a topic, and the model 0 topics .* set topics to 3, got 5"),
        ({"topics": 2, "background": 3}, "background: there are 2 topics, got 3"),
        ({"topics": 3, "labels": "tags"}, "needs labels 'tags', and the corpus has no others than `labels`"),
    ],
)
def test_what_does_not_fit_is_refused(how, message):
    with pytest.raises((SpecError, CorpusError), match=message):
        pt.sample("labelled_lda", corpus(10)[0], **HOW, **how)


def test_numbers_name_no_topics():
    rated = pt.Corpus.from_texts(["vote", "goal"], labels=[1.5, 2.5])
    with pytest.raises(SpecError, match=r"block 'theta' \(labelled\): topics are named by classes or labels"):
        pt.sample("labelled_lda", rated, topics=2, **HOW)
    with pytest.raises(CorpusError, match=r"block 'theta' \(labelled\) of model 'labelled_lda' needs labels"):
        pt.sample("labelled_lda", pt.Corpus.from_texts(["vote", "goal"]), topics=2, **HOW)
