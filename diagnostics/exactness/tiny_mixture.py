"""Topics that are mixtures on the tiny corpus: their distribution given z, by sums over which tokens came from what.

Phi and its parts are given if the schedule does not change them.
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
from ppl_topics.models.background import Background, mix_background
from ppl_topics.models.keywords import Keywords
from ppl_topics.models.keywords_and_background import KeywordsAndBackground

__all__ = ["TinyMixture", "background_statistics", "keyword_statistics"]

SMALLEST = 1e-300
WITH_BACKGROUND = Background | KeywordsAndBackground
NO_KEYWORDS = KeywordCells(np.zeros(1, np.int64), np.empty(0, np.int64))


class TinyMixture:
    """The distribution of phi, and of its keywords and background where it has these, given assignments.

    ``moved`` are the roles that the schedule updates. In the state, the others are set to a draw from the prior.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        names = bound.model.names
        block = bound.block(names["phi"])
        assert isinstance(block, Background | Keywords), "topics that are no mixture"
        self._block, self._beta = block, state.beta
        self._cells = block.cells if isinstance(block, Keywords) else NO_KEYWORDS
        self.given_phi: NDArray[Any] | None = None  # the topics, if the schedule leaves them as they are
        self._of_counts = cache(self._splits)
        if "phi" not in moved:
            values: dict[str, NDArray[Any]] = {"beta": self._beta}
            roles = [role for role, _ in block.auxiliaries().values()] + ["phi"]
            for role in roles:
                values[role] = block.simulate(role, values, state, rng)
                state.arrays[names[role]][...] = values[role]
            self._given = {role: state.arrays[names[role]].copy() for role in roles}
            self.given_phi = self._given["phi"]

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, all else summed over, for counts of shape (S, K, V)."""
        return np.array([logsumexp(self._of_counts(*_hashable(counts))[2]) for counts in n_kw])

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw phi and its parts given the counts, shape (V, K); by role."""
        if self.given_phi is not None:
            return dict(self._given)
        counts, block, cells = n_wk.T, self._block, self._cells
        backgrounds, keywords, log_weights = self._of_counts(*_hashable(counts))
        drawn = rng.choice(len(log_weights), p=np.exp(log_weights - logsumexp(log_weights)))
        background, keyword = backgrounds[drawn], keywords[drawn]
        rest = counts - background
        own = rest.copy()
        own[cells.topics, cells.words] -= keyword
        phi = np.stack([rng.dirichlet(row + self._beta) for row in own], axis=1)
        values = {"phi": phi}
        if isinstance(block, Keywords):
            a, b, concentration = block.keyword_prior
            values["keyword_weight"] = np.zeros(len(cells.words))
            for topic, (first, last) in enumerate(itertools.pairwise(cells.pointer)):
                if last > first:
                    split = keyword[first:last]
                    share = rng.beta(a + split.sum(), b + own[topic].sum())
                    values["keyword_weight"][first:last] = share * rng.dirichlet(split + concentration)
            block.mix(phi, values["keyword_weight"])
        if isinstance(block, WITH_BACKGROUND):
            a, b, concentration = block.background_prior
            values["background_share"] = rng.beta(a + background.sum(axis=1), b + rest.sum(axis=1))
            values["background"] = rng.dirichlet(background.sum(axis=0) + concentration)
            mix_background(phi, values["background"], values["background_share"])
        return values

    def _splits(self, shape: tuple[int, int], cells: tuple[int, ...]) -> tuple[IntArray, IntArray, FloatArray]:
        """Return all numbers of tokens from the background, (n, K, V), and from keywords, (n, J), and log weights.

        A weight is p(w, these | z).
        """
        counts = np.array(cells, np.int64).reshape(shape)
        place = self._cells.topics, self._cells.words
        backgrounds, keywords = [], []
        for background in _up_to(counts if isinstance(self._block, WITH_BACKGROUND) else np.zeros_like(counts)):
            for split in _up_to((counts - background)[place]):
                backgrounds.append(background)
                keywords.append(split)
        each, split = np.stack(backgrounds), np.stack(keywords)
        value = self._log_background(counts, each)
        return each, split, value + self._log_keywords(counts - each, split)

    def _log_background(self, counts: IntArray, background: IntArray) -> FloatArray:
        """Return log p(tokens that came from the background, and their words | z), all else left out."""
        block = self._block
        if not isinstance(block, WITH_BACKGROUND):
            return np.zeros(len(background))
        a, b, concentration = block.background_prior
        of_topics, rest = background.sum(axis=2), (counts - background).sum(axis=2)
        value: FloatArray = np.log(comb(counts, background)).sum(axis=(1, 2))
        value += (betaln(a + of_topics, b + rest) - betaln(a, b)).sum(axis=1)
        return value + dirichlet_multinomial(background.sum(axis=1)[:, None], np.full(counts.shape[1], concentration))

    def _log_keywords(self, counts: IntArray, split: IntArray) -> FloatArray:
        """Return log p(tokens that came from keywords, and all words | z), of what is not the background."""
        place = slice(None), self._cells.topics, self._cells.words
        own = counts.copy()
        own[place] -= split
        value = dirichlet_multinomial(own, self._beta)
        if isinstance(self._block, Keywords):
            a, b, concentration = self._block.keyword_prior
            value = value + np.log(comb(counts[place], split)).sum(axis=1)
            for topic, (first, last) in enumerate(itertools.pairwise(self._cells.pointer)):
                if last > first:
                    of_topic = split[:, first:last]
                    value += betaln(a + of_topic.sum(axis=1), b + own[:, topic].sum(axis=1)) - betaln(a, b)
                    value += dirichlet_multinomial(of_topic[:, None], np.full(last - first, concentration))
        return value


def _hashable(counts: NDArray[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a shape, and whole numbers."""
    return counts.shape, tuple(counts.ravel().astype(int).tolist())


def _up_to(counts: NDArray[Any]) -> IntArray:
    """Return all arrays of whole numbers from 0 to these, shape (n, ...)."""
    each = list(itertools.product(*(range(int(count) + 1) for count in counts.ravel())))
    return np.array(each, np.int64).reshape(len(each), *counts.shape)


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


def background_statistics(
    background: FloatArray, share: FloatArray, phi: FloatArray, n_wk: IntArray
) -> dict[str, FloatArray]:
    """Return bounded statistics of the background, shape (n, V), its shares, (n, K), phi and counts, (n, V, K)."""
    part = background[:, :, None] * share[:, None]
    of_cell = np.minimum(part / np.maximum(phi, SMALLEST), 1.0)
    tokens = np.maximum(n_wk.sum(axis=(1, 2)), 1)
    # Each word and topic with its own number, so that one taken for another shows.
    words, topics = np.arange(1.0, n_wk.shape[1] + 1), np.arange(1.0, n_wk.shape[2] + 1)
    of_words, of_topics = n_wk.sum(axis=2), n_wk.sum(axis=1)
    return {
        "background[0]": background[:, 0],
        "sum background^2": total(background**2),
        "mix of background": mix(background),
        "background_share[0]": share[:, 0],
        "sum background_share^2": total(share**2),
        "mix of background_share": mix(share),
        "background z": (background * of_words) @ words / tokens,
        "background_share z": (share * of_topics) @ topics / tokens,
        "share of background": of_cell.mean(axis=(1, 2)),
        "share of background^2": total(of_cell**2),
        "share of background z": (of_cell * n_wk).sum(axis=(1, 2)) / tokens,
    }
