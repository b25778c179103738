"""Predictions without the trace: what a fit knows of new documents, in memory once and small on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from ppl_topics.prediction import predictions
from ppl_topics.prediction.predictions import Fitted
from ppl_topics.prediction.trained import TrainedTopics
from ppl_topics.results.groups import Groups
from ppl_topics.results.store import load_groups, save_groups

__all__ = ["Predictor", "load_predictor"]

P = ParamSpec("P")
R = TypeVar("R")


def of_predictor(function: Callable[Concatenate[Fitted, P], R]) -> Callable[Concatenate[Predictor, P], R]:
    """Make a method of a predictor from a function of a fit."""

    def method(self: Predictor, /, *arguments: P.args, **options: P.kwargs) -> R:
        return function(self.trained, *arguments, **options)

    update_wrapper(method, function)
    method.__doc__ = f"See :meth:`Fit.{function.__name__}`."
    return method


class Predictor:
    """What a fit says of new documents, in memory once: the model is parsed and the topics are read only once.

    It gives the numbers of the fit, by the mean topics of each chain (``phi="mean"``). It holds no draw of the topics
    and nothing of the training documents but their labels.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> predictor = fit.predictor()
    >>> predictor.predict(["match goal goal"]).tolist()
    ['sport']
    """

    def __init__(self, groups: Groups) -> None:
        self.trained = TrainedTopics(groups).detached("mean")

    transform = of_predictor(predictions.transform)
    predict = of_predictor(predictions.predict)
    predict_proba = of_predictor(predictions.predict_proba)
    decision_function = of_predictor(predictions.decision_function)

    @property
    def classes(self) -> list[str]:
        """Names of the classes, labels or targets, in the order of the columns of predictions.

        Raises
        ------
        TraceError
            If the model is not supervised.
        """
        return predictions.classes(self.trained)

    def save(self, path: str | Path) -> Path:
        """Write it to a netCDF file, which :func:`load_predictor` reads, and so do ArviZ and `load_fit`.

        Raises
        ------
        TraceError
        """
        return save_groups(self.trained.groups, path)

    def __repr__(self) -> str:
        """Return one line: model, chains, sizes."""
        trained, name = self.trained, self.trained.model.spec.name
        chains, words = len(trained.chains), len(trained.vocabulary)
        return f"Predictor: {name}, {chains} chains, {trained.topics} topics, {words:,} words"


def load_predictor(path: str | Path) -> Predictor:
    """Load what :meth:`Predictor.save` wrote, or take what predicts from the file of a fit.

    Raises
    ------
    TraceError
    """
    return Predictor(load_groups(path))
