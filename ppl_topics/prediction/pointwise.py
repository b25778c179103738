"""The log likelihood of each training document in each draw, for ``az.loo`` and ``az.compare``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import check_choice
from ppl_topics._util.arrays import BoolArray, FloatArray
from ppl_topics._util.threads import using_threads
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.response import Response
from ppl_topics.corpus import Corpus
from ppl_topics.errors import TraceError
from ppl_topics.prediction.likelihood import MOVES, HeldOutOptions, chosen_draws, components, log_evidence
from ppl_topics.prediction.likelihood_errors import of_replicates
from ppl_topics.prediction.trained import TrainedResponse, TrainedTopics
from ppl_topics.prediction.training import LabelScores, given_draws, training_corpus, training_response
from ppl_topics.results.groups import Groups
from ppl_topics.samplers.held_out.replicates import REPLICATES

__all__ = ["Pointwise", "log_likelihood"]

Pointwise: TypeAlias = Literal["words", "labels"]

PARTICLES = {"words": 24, "labels": 40}
"""Of each document in each draw by default: over the draws their errors average out."""


def log_likelihood(
    groups: Groups,
    of: Pointwise = "words",
    *,
    draws: int | None = None,
    particles: int | None = None,
    moves: int = MOVES,
    seed: int = 0,
    threads: int | None = None,
) -> xr.Dataset:
    """Return the log likelihood of each training document in each draw, theta_d and z_d integrated out.

    Of its words log p(w_d | phi, alpha), by the left-to-right estimator; of its labels log p(y_d | w_d, phi, alpha,
    eta), over draws of z_d given the words alone. A density given a z_d that has seen w_d, or y_d, would make
    importance sampling fail: leaving out document d must change little but what all documents share.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace that holds all of phi in each draw, ``record={"phi": "all"}``.
    of : {"words", "labels"}
        What is left out at a time: the words of a document, or its labels.
    draws : int, optional
        Draws of each chain at most, evenly spread; by default all.
    particles : int, optional
        Of each document in each draw, a multiple of 4; of labels, draws of z_d. By default 24 of words, 40 of
        labels.
    moves : int
        Earlier tokens, at most, whose topics are drawn again before each token; of words.
    seed : int
        The same seed gives the same numbers at any number of threads.
    threads : int, optional
        All cores by default.

    Returns
    -------
    xarray.Dataset
        The group ``log_likelihood`` of a trace: ``words`` or ``labels`` with dims (chain, draw, doc), natural
        logarithms. Documents without tokens, or without a label, are left out. A number has its density, in its own
        unit; several labels or numbers of a document count together. Attributes: ``error``, the Monte Carlo standard
        error of a value, as root mean square, and ``bias``, what a value is off by on average, since it is the
        logarithm of a noisy estimate.

    Raises
    ------
    TraceError
        If the trace does not hold all of phi, or lacks the words of the documents. Of words, if each response has its
        own topics; of labels, if the model has none, or only a loss.
    PplTopicsError
        If an option is wrong.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
    >>> how = {"draws": 20, "warmup": 30, "chains": 2, "seed": 1, "progress": False, "record": {"phi": "all"}}
    >>> fit = pt.sample("lda", corpus, topics=2, **how)
    >>> found = fit.log_likelihood()
    >>> dict(found["words"].sizes)
    {'chain': 2, 'draw': 20, 'doc': 15}
    """
    check_choice(argument("of"), of, get_args(Pointwise))
    trained = TrainedTopics(groups)
    most = groups["posterior"].sizes["draw"] if draws is None else draws
    particles = PARTICLES[of] if particles is None else particles
    options = HeldOutOptions("left_to_right", particles, "draws", most, moves, seed, threads)
    corpus = training_corpus(trained)
    response = training_response(trained) if of == "labels" else None
    if response is None and trained.apart:
        raise TraceError("each response has its own topics; the words have a likelihood in each, and no common one")
    missing = None if response is None else response.labels().missing
    kept = np.diff(corpus.doc_ptr) > 0 if missing is None else ~missing if missing.ndim == 1 else ~missing.all(axis=1)
    values, errors, biases = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    places = list[int]()
    with using_threads(options.threads):
        for each in _of_words(trained, corpus, options) if response is None else _of_labels(response, corpus, options):
            for into, found in zip((values, errors, biases), of_replicates(each.replicates[kept]), strict=True):
                into.append(found)
            places.append(each.draw)
    chains = trained.chains
    array = np.stack(values).reshape(len(chains), -1, int(np.count_nonzero(kept)))
    coords = {
        "chain": chains,
        "draw": groups["posterior"]["draw"].values[places[: array.shape[1]]],
        "doc": corpus.doc_ids[kept],
    }
    attributes = {"error": float(np.sqrt(np.mean(np.square(errors)))), "bias": float(np.mean(biases))}
    return xr.Dataset({of: (("chain", "draw", "doc"), array)}, coords, attributes)


class _Replicates(NamedTuple):
    """Independent estimates of the log likelihood of each document by one draw, shape (D, REPLICATES)."""

    draw: int
    replicates: FloatArray


def _of_words(trained: TrainedTopics, corpus: Corpus, options: HeldOutOptions) -> Iterator[_Replicates]:
    for phi, alpha, chain, draw in components(trained, corpus, options, 0, trained.topic_labels):
        key = Key(options.seed, chain, draw).reserved(Reserved.LEFT_TO_RIGHT)
        yield _Replicates(draw, log_evidence(trained, corpus.doc_ptr, corpus.words, phi, alpha, options, key))


def _of_labels(response: TrainedResponse, corpus: Corpus, options: HeldOutOptions) -> Iterator[_Replicates]:
    tokens, number = response.trained.tokens(corpus), options.in_replicate
    density, draws = _LabelDensity(response), chosen_draws(len(response.draws), options.draws)
    for chain in response.trained.chains:
        scores = LabelScores(response, corpus, chain)
        for draw, _, topics in given_draws(
            response.trained, corpus, tokens, chain, draws, options.seed, Reserved.LABELS, REPLICATES
        ):
            total = np.full((corpus.n_docs, REPLICATES), -np.inf)
            for replicate, parts in enumerate(topics):
                for _ in range(number):
                    for part in parts:
                        part.sweep()
                    found = density.of(scores.blocks[draw], scores.at(draw, parts), scores.scale[draw])
                    total[:, replicate] = np.logaddexp(total[:, replicate], found)
            yield _Replicates(draw, total - np.log(number))


class _LabelDensity:
    """log p(y_d | linear predictors) of the training labels."""

    def __init__(self, response: TrainedResponse) -> None:
        self.response = response
        self.labels, self.targets = response.labels(), response.targets
        self.known: BoolArray = ~np.isnan(self.targets)

    def of(self, block: Response, scores: FloatArray, scale: FloatArray) -> FloatArray:
        """Return it for each document, shape (D,), by the block at a draw; for one without labels, something."""
        if self.labels.kind == "class":
            # A missing class has the number -1.
            probabilities = block.log_class_probabilities(scores)
            chosen: FloatArray = np.take_along_axis(probabilities, self.labels.values[:, None], axis=1)[:, 0]
            return chosen
        if self.labels.kind == "multi_label":
            # Not `log_likelihood`, which may be a power of the probability.
            sign = np.where(block.indicators(self.targets) > 0.0, 1.0, -1.0)
            cells = -np.logaddexp(0.0, -sign * block.log_odds(scores))
        else:
            cells = block.log_likelihood(self.targets, scores, scale) - np.log(self.response.target_scaling.scale)
        total: FloatArray = np.where(self.known, cells, 0.0).sum(axis=1)
        return total
