"""The methods of a fit that predict new documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.corpus import Corpus
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.prediction.documents import align_corpus, new_corpus
from ppl_topics.prediction.held_out import DRAWS, MOVES, HeldOut, HeldOutOptions, Method, held_out
from ppl_topics.prediction.metrics import evaluate
from ppl_topics.prediction.options import Options, Phi
from ppl_topics.prediction.predictor import choose, draw_scores, predict, transform
from ppl_topics.prediction.trained import TrainedResponse, TrainedTopics

__all__ = ["Predicting"]


class Predicting:
    """Prediction of new documents, for a class that holds the groups of a trace.

    New documents are a `Corpus`, whose words are looked up in the training vocabulary by name, or texts, which are cut
    into tokens as `Corpus.from_texts` does by default. Words that were not seen in training are dropped.

    Where the model has coefficients for covariates, documents need theirs: those of the corpus, or ``covariates=`` with
    a row for each document. They are encoded with the columns, the means and the scales of training; a category that
    training lacks counts as none of them, with a `CovariateWarning`.

    All methods take these keywords.

    eta : {"mean", "last", "draws"} or int
        Predict by the mean of the coefficients, by the last draw or the one of this number, or by all draws, the
        predictions averaged.
    phi : {"mean", "draws"}
        By the mean topics of each chain, or, with ``eta="draws"``, by the topics of each draw, if they were recorded.
    warmup, draws : int
        Sweeps over the topics of the new documents: those left out (20), and those averaged over (100).
    seed : int
        0 by default. The same seed gives the same numbers at any number of threads.
    threads : int, optional
        All cores by default.
    """

    groups: Mapping[str, xr.Dataset]

    @property
    def classes(self) -> list[str]:
        """Names of the classes, labels or targets, in the order of the columns of what is predicted."""
        response = self._response()
        return [str(name) for name in (response.responses if response.classes is None else response.classes)]

    def transform(self, new: Any, *, chain: int = 0, response: str | None = None, **options: Any) -> FloatArray:
        """Return the topic shares of new documents, their posterior mean given the mean topics of one chain.

        Parameters
        ----------
        new : Corpus or list of str
        chain : int
            Chains number their topics each in its own way, so they are not averaged.
        response : str, optional
            Whose topics, where each response has its own (one-vs-all).
        **options
            ``warmup``, ``draws``, ``seed``, ``threads``; see :class:`Predicting`.

        Returns
        -------
        ndarray of float64, shape (D, K)
            Rows sum to 1; that of an empty document is the prior mean.

        Raises
        ------
        CorpusError
            If a corpus shares no word with the training corpus.
        TraceError
            If there is no such chain or response.
        """
        trained = TrainedTopics(self.groups)
        if not is_whole(chain):
            raise TraceError(f"chain: must be a whole number, got {chain!r}")
        how = _options(options, "warmup draws seed threads")
        return transform(trained, align_corpus(new, trained.vocabulary), how, int(chain), response)

    def decision_function(self, new: Any, *, covariates: Any = None, **options: Any) -> FloatArray:
        """Return the linear predictors of new documents, averaged over chains.

        Parameters
        ----------
        new : Corpus or list of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
            See :class:`Predicting`.
        **options
            See :class:`Predicting`.

        Returns
        -------
        ndarray of float64, shape (D,) or (D, C)
            A column for each class, label or target; no columns where there are two classes, whose sign says which,
            or one target without a name. That of an empty document is 0, or the intercept, as in training.

        Raises
        ------
        TraceError
            If the model is not supervised, or the trace lacks what is needed.
        """
        response, corpus = self._prepare(new, covariates)
        scores = predict(response, corpus, _options(options)).scores
        return scores[:, 0] if response.kind == "class" and scores.shape[1] == 1 else _squeezed(response, scores)

    def predict(self, new: Any, *, covariates: Any = None, **options: Any) -> NDArray[Any]:
        """Return what is predicted of new documents.

        Parameters
        ----------
        new : Corpus or list of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
            See :class:`Predicting`.
        **options
            See :class:`Predicting`.

        Returns
        -------
        ndarray
            Names of classes, shape (D,); for several labels, 1 where one is predicted, shape (D, C); for numbers
            their means, shape (D,), or (D, C) where the training labels had columns.

        Raises
        ------
        TraceError
            If the model is not supervised, or the trace lacks what is needed.

        Examples
        --------
        >>> import ppl_topics as pt
        >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
        >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
        >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
        >>> fit.predict(["match goal goal", "an election, a vote, a law"]).tolist()
        ['sport', 'politics']
        """
        response, corpus = self._prepare(new, covariates)
        chosen = choose(response, predict(response, corpus, _options(options)))
        if response.kind == "class":
            return np.asarray(np.array(self.classes, dtype=object)[chosen])
        return _squeezed(response, chosen)

    def predict_proba(self, new: Any, *, covariates: Any = None, **options: Any) -> FloatArray:
        """Return the probability of each class, or of each label.

        Parameters
        ----------
        new : Corpus or list of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
            See :class:`Predicting`.
        **options
            See :class:`Predicting`.

        Returns
        -------
        ndarray of float64, shape (D, number of classes)
            In the order of `classes`. Probabilities of classes sum to 1.

        Raises
        ------
        SpecError
            If the response is a loss, such as the hinge, and no distribution of the labels.
        TraceError
            If labels are numbers, the model is not supervised, or the trace lacks what is needed.
        """
        response = self._response()
        if response.block.numeric:
            raise TraceError(
                f"block {response.block.kind!r} predicts numbers, which have no probability each; use predict or "
                "predictive"
            )
        if not response.block.probabilistic:
            response.block.expectation(np.zeros((1, len(response.responses))))
        how = _options(options)
        predictions = predict(response, self._prepare(new, covariates)[1], how)
        result = predictions.expectation if predictions.probability is None else predictions.probability
        assert result is not None, "checked by now"
        return result

    def predictive(self, new: Any, *, covariates: Any = None, **options: Any) -> xr.Dataset:
        """Return the predictions of new documents by each kept draw of the coefficients, and a draw of the topics.

        Parameters
        ----------
        new : Corpus or list of str
        covariates : Covariates, data frame, list of mappings or matrix, optional
            See :class:`Predicting`.
        **options
            See :class:`Predicting`; all draws of the coefficients are used.

        Returns
        -------
        xarray.Dataset
            ``score``, the linear predictors, with dims (chain, draw, doc, response); where the response is
            probabilistic also ``expectation``, the probability of the label, or the mean of the target, and ``target``,
            a draw of the label (0 or 1) or the target from its distribution. Each response stands by itself, also where
            a document has one class of several; `predict_proba` has the probabilities of classes. The attributes count
            words that were dropped and empty documents. This takes 8 bytes for each number.

        Raises
        ------
        TraceError
            If the model is not supervised, or the trace lacks what is needed.
        """
        response, corpus = self._prepare(new, covariates)
        how = _options(options, "phi warmup draws seed threads", eta="draws")
        scores = draw_scores(response, corpus, how)
        dims = ("chain", "draw", "doc", "response")
        data: dict[str, Any] = {"score": (dims, scores)}
        if response.block.probabilistic:
            data["expectation"] = (dims, response.block.expectation(scores))
            data["target"] = (dims, response.draw_targets(scores, how.seed))
        coords = {
            "chain": response.trained.chains,
            "draw": response.draws,
            "doc": corpus.doc_ids,
            "response": response.responses,
        }
        attributes = {"dropped_tokens": int(corpus.dropped.tokens), "empty_documents": int(corpus.n_empty_docs)}
        return xr.Dataset(data, coords, attributes)

    def metrics(
        self, new: Any, labels: Any = None, *, covariates: Any = None, **options: Any
    ) -> dict[str, float | int]:
        """Measure how good predictions are.

        Parameters
        ----------
        new : Corpus or list of str
        labels : Labels or what `Labels.infer` takes, optional
            By default those of the corpus. Classes are known by their names. Missing ones, and those of classes that
            training lacks, are left out.
        covariates : Covariates, data frame, list of mappings or matrix, optional
            See :class:`Predicting`.
        **options
            See :class:`Predicting`.

        Returns
        -------
        dict
            As far as they apply ``accuracy``, ``f1_micro``, ``f1_macro``, ``r2`` and ``log_score``, with the numbers
            of labels ``scored``, ``missing``, and ``unknown``, of classes that training lacks.

        Raises
        ------
        CorpusError
            If there are no labels, or they cannot be read as those of training.
        TraceError
            If the model is not supervised, or the trace lacks what is needed.
        """
        response, corpus = self._prepare(new, covariates)
        if labels is not None:
            corpus = corpus.with_labels(labels)
        return evaluate(response, corpus, _options(options))[0]

    def score(self, new: Any, labels: Any = None, *, covariates: Any = None, **options: Any) -> float:
        """Return the accuracy of predictions, or for numbers their predictive R^2; see `metrics`."""
        found = self.metrics(new, labels, covariates=covariates, **options)
        return float(found["r2"] if "r2" in found else found["accuracy"])

    def held_out(
        self,
        new: Any,
        *,
        method: Method = "left_to_right",
        particles: int | None = None,
        phi: Phi = "mean",
        draws: int = DRAWS,
        moves: int = MOVES,
        response: str | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> HeldOut:
        """Estimate how probable new documents are: log p(w_d | phi, alpha), averaged over chains or draws.

        Parameters
        ----------
        new : Corpus or list of str
            Words that do not occur in training are dropped and counted; labels and covariates play no part.
        method : {"left_to_right", "document_completion"}
            Of all tokens; or of a random half of each document given the other half.
        particles : int, optional
            Of each document, for each chain or draw; a multiple of 4. By default 40, or 4 chains of draws.
        phi : {"mean", "draws"}
            Average over the mean topics of each chain, or over draws of the topics, if they were recorded whole.
        draws : int
            Of each chain at most, evenly spread; for ``phi="draws"``.
        moves : int
            Earlier tokens, at most, whose topics are drawn again before each token; for ``method="left_to_right"``.
        response : str, optional
            Whose topics, where each response has its own (one-vs-all).
        seed : int
            The same seed gives the same numbers at any number of threads.
        threads : int, optional
            All cores by default.

        Returns
        -------
        HeldOut
            With ``log_likelihood``, its Monte Carlo ``error`` and ``bias``, ``perplexity``, and `to_frame` by document.

        Raises
        ------
        CorpusError
            If a corpus shares no word with the training corpus.
        TraceError
            If the trace lacks what is needed, or there is no such response.
        PplTopicsError
            If an option is wrong.

        Examples
        --------
        >>> import ppl_topics as pt
        >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
        >>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
        >>> found = fit.held_out(["match goal goal", "vote goal election law"], seed=1)
        >>> found.n_tokens, found.unknown_tokens, bool(found.values[0] > found.values[1])
        (6, 1, True)
        """
        trained = TrainedTopics(self.groups)
        how = HeldOutOptions(method, particles, phi, draws, moves, seed, threads).check()
        return held_out(trained, align_corpus(new, trained.vocabulary), how, response)

    def _response(self) -> TrainedResponse:
        return TrainedResponse.of(TrainedTopics(self.groups))

    def _prepare(self, new: Any, covariates: Any) -> tuple[TrainedResponse, Corpus]:
        response = self._response()
        return response, new_corpus(new, response, covariates)


def _options(given: Mapping[str, Any], names: str = "eta phi warmup draws seed threads", **fixed: Any) -> Options:
    known = names.split()
    for name in given:
        if name not in known:
            raise PplTopicsError(f"{name}: no such option{nearest(name, known)}; there are {', '.join(known)}")
    return Options(**given, **fixed).check()


def _squeezed(response: TrainedResponse, values: NDArray[Any]) -> NDArray[Any]:
    """Leave out the dimension of the responses where the training labels had none."""
    return values[:, 0] if response.classes is None else values
