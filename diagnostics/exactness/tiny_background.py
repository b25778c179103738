"""Topics with a background on the tiny corpus: their distribution given z, by sums over which tokens came from it.

Phi, the background and its shares are given if the schedule does not change them.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, comb, logsumexp

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.enumeration import dirichlet_multinomial
from ppl_topics.diagnostics.exactness.goodness import mix, total
from ppl_topics.engine.bind import BoundModel
from ppl_topics.models.background import Background

__all__ = ["TinyBackground", "background_statistics"]

SMALLEST = 1e-300
ROLES = ("background", "background_share", "phi")


class TinyBackground:
    """The distribution of phi, the background and its shares, given assignments.

    ``moved`` are the roles that the schedule updates. In the state, the others are set to a draw from the prior.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        names = bound.model.names
        block = bound.block(names["phi"])
        assert isinstance(block, Background), "a background without its prior"
        self._block, self._beta = block, state.beta
        self.given_phi: NDArray[Any] | None = None  # the topics, if the schedule leaves them as they are
        self._of_counts = cache(self._splits)
        if "phi" not in moved:
            values: dict[str, NDArray[Any]] = {"beta": self._beta}
            for role in ROLES:
                values[role] = block.simulate(role, values, state, rng)
                state.arrays[names[role]][...] = values[role]
            self._given = {role: state.arrays[names[role]].copy() for role in ROLES}
            self.given_phi = self._given["phi"]

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, all else summed over, for counts of shape (S, K, V)."""
        shape = n_kw.shape[1:]
        return np.array([logsumexp(self._of_counts(shape, tuple(counts.ravel().tolist()))[1]) for counts in n_kw])

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw the background, its shares and phi given the counts, shape (V, K); by role."""
        if self.given_phi is not None:
            return dict(self._given)
        counts, block = n_wk.T, self._block
        splits, log_weights = self._of_counts(counts.shape, tuple(counts.ravel().tolist()))
        split = splits[rng.choice(len(splits), p=np.exp(log_weights - logsumexp(log_weights)))]
        own = counts - split
        share = rng.beta(block.a + split.sum(axis=1), block.b + own.sum(axis=1))
        background = rng.dirichlet(split.sum(axis=0) + block.background_concentration)
        phi = np.stack([rng.dirichlet(row + self._beta) for row in own], axis=1)
        block.mix(phi, background, share)
        return {"background": background, "background_share": share, "phi": phi}

    def _splits(self, shape: tuple[int, int], cells: tuple[float, ...]) -> tuple[IntArray, FloatArray]:
        """Return all numbers of tokens that came from the background, (n, K, V), and log p(w, these | z) of each."""
        counts, block = np.array(cells, np.int64).reshape(shape), self._block
        each = itertools.product(*(range(int(count) + 1) for count in cells))
        splits = np.array(list(each), dtype=np.int64).reshape(-1, *shape)
        own = counts - splits
        value = np.log(comb(counts, splits)).sum(axis=(1, 2)) + dirichlet_multinomial(own, self._beta)
        value += (betaln(block.a + splits.sum(axis=2), block.b + own.sum(axis=2)) - betaln(block.a, block.b)).sum(
            axis=1
        )
        together = splits.sum(axis=1)[:, None]
        return splits, value + dirichlet_multinomial(together, np.full(shape[1], block.background_concentration))


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
