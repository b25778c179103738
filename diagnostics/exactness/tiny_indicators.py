"""Topics that include some words only, on the tiny corpus: their distribution given z, by sums over all subsets.

Indicators and the probability of inclusion are given if the schedule does not change them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, logsumexp, xlog1py, xlogy

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.goodness import mix, total
from ppl_topics.engine.bind import BoundModel
from ppl_topics.models.beta import LARGEST, SMALLEST, Beta
from ppl_topics.models.spike_slab import SpikeSlab

__all__ = ["TinyIndicators", "indicator_statistics"]


class TinyIndicators:
    """The distribution of the indicators, of pi and of phi, given assignments, for a model with indicators.

    ``moved`` are the roles that the schedule updates or integrates out. In the state, the others are set to a draw from
    the prior, with indicators that include each word that occurs in at least one topic.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        names, sizes = bound.model.names, state.sizes
        block = bound.block(names["included"])
        assert isinstance(block, SpikeSlab), "indicators without a prior"
        self._prior = bound.model.spec.blocks.get(names.get("pi", ""))
        self._moves_pi, self._beta = "pi" in moved, state.beta
        self.given_phi: NDArray[Any] | None = None  # the topics, if the schedule leaves them as they are
        values: dict[str, NDArray[Any]] = {"beta": self._beta}
        occurs = np.diff(state.tokens.word_ptr) > 0
        while True:
            if isinstance(self._prior, Beta):
                values["pi"] = self._prior.simulate("pi", values, state, rng)
            drawn = block.simulate("included", values, state, rng)
            if drawn is not None and drawn[occurs].any(axis=1).all():
                break
        if isinstance(self._prior, Beta):
            self._pi = values["pi"]
            state.arrays[names["pi"]][...] = self._pi
        self._given_pi = np.broadcast_to(block.probability(state), (sizes.words, sizes.topics)).copy()
        subsets = np.array([s for s in itertools.product([0, 1], repeat=sizes.words) if any(s)])
        self._combinations = np.array(list(itertools.product(range(len(subsets)), repeat=sizes.topics)))
        self._subsets = subsets
        if "included" not in moved:
            state.set_value("included", drawn)
            self._combinations = np.array([[int((subsets == column).all(axis=1).argmax()) for column in drawn.T]])
        if "phi" not in moved:
            values["included"] = drawn
            phi = block.simulate("phi", values, state, rng)
            state.set_value("included", drawn)
            state.set_value(names["phi"], phi)
            self.given_phi = state.values[names["phi"]].copy()
        # Of each combination, the words of each topic, shape (combinations, K, V).
        self._log_prior = self._log_prior_of(subsets[self._combinations])

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, indicators and pi summed over, up to a constant."""
        return np.array([logsumexp(self._log_weights(counts)) for counts in n_kw])

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw indicators, pi and phi given the counts, shape (V, K); by role."""
        weights = self._log_weights(n_wk.T)
        cumulated = np.cumsum(np.exp(weights - weights.max()))
        number = min(int(np.searchsorted(cumulated, rng.random() * cumulated[-1])), len(cumulated) - 1)
        included = self._subsets[self._combinations[number]].T
        values: dict[str, NDArray[Any]] = {"included": included}
        if isinstance(self._prior, Beta) and self._moves_pi:
            axes = {None: (0, 1), "topic": (0,), "word": (1,)}[self._prior.per]
            inside, outside = included.sum(axis=axes), (1 - included).sum(axis=axes)
            values["pi"] = np.clip(rng.beta(self._prior.a + inside, self._prior.b + outside), SMALLEST, LARGEST)
        elif isinstance(self._prior, Beta):
            values["pi"] = self._pi
        phi = np.zeros(n_wk.shape)
        for topic, words in enumerate(included.T):
            chosen = np.flatnonzero(words)
            phi[chosen, topic] = rng.dirichlet(n_wk[chosen, topic] + self._beta[chosen])
        values["phi"] = phi if self.given_phi is None else self.given_phi
        return values

    def _log_prior_of(self, included: NDArray[Any]) -> FloatArray:
        """Return log p(indicators), pi summed over if it moves, of combinations of shape (n, K, V)."""
        if not (isinstance(self._prior, Beta) and self._moves_pi):
            pi = self._given_pi.T
            return np.asarray((xlogy(included, pi) + xlog1py(1 - included, -pi)).sum(axis=(1, 2)))
        axes = {None: (1, 2), "topic": (2,), "word": (1,)}[self._prior.per]
        inside, outside = included.sum(axis=axes), (1 - included).sum(axis=axes)
        value = betaln(self._prior.a + inside, self._prior.b + outside) - betaln(self._prior.a, self._prior.b)
        return np.asarray(value.reshape(len(included), -1).sum(axis=1))

    def _log_weights(self, counts: NDArray[Any]) -> FloatArray:
        """Return log p(w, indicators | z) of each combination, for counts of shape (K, V)."""
        mass = self._subsets @ self._beta
        # Minus infinity if a word with tokens is excluded.
        impossible = (counts[:, None, :] > 0) & (self._subsets == 0)
        cells = (gammaln(counts + self._beta) - gammaln(self._beta)).sum(axis=1)
        rows = gammaln(mass) - gammaln(mass + counts.sum(axis=1, keepdims=True))
        by_topic = np.where(impossible.any(axis=2), -np.inf, cells[:, None] + rows)
        topics = np.arange(len(counts))
        return np.asarray(by_topic[topics, self._combinations].sum(axis=1) + self._log_prior)


def indicator_statistics(included: FloatArray, n_wk: IntArray, pi: FloatArray | None) -> dict[str, FloatArray]:
    """Return bounded statistics of indicators, shape (n, V, K), and of the probability of inclusion if it is drawn."""
    values = {
        "included[0, 0]": included[:, 0, 0],
        "included": included.mean(axis=(1, 2)),
        "included by topic": (included.mean(axis=1) ** 2).sum(axis=1),
        "mix of included": mix(included),
        "included z": (included * n_wk).sum(axis=1) @ np.arange(1.0, included.shape[2] + 1),
        "included without tokens": total(included * (n_wk == 0)),
    }
    if pi is not None:
        pi = pi.reshape(len(pi), -1)
        values |= {"pi[0]": pi[:, 0], "sum pi^2": total(pi**2), "mix of pi": mix(pi)}
        of_cells = pi[:, :, None] if pi.shape[1] == included.shape[1] else pi[:, None, :]
        # Each indicator with its own probability: sums would not show that one probability is taken for another.
        values["included with pi"] = (of_cells * included).mean(axis=(1, 2))
    return values
