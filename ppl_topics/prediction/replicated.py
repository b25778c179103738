"""Replicated words and labels of the training documents, for ``az.plot_ppc`` and other predictive checks.

References
----------
A. Gelman, X.-L. Meng, H. Stern (1996). Posterior predictive assessment of model fitness via realized discrepancies.
Statistica Sinica 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.arrays import Float32Array
from ppl_topics._util.threads import using_threads
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.state import ChainState
from ppl_topics.engine.available_memory import available_memory
from ppl_topics.engine.simulation import state_without_words
from ppl_topics.engine.simulator import Simulator, check_generative
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.models.assignments import draw_rows
from ppl_topics.prediction.infer import NewTopics
from ppl_topics.prediction.likelihood import chosen_draws
from ppl_topics.prediction.trained import TrainedLabels, TrainedResponse, TrainedTopics
from ppl_topics.prediction.training import LabelScores, given_draws, training_corpus, training_covariates
from ppl_topics.results.groups import Groups
from ppl_topics.results.one_response import check_one_response
from ppl_topics.spec import Model

__all__ = ["posterior_predictive", "prior_predictive"]


def posterior_predictive(groups: Groups, *, draws: int = 20, seed: int = 0, threads: int | None = None) -> xr.Dataset:
    """Return replicated words and labels of the training documents, by draws of the posterior.

    The topics of a document's tokens are drawn given its words, and not its labels: z_d from p(z_d | w_d, phi, alpha).
    Its labels are drawn given these and eta; its words by theta_d given z_d, with as many tokens as it has.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace that holds all of phi in each draw, ``record={"phi": "all"}``.
    draws : int
        Draws of each chain at most, evenly spread.
    seed : int
        The same seed gives the same bits at any number of threads.
    threads : int, optional
        All cores by default.

    Returns
    -------
    xarray.Dataset
        The group ``posterior_predictive`` of a trace, in the form of ``observed_data``: ``words`` with dims (chain,
        draw, token), sorted in each document as there, unless each response has its own topics; ``labels`` with dims
        (chain, draw, doc) or (chain, draw, doc, response), if the model has a `Response` that is a distribution of the
        labels, not a loss.

    Raises
    ------
    TraceError
        If the trace does not hold all of phi, or lacks the words of the documents; or has nothing to replicate.
    PplTopicsError
        If an option is wrong, or the replicates would not fit into memory.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
    >>> how = {"draws": 20, "warmup": 30, "chains": 2, "seed": 1, "progress": False, "record": {"phi": "all"}}
    >>> fit = pt.sample("lda", corpus, topics=2, **how)
    >>> dict(fit.posterior_predictive(draws=5)["words"].sizes)
    {'chain': 2, 'draw': 5, 'token': 50}
    """
    _check(draws, seed, threads)
    trained = TrainedTopics(groups)
    check_one_response(trained.model)
    corpus = training_corpus(trained)
    tokens = trained.tokens(corpus)
    response = None if trained.model.response is None else TrainedResponse.of(trained)
    response = response if response is not None and response.block.probabilistic else None
    if response is None and trained.apart:
        raise TraceError("each response has its own topics, and is a loss: neither words nor labels can be replicated")
    numbers = groups["posterior"]["draw"].values
    chosen = chosen_draws(len(numbers), draws)
    into = _Replicates(groups, len(trained.chains), len(chosen), words=not trained.apart, labels=response is not None)
    state = state_without_words(trained.model, corpus.doc_ptr, corpus.n_words, None)
    with using_threads(threads):
        for place, chain in enumerate(trained.chains):
            scores = None if response is None else LabelScores(response, corpus, chain)
            given = given_draws(trained, corpus, tokens, chain, chosen, seed, Reserved.REPLICATED_TOPICS)
            for number, (draw, phi, (topics,)) in enumerate(given):
                rng = Key(seed, chain, draw).reserved(Reserved.REPLICATED).generator()
                if not trained.apart:
                    words = _draw_words(state, topics[0], phi[0], trained.model, rng)
                    into.arrays["words"][place, number] = words
                if scores is not None:
                    into.arrays["labels"][place, number] = _draw_labels(scores, draw, topics, rng)
    return into.dataset(np.array(trained.chains), numbers[chosen])


def prior_predictive(groups: Groups, *, draws: int = 100, seed: int = 0) -> xr.Dataset:
    """Return words and labels by the model before it has seen any, for documents of the lengths of the training ones.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    draws : int
    seed : int
        The same seed gives the same bits.

    Returns
    -------
    xarray.Dataset
        The group ``prior_predictive`` of a trace, in the form of ``observed_data``: ``words`` with dims (chain, draw,
        token), ``labels`` with dims (chain, draw, doc) or (chain, draw, doc, response); there is one chain. Targets
        that the model standardises are in the units of the training targets.

    Raises
    ------
    TraceError
        If the trace lacks the words of the documents.
    SpecError
        If a block cannot be simulated; see :func:`ppl_topics.simulate`, which also returns the parameters.
    PplTopicsError
        If an option is wrong, or the replicates would not fit into memory.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=30, chains=2, seed=1, progress=False)
    >>> dict(fit.prior_predictive(draws=5)["words"].sizes)
    {'chain': 1, 'draw': 5, 'token': 50}
    """
    _check(draws, seed, None)
    trained = TrainedTopics(groups)
    check_one_response(trained.model)
    corpus = training_corpus(trained)
    response = None if trained.model.response is None else TrainedResponse.of(trained)
    labels, covariates, name = {}, training_covariates(trained, trained.covariates), ""
    if trained.model.supervised:
        of_fit = response or TrainedLabels.of(trained)
        check_generative(trained.model, 1 if response is None else len(response.responses))
        name = of_fit.block.observed_labels
        labels[name] = of_fit.labels()
    model = trained.model.for_corpus(trained.vocabulary)
    simulator = Simulator(model, corpus.doc_ptr, trained.vocabulary, labels, covariates, {})
    into = _Replicates(groups, 1, draws, words=True, labels=bool(labels))
    for draw in range(draws):
        drawn = simulator.draw(seed, draw).corpus
        into.arrays["words"][0, draw] = drawn.words
        found = drawn.labels_of(name)
        if found is not None:
            values = found.values
            into.arrays["labels"][0, draw] = values if response is None else _in_units(response, values)
    return into.dataset(np.zeros(1, np.int64), np.arange(draws))


class _Replicates:
    """Room for replicates in the form of the observed data."""

    def __init__(self, groups: Groups, chains: int, draws: int, *, words: bool, labels: bool) -> None:
        observed = groups["observed_data"]
        self.like: Mapping[str, xr.DataArray] = {
            name: observed[name] for name, wanted in (("words", words), ("labels", labels)) if wanted
        }
        # ArviZ takes no unsigned numbers; a word may have any of 32 bits.
        types = {name: np.dtype(np.int64 if like.dtype.kind == "u" else like.dtype) for name, like in self.like.items()}
        needed = chains * draws * sum(like.size * types[name].itemsize for name, like in self.like.items())
        available = available_memory()
        if needed > available.bytes:
            raise PplTopicsError(
                f"{argument('draws')}: {draws:,} draws of {chains} chains take {needed / 1e9:,.1f} GB, and "
                f"{available.limit} leaves {available.bytes / 1e9:,.1f} GB; take fewer"
            )
        self.arrays = {name: np.empty((chains, draws, *like.shape), types[name]) for name, like in self.like.items()}

    def dataset(self, chains: NDArray[Any], draws: NDArray[Any]) -> xr.Dataset:
        """Return the group."""
        data, coords = {}, {"chain": chains, "draw": draws}
        for name, like in self.like.items():
            data[name] = (("chain", "draw", *like.dims), self.arrays[name], like.attrs)
            coords |= {str(dim): like[dim].values for dim in like.dims if dim in like.coords}
        return xr.Dataset(data, coords)


def _check(draws: Any, seed: Any, threads: int | None) -> None:
    check_whole(argument("draws"), draws, 1, MAX_SWEEPS)
    check_whole(argument("seed"), seed, 0, MAX_SEED)
    if threads is not None:
        check_threads(argument("threads"), threads)


def _draw_words(
    state: ChainState, topics: NewTopics, phi: Float32Array, model: Model, rng: np.random.Generator
) -> NDArray[Any]:
    """Draw theta given the topics of tokens, then as many topics and words, sorted in each document."""
    docs, (n_docs, n_topics) = state.tokens.docs, (state.sizes.docs, state.sizes.topics)
    counts = np.bincount(docs * n_topics + topics.z, minlength=n_docs * n_topics).reshape(n_docs, n_topics)
    # Not normalised. Only of documents without tokens, which ask for none, may all underflow.
    theta = rng.gamma(state.tokens.drawn_counts(counts) + topics.alpha.by_doc)
    blocks, names = model.spec.blocks, model.names
    z = blocks[names["z"]].simulate("z", {"theta": theta}, state, rng)
    assert z is not None, "topics of tokens can always be drawn"
    words = blocks[names["w"]].simulate("w", {"phi": phi, "z": z}, state, rng)
    assert words is not None, "words can always be drawn"
    return words[np.lexsort((words, docs))]


def _draw_labels(scores: LabelScores, draw: int, topics: Sequence[NewTopics], rng: np.random.Generator) -> NDArray[Any]:
    """Draw labels in the form of the observed ones."""
    response, block, predictors = scores.response, scores.blocks[draw], scores.at(draw, topics)
    if response.kind == "class":
        return draw_rows(block.class_probabilities(predictors), rng)
    targets = response.draw_given(block, predictors, scores.scale[draw], rng)
    return _in_units(response, targets if response.labels(slice(0)).values.ndim > 1 else targets[:, 0])


def _in_units(response: TrainedResponse, labels: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in the units of the training targets, others as they are."""
    if response.kind not in ("real", "count"):
        return labels
    columns = labels if labels.ndim > 1 else labels[:, None]
    return np.asarray(response.target_scaling.undo(columns).reshape(labels.shape))
