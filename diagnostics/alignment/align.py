"""Which topic of one chain is which of another, and which topics the chains agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray, RealArray
from ppl_topics.diagnostics.alignment.label_switching import Switch, base_numbers, find_switches, numbers_of, unmixed
from ppl_topics.diagnostics.alignment.topics import (
    TOPIC_DIMS,
    by_response,
    chains_of,
    check_comparable,
    exchangeable,
    mean_topics,
    word_names,
)
from ppl_topics.results.response_topics import own_topics

__all__ = ["Alignment", "align", "chain_topics"]


NEARER = 0.5
"""Topics agree if their distance is at most this fraction of that to the nearest other topic. By the triangle
inequality, no other topic of the reference is then nearer to the match."""

SAME = 0.99
"""Topics this similar agree in any case: they differ by no more than their draws do."""

ALIKE = 0.98
"""Less similar topics do not agree, unless draws of so few tokens are less similar: the chains then sample different
modes of the topic, however clear the match is."""

TYPICAL_TOKENS = 0.5
"""Expected number of tokens from which a word counts as a word of the topic."""


@dataclass(frozen=True)
class Alignment:
    """Which topic of each chain is which topic of the reference chain.

    If each response has its own topics, the arrays have a response dimension before the topic dimension.

    Attributes
    ----------
    reference : int
        The chain whose topic numbers are used.
    chains : list of int
    permutation : ndarray of int64, shape (chains, topics)
        The number that each topic of the reference has in each chain.
    similarity : ndarray of float64, shape (chains, topics)
        Bhattacharyya coefficient of each topic of the reference and its match: 0 if they share no word, 1 if they have
        the same probabilities. It is 1 in the reference itself.
    agrees : ndarray of bool, shape (topics,)
        True for topics that all chains have; see `align`.
    agrees_in : ndarray of bool, shape (chains, topics)
        True where the chain has the topic.
    nearest : ndarray of float64, shape (topics,)
        Similarity of each topic of the reference to its nearest other topic, 0 if there is none.
    exchangeable : ndarray of int64, shape (topics,)
        Class of each topic, the same for all responses; only topics of the same class are matched.
    switches : tuple of Switch
        Topics that swap numbers within a chain.
    responses : list of str, optional
        Names of the responses if each has its own topics.
    by : str
    """

    reference: int
    chains: list[int]
    permutation: IntArray
    similarity: FloatArray
    agrees: BoolArray
    agrees_in: BoolArray
    nearest: FloatArray
    exchangeable: IntArray
    switches: tuple[Switch, ...]
    responses: list[str] | None
    by: str

    def by_response(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return one of the arrays by response, with one entry if all responses share the topics."""
        return array if self.responses is not None else np.expand_dims(array, -2)


def align(groups: Mapping[str, xr.Dataset], *, by: str = "phi") -> Alignment:
    """Match the topics of all chains, and find topics that swap numbers within a chain.

    The topics of each chain are matched to those of a reference chain by the assignment of largest total similarity.
    The similarity of two topics is the Bhattacharyya coefficient of their mean word probabilities, the sum over words
    of sqrt(p q). sqrt(1 - similarity) is the Hellinger distance, a metric; it is finite for topics with exact zeros,
    and frequent words dominate it less than a difference of probabilities. The reference is the chain with the largest
    total similarity to the others; ties, as between two chains, go to the chain with the higher mean log posterior.

    A chain has a topic of the reference if two conditions hold. First, the match is unambiguous: its distance is at
    most half the distance from the topic to the nearest other topic of the reference, so the match cannot be nearer to
    any other. Second, both sample the same mode: the similarity is at least 0.98 or, for a topic of few tokens, at
    least 1 - (v - 1) / (8 n), the average similarity of a draw to its mean for n tokens over v words. A similarity of
    0.99 is enough by itself.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    by : {"phi", "counts"}
        ``phi``: compare the mean topics (``phi_mean``, or the mean of the draws of phi). ``counts``: compare the word
        counts of topics at the last draw (``z_last``).

    Returns
    -------
    Alignment

    Raises
    ------
    TraceError
        If the trace holds no topics, or nothing to compare them by.

    Notes
    -----
    Only topics that are exchangeable in the posterior are matched: topics with equal fixed concentrations that either
    all have coefficients or all have none (``supervised_topics``). Label switching within chains is detected from the
    draws of phi, or from topic shares and coefficients, and undone before chains are matched.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> from ppl_topics.diagnostics.alignment import align
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=30, chains=2, seed=1, progress=False)
    >>> found = align(fit.groups)
    >>> found.agrees.tolist(), found.switches
    ([True, True], ())
    """
    chains = chains_of(groups)
    classes, responses = exchangeable(groups), own_topics(groups) or None
    switches = find_switches(groups, classes)
    topics = chain_topics(groups, switches, by)
    totals = topics.sum(axis=-1, keepdims=True, dtype=np.float64).astype(topics.dtype)
    # A topic without tokens (by counts) is similar to no other.
    roots = np.sqrt(topics / np.where(totals > 0.0, totals, 1.0))
    n_chains, n_sets, n_topics = roots.shape[:3]
    place = np.zeros((n_chains, n_chains, n_sets, n_topics), dtype=np.int64)
    matched = np.ones((n_chains, n_chains, n_sets, n_topics))
    for a, b, s in np.ndindex(n_chains, n_chains, n_sets):
        if a < b:
            similarity = np.clip(roots[a, s] @ roots[b, s].T, 0.0, 1.0)
            place[a, b, s] = best_match(similarity, classes)
            place[b, a, s] = np.argsort(place[a, b, s])
            matched[a, b, s] = similarity[np.arange(n_topics), place[a, b, s]]
            matched[b, a, s] = matched[a, b, s][place[b, a, s]]
        elif a == b:
            place[a, a, s] = np.arange(n_topics)
    reference = _reference(matched.sum(axis=(1, 2, 3)), groups)
    own = np.stack([np.clip(each @ each.T, 0.0, 1.0) for each in roots[reference]]).astype(np.float64)
    own[:, np.arange(n_topics), np.arange(n_topics)] = 0.0
    nearest = own.max(axis=-1)
    similarity, permutation = matched[reference], place[reference]
    alike = np.minimum(ALIKE, _similarity_of_draws(roots[reference] ** 2, groups, reference))
    limit = np.minimum(SAME, np.maximum(alike, 1.0 - NEARER**2 * (1.0 - nearest)))
    agrees_in = similarity >= limit
    if responses is None:
        permutation, similarity, agrees_in, nearest = permutation[:, 0], similarity[:, 0], agrees_in[:, 0], nearest[0]
    return Alignment(
        reference=chains[reference],
        chains=chains,
        permutation=permutation,
        similarity=similarity,
        agrees=agrees_in.all(axis=0),
        agrees_in=agrees_in,
        nearest=nearest,
        exchangeable=classes,
        switches=switches,
        responses=responses,
        by=by,
    )


