"""Topics with keywords on the tiny corpus: their distribution given z, by sums over which tokens came from keywords.

Phi and the weights of keywords are given if the schedule does not change them.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, comb, logsumexp

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.keyword_cells import KeywordCells
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.enumeration import dirichlet_multinomial
from ppl_topics.diagnostics.exactness.goodness import mix, total
from ppl_topics.engine.bind import BoundModel
from ppl_topics.models.keywords import Keywords

__all__ = ["TinyKeywords", "TinySeeds", "keyword_statistics"]

SMALLEST = 1e-300


class TinyKeywords:
    """The distribution of phi and of the weights of keywords, given assignments.

    ``moved`` are the roles that the schedule updates. In the state, the others are set to a draw from the prior.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        names = bound.model.names
        block = bound.block(names["phi"])
        assert isinstance(block, Keywords), "weights of keywords without their prior"
        self._block, self._cells, self._beta = block, block.cells, state.beta
        self.given_phi: NDArray[Any] | None = None  # the topics, if the schedule leaves them as they are
        self._by_topic = cache(self._splits)
        if "phi" not in moved:
            weight = block.simulate("keyword_weight", {}, state, rng)
            phi = block.simulate("phi", {"beta": self._beta, "keyword_weight": weight}, state, rng)
            state.arrays[names["keyword_weight"]][...], state.arrays[names["phi"]][...] = weight, phi
            self._given_weight, self.given_phi = weight, state.arrays[names["phi"]].copy()

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, all else summed over, for counts of shape (S, K, V)."""
        topics = range(n_kw.shape[1])
        return np.array([sum(logsumexp(self._by_topic(k, tuple(counts[k]))[1]) for k in topics) for counts in n_kw])

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw the weights of keywords and phi given the counts, shape (V, K); by role."""
        if self.given_phi is not None:
            return {"keyword_weight": self._given_weight, "phi": self.given_phi}
        weight, own, block = np.zeros(len(self._cells.words)), np.zeros(n_wk.shape), self._block
        for topic, (first, last) in enumerate(itertools.pairwise(self._cells.pointer)):
            words, counts = self._cells.words[first:last], n_wk[:, topic].astype(np.float64)
            splits, log_weights = self._by_topic(topic, tuple(counts))
            split = splits[rng.choice(len(splits), p=np.exp(log_weights - logsumexp(log_weights)))]
            counts[words] -= split
            own[:, topic] = rng.dirichlet(counts + self._beta)
            if len(words):
                share = rng.beta(block.a + split.sum(), block.b + counts.sum())
                weight[first:last] = share * rng.dirichlet(split + block.keyword_concentration)
        block.mix(own, weight)
        return {"keyword_weight": weight, "phi": own}

    def _splits(self, topic: int, counts: tuple[float, ...]) -> tuple[IntArray, FloatArray]:
        """Return all numbers of tokens that came from a topic's keywords, and log p(w, these | z) of each."""
        words = self._cells.words[self._cells.pointer[topic] : self._cells.pointer[topic + 1]]
        block, n_w = self._block, np.array(counts)
        splits = np.array(list(itertools.product(*(range(int(n_w[word]) + 1) for word in words))), dtype=np.int64)
        own = np.tile(n_w, (len(splits), 1))
        own[:, words] -= splits
        value = dirichlet_multinomial(own[:, None], self._beta)
        if len(words):
            from_keywords = splits.sum(axis=1)
            value = value + np.log(comb(n_w[words], splits)).sum(axis=1)
            value += betaln(block.a + from_keywords, block.b + own.sum(axis=1)) - betaln(block.a, block.b)
            value += dirichlet_multinomial(splits[:, None], np.full(len(words), block.keyword_concentration))
        return splits, value


class TinySeeds:
    """The distribution of phi given assignments, of topics with seed words; phi is given if the schedule leaves it."""

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        name = bound.model.names["phi"]
        block = bound.block(name)
        self._concentrations = np.tile(state.beta, (state.sizes.topics, 1))
        self._concentrations[block.cells.topics, block.cells.words] += block.tokens_of_keywords
        self.given_phi: NDArray[Any] | None = None
        if "phi" not in moved:
            state.arrays[name][...] = block.simulate("phi", {"beta": state.beta}, state, rng)
            self.given_phi = state.arrays[name].copy()

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, phi summed over, for counts of shape (S, K, V)."""
        return dirichlet_multinomial(n_kw, self._concentrations)

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw phi given the counts, shape (V, K); by role."""
        rows = [rng.dirichlet(row) for row in n_wk.T + self._concentrations]
        return {"phi": np.stack(rows, axis=1) if self.given_phi is None else self.given_phi}


def keyword_statistics(
    cells: KeywordCells, weight: FloatArray, phi: FloatArray, n_wk: IntArray
) -> dict[str, FloatArray]:
    """Return bounded statistics of the weights of keywords, shape (n, J), with phi and counts, shape (n, V, K)."""
    each = slice(None), cells.words, cells.topics
    share, counts = np.minimum(weight / np.maximum(phi[each], SMALLEST), 1.0), n_wk[each]
    of_topics = np.stack([cells.sums(row) for row in weight])
    # Each keyword with its own number, so that one taken for another shows.
    place, tokens = np.arange(1.0, weight.shape[1] + 1), n_wk.shape[1]
    return {
        "keyword_weight[0]": weight[:, 0],
        "sum keyword_weight^2": total(weight**2),
        "mix of keyword_weight": mix(weight),
        "p[0]": of_topics[:, 0],
        "sum p^2": total(of_topics**2),
        "mix of p": mix(of_topics),
        "keyword_weight z": (weight * counts) @ place / tokens,
        "share of keywords": share.mean(axis=1),
        "share of keywords^2": total(share**2),
        "share of keywords z": (share * counts) @ place / tokens,
    }
