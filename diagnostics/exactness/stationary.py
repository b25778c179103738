"""Does a schedule leave the enumerated posterior of z invariant, and does it reach all of it?

Many short chains, each begun in an exact draw from the posterior: if the schedule leaves it invariant, their
last states are independent exact draws again, and Pearson's test applies as it stands, without burn-in or
autocorrelation. Doing nothing would pass, so one long chain must also visit every state of some weight.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics.diagnostics.exactness.enumeration import ExactPosterior, enumerate_posterior
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.run.bind import INITIAL
from ppl_topics.run.execute import Executor
from ppl_topics.schedule.tree import steps
from ppl_topics.state import ChainState, Key

__all__ = ["StationaryTest"]

LEAST_WEIGHT = 1 / 200
"""Probability from which a state must be visited by the long chain."""


class StationaryTest:
    """The test of one schedule on the tiny corpus.

    Parameters
    ----------
    tiny : TinyModel
    seed : int
    sweeps : int
        Sweeps of each short chain.
    """

    def __init__(self, tiny: TinyModel, seed: int, sweeps: int) -> None:
        self.tiny, self.seed, self.sweeps = tiny, seed, sweeps
        self.executor = Executor(tiny.bound)
        self.state = tiny.bound.initial_state(seed, 0)
        self.given_phi = self._given_phi()
        self.exact = enumerate_posterior(
            self.state, tiny.prior("alpha"), tiny.prior("beta"), self.given_phi
        )
        self.features = _features(self.exact, self.state)

    def _given_phi(self) -> NDArray[np.float32] | None:
        """Return phi where the schedule neither updates it nor integrates it out: then it is given."""
        model = self.tiny.model
        name = model.names.get("phi", "")
        moved = {role for s in steps(self.tiny.bound.plan.schedule) for role in s.kernel.updates + s.kernel.integrates_out}
        if name not in self.state.arrays or "phi" in moved:
            return None
        rng = Key(self.seed, 0, 0, INITIAL).generator(1)
        phi = rng.dirichlet(self.state.beta, size=self.state.sizes.topics).T
        self.state.arrays[name][...] = phi
        return self.state.arrays[name].copy()

    def short_chains(self, look: int, samples: int) -> dict[str, float]:
        """Run ``samples`` chains from exact draws; return p-values by feature of the last states."""
        numbers = np.empty(samples, dtype=np.int64)
        rng = Key(self.seed, look + 1, 0, INITIAL).generator()
        starts = rng.choice(len(self.exact.probability), size=samples, p=self.exact.probability)
        for i, start in enumerate(starts):
            self._set_exact(self.state, start, rng)
            memories = self.executor.memories(self.state)
            for sweep in range(self.sweeps):
                # Every chain has streams of its own, and begins at a random phase of `every: n`.
                self.executor.sweep(self.state, memories, self.seed, look + 1, i * self.sweeps + sweep)
            numbers[i] = self.exact.index(self.state.z, self.state.sizes.topics)
        return {name: chi_square(*self._counts(cells, numbers)) for name, cells in self.features.items()}

    def long_chain(self, sweeps: int) -> NDArray[np.int64]:
        """Run one chain from the least probable state; return how often it was in each state."""
        rng = Key(self.seed, 0, 1, INITIAL).generator()
        self._set_exact(self.state, int(self.exact.probability.argmin()), rng)
        memories = self.executor.memories(self.state)
        visits = np.zeros(len(self.exact.probability), dtype=np.int64)
        for sweep in range(sweeps):
            self.executor.sweep(self.state, memories, self.seed, 0, sweep)
            visits[self.exact.index(self.state.z, self.state.sizes.topics)] += 1
        return visits

    def never_reached(self, visits: NDArray[np.int64]) -> int:
        """Return how many states of some weight a long chain never visited."""
        return int(((self.exact.probability >= LEAST_WEIGHT) & (visits == 0)).sum())

    def _set_exact(self, state: ChainState, number: int, rng: np.random.Generator) -> None:
        """Set the state to assignments ``number``, and all else to an exact draw given them."""
        exact = self.exact
        state.set_z(exact.states[number])
        alpha = exact.alpha_nodes[rng.choice(len(exact.alpha_nodes), p=exact.alpha_given[number])]
        beta = exact.beta_nodes[rng.choice(len(exact.beta_nodes), p=exact.beta_given[number])]
        self.tiny.set_values(state, {"alpha": _fit(alpha, state, "alpha"), "beta": _fit(beta, state, "beta")})
        values: Mapping[str, Any] = self.tiny.conditional(state, rng)
        if self.given_phi is not None:
            values = {**values, "phi": self.given_phi}
        self.tiny.set_values(state, values)

    def _counts(self, cells: NDArray[np.int64], numbers: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        size = int(cells.max()) + 1
        return np.bincount(cells[numbers], minlength=size), np.bincount(cells, self.exact.probability, minlength=size)


def _fit(vector: NDArray[np.float64], state: ChainState, role: str) -> NDArray[np.float64]:
    """Return the value of a concentration's variable: one number where it is shared."""
    name = state.concentrations[role]
    shared = isinstance(name, str) and state.arrays[name].ndim == 0
    return vector[0] if shared else vector


def _features(exact: ExactPosterior, state: ChainState) -> dict[str, NDArray[np.int64]]:
    """Return coarser and coarser cells of the states: rough ones see small errors that fine ones blur."""
    states, docs, words = exact.states, state.tokens.docs, state.tokens.words
    topics = range(state.sizes.topics)

    def cells(columns: list[NDArray[Any]]) -> NDArray[np.int64]:
        _, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return np.asarray(number, dtype=np.int64).reshape(-1)

    features = {"z": np.arange(len(states))}
    for d in range(state.sizes.docs):
        if (docs == d).any():
            features[f"n_dk[{d}]"] = cells([(states[:, docs == d] == k).sum(axis=1) for k in topics])
    for w in np.unique(words):
        features[f"n_wk[{w}]"] = cells([(states[:, words == w] == k).sum(axis=1) for k in topics])
    features["n_k"] = cells([(states == k).sum(axis=1) for k in topics])
    pairs = [(states[:, i] == states[:, j]) for i, j in itertools.combinations(range(states.shape[1]), 2)]
    features["tokens together"] = cells([np.sum(pairs, axis=0)])
    return features
