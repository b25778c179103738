"""How probable new documents are: the likelihood of documents that a fit was not trained on, and its error.

The likelihood of a document is its posterior predictive probability as a sequence of words, with theta integrated out,

    p(w_d) = mean over chains (and draws) of p(w_d | phi, alpha) = mean of the integral of p(w_d | theta, phi)
             Dirichlet(theta | alpha),

with phi the mean topics of each chain or the topics of each draw. Its logarithms are added over documents. Labels and
covariates play no part. `ppl_topics.samplers.held_out` estimates it from left to right, or by document completion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_choice, check_threads, check_whole
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt32Array
from ppl_topics._util.threads import using_threads
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.corpus import Corpus, Labels
from ppl_topics.corpus.names import StrArray
from ppl_topics.engine.cluster.connection import ClusterLike
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.prediction.by_documents import by_documents
from ppl_topics.prediction.documents import new_corpus
from ppl_topics.prediction.likelihood_errors import of_replicates, of_tokens, ratio_error
from ppl_topics.prediction.options import Phi
from ppl_topics.prediction.trained import TrainedTopics, word_major
from ppl_topics.results.groups import Groups
from ppl_topics.samplers.held_out import whole_documents
from ppl_topics.samplers.held_out.completion import estimate_completion, split_tokens
from ppl_topics.samplers.held_out.left_to_right import estimate_left_to_right
from ppl_topics.samplers.held_out.replicates import REPLICATES

__all__ = ["DRAWS", "MOVES", "PARTICLES", "HeldOut", "HeldOutOptions", "Method", "estimate", "held_out"]

Method: TypeAlias = Literal["left_to_right", "document_completion"]

PARTICLES: dict[str, int] = {"left_to_right": 128, "document_completion": REPLICATES}
"""Particles of each document by default, for each chain or draw."""

DRAWS = 10
"""Draws of phi of each chain that are averaged over at most, by default."""

MOVES = 4
"""Earlier tokens whose topics are drawn again before each token, by default.

