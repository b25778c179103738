"""Topic models as scikit-learn estimators, for pipelines, grid searches and cross-validation.

Examples
--------
>>> from ppl_topics.sklearn import TopicModel
>>> texts = ["goal match team", "vote law party", "team goal", "law vote"] * 10
>>> model = TopicModel(topics=2, draws=20, warmup=20, random_state=1)
>>> model.fit_transform(texts).shape
(40, 2)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, column_or_1d, validate_data

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.api.sampling import ModelLike, sample
from ppl_topics.core.response import Response
from ppl_topics.corpus import Corpus, Labels
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.fit import Fit
from ppl_topics.prediction.predictions import classes
from ppl_topics.spec import Model, load_spec

__all__ = ["TopicClassifier", "TopicModel", "TopicRegressor"]

LARGEST_SEED = 2**31 - 1


class _TopicEstimator(TransformerMixin, BaseEstimator):
    """What the estimators share: documents in any form, and the run."""

    _default_model: ClassVar[str]

    def __init__(
        self,
        model: ModelLike | None = None,
        *,
        topics: int = 20,
        parameters: Mapping[str, Any] | None = None,
        draws: int = 200,
        warmup: int = 200,
        chains: int = 1,
        text_options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.topics = topics
        self.parameters = parameters
        self.draws = draws
        self.warmup = warmup
        self.chains = chains
        self.text_options = text_options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def transform(self, X: Any, covariates: Any = None) -> FloatArray:
        """Return the topic shares of documents: their posterior mean given the topics of the first chain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
            Where the topics of documents depend on them.

        Returns
        -------
        ndarray of float64, shape (n_samples, topics)
        """
        corpus = self._new(X, covariates)
        return self.fit_.transform(corpus, seed=self.seed_, threads=self._threads)

    def fit_transform(self, X: Any, y: Any = None, covariates: Any = None) -> FloatArray:
        """Fit the model, and return the topic shares of its documents; see `fit` and `transform`."""
        fitted: Self = self.fit(X, y, covariates)
        return fitted.transform(X, covariates)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the topics: those of their keywords or labels, and ``topic3`` of others."""
        check_is_fitted(self)
        table = self.fit_.topics(1).sort_values("topic")
        named = table["name"] if "name" in table else [""] * len(table)
        return np.array([name or f"topic{k}" for k, name in zip(table["topic"], named, strict=True)], dtype=object)

    def _run(self, X: Any, labels: Labels | None, covariates: Any) -> Self:
        """Fit the model to documents."""
        corpus = self._corpus(X, covariates, reset=True)
        corpus = corpus if labels is None else corpus.with_labels(labels)
        self.vocabulary_ = corpus.vocabulary
        self.seed_ = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self.fit_: Fit = sample(
            self._model,
            corpus,
            draws=self.draws,
            warmup=self.warmup,
            chains=self.chains,
            seed=self.seed_,
            threads=self._threads,
            progress=False,
            **{"topics": self.topics, **(self.parameters or {})},
        )
        return self

    def _new(self, X: Any, covariates: Any) -> Corpus:
        """Return documents in the words of the fit."""
        check_is_fitted(self)
        return self._corpus(X, covariates, reset=False)

    def _corpus(self, X: Any, covariates: Any, *, reset: bool) -> Corpus:
        """Return documents, in the words of the fit unless there is a new one."""
        if isinstance(X, Corpus):
            corpus = X if reset else X.with_vocabulary(self.vocabulary_)
        elif _are_texts(X):
            options: dict[str, Any] = {} if reset else {"vocabulary": self.vocabulary_}
            corpus = Corpus.from_texts(X, **(self.text_options or {}), **options)
        else:
            corpus = self._from_counts(validate_data(self, X, accept_sparse="csr", reset=reset))
        return corpus if covariates is None else corpus.with_covariates(covariates)

    def _from_counts(self, counts: Any) -> Corpus:
        """Return documents with counts that `validate_data` has seen, which remembers the names of their columns."""
        check_non_negative(counts, type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        return Corpus.from_matrix(_whole(counts), vocabulary=None if names is None else list(names))

    @property
    def _model(self) -> ModelLike:
        return self._default_model if self.model is None else self.model

    @property
    def _response(self) -> Response | None:
        """The response of the model."""
        return Model.of(load_spec(self._model, {**(self.parameters or {})})).response

    @property
    def _threads(self) -> int | None:
        """Threads, as scikit-learn counts them: -1 is all."""
        most = int(numba.config.NUMBA_NUM_THREADS)
        return self.n_jobs if self.n_jobs is None or self.n_jobs > 0 else max(1, most + 1 + self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = tags.input_tags.string = True
        # Topics of new documents are drawn, from streams by their places.
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class TopicModel(_TopicEstimator):
    """A topic model that turns documents into topic shares.

    Parameters
    ----------
    model : str, path, mapping or Spec, optional
        Any model without labels, by default ``lda``.
    topics : int
    parameters : mapping, optional
        Other parameters of the model, such as ``{"alpha": 0.1}``.
    draws, warmup, chains : int
        As in `ppl_topics.sample`.
    text_options : mapping, optional
        Of `ppl_topics.Corpus.from_texts`, for documents that are texts: ``{"stop_words": "english", "min_df": 5}``.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; -1 for all cores. By default as many as a sweep has work for.

    Attributes
    ----------
    fit_ : ppl_topics.Fit
        The whole fit: draws, diagnostics, tables and plots.
    vocabulary_ : ndarray of str
    n_features_in_ : int
        Columns of a matrix of counts.

    Notes
    -----
    Counts with fractions are rounded, with a warning: the model is one of words.
    """

    _default_model = "lda"

    def fit(self, X: Any, y: Any = None, covariates: Any = None) -> Self:
        """Fit the model to documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
            Counts, or texts.
        y : ignored
        covariates : Covariates, data frame, list of mappings or matrix, optional
            Where the model has some above the topics, as ``dmr`` has.
        """
        return self._run(X, None, covariates)

    def score(self, X: Any, y: Any = None, covariates: Any = None) -> float:
        """Return the log likelihood of documents for each of their tokens, estimated from left to right.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        y : ignored
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        corpus = self._new(X, covariates)
        return float(self.fit_.held_out(corpus, seed=self.seed_, threads=self._threads).per_token)


def _gives_probabilities(estimator: Any) -> bool:
    """Whether the model has a distribution of the classes."""
    response = estimator._response
    if response is None or not response.probabilistic:
        raise AttributeError(f"model {estimator._model!r} is a loss, not a distribution of the classes")
    return True


class _Supervised(_TopicEstimator):
    """What the estimators of labels share."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _checked(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, NDArray[Any]]:
        """Return documents and their labels, one each."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if not isinstance(X, Corpus) and not _are_texts(X):
            counts, y = validate_data(self, X, y, accept_sparse="csr", y_numeric=numeric)
            X = self._from_counts(counts)
        return X, column_or_1d(y, warn=True)


class TopicClassifier(ClassifierMixin, _Supervised):
    """A supervised topic model of classes.

    Parameters
    ----------
    model : str, path, mapping or Spec, optional
        Any model of exclusive classes, by default ``slda_multinomial``; ``medlda`` may be more accurate, and has no
        probabilities.
    topics, parameters, draws, warmup, chains, text_options, random_state, n_jobs
        As of `TopicModel`.

    Attributes
    ----------
    fit_ : ppl_topics.Fit
    classes_ : ndarray of shape (n_classes,)
    vocabulary_ : ndarray of str
    n_features_in_ : int
    """

    _default_model = "slda_multinomial"

    def fit(self, X: Any, y: Any, covariates: Any = None) -> Self:
        """Fit the model to documents and their classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        y : array-like of shape (n_samples,)
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        X, y = self._checked(X, y, numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"there is only one class in y, {self.classes_[0]!r}; a classifier needs two at least")
        names = np.array([str(name) for name in self.classes_], dtype=object)
        return self._run(X, Labels("class", codes, names), covariates)

    def predict(self, X: Any, covariates: Any = None) -> NDArray[Any]:
        """Return the class of each document.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        corpus = self._new(X, covariates)
        place = {str(name): i for i, name in enumerate(self.classes_)}
        found = self.fit_.predict(corpus, seed=self.seed_, threads=self._threads)
        chosen: NDArray[Any] = self.classes_[[place[str(name)] for name in found]]
        return chosen

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, covariates: Any = None) -> FloatArray:
        """Return the probability of each class, shape (n_samples, n_classes), in the order of ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        corpus = self._new(X, covariates)
        found = self.fit_.predict_proba(corpus, seed=self.seed_, threads=self._threads)
        held = classes(self.fit_.groups)
        order = [held.index(str(name)) for name in self.classes_]
        return np.asarray(found[:, order])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn measures it on numbers that are no counts.
        tags.classifier_tags.poor_score = True
        return tags


class TopicRegressor(RegressorMixin, _Supervised):
    """A supervised topic model of numbers.

    Parameters
    ----------
    model : str, path, mapping or Spec, optional
        Any model of real targets or counts, by default ``slda_gaussian``.
    topics, parameters, draws, warmup, chains, text_options, random_state, n_jobs
        As of `TopicModel`.

    Attributes
    ----------
    fit_ : ppl_topics.Fit
    vocabulary_ : ndarray of str
    n_features_in_ : int
    """

    _default_model = "slda_gaussian"

    def fit(self, X: Any, y: Any, covariates: Any = None) -> Self:
        """Fit the model to documents and their numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        y : array-like of shape (n_samples,)
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        X, y = self._checked(X, y, numeric=True)
        response = self._response
        kind: LabelKind = "count" if response is not None and response.kind == "negative_binomial" else "real"
        return self._run(X, Labels.infer(y, kind), covariates)

    def predict(self, X: Any, covariates: Any = None) -> FloatArray:
        """Return what is expected of each document.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or sequence of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
        """
        corpus = self._new(X, covariates)
        return np.asarray(self.fit_.predict(corpus, seed=self.seed_, threads=self._threads), np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _are_texts(X: Any) -> bool:
    """Whether documents are given as texts."""
    if sparse.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, str | Mapping):
        return False
    return len(X) > 0 and isinstance(next(iter(X)), str)


def _whole(counts: Any) -> Any:
    """Return counts as whole numbers, with a warning where they have fractions."""
    is_sparse: bool = sparse.issparse(counts)
    values: FloatArray | IntArray = counts.data if is_sparse else counts
    rounded = np.rint(values)
    if (rounded == values).all():
        return counts
    warnings.warn(
        "X has fractions, and a topic model takes counts of words; they were rounded to whole numbers. Give it the "
        "counts of CountVectorizer, or texts, in place of weights such as tf-idf",
        DataConversionWarning,
        stacklevel=5,
    )
    if not is_sparse:
        return rounded
    made = counts.copy()
    made.data = rounded
    return made
