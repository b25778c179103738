"""What a fit says about new documents: their topics, their classes or numbers, and the whole predictive distribution.

All functions take the groups of a trace. New documents are a `Corpus`, whose words are looked up in the training
vocabulary, or texts, which are cut into tokens as `Corpus.from_texts` does by default. Words that were not seen
in training are dropped.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.prediction.dask_texts import is_dask, transform_partitions
from ppl_topics.prediction.documents import new_corpus
from ppl_topics.prediction.expected_targets import expected_targets
from ppl_topics.prediction.options import Options
from ppl_topics.prediction.predictor import choose, draw_scores, predict_corpus, transform_corpus
from ppl_topics.prediction.trained import TrainedLabels, TrainedResponse, TrainedTopics
from ppl_topics.results.groups import Groups

__all__ = ["Fitted", "classes", "decision_function", "predict", "predict_proba", "predictive", "transform"]

Fitted: TypeAlias = Groups | TrainedTopics
"""The groups of a trace, or what has been taken from them."""


def predict(groups: Fitted, /, new: Any, *, covariates: Any = None, **options: Any) -> NDArray[Any]:
    """Return the predictions for new documents: classes, labels or numbers.

    Where the model has coefficients for covariates, new documents need covariates too: those of the corpus, or
    ``covariates=`` with a row for each document. They are encoded with the columns, means and scales of training; a
    category that training lacks counts as none of them, with a `CovariateWarning`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new : Corpus or list of str
    covariates : Covariates, data frame, list of mappings or matrix, optional
        By default those of the corpus.
    eta : {"draws", "mean", "last"} or int
        Average the predictions over all kept draws of the coefficients, each with a draw of the topics of the
        documents (the default: the posterior predictive distribution). Or plug in the mean of the coefficients, their
        last draw or the draw of this number, with the mean topics of the documents. A plug-in ignores how uncertain
        these are, so its probabilities are too near 0 and 1.
    phi : {"mean", "draws"}
        The mean topics of each chain (the default), or, with ``eta="draws"``, the topics of each draw, if they were
        recorded.
    method : {"gibbs", "cvb0"}
        How to find the topics of new documents: by draws (the default), or by their expected shares, about ten
        times as fast. Those of `cvb0` are not exact, but on average nearer to the posterior mean than those of 120
        sweeps. They leave out how uncertain the topics of a document are. [1]_
    warmup, draws : int
        For `gibbs`, sweeps over the topics of the new documents: the number discarded (20), and the number averaged
        over (100). The draws of the coefficients are shared out among them.
    seed : int
        0 by default. The same seed gives the same numbers at any number of threads.
    threads : int, optional
        All cores by default.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Share the documents among the workers of a Dask cluster; the numbers are the same. See `ppl_topics.sample`.

    Returns
    -------
    ndarray
        Names of classes, shape (D,); for several labels, 1 where one is predicted, shape (D, C); for numbers
        their means, shape (D,), or (D, C) if the training labels had columns. By a block of labels that is no
        `Response`, the means of the targets as it encodes them, and all draws are averaged over.

    Raises
    ------
    TraceError
        If the model is not supervised, or the trace lacks what is needed.
    CorpusError
        If a corpus shares no word with the training corpus.

    Warns
    -----
    UnknownWordsWarning
        If documents have words, but none of the training corpus: they count as empty.

    References
    ----------
    .. [1] A. Asuncion, M. Welling, P. Smyth, Y. W. Teh (2009). On smoothing and inference for topic models. UAI 2009.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> fit.predict(["match goal goal", "an election, a vote, a law"]).tolist()
    ['sport', 'politics']
    """
    trained = TrainedTopics.of(groups)
    if trained.model.supervised and trained.model.response is None:
        labels = TrainedLabels.of(trained)
        how = Options.of(options, "phi method warmup draws seed threads cluster", eta="draws")
        return _squeezed(labels, expected_targets(labels, new_corpus(new, labels.trained, covariates), how))
    response = trained.response
    chosen = choose(
        response, predict_corpus(response, new_corpus(new, response.trained, covariates), Options.of(options))
    )
    if response.kind == "class":
        return np.asarray(np.array(classes(trained), dtype=object)[chosen])
    return _squeezed(response, chosen)


def predict_proba(groups: Fitted, /, new: Any, *, covariates: Any = None, **options: Any) -> FloatArray:
    """Return the probability of each class, or of each label, for new documents.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new, covariates, **options
        As for `predict`.

    Returns
    -------
    ndarray of float64, shape (D, number of classes)
        In the order of `classes`. Probabilities of classes sum to 1.

    Raises
    ------
    SpecError
        If the response is a loss, such as the hinge, rather than a distribution of the labels.
    TraceError
        If labels are numbers, the model is not supervised, or the trace lacks what is needed.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    >>> fit = pt.sample("slda_logistic", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> fit.predict_proba(["match goal goal"]).shape
    (1, 2)
    """
    response = trained_response(groups)
    if response.block.numeric:
        raise TraceError(
            f"block {response.block.kind!r} predicts numbers, which have no probability each; use predict or predictive"
        )
    if not response.block.probabilistic:
        response.block.expectation(np.zeros((1, len(response.responses))))
    how = Options.of(options)
    predictions = predict_corpus(response, new_corpus(new, response.trained, covariates), how)
    result = predictions.expectation if predictions.probability is None else predictions.probability
    assert result is not None, "checked by now"
    return result


def decision_function(groups: Fitted, /, new: Any, *, covariates: Any = None, **options: Any) -> FloatArray:
    """Return the linear predictors of new documents, averaged over chains.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new, covariates, **options
        As for `predict`.

    Returns
    -------
    ndarray of float64, shape (D,) or (D, C)
        A column for each class, label or target; a single column is dropped if there are two classes, whose sign
        says which, or one target without a name. An empty document has 0, or the intercept, as in training. Those of
        standardised targets are in the units of the targets, in which an empty document has their mean.

    Raises
    ------
    TraceError
        If the model is not supervised, or the trace lacks what is needed.
    """
    response = trained_response(groups)
    scores = predict_corpus(response, new_corpus(new, response.trained, covariates), Options.of(options)).scores
    return scores[:, 0] if response.kind == "class" and scores.shape[1] == 1 else _squeezed(response, scores)


def predictive(groups: Fitted, /, new: Any, *, covariates: Any = None, **options: Any) -> xr.Dataset:
    """Return the predictions for new documents from each kept draw of the coefficients, and a draw of the topics.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new, covariates, **options
        As for `predict`, but ``eta`` and ``method``: all draws of the coefficients are used, with draws of the topics.

    Returns
    -------
    xarray.Dataset
        ``score``, the linear predictors, with dims (chain, draw, doc, response). If the response is probabilistic,
        and each document has one class, also ``probability``, with dims (chain, draw, doc, class), and ``target``, the
        number of a class drawn by it, with dims (chain, draw, doc). Otherwise ``expectation``, the probability of
        the label or the mean of the target, and ``target``, a draw of the label (0 or 1) or of the target, with the
        dims of ``score``. The attributes count dropped words and empty documents. Each number takes 8 bytes.

    Raises
    ------
    TraceError
        If the model is not supervised, or the trace lacks what is needed.
    """
    response = trained_response(groups)
    corpus = new_corpus(new, response.trained, covariates)
    how = Options.of(options, "phi warmup draws seed threads cluster", eta="draws")
    scores = draw_scores(response, corpus, how)
    dims = ("chain", "draw", "doc", "response")
    in_units = response.target_scaling.undo
    data: dict[str, Any] = {"score": (dims, in_units(scores))}
    coords = {
        "chain": response.trained.chains,
        "draw": response.draws,
        "doc": corpus.doc_ids,
        "response": response.responses,
    }
    by_chain = list(zip(map(response.block_of_chain, response.trained.chains), scores, strict=True))
    if response.block.probabilistic and response.kind == "class":
        probability = np.stack([block.class_probabilities(of_chain) for block, of_chain in by_chain])
        data["probability"] = ((*dims[:3], "class"), probability)
        data["target"] = (dims[:3], response.draw_classes(probability, how.seed))
        coords["class"] = response.classes
    elif response.block.probabilistic:
        data["expectation"] = (dims, in_units(np.stack([block.expectation(of_chain) for block, of_chain in by_chain])))
        data["target"] = (dims, in_units(response.draw_targets(scores, how.seed)))
    attributes = {"dropped_tokens": int(corpus.dropped.tokens), "empty_documents": int(corpus.n_empty_docs)}
    return xr.Dataset(data, coords, attributes)


def transform(
    groups: Fitted, /, new: Any, *, chain: int = 0, response: str | None = None, covariates: Any = None, **options: Any
) -> FloatArray:
    """Return the topic shares of new documents: their posterior mean given the mean topics of one chain.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new : Corpus, list of str, or Dask series or bag of str
    chain : int
        Each chain numbers its topics in its own way, so they are not averaged.
    response : str, optional
        Whose topics, if each response has its own (one-vs-all).
    covariates : Covariates, data frame, list of mappings or matrix, optional
        As for `predict`; needed where the topics of documents depend on covariates and the corpus has none.
    **options
        ``method``, ``warmup``, ``draws``, ``seed``, ``threads`` and ``cluster`` as for `predict`.

    Returns
    -------
    ndarray of float64, shape (D, K)
        Rows sum to 1; the row of an empty document is the prior mean. Of a Dask series or bag, a Dask array: texts are
        counted at once, and the rest is computed when it is asked for, with the same numbers whatever the partitions.

    Raises
    ------
    CorpusError
        If a corpus shares no word with the training corpus.
    TraceError
        If there is no such chain or response.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> fit.transform(["match goal goal", "vote goal election law"]).shape
    (2, 2)
    """
    trained = TrainedTopics.of(groups)
    if not is_whole(chain):
        raise TraceError(f"{argument('chain')}: must be a whole number, got {chain!r}")
    how = Options.of(options, "method warmup draws seed threads cluster")
    if is_dask(new):
        if how.cluster is not None:
            raise PplTopicsError(f"{argument('cluster')}: Dask computes its own collections; leave it out")
        result: FloatArray = transform_partitions(trained, new, how, int(chain), response)
        return result
    corpus = new_corpus(new, trained, covariates, with_labels=False)
    return transform_corpus(trained, corpus, how, int(chain), response)


def classes(groups: Fitted) -> list[str]:
    """Return the names of the classes, labels or targets, in the order of the columns of predictions."""
    response = trained_response(groups)
    return [str(name) for name in (response.responses if response.classes is None else response.classes)]


def trained_response(groups: Fitted) -> TrainedResponse:
    """Return the response of a trace."""
    return TrainedTopics.of(groups).response


def _squeezed(labels: TrainedLabels, values: NDArray[Any]) -> NDArray[Any]:
    """Drop the dimension of the responses if the training labels had none."""
    return values[:, 0] if labels.classes is None else values
