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

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, read_only
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.diagnostics.exactness.shared_draws import SharedDraws
from ppl_topics.diagnostics.exactness.statistics import FEWEST, REFERENCE, Sample, compare
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.diagnostics.exactness.tiny_labels import set_labels
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.placing import executor_of
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
        self._orders = {name: drawing_order(each.model) for name, each in tiny.model.by_response.items()}
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
            first, *others = self.tiny.model.by_response
            values = self._parameters(first, rng)
            if values is None:
                continue
            common = dict(values)
            state.tokens = self.tiny.tokens(values.pop("w"))
            state.set_z(values.pop("z"))
            self.tiny.set_values(state, values)
            if others:
                self.tiny.set_response(state, first, values)
            for response in others:
                self.tiny.set_response(state, response, self._parameters(response, rng, common) or {})
            if not self.tiny.model.supervised:
                return
            if self.tiny.bound.response is None and not others:
                targets = [set_labels(self.tiny, state, {**values, "z": state.z}, rng)]
            else:
                targets = [self._draw_targets(response, rng) for response in (first, *others)]
            if max(np.nanmax(np.abs(each)) for each in targets) <= LARGEST_TARGET:
                return

    def _parameters(
        self, response: str, rng: np.random.Generator, common: Mapping[str, NDArray[Any]] = MappingProxyType({})
    ) -> dict[str, NDArray[Any]] | None:
        """Draw what a response depends on, by role, but for what it has in common with others that were drawn."""
        marginal = self.tiny.model.by_response[response]
        own = {v.role for name, v in marginal.model.variables.items() if name in marginal.names}
        given = {role: value for role, value in common.items() if role not in own}
        seen = self.tiny.bound.seen_by(response, self.state)
        return draw_from_prior(marginal.model, self._orders[response], seen, rng, given)

    def executor(self) -> Executor:
        """Return an executor of the schedule on the state's words, which kernels may keep something of.

        What else they depend on, such as targets, is in the state. Of a few tokens there are few texts.
        """
        key = self.state.tokens.words.tobytes()
        executor = self._executors.get(key) or executor_of(self.tiny.with_tokens(self.state.tokens))
        if len(self._executors) < KEPT:
            self._executors[key] = executor
        return executor

    def _draw_targets(self, response: str, rng: np.random.Generator) -> FloatArray:
        """Draw targets of a response, and the augmentation given them; missing targets stay missing."""
        bound = self.tiny.bound.by_response[response]
        state = self.tiny.bound.seen_by(response, self.state)
        assert bound.response is not None, "the model has no response"
        assert state.observed is not None, "the corpus has no targets"
        block = bound.response.at(state.arrays)
        scores = document_features(state.n_dk, state) @ state.arrays[bound.model.names["eta"]].T
        drawn, _ = draw_targets(block, scores, rng)
        targets = read_only(np.where(np.isnan(state.observed.targets), np.nan, drawn), np.float64)
        augmentation = block.draw_augmentation(targets, scores, rng)
        self.tiny.set_response(self.state, response, {"augmentation": augmentation})
        observed = replace(state.observed, targets=targets)
        if response:
            self.state.observed_by = {**self.state.observed_by, response: observed}
        else:
            self.state.observed = observed
        return targets
