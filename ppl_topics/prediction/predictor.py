"""Predictions for new documents: linear predictors, probabilities, and the classes or numbers that follow.

Each chain has its own topics and coefficients. Topics are not aligned between chains, but linear predictors mean the
same in all, so they are computed in each chain and then averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.threads import using_threads
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.observed import Design
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import Tokens
from ppl_topics.corpus import Corpus
from ppl_topics.engine.encode_observed import design_of as fixed_columns
from ppl_topics.errors import TraceError
from ppl_topics.prediction.by_documents import by_documents, threads_of
from ppl_topics.prediction.infer import NewTopics, theta_of
from ppl_topics.prediction.options import Options
from ppl_topics.prediction.trained import Part, TrainedLabels, TrainedResponse, TrainedTopics, word_major
from ppl_topics.samplers.responses.features import (
    SeveralFeatures,
    dense_features,
    scores,
    scores_of_each,
    without_topics,
)

__all__ = ["Predictions", "choose", "draw_scores", "predict_corpus", "topics_by_draw", "transform_corpus"]

AFTER_PHI = 5
"""Sweeps given each draw of phi: consecutive draws differ little, and z goes on from the one before."""


SCORES_AT_ONCE = 2**14
"""Linear predictors of several draws that are computed at a time: of few documents, each draw has few."""


class Predictions(NamedTuple):
    """The predictions for new documents.

    Attributes
    ----------
    scores : ndarray of float64, shape (D, C)
        Linear predictors, averaged; where targets were standardised, in the units of these.
    expectation : ndarray of float64, shape (D, C), or None
        The probability of each label by itself, or the mean of the target, averaged; None if a document has one of
        several classes, or the response is not probabilistic.
    probability : ndarray of float64, shape (D, number of classes), or None
        The probability of each class, if a document has one of several.
    log_density : ndarray of float64, shape (D, C), or None
        Logarithm of the averaged density of given targets that are numbers.
    """

    scores: FloatArray
    expectation: FloatArray | None
    probability: FloatArray | None
    log_density: FloatArray | None


class Point(NamedTuple):
    """One value of all that a prediction depends on: linear predictors (D, C), the response's parameter (C,).

    The block has its numbers.
    """

    block: Response
    scores: FloatArray
    scale: FloatArray | None


def transform_corpus(
    trained: TrainedTopics, corpus: Corpus, options: Options, chain: int, response: str | None
) -> FloatArray:
    """Return E[theta | w, phi] of new documents in one chain, shape (D, K)."""
    if chain not in trained.chains:
        raise TraceError(f"the trace has no chain {chain}; it has {', '.join(map(str, trained.chains))}")
    part = trained.parts(chain)[trained.place_of(response)]
    return np.concatenate(by_documents(_theta, trained, corpus, options, part))


def _theta(trained: TrainedTopics, corpus: Corpus, options: Options, part: Part) -> FloatArray:
    tokens = trained.tokens(corpus)
    with using_threads(threads_of(options, corpus, trained.topics)):
        alpha = trained.alpha(part, corpus)
        shares = shares_of(trained, tokens, alpha, options, part)
    return theta_of(shares, np.diff(tokens.drawn_ptr), alpha)


def shares_of(trained: TrainedTopics, tokens: Tokens, alpha: Alpha, options: Options, part: Part) -> FloatArray:
    """Return zbar of new documents given the mean topics, shape (D, K)."""
    topics = NewTopics(tokens, alpha, options.seed, part.stream, options.first)
    if options.method == "cvb0":
        return topics.expected_shares(trained.phi_mean(part))
    return topics.mean_shares(trained.phi_mean(part), options.warmup, options.draws)


def predict_corpus(
    response: TrainedResponse, corpus: Corpus, options: Options, targets: FloatArray | None = None
) -> Predictions:
    """Predict documents in the words of the fit, with the log density of targets if they are given."""
    parts = by_documents(_predict, response, corpus, options, of_documents=targets)
    fields: Any = [None if of[0] is None else np.concatenate(of) for of in zip(*parts, strict=True)]
    return Predictions(*fields)


def _predict(
    response: TrainedResponse, corpus: Corpus, options: Options, targets: FloatArray | None = None
) -> Predictions:
    scaling, probabilistic = response.target_scaling, response.block.probabilistic
    targets = None if targets is None else np.asarray(scaling.apply(targets))
    by_class = response.kind == "class" and probabilistic
    total, number = np.zeros((corpus.n_docs, len(response.responses))), 0
    expectation: Any = np.zeros_like(total) if probabilistic and not by_class else None
    probability: Any = 0.0 if by_class else None
    density: Any = np.full_like(total, -np.inf) if targets is not None and probabilistic else None
    with using_threads(threads_of(options, corpus, response.trained.topics)):
        for chain in response.trained.chains:
            for block, found in by_block(points(response, corpus, options, chain)):
                number += len(found)
                together = np.stack([point.scores for point in found])
                # One after the other: sums do not depend on how many there are at a time.
                for point in found:
                    total += point.scores
                if expectation is not None:
                    for each in block.expectation(together):
                        expectation += each
                if by_class:
                    for each in block.class_probabilities(together):
                        probability = probability + each
                for point in found:
                    if point.scale is None:
                        density = None
                    elif density is not None and targets is not None:
                        density = np.logaddexp(density, block.log_likelihood(targets, point.scores, point.scale))
    return Predictions(
        scaling.undo(total / number),
        None if expectation is None else scaling.undo(expectation / number),
        None if probability is None else probability / number,
        None if density is None else density - np.log(number) - np.log(scaling.scale),
    )


def by_block(found: Iterator[Point]) -> Iterator[tuple[Response, list[Point]]]:
    """Yield points whose blocks are the same, as many at a time as are small together."""
    batch: list[Point] = []
    for point in found:
        full = len(batch) * point.scores.size >= SCORES_AT_ONCE
        if batch and (full or point.block is not batch[0].block):
            yield batch[0].block, batch
            batch = []
        batch.append(point)
    if batch:
        yield batch[0].block, batch


def draw_scores(response: TrainedResponse, corpus: Corpus, options: Options) -> FloatArray:
    """Return the linear predictors of new documents by each kept draw, shape (chains, M, D, C)."""
    return np.concatenate(by_documents(_draw_scores, response, corpus, options), axis=2)


def _draw_scores(response: TrainedResponse, corpus: Corpus, options: Options) -> FloatArray:
    trained = response.trained
    shape = (len(trained.chains), len(response.draws), corpus.n_docs, len(response.responses))
    result = np.empty(shape)
    with using_threads(threads_of(options, corpus, trained.topics)):
        for place, chain in enumerate(trained.chains):
            for draw, value in draws_by_eta(response, corpus, options, chain, at_most=shape[1]):
                result[place, draw] = value
    return result


def choose(response: TrainedResponse, predictions: Predictions) -> NDArray[Any]:
    """Return what is predicted."""
    values, expectation, probability, _ = predictions
    if response.block.numeric:
        return values if expectation is None else expectation
    if response.kind == "multi_label":
        return np.asarray(values > 0.0 if expectation is None else expectation > 0.5).astype(np.int8)
    if probability is not None:
        return np.asarray(probability.argmax(axis=1))
    return (
        np.asarray(values[:, 0] > 0.0).astype(np.int64) if values.shape[1] == 1 else np.asarray(values.argmax(axis=1))
    )


def points(response: TrainedResponse, corpus: Corpus, options: Options, chain: int) -> Iterator[Point]:
    """Yield the values that predictions are averaged over, in one chain.

    A loss predicts by the linear predictors alone. These are linear in the coefficients and in the shares, which are
    drawn apart, so the mean over draws is that of the means.
    """
    scale = response.scale(chain)
    if options.eta == "draws" and (response.block.probabilistic or options.phi == "draws"):
        blocks = response.blocks(chain)
        for draw, values in draws_by_eta(response, corpus, options, chain):
            yield Point(blocks[draw], values, None if scale is None else scale[draw])
        return
    first, end = 0, len(response.draws)
    if options.eta not in ("draws", "mean"):
        first = place_of(response, options.eta)
        end = first + 1
    tokens, design = response.trained.tokens(corpus), design_of(response, corpus)
    columns = []
    for part in response.trained.parts(chain):
        alpha = response.trained.alpha(part, corpus)
        shares = shares_of(response.trained, tokens, alpha, options, part)[:, : response.supervised]
        eta = mean_of(islice(response.eta(part), first, end))
        # Not with `@`: how BLAS adds up depends on how many documents there are.
        topics = sparse.csr_array(shares) @ np.ascontiguousarray(eta[:, : response.supervised].T)
        columns.append(topics + scores(without_topics(design), eta))
    block = response.mean_block(chain, slice(first, end))
    yield Point(block, np.hstack(columns), None if scale is None else scale[first:end].mean(axis=0))


def draws_by_eta(
    response: TrainedResponse, corpus: Corpus, options: Options, chain: int, at_most: int | None = None
) -> Iterator[tuple[int, FloatArray]]:
    """Yield places of draws of the coefficients, and the linear predictors by them and a draw of the topics.

    With the mean topics, `options.draws` sweeps share out the draws of the coefficients in their order; if there are
    fewer of these, each is used equally often. `at_most` limits the sweeps, so that none is used twice.
    """
    tokens, design = response.trained.tokens(corpus), design_of(response, corpus)
    new = NewDocuments(tokens, design, lambda part: response.trained.alpha(part, corpus))
    parts = [draws_of(response, new, options, part, at_most) for part in response.trained.parts(chain)]
    for together in zip(*parts, strict=True):
        values = [of_part for _, of_part in together]
        yield together[0][0], values[0] if len(values) == 1 else np.hstack(values)


class NewDocuments(NamedTuple):
    """What new documents have: tokens, fixed features, and by part of a fit the concentrations of the topics."""

    tokens: Tokens
    design: Design
    alpha: Callable[[Part], Alpha]


def draws_of(
    response: TrainedResponse, new: NewDocuments, options: Options, part: Part, at_most: int | None
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the draws of `draws_by_eta` for responses that share one set of topics."""
    coefficients, at = enumerate(response.eta(part)), (-1, np.empty(0))
    at_once = max(1, SCORES_AT_ONCE // max(1, (len(new.tokens.doc_ptr) - 1) * len(response.responses)))
    for draws, features in topics_by_draw(response, new, options, part, response.supervised, at_most):
        pairs = [(number, draw) for number, of_number in enumerate(draws) for draw in of_number]
        for first in range(0, len(pairs), at_once):
            numbers, places = zip(*pairs[first : first + at_once], strict=True)
            etas = []
            for draw in places:
                if at[0] < draw:
                    at = next(coefficients)
                etas.append(at[1])
            yield from zip(places, scores_of_each(features, numbers, etas), strict=True)


def topics_by_draw(
    labels: TrainedLabels,
    new: NewDocuments,
    options: Options,
    part: Part,
    n_topics: int,
    at_most: int | None = None,
) -> Iterator[tuple[list[range], SeveralFeatures]]:
    """Yield draws of the first topics of new documents, some at a time, and with each the places of the draws of a fit.

    By CVB0, which draws nothing, their expected shares go with each. `at_most` limits the sweeps.
    """
    trained, size = labels.trained, len(labels.draws)
    topics = NewTopics(new.tokens, new.alpha(part), options.seed, part.stream, options.first)
    if options.method == "cvb0":
        if options.phi == "mean":
            yield [range(size)], expected_features(topics.expected_shares(trained.phi_mean(part)), n_topics, new.design)
            return
        for draw, phi in enumerate(trained.phi_draws(part)):
            shares = topics.expected_shares(word_major(phi))
            yield [range(draw, draw + 1)], expected_features(shares, n_topics, new.design)
        return
    if options.phi == "draws":
        for draw, phi in enumerate(trained.phi_draws(part)):
            topics.given(word_major(phi))
            topics.sweep(AFTER_PHI if draw else options.warmup + 1)
            features = SeveralFeatures.of(topics.features(n_topics)._replace(design=new.design))
            yield [range(draw, draw + 1)], features
        return
    sweeps = options.draws if size >= options.draws else size * -(-options.draws // size)
    sweeps = sweeps if at_most is None else min(sweeps, at_most)
    sweep = 0
    for several in topics.draws(trained.phi_mean(part), options.warmup, sweeps, n_topics):
        numbers = range(sweep, sweep + len(several.ptr))
        firsts = [number * size // sweeps for number in numbers]
        ends = [max(first + 1, (number + 1) * size // sweeps) for first, number in zip(firsts, numbers, strict=True)]
        yield [range(*each) for each in zip(firsts, ends, strict=True)], several._replace(design=new.design)
        sweep = numbers.stop


def expected_features(shares: FloatArray, n_topics: int, design: Design) -> SeveralFeatures:
    """Return the features of documents by the expected shares of the first topics."""
    return SeveralFeatures.of(dense_features(shares[:, :n_topics], design))


def mean_of(draws: Iterator[FloatArray]) -> FloatArray:
    """Return the mean of arrays that come one after another."""
    total, number = next(draws).copy(), 1
    for value in draws:
        total += value
        number += 1
    return total / number


def place_of(response: TrainedResponse, draw: Any) -> int:
    """Return the place of a draw among those that were kept."""
    if draw == "last":
        return len(response.draws) - 1
    found = np.flatnonzero(response.draws == int(draw))
    if not len(found):
        raise TraceError(f"the trace has no draw {draw}; it has {response.draws[0]} to {response.draws[-1]}")
    return int(found[0])


def design_of(labels: TrainedLabels, corpus: Corpus) -> Design:
    """Return the fixed features of new documents, whose covariates have the columns of training."""
    intercept = isinstance(labels, TrainedResponse) and labels.block.intercept
    if not labels.covariates:
        return fixed_columns(corpus.n_docs, None, None, intercept)
    return fixed_columns(corpus.n_docs, corpus.covariates, labels.trained.scaling, intercept)