The cost of a document is in proportion to its length times this number, or its own length where that is less; the
estimate of its likelihood is unbiased for any. Time is better spent on particles than on more moves.
"""

HALVES = Key(0, 0, 0).reserved(Reserved.SPLITTING)
"""The stream that cuts documents into halves. They are data, not simulation: the same for every seed, whose error then
covers all that varies with it."""


@dataclass(frozen=True)
class HeldOutOptions:
    """How to estimate the likelihood of documents; see `held_out`."""

    method: Method = "left_to_right"
    particles: int | None = None
    phi: Phi = "mean"
    draws: int = DRAWS
    moves: int = MOVES
    seed: int = 0
    threads: int | None = None
    cluster: ClusterLike | None = None
    first: int = 0
    """Number of the first document, where these are some of many."""

    def __post_init__(self) -> None:
        check_choice(argument("method"), self.method, get_args(Method))
        check_choice(argument("phi"), self.phi, get_args(Phi))
        check_whole(argument("draws"), self.draws, 1, MAX_SWEEPS)
        check_whole(argument("moves"), self.moves, 0, MAX_SWEEPS)
        check_whole(argument("seed"), self.seed, 0, MAX_SEED)
        if self.particles is not None:
            check_whole(argument("particles"), self.particles, REPLICATES, MAX_SWEEPS)
            if self.particles % REPLICATES:
                raise PplTopicsError(
                    f"{argument('particles')}: must be a multiple of {REPLICATES}, for they make {REPLICATES} "
                    f"independent estimates, whose spread gives the error; got {self.particles}"
                )
        if self.threads is not None:
            check_threads(argument("threads"), self.threads)

    @property
    def in_replicate(self) -> int:
        """Particles of each replicate."""
        return (PARTICLES[self.method] if self.particles is None else self.particles) // REPLICATES


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How probable new documents are.

    Attributes
    ----------
    options : HeldOutOptions
    ids : ndarray of shape (D,), dtype object
        Of the documents.
    tokens : ndarray of int64, shape (D,)
        Scored of each document: all, or those of the second half; without unknown words.
    values : ndarray of float64, shape (D,)
        log p(w_d), natural; for document completion the sum of log p(w_n | first half) over the second half. 0 if no
        token is scored.
    errors : ndarray of float64, shape (D,)
        Monte Carlo standard error of each value.
    biases : ndarray of float64, shape (D,)
        What each value is off by on average, since it is the logarithm of a noisy estimate; itself estimated, well only
        in the sum over many documents.
    unknown_tokens : int
        Dropped, since their words do not occur in training.
    averaged : int
        Number of chains, or of draws, averaged over.
    """

    options: HeldOutOptions
    ids: StrArray
    tokens: IntArray
    values: FloatArray
    errors: FloatArray
    biases: FloatArray
    unknown_tokens: int
    averaged: int

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Return what was found for all documents from what was found for some each."""
        names = ("ids", "tokens", "values", "errors", "biases")
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return dataclasses.replace(parts[0], **arrays, unknown_tokens=sum(part.unknown_tokens for part in parts))

    def __repr__(self) -> str:
        return (
            f"HeldOut: log likelihood {self.log_likelihood:,.1f} (Monte Carlo error {self.error:.2g}), "
            f"{self.n_tokens:,} tokens of {len(self.values):,} documents, perplexity {self.perplexity:,.1f}"
        )

    @property
    def n_tokens(self) -> int:
        """Tokens that are scored."""
        return int(self.tokens.sum())

    @property
    def empty_documents(self) -> int:
        """Documents without a token that is scored: they have log likelihood 0."""
        return int(np.count_nonzero(self.tokens == 0))

    @property
    def log_likelihood(self) -> float:
        """Sum of the values over documents."""
        return float(self.values.sum())

    @property
    def error(self) -> float:
        """Monte Carlo standard error of the log likelihood: how much it varies with the seed."""
        return float(np.sqrt(np.sum(self.errors**2)))

    @property
    def bias(self) -> float:
        """What the log likelihood is off by on average, about: the logarithm of a noisy estimate is on average too low.

        It falls as particles are added, in proportion to their number, and can be taken off.
        """
        return float(self.biases.sum())

    @property
    def per_token(self) -> float:
        """Log likelihood per scored token; NaN without one."""
        return self.log_likelihood / self.n_tokens if self.n_tokens else float("nan")

    @property
    def per_token_error(self) -> float:
        """Monte Carlo error of `per_token`: root of the mean square, `error` and `bias` together."""
        return float(np.hypot(self.error, self.bias) / self.n_tokens) if self.n_tokens else float("nan")

    @property
    def per_token_spread(self) -> float:
        """Standard error of `per_token` as an estimate for all documents that these are a sample of; NaN of one.

        The Monte Carlo error is a part of it, and so is how documents were cut into halves.
        """
        return ratio_error(self.values, self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(-per_token); NaN without a token."""
        return float(np.exp(-self.per_token))

    @property
    def perplexity_error(self) -> float:
        """Monte Carlo error of the perplexity."""
        return self.perplexity * self.per_token_error

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each document, with columns ``id``, ``tokens``, ``log_likelihood`` and ``error``."""
        columns = {"id": self.ids, "tokens": self.tokens, "log_likelihood": self.values, "error": self.errors}
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Return the results for all documents together, as plain data."""
        names = ("log_likelihood", "error", "bias", "per_token", "per_token_error", "per_token_spread", "perplexity")
        return {
            "method": self.options.method,
            "phi": self.options.phi,
            "averaged": self.averaged,
            "particles": REPLICATES * self.options.in_replicate,
            "documents": len(self.values),
            "empty_documents": self.empty_documents,
            "tokens": self.n_tokens,
            "unknown_tokens": self.unknown_tokens,
            **{name: getattr(self, name) for name in (*names, "perplexity_error")},
        }


