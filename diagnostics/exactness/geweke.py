"""Geweke's joint-distribution test, on independent replicates.

Each replicate draws parameters, assignments, words and, of a model with a response, targets from the model's prior and
then runs the schedule given those words and targets. If the schedule leaves every posterior invariant, the state after
is distributed as the one before, jointly with the data; paired means of bounded statistics are compared.

References
----------
J. Geweke (2004). Getting it right: joint distribution tests of posterior simulators. JASA 99.
A. Gandy, J. Scott (2020). Unit testing for MCMC and other Monte Carlo methods. arXiv 2001.06465.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.response import Response
from ppl_topics.diagnostics.exactness.shared_draws import SharedDraws
from ppl_topics.diagnostics.exactness.statistics import FEWEST, REFERENCE, Sample, compare
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.diagnostics.exactness.tiny_labels import set_labels
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.simulation import document_features, draw_from_prior, draw_targets, drawing_order

__all__ = ["GewekeTest"]

LARGEST_TARGET = 50.0
"""Data with larger targets are drawn again. The posterior given the others is the same, and scales with heavy tails
give targets that no model is made for, such as counts so large that their augmentation takes minutes."""

KEPT = 1000
"""Executors that are kept in case that their words are drawn again."""


DRAWS = SharedDraws(most=40)


class GewekeTest:
    """The test of one schedule, by replicates of a number of sweeps."""

    def __init__(self, tiny: TinyModel, seed: int, sweeps: int, share: float = 1.0) -> None:
        self.tiny, self.seed, self.sweeps, self.share = tiny, seed, sweeps, share
        self.state = tiny.bound.initial_state(seed, 0)
        self._order = drawing_order(tiny.model)
        self._executors: dict[bytes, Executor] = {}

    def replicates(self, look: int, samples: int) -> dict[str, float]:
        """Run a share of ``samples`` replicates; return p-values by statistic."""
        rng = Key(self.seed, look + 1, 2, Reserved.INITIAL).generator()
        chains = max(FEWEST, round(self.share * samples))
        before, after = Sample(self.tiny, chains), Sample(self.tiny, chains * self.sweeps)
        reference = Sample(self.tiny, REFERENCE * chains)
        for i in self.draws(chains, rng):
            before.record(self.state)
            executor = self.executor()
            memories = executor.memories(self.state)
            for number in range(i * self.sweeps, (i + 1) * self.sweeps):
                executor.sweep(self.state, memories, self.seed, look + 1, number)
                after.record(self.state)
        for _ in self.draws(reference.size, rng):
            reference.record(self.state)
        return compare(before, after, reference)

    def draws(self, samples: int, rng: np.random.Generator) -> Iterator[int]:
        """Draw everything from the prior, one time after another; yield their numbers."""
        model, tokens = self.tiny.model, self.tiny.bound.tokens
        given = model.spec.topics, model.spec.blocks, tokens.doc_ptr.tolist(), self.tiny.bound.sizes
        return DRAWS.replay(repr((given, samples)), self.state, rng, self._simulations(samples, rng))

    def _simulations(self, samples: int, rng: np.random.Generator) -> Iterator[int]:
        for number in range(samples):
            self._simulate(rng)
            yield number

    def _simulate(self, rng: np.random.Generator) -> None:
        """Draw everything from the prior."""
        state = self.state
        while True:
            values = draw_from_prior(self.tiny.model, self._order, state, rng)
            if values is None:
                continue
            state.tokens = self.tiny.tokens(values.pop("w"))
            state.set_z(values.pop("z"))
            self.tiny.set_values(state, values)
            if state.observed is None:
                return
            response = self.tiny.bound.response
            if response is None:
                targets = set_labels(self.tiny, state, {**values, "z": state.z}, rng)
            else:
                targets = self._draw_targets(response, rng)
            if np.nanmax(np.abs(targets)) <= LARGEST_TARGET:
                return

    def executor(self) -> Executor:
        """Return an executor of the schedule on the state's words, which kernels may keep something of.

        What else they depend on, such as targets, is in the state. Of a few tokens there are few texts.
        """
        key = self.state.tokens.words.tobytes()
        executor = self._executors.get(key) or Executor(self.tiny.with_tokens(self.state.tokens))
        if len(self._executors) < KEPT:
            self._executors[key] = executor
        return executor

    def _draw_targets(self, response: Response, rng: np.random.Generator) -> FloatArray:
        """Draw targets, and the augmentation given them; missing targets stay missing."""
        state = self.state
        assert state.observed is not None, "the corpus has no targets"
        response = response.at(state.arrays)
        features = document_features(state.n_dk, state)
        scores = features @ state.arrays[self.tiny.model.names["eta"]].T
        drawn, _ = draw_targets(response, scores, rng)
        targets = np.where(np.isnan(state.observed.targets), np.nan, drawn)
        augmentation = response.draw_augmentation(targets, scores, rng)
        self.tiny.set_values(state, {"augmentation": augmentation})
        # Compiled code takes arrays that cannot be written for another type.
        targets.flags.writeable = False
        state.observed = replace(state.observed, targets=targets)
        return targets
