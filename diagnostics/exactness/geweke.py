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

from ppl_topics.diagnostics.exactness.statistics import paired_p_values, state_statistics
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.run.bind import INITIAL
from ppl_topics.run.execute import Executor
from ppl_topics.state import Key

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
        self.state = tiny.bound.initial_state(seed, 0)

    def replicates(self, look: int, samples: int) -> dict[str, float]:
        """Run ``samples`` replicates; return p-values by statistic."""
        rng = Key(self.seed, look + 1, 2, INITIAL).generator()
        before, after = [], []
        for i in range(samples):
            executor = self._simulate(rng)
            before.append(state_statistics(self.tiny, self.state))
            memories = executor.memories(self.state)
            for sweep in range(self.sweeps):
                executor.sweep(self.state, memories, self.seed, look + 1, i * self.sweeps + sweep)
            after.append(state_statistics(self.tiny, self.state))
        return paired_p_values(before, after)

    def _simulate(self, rng: np.random.Generator) -> Executor:
        """Draw everything from the prior; return what runs the schedule on these words.

        Kernels are built anew: they may keep what depends on the words, which no run ever changes.
        """
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
        bound = self.tiny.with_words(values["w"])
        state.tokens = bound.tokens
        state.set_z(values["z"])
        self.tiny.set_values(state, {role: values[role] for role in ("theta", "phi")})
        return Executor(bound)