def _similarity_of_draws(topics: RealArray, groups: Mapping[str, xr.Dataset], reference: int) -> FloatArray:
    """Return the expected similarity of a draw to its topic's mean, shape (R, K); 1 without token counts."""
    share = groups["posterior"].get("topic_share")
    lengths = groups.get("constant_data", xr.Dataset()).get("doc_length")
    if share is None or lengths is None:
        return np.ones(topics.shape[:2])
    mean = by_response(share, ("chain", "response", "draw", "topic"))[reference].mean(axis=1)
    tokens = np.maximum(mean * float(lengths.sum()), 1.0)
    words = (topics >= (TYPICAL_TOKENS / tokens)[..., None]).sum(axis=-1)
    result: FloatArray = np.maximum(0.0, 1.0 - np.maximum(words - 1, 0) / (8.0 * tokens))
    return result


def best_match(similarity: FloatArray, classes: IntArray) -> IntArray:
    """Return the column matched to each row by the assignment of largest total similarity, within classes."""
    check_comparable(similarity)
    place = np.empty(len(classes), dtype=np.int64)
    for one in np.unique(classes):
        members = np.flatnonzero(classes == one)
        rows, columns = linear_sum_assignment(similarity[np.ix_(members, members)], maximize=True)
        place[members[rows]] = members[columns]
    return place


def chain_topics(groups: Mapping[str, xr.Dataset], switches: tuple[Switch, ...], by: str = "phi") -> RealArray:
    """Return the topics of each chain by its own most common numbering, shape (C, R, K, V), label switching undone."""
    topics = mean_topics(groups, by)
    if not switches:
        return topics
    # A copy, so that the trace is not changed.
    topics = topics.astype(np.float64)
    posterior, words = groups["posterior"], None
    if by == "phi" and "phi" in posterior and {"draw", *TOPIC_DIMS} <= set(posterior["phi"].dims):
        phi = by_response(posterior["phi"], ("chain", "response", "draw", "topic", "word"))
        words = _positions(groups, topics.shape[-1])
    for place, stretches in stretches_of(groups, switches, topics.shape[2]).items():
        if by == "counts":
            ordered = topics[place].copy()
            ordered[base_numbers(stretches)] = topics[place][stretches[-1][2]]
            topics[place] = ordered
        elif words is not None:
            topics[place] = unmixed(topics[place], phi[place], words, stretches)
    return topics


def stretches_of(
    groups: Mapping[str, xr.Dataset], switches: tuple[Switch, ...], topics: int
) -> dict[tuple[int, int], list[tuple[int, int, IntArray]]]:
    """Return, for each chain and response with switches, the runs of draws with the same topic numbers."""
    result, draws = {}, groups["posterior"]["draw"].values
    for c, chain in enumerate(groups["posterior"]["chain"].values):
        for r, response in enumerate(own_topics(groups) or [None]):
            own = [each for each in switches if each.chain == chain and each.response == response]
            if own:
                result[c, r] = numbers_of(own, topics, draws)
    return result


def _positions(groups: Mapping[str, xr.Dataset], n_words: int) -> IntArray:
    """Return the positions of the words of phi among those of the mean topics."""
    words = groups["posterior"]["word"].values
    if len(words) == n_words:
        return np.arange(n_words)
    at = {word: i for i, word in enumerate(word_names(groups))}
    return np.array([at[word] for word in words], dtype=np.int64)


def _reference(totals: FloatArray, groups: Mapping[str, xr.Dataset]) -> int:
    """Return the position of the chain of the largest total similarity, or of those the highest log posterior."""
    statistics = groups.get("sample_stats", xr.Dataset())
    density = np.zeros(len(totals))
    if "lp" in statistics:
        values = statistics["lp"].transpose("chain", ...).values.reshape(len(totals), -1)
        density = np.where(np.isfinite(values).all(axis=1), values.sum(axis=1), -np.inf)
    ties = np.isclose(totals, totals.max(), rtol=1e-9, atol=0.0)
    known = np.isfinite(density[ties]).any()
    return int(np.argmax(np.where(ties, density if known else 0.0, -np.inf)))
