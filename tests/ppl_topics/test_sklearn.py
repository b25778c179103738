"""The scikit-learn estimators: scikit-learn's own checks of them, and what users of it do with estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import ppl_topics as pt
from ppl_topics.sklearn import TopicClassifier, TopicModel, TopicRegressor

TINY = {"topics": 2, "draws": 2, "warmup": 2, "n_jobs": 1}
SMALL = {"topics": 2, "draws": 20, "warmup": 40, "random_state": 1, "n_jobs": 1}
SPORT, LAW = ["goal", "match", "team", "player"], ["vote", "law", "party", "court"]


def documents(number=60):
    """Texts of two kinds, and of which kind each is."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 2, number)
    return [" ".join(rng.choice([SPORT, LAW][kind], 12)) for kind in kinds], np.array(["sport", "law"])[kinds]


TEXTS, KINDS = documents()
COUNTS = CountVectorizer().fit_transform(TEXTS)


@parametrize_with_checks([TopicModel(**TINY), TopicClassifier(**TINY), TopicRegressor(**TINY)])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_topic_shares_of_texts_and_of_counts_are_alike():
    from_texts = TopicModel(**SMALL).fit(TEXTS)
    from_counts = TopicModel(**SMALL).fit(COUNTS)
    shares = from_texts.transform(TEXTS)
    assert shares.shape == (60, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # A kind has a topic of its own, whatever its number.
    assert len({(kind, top) for kind, top in zip(KINDS, shares.argmax(axis=1), strict=True)}) == 2
    assert from_counts.n_features_in_ == 8
    assert from_counts.score(COUNTS) == pytest.approx(from_texts.score(TEXTS), abs=0.1)
    assert from_texts.fit_.topics(2)["words"].str.len().min() > 0


def test_words_that_training_lacks_are_dropped():
    model = TopicModel(**SMALL).fit(TEXTS)
    np.testing.assert_array_equal(model.transform(["goal zebra zebra"]), model.transform(["goal"]))


def test_frames_have_names():
    frame = pd.DataFrame(COUNTS.toarray(), columns=sorted(SPORT + LAW))
    model = TopicModel(**SMALL).set_output(transform="pandas").fit(frame)
    assert list(model.vocabulary_) == sorted(SPORT + LAW)
    assert list(model.transform(frame).columns) == ["topic0", "topic1"]
    assert list(TopicClassifier(**TINY).fit(frame, KINDS).vocabulary_) == sorted(SPORT + LAW)


def test_topics_have_the_names_of_their_keywords():
    parameters = {"keywords": {"politics": ["vote", "law"]}}
    model = TopicModel("keyword_lda", parameters=parameters, **SMALL).fit(TEXTS)
    assert list(model.get_feature_names_out()) == ["politics", "topic1"]
    assert model.transform(["vote law party"])[0, 0] > 0.5


def test_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(TopicModel(**SMALL), LogisticRegression())
    assert cross_val_score(pipeline, TEXTS, KINDS, cv=3).mean() > 0.9
    search = GridSearchCV(TopicModel(**SMALL), {"topics": [1, 2]}, cv=2).fit(TEXTS)
    assert search.best_params_ == {"topics": 2}
    assert search.best_estimator_.fit_.posterior.sizes["topic"] == 2


def test_classes_keep_their_type_and_order():
    numbers = np.where(KINDS == "sport", 10, 9)
    model = TopicClassifier(**SMALL).fit(COUNTS, numbers)
    assert model.classes_.tolist() == [9, 10]
    assert model.score(COUNTS, numbers) > 0.9
    probability = model.predict_proba(COUNTS)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(COUNTS))


def test_levels_in_order_have_the_probabilities_of_their_class():
    levels = np.where(KINDS == "sport", "10", np.where(np.arange(60) % 3 == 0, "9", "8"))
    model = TopicClassifier("slda_ordinal", **SMALL).fit(TEXTS, levels)
    assert model.classes_.tolist() == ["10", "8", "9"]
    assert model.predict_proba(TEXTS)[KINDS == "sport", 0].mean() > 0.7


def test_a_loss_has_no_probabilities():
    model = TopicClassifier("medlda", **SMALL).fit(TEXTS, KINDS)
    assert model.score(TEXTS, KINDS) > 0.9
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("model", [None, "slda_counts"])
def test_numbers(model):
    numbers = np.where(KINDS == "sport", 8, 2)
    found = TopicRegressor(model, **SMALL).fit(TEXTS, numbers)
    assert found.score(TEXTS, numbers) > 0.7


def test_covariates_are_routed():
    """To the models below pipelines and cross-validation, where metadata routing is on."""
    ages = pd.DataFrame({"age": np.where(KINDS == "sport", 20.0, 60.0)})
    with sklearn.config_context(enable_metadata_routing=True):
        model = TopicModel("dmr", **SMALL)
        model.set_fit_request(covariates=True).set_transform_request(covariates=True)
        pipeline = make_pipeline(model, LogisticRegression())
        fitted = pipeline.fit(TEXTS, KINDS, covariates=ages)
        assert fitted.predict(TEXTS, covariates=ages).shape == (60,)
    with pytest.raises(pt.CorpusError, match="covariates"):
        TopicModel("dmr", **SMALL).fit(TEXTS)


def test_a_clone_is_unfitted_and_a_pickle_is_the_same():
    model = TopicClassifier(**SMALL).fit(TEXTS, KINDS)
    with pytest.raises(NotFittedError):
        clone(model).predict(TEXTS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_the_seed_is_the_random_state():
    first, second, other = (TopicModel(**SMALL | {"random_state": seed}).fit(TEXTS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.transform(TEXTS), second.transform(TEXTS))
    assert first.seed_ != other.seed_


def test_fractions_are_rounded_with_a_warning():
    with pytest.warns(DataConversionWarning, match="X has fractions, and a topic model takes counts of words"):
        model = TopicModel(**TINY).fit(COUNTS * 1.01)
    assert model.fit_.groups["constant_data"].sizes["token"] == COUNTS.sum()


def test_text_options():
    model = TopicModel(**TINY, text_options={"stop_words": ["goal"], "min_df": 2}).fit(TEXTS)
    assert "goal" not in model.vocabulary_
    assert "match" in model.vocabulary_
