"""Geweke's joint-distribution test, on independent replicates.

Each replicate draws parameters, assignments and words from the model's prior and then runs the schedule given
those words. If the schedule leaves every posterior invariant, the state after is distributed as the one
before, jointly with the words; paired means of bounded statistics are compared.

References
----------
J. Geweke (2004). Getting it right: joint distribution tests of posterior simulators. JASA 99.
A. Gandy, J. Scott (2020). Unit testing for MCMC and other Monte Carlo methods. arXiv 2001.06465.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

from ppl_topics.diagnostics.exactness.goodness import paired_mean
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.run.bind import INITIAL
from ppl_topics.run.execute import Executor
from ppl_topics.state import ChainState, Key

__all__ = ["GewekeTest"]

ORDER = ("alpha", "beta", "theta", "phi", "z", "w")


class GewekeTest:
    """The test of one schedule.

    Parameters
    ----------
    tiny : TinyModel
    seed : int
    sweeps : int
        Sweeps of each replicate.
    """

    def __init__(self, tiny: TinyModel, seed: int, sweeps: int) -> None:
        self.tiny, self.seed, self.sweeps = tiny, seed, sweeps
        self.executor = Executor(tiny.bound)
        self.state = tiny.bound.initial_state(seed, 0)

    def replicates(self, look: int, samples: int) -> dict[str, float]:
        """Run ``samples`` replicates; return p-values by statistic."""
        rng = Key(self.seed, look + 1, 2, INITIAL).generator()
        before: list[NDArray[np.float64]] = []
        after: list[NDArray[np.float64]] = []
        for i in range(samples):
            self._simulate(rng)
            before.append(self._statistics())
            memories = self.executor.memories(self.state)
            for sweep in range(self.sweeps):
                self.executor.sweep(self.state, memories, self.seed, look + 1, i * self.sweeps + sweep)
            after.append(self._statistics())
        first, last = np.stack(before), np.stack(after)
        # First and second moments, and products of neighbours: a wrong spread or dependence shows there.
        columns = {name: (first[:, j], last[:, j]) for j, name in enumerate(self.names)}
        products = {
            f"{a} * {b}": (columns[a][0] * columns[b][0], columns[a][1] * columns[b][1])
            for i, a in enumerate(self.names)
            for b in self.names[i : i + 3]
        }
        return {name: paired_mean(*pair) for name, pair in {**columns, **products}.items()}

    def _simulate(self, rng: np.random.Generator) -> None:
        """Draw everything from the prior."""
        model, state = self.tiny.model, self.state
        values: dict[str, Any] = {}
        for role in ORDER:
            if role not in model.names:
                values[role] = getattr(state, role)
                continue
            value = model.spec.blocks[model.names[role]].simulate(role, values, state, rng)
            if role in ("alpha", "beta"):
                self.tiny.set_values(state, {role: value})
                value = getattr(state, role)
            values[role] = value
        self.tiny.set_words(values["w"])
        state.set_z(values["z"])
        self.tiny.set_values(state, {role: values[role] for role in ("theta", "phi")})

    def _statistics(self) -> NDArray[np.float64]:
        state, model = self.state, self.tiny.model
        values: dict[str, float] = {}
        for role in ("alpha", "beta"):
            prior = self.tiny.prior(role)
            if prior is not None:
                uniform = gamma.cdf(state.arrays[model.names[role]], prior.shape, scale=1 / prior.rate)
                values |= {f"{role}[{i}]": float(u) for i, u in enumerate(np.atleast_1d(uniform))}
        values |= _count_statistics(state)
        for role in ("theta", "phi"):
            array = state.arrays.get(model.names[role])
            if array is not None:
                values[f"{role}[0, 0]"] = float(array[0, 0])
                values[f"{role} z"] = _mean_probability(array, state, role)
        self.names = list(values)
        return np.array(list(values.values()))


def _count_statistics(state: ChainState) -> dict[str, float]:
    """Return bounded statistics of z and the words."""
    n_dk = state.n_dk
    return {
        "n_k[0]": float(state.n_k[0]),
        "sum n_k^2": float((state.n_k**2).sum()),
        "sum n_dk^2": float((n_dk**2).sum()),
        "sum n_wk^2": float((state.n_wk**2).sum()),
        "n_dk[0, 0]": float(n_dk[0, 0]),
        "n_wk[0, 0]": float(state.n_wk[0, 0]),
    }


def _mean_probability(array: NDArray[Any], state: ChainState, role: str) -> float:
    """Return the mean probability of the topics in theta, or of the words in phi, that the tokens have."""
    rows = state.tokens.docs if role == "theta" else state.tokens.words
    return float(array[rows, state.z].mean())
