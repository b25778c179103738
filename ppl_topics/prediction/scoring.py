"""How good predictions are: accuracy, F1, predictive R^2 and log score. Missing labels are left out and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.user_warning import warn_user
from ppl_topics.core.response import Response
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import CorpusError
from ppl_topics.prediction.documents import align_labels, new_corpus
from ppl_topics.prediction.options import Options
from ppl_topics.prediction.predictions import trained_response
from ppl_topics.prediction.predictor import Predictions, choose, predict_corpus
from ppl_topics.prediction.trained import TrainedResponse
from ppl_topics.results.groups import Groups

__all__ = ["OverfitWarning", "evaluate", "known_labels", "measure", "metrics", "predictive_r2", "score"]

NEAR_ZERO, LARGE = 0.01, 0.5
"""A training loss below the first, and a held-out one above the second, show overfitting.

Both are relative to the loss of the best constant prediction.
"""

FEWEST = 20
"""With fewer labelled documents, the loss says little."""


class OverfitWarning(UserWarning):
    """A model fits its training labels almost without error, and predicts other labels badly."""


def metrics(
    groups: Groups, /, new: Any, labels: Any = None, *, covariates: Any = None, **options: Any
) -> dict[str, float | int]:
    """Measure how good the predictions for new documents are.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new : Corpus or list of str
    labels : Labels or what `Labels.infer` takes, optional
        By default those of the corpus. Classes are matched by name. Labels that are missing, or of classes that
        training lacks, are left out.
    covariates, **options
        As for `predict`.

    Returns
    -------
    dict
        Those that apply of ``accuracy``, ``f1_micro``, ``f1_macro``, ``r2`` and ``log_score``, with the number of
        labels that are ``scored``, ``missing``, and ``unknown`` (of classes that training lacks).

    Raises
    ------
    CorpusError
        If there are no labels, or they cannot be read as those of training.
    TraceError
        If the model is not supervised, or the trace lacks what is needed.

    Warns
    -----
    OverfitWarning
        If the training loss is below a hundredth of that of the best constant prediction, and the loss on 20 or more
        of these documents is above a half of it.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> fit.metrics(["goal match", "law vote"], ["sport", "politics"])["accuracy"]
    1.0
    """
    response = trained_response(groups)
    corpus = new_corpus(new, response.trained, covariates)
    if labels is not None:
        corpus = corpus.with_labels(labels)
    return evaluate(response, corpus, Options.of(options))[0]


def score(groups: Groups, /, new: Any, labels: Any = None, *, covariates: Any = None, **options: Any) -> float:
    """Return the accuracy of predictions, or for numbers their predictive R^2.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new, labels, covariates, **options
        As for `metrics`, which has more measures.
    """
    found = metrics(groups, new, labels, covariates=covariates, **options)
    return float(found["r2"] if "r2" in found else found["accuracy"])


def evaluate(
    response: TrainedResponse, corpus: Corpus, options: Options
) -> tuple[dict[str, float | int], Predictions, Labels]:
    """Return the metrics of predictions for documents with labels, the predictions, and the labels as in training."""
    labels, unknown = known_labels(response, corpus)
    targets, _ = response.block.encode(labels)
    predictions = predict_corpus(response, corpus, options, targets if response.block.numeric else None)
    _warn_of_overfit(response, targets, predictions.scores)
    counts = {"missing": int(np.count_nonzero(labels.missing)) - unknown, "unknown": unknown}
    return {**measure(response, labels, targets, predictions), **counts}, predictions, labels


def _warn_of_overfit(response: TrainedResponse, targets: FloatArray, scores: FloatArray) -> None:
    """Warn where the training loss is near zero beside that of other documents, which is not."""
    block, statistics = response.block, response.trained.groups.get("sample_stats", xr.Dataset())
    if "training_loss" not in statistics or np.count_nonzero(~np.isnan(targets).all(axis=1)) < FEWEST:
        return
    if block.ordered:
        # What is wrong depends on the cut points.
        block = response.mean_block(response.trained.chains[0], slice(None))
    training, loss = float(statistics["training_loss"].mean()), block.loss(targets, scores)
    trained_on = response.target_scaling.undo(response.targets)
    if training < NEAR_ZERO * _loss_of_constant(block, trained_on) and loss > LARGE * _loss_of_constant(block, targets):
        sizes = [name for name in ("cost", "c") if name in type(block).model_fields]
        remedy = f"lower {sizes[0]}" if sizes else "lower the prior variance of the coefficients"
        warn_user(
            f"the training loss is {training:.2g}, near zero, but the loss on these documents is {loss:.2g}, more than "
            f"half of what a constant prediction has: the model has overfitted its training labels; {remedy} (pt.grid "
            "compares values on held-out documents), or train on more documents",
            OverfitWarning,
        )


def _loss_of_constant(block: Response, targets: FloatArray) -> float:
    """Return the loss of predicting the mean of each column of known targets, or the commonest level or sign."""
    known, total = ~np.isnan(targets), 0.0
    for column, held in zip(targets.T, known.T, strict=True):
        given = column[held]
        if block.numeric:
            total += float(given.var()) * given.size if given.size else 0.0
        elif block.ordered and given.size:
            total += given.size - np.unique(given, return_counts=True)[1].max()
        elif given.size:
            total += min(block.loss(given, np.full(given.size, sign)) for sign in (-1.0, 1.0)) * given.size
    return total / max(1, int(known.sum()))


def known_labels(response: TrainedResponse, corpus: Corpus) -> tuple[Labels, int]:
    """Return the labels of new documents in terms of the training labels, and the number of unknown classes."""
    given = corpus.labels_of(response.block.observed_labels)
    if given is None:
        what = "" if response.block.observed_labels == "labels" else f" {response.block.observed_labels!r}"
        raise CorpusError(f"the documents have no labels{what} to compare predictions with; give their labels")
    labels, unknown = align_labels(given, response.kind, response.classes)
    if labels.missing.all():
        lost = f" ({unknown:,} are of classes that training lacks)" if unknown else ""
        raise CorpusError(f"no document has a label to compare its prediction with{lost}")
    return labels, unknown


def measure(
    response: TrainedResponse, labels: Labels, targets: FloatArray, predictions: Predictions
) -> dict[str, float]:
    """Compare predictions with labels; ``targets`` are the same labels as the response encodes them.

    Classes and labels have ``accuracy``, ``f1_micro`` and ``f1_macro``, levels in order also ``levels_off``, by how
    many a prediction is off in the mean; numbers ``r2``; a probabilistic response also ``log_score``, the mean log
    predictive probability (or density) of a label. ``scored`` is the number of labels compared. With several labels a
    document counts as right if all of its known ones are.
    """
    chosen = choose(response, predictions)
    if response.block.numeric:
        return _of_numbers(targets, chosen, predictions.log_density)
    if response.kind == "multi_label":
        return _of_label_sets(labels, chosen, predictions.expectation)
    known = ~labels.missing
    truth, guess = labels.values[known], chosen[known]
    result = {
        "accuracy": float(np.mean(truth == guess)),
        "f1_micro": _f1(truth, guess, "micro"),
        "f1_macro": _f1(truth, guess, "macro"),
    }
    if response.block.ordered:
        result["levels_off"] = float(np.mean(np.abs(truth - guess)))
    if predictions.probability is not None:
        result["log_score"] = _mean_log(predictions.probability[known, truth])
    return {**result, "scored": int(known.sum())}


def predictive_r2(targets: FloatArray, values: FloatArray) -> float:
    """Return 1 - SSE / SST, SST around the mean of these targets, as Zheng, Yu, Xing 2015 and Blei, McAuliffe 2008.

    The mean over targets if there are several; NaN if one is constant.
    """
    known = ~np.isnan(targets)
    number = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.where(known, targets, 0.0).sum(axis=0) / number
        errors = (np.where(known, targets - values, 0.0) ** 2).sum(axis=0)
        spread = (np.where(known, targets - centre, 0.0) ** 2).sum(axis=0)
        each = np.where(spread > 0.0, 1.0 - errors / spread, np.nan)
    return float(each[number > 0].mean())


def _of_numbers(targets: FloatArray, values: FloatArray, log_density: FloatArray | None) -> dict[str, float]:
    known = ~np.isnan(targets)
    result = {"r2": predictive_r2(targets, values)}
    if log_density is not None:
        result["log_score"] = float(log_density[known].mean())
    return {**result, "scored": int(known.sum())}


def _of_label_sets(labels: Labels, chosen: NDArray[Any], probability: FloatArray | None) -> dict[str, float]:
    known = ~labels.missing
    right = (labels.values == chosen) | ~known
    columns = [c for c in range(known.shape[1]) if known[:, c].any()]
    each = [_f1(labels.values[known[:, c], c], chosen[known[:, c], c], "binary") for c in columns]
    result = {
        "accuracy": float(right[known.any(axis=1)].all(axis=1).mean()),
        # Pooled over labels, the micro average is the F1 of all cells.
        "f1_micro": _f1(labels.values[known], chosen[known], "binary"),
        "f1_macro": float(np.mean(each)),
    }
    if probability is not None:
        held = labels.values[known] == 1
        result["log_score"] = _mean_log(np.where(held, probability[known], 1.0 - probability[known]))
    return {**result, "scored": int(known.sum())}


def _f1(truth: NDArray[Any], guess: NDArray[Any], average: str) -> float:
    # Slow to import, and seldom needed.
    from sklearn.metrics import f1_score

    return float(f1_score(truth, guess, average=average, zero_division=0.0))


def _mean_log(probability: FloatArray) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(probability).mean())