def held_out(
    groups: Groups,
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
    cluster: ClusterLike | None = None,
) -> HeldOut:
    """Estimate how probable new documents are: log p(w_d | phi, alpha), averaged over chains or draws.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    new : Corpus or list of str
        Words that do not occur in training are dropped and counted. Labels play no part, nor do covariates, unless the
        topics of documents depend on them.
    method : {"left_to_right", "document_completion"}
        Score all tokens; or half of each document given the other half, cut at random but the same for every model and
        seed.
    particles : int, optional
        Particles of each document, for each chain or draw; a multiple of 4. By default 128, or 4 chains of draws.
    phi : {"mean", "draws"}
        Average over the mean topics of each chain, or over draws of the topics, if they were recorded whole.
    draws : int
        Draws of each chain at most, evenly spread; for ``phi="draws"``.
    moves : int
        Earlier tokens, at most, whose topics are drawn again before each token; for ``method="left_to_right"``.
    response : str, optional
        Whose topics, if each response has its own (one-vs-all).
    seed : int
        The same seed gives the same numbers at any number of threads.
    threads : int, optional
        All cores by default.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Share the documents among the workers of a Dask cluster; the numbers are the same. See `ppl_topics.sample`.

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
    trained = TrainedTopics(groups)
    how = HeldOutOptions(method, particles, phi, draws, moves, seed, threads, cluster)
    return estimate(trained, new_corpus(new, trained, with_labels=False), how, response)


def estimate(trained: TrainedTopics, corpus: Corpus, options: HeldOutOptions, response: str | None = None) -> HeldOut:
    """Estimate how probable the documents of a corpus in the words of the fit are; see `held_out`.

    Words that do not occur in training are unknown, whether the vocabulary has them or not: their tokens are dropped
    and counted, for all models alike.
    """
    found = HeldOut.joined(by_documents(_estimate, trained, corpus, options, trained.place_of(response)))
    # What was dropped before is nobody's part.
    unknown = found.unknown_tokens + int(corpus.dropped.tokens)
    return dataclasses.replace(found, options=options, unknown_tokens=unknown)


def _estimate(trained: TrainedTopics, corpus: Corpus, options: HeldOutOptions, place: int) -> HeldOut:
    doc_ptr, words = known_tokens(trained, corpus)
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(doc_ptr))
    lengths = np.diff(doc_ptr)
    number = 0
    by_token = options.method == "document_completion"
    shuffled = split_tokens(doc_ptr, words, HALVES._replace(first=options.first)) if by_token else words
    total = np.zeros((REPLICATES, len(words))) if by_token else np.full((corpus.n_docs, REPLICATES), -np.inf)
    with using_threads(options.threads):
        for phi, alpha, chain, draw in components(trained, corpus, options, place):
            key = Key(options.seed, chain, draw, first=REPLICATES * options.first)
            number += 1
            if not by_token:
                key = key.reserved(Reserved.LEFT_TO_RIGHT)
                total = np.logaddexp(total, log_evidence(trained, doc_ptr, words, phi, alpha, options, key))
            elif trained.model.whole_documents:
                total += whole_documents.complete_whole(doc_ptr, shuffled, phi, alpha)
            else:
                key = key.reserved(Reserved.COMPLETION)
                total += estimate_completion(doc_ptr, shuffled, phi, alpha, options.in_replicate, key)
    if by_token:
        values, errors, biases = of_tokens(total / number, docs, corpus.n_docs)
        lengths = lengths - lengths // 2
    else:
        values, errors, biases = of_replicates(total - np.log(number))
    return HeldOut(options, corpus.doc_ids, lengths, values, errors, biases, corpus.n_tokens - len(words), number)


def log_evidence(
    trained: TrainedTopics,
    doc_ptr: IntArray,
    words: UInt32Array,
    phi: Float32Array,
    alpha: Alpha,
    options: HeldOutOptions,
    key: Key,
) -> FloatArray:
    """Estimate log p(w_d | phi, alpha) of documents, shape (D, REPLICATES), or sum it up where each has one topic."""
    if trained.model.whole_documents:
        exact = whole_documents.log_evidence(doc_ptr, words, phi, alpha)
        return np.repeat(exact[:, None], REPLICATES, axis=1)
    return estimate_left_to_right(doc_ptr, words, phi, alpha, options.in_replicate, options.moves, key)


class Component(NamedTuple):
    """One value of what the likelihood is averaged over, and the keys of its random streams."""

    phi: Float32Array
    alpha: Alpha
    chain: int
    draw: int


def components(
    trained: TrainedTopics, corpus: Corpus, options: HeldOutOptions, place: int, labels: Labels | None = None
) -> Iterator[Component]:
    """Yield the topics and concentrations that the likelihood is averaged over."""
    for chain in trained.chains:
        part = trained.parts(chain)[place]
        if options.phi == "mean":
            yield Component(trained.phi_mean(part), trained.alpha(part, corpus, labels), part.stream, 0)
            continue
        every, alpha = trained.phi_draws(part), trained.alpha_draws(part, corpus, labels)
        for draw in chosen_draws(len(every), options.draws):
            yield Component(word_major(every[draw]), alpha(draw), part.stream, draw)


def chosen_draws(number: int, most: int) -> list[int]:
    """Return the places of at most so many of a number of draws, evenly spread."""
    places = np.linspace(0, number - 1, min(most, number)).round().astype(np.int64)
    chosen: list[int] = np.unique(places).tolist()
    return chosen


def known_tokens(trained: TrainedTopics, corpus: Corpus) -> tuple[IntArray, UInt32Array]:
    """Return the tokens whose words occur in training, as ``doc_ptr`` and ``words``."""
    constants = trained.groups["constant_data"]
    if "word_count" not in constants:
        raise TraceError(
            "the trace lacks `word_count`, the counts of words in training; it was not written by ppl-topics"
        )
    known = np.asarray(constants["word_count"].values > 0)[corpus.words]
    doc_ptr = np.concatenate([[0], np.cumsum(known)])[corpus.doc_ptr].astype(np.int64)
    return doc_ptr, np.ascontiguousarray(corpus.words[known])
