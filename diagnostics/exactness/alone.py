"""The test of one kernel run alone, on the joint distribution that its declaration leaves invariant.

In a schedule, one kernel can hide what another does wrong: if phi is drawn again straight after, nobody sees that it no
longer fits the topics. So each chain starts in an exact draw of everything, data included where these can be drawn, and
runs this kernel only. Meanwhile what it does not declare to read, and what it integrates out, has other values, or NaN.
If the declaration holds, what it updates and all that it does not integrate out have their joint distribution again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.statistics import FEWEST, REFERENCE, Sample, compare
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.cluster.members import Inline, MembersDifferError
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.contract import Contract
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.placing import executor_of, present_device
from ppl_topics.errors import DeclarationError, KernelError, RunError
from ppl_topics.schedule import Plan
from ppl_topics.schedule.rules import reads_old_values

__all__ = ["AloneTest", "ExactStarts", "Starts"]

CHECKED_CHAINS = 10
"""Short chains in which each step is held against the declaration."""
SPREAD_CHAINS = 5
"""Short chains that are run with the documents in one place and in two."""


class Starts(Protocol):
    """Exact draws of everything, for a plan with one kernel."""

    tiny: TinyModel
    state: ChainState
    sweeps: int
    share: float

    def draws(self, samples: int, rng: np.random.Generator) -> Iterator[int]:
        """Set the state to exact draws, one after another; yield their numbers."""

    def executor(self) -> Executor:
        """Return an executor of the plan on the data of the last draw."""


class ExactStarts:
    """Draws of the enumerated posterior of all that a model holds, for a plan with one kernel."""

    def __init__(self, plan: Plan, exact: StationaryTest) -> None:
        self.tiny, self.exact, self.state = TinyModel(plan, responses=exact.tiny.responses), exact, exact.state
        self.sweeps, self.share = exact.sweeps, 1.0
        self._executor = executor_of(self.tiny.bound)

    def draws(self, samples: int, rng: np.random.Generator) -> Iterator[int]:
        """Set the state to exact draws, one after another; yield their numbers."""
        return self.exact.exact_draws(samples, rng)

    def executor(self) -> Executor:
        """Return the executor of the plan."""
        return self._executor


class AloneTest:
    """The test of the kernel of a plan that has no other."""

    def __init__(self, starts: Starts, seed: int) -> None:
        self.starts, self.state, self.seed = starts, starts.state, seed
        executor = Executor(starts.tiny.bound)
        (step,) = executor.steps
        self.contract = Contract(starts.tiny.bound, step, executor.functions[0])
        self.moves_z = "z" in step.kernel.updates
        # A second draw from the full conditional has the distribution of the first.
        self.sweeps = starts.sweeps if reads_old_values(step) else 1

    def check_declaration(self) -> None:
        """Run a few chains, and hold each step, and the way from each start, against the declaration.

        Not on a device: what a kernel declares is what its program for the CPU keeps to.
        """
        if present_device() != "cpu":
            return
        rng = Key(self.seed, 0, 5, Reserved.INITIAL).generator()
        for chain in self.starts.draws(CHECKED_CHAINS, rng):
            first, start, executor = Key(self.seed, 0, chain * self.sweeps), self.state.copy(), self.starts.executor()
            list(_sweeps(Executor(executor.bound, debug=True), self.state, first, self.sweeps))
            # What a kernel remembers from its start, no single step shows.
            run = partial(self._run_all, executor, first)
            breach = self.contract.dependence(run, start, self.state)
            if breach:
                raise _breach(executor, breach)

    def check_distribution(self) -> None:
        """Run a few chains with the documents in one place and in two, if the kernel declares that it can."""
        if present_device() != "cpu":
            return
        bound = self.starts.tiny.bound
        (step,) = Executor(bound).steps
        if step.kernel.distributes is None or bound.sparse or bound.marginals:
            return
        rng = Key(self.seed, 0, 6, Reserved.INITIAL).generator()
        for chain in self.starts.draws(SPREAD_CHAINS, rng):
            first, bound = Key(self.seed, 0, chain * self.sweeps), _with_documents_apart(self.starts.executor().bound)
            alone, spread = self.state.copy(), self.state.copy()
            alone.tokens = spread.tokens = bound.tokens
            self._run_all(Executor(bound), first, alone)
            how = f"declares distributes={step.kernel.distributes!r}, but"
            try:
                self._run_all(ShardedExecutor(bound, Inline(2)), first, spread)
                other = self.contract.others(alone, spread)
            except MembersDifferError as error:
                other = list(error.variables)
            except RunError as error:
                what = f"{how} fails with documents in two places: {error.__cause__ or error}"
                raise _breach(self.starts.executor(), what) from error
            if other:
                what = f"{how} draws other values of {other[0]} with documents in two places than in one"
                raise _breach(self.starts.executor(), what)

    def _run_all(self, executor: Executor, first: Key, state: ChainState) -> None:
        list(_sweeps(executor, state, first, self.sweeps))

    def replicates(self, look: int, samples: int) -> dict[str, float]:
        """Run a share of ``samples`` chains; return p-values by statistic."""
        rng = Key(self.seed, look + 1, 4, Reserved.INITIAL).generator()
        tiny, chains = self.starts.tiny, max(FEWEST, round(self.starts.share * samples))
        before, after = Sample(tiny, chains), Sample(tiny, chains * self.sweeps)
        reference = Sample(tiny, REFERENCE * chains)
        last = []
        for i in self.starts.draws(chains, rng):
            self.contract.blank(self.state)
            before.record(self.state)
            self._run(self.starts.executor(), Key(self.seed, look + 1, i * self.sweeps), after)
            last.append(self.state.z.copy())
        for _ in self.starts.draws(reference.size, rng):
            self.contract.blank(self.state)
            reference.record(self.state)
        p_values = compare(before, after, reference)
        if self.moves_z and isinstance(self.starts, ExactStarts):
            p_values |= self.starts.exact.distributions(np.stack(last))
        return p_values

    def _run(self, executor: Executor, first: Key, after: Sample) -> None:
        """Run the kernel, with all that it must not use replaced, in every second chain by NaN."""
        original = self.state.copy()
        self.contract.hide(self.state, nan=first.sweep // self.sweeps % 2 == 1)
        hidden = self.state.copy()
        sweeps = _sweeps(executor, self.state, first, self.sweeps)
        while True:
            try:
                number = next(sweeps, None)
            except KernelError as error:
                # By itself, or only without what it must not use?
                list(_sweeps(executor, original, first, self.sweeps))
                names = ", ".join(self.contract.hidden)
                what = f"fails without the values of {names}, which it must not use: {error}"
                raise _breach(executor, what) from error
            if number is None:
                return
            changed = self.contract.changed(hidden, self.state)
            if changed:
                raise _breach(executor, f"changed {changed[0]}, which it does not declare to update")
            drawn = self.state.copy()
            self.contract.reveal(drawn, original)
            self.contract.blank(drawn)
            after.record(drawn)


def _sweeps(executor: Executor, state: ChainState, first: Key, sweeps: int) -> Iterator[int]:
    """Start the kernel, and run it with the keys from ``first`` on; yield the number of each."""
    memories = executor.memories(state)
    for number in range(first.sweep, first.sweep + sweeps):
        executor.sweep(state, memories, first.seed, first.chain, number)
        yield number


def _with_documents_apart(bound: BoundModel) -> BoundModel:
    """Return a model of which each document is a piece of its own, so that few are enough to be in several places."""
    each = np.arange(bound.sizes.docs + 1)
    return replace(bound, tokens=replace(bound.tokens, groups=each, chunk_ptr=each))


def _breach(executor: Executor, what: str) -> DeclarationError:
    kernel = executor.steps[0].kernel.name
    return DeclarationError(f"kernel {kernel!r} {what}", kernel, breach=what)
