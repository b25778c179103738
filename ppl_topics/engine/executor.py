"""A schedule, executed: one sweep of one chain at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.response_view import ResponseView
from ppl_topics.core.state import ChainState
from ppl_topics.engine.annealing import tempered
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.contract import Contract
from ppl_topics.engine.finite_check import FiniteCheck
from ppl_topics.engine.summary import Summary
from ppl_topics.errors import DeclarationError, KernelError, RunError
from ppl_topics.schedule.dead_steps import dead_steps, dead_variables
from ppl_topics.schedule.tree import Cycle, Mixture, Node, Repeat, Step, steps

__all__ = ["Executor", "SweepRecord", "step_labels"]

TAKEN: Mapping[str, float] = {"acceptance_rate": 1.0}
"""Gibbs kernels take every draw; those with a Metropolis step say otherwise."""


@dataclass
class SweepRecord:
    """What a sweep did, in arrays of shape (steps,): seconds, statistics by name and how often each step ran.

    A statistic is the mean if a step ran more than once, NaN if it did not. Of documents that are spread over
    ``members``, ``sent`` are the bytes between these, and ``waited`` the mean seconds until the slowest was done; there
    may be a ``summary`` of the assignments, which are not in the state then.
    """

    seconds: FloatArray
    statistics: dict[str, FloatArray] = field(default_factory=dict)
    runs: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    members: int = 0
    sent: int = 0
    waited: float = 0.0
    summary: Summary | None = None

    @classmethod
    def of(cls, steps: int) -> SweepRecord:
        """Return the record of a sweep that has not begun."""
        return cls(np.zeros(steps), {}, np.zeros(steps, dtype=np.int64))

    def add(self, index: int, seconds: float, statistics: Mapping[str, float] | None) -> None:
        """Add one execution of step ``index``."""
        self.seconds[index] += seconds
        self.runs[index] += 1
        if statistics is not None and not isinstance(statistics, Mapping):
            raise TypeError(f"step returned {type(statistics).__name__}; expected None, or numbers by name")
        runs = self.runs[index]
        for name, value in (TAKEN if statistics is None else {**TAKEN, **statistics}).items():
            if not isinstance(name, str) or (type(value) is not float and np.ndim(value) != 0):
                raise TypeError(f"step returned {name!r}: {value!r}; expected numbers by name")
            if name not in self.statistics:
                self.statistics[name] = np.full(len(self.seconds), np.nan)
            values = self.statistics[name]
            values[index] = value if runs == 1 else values[index] + (value - values[index]) / runs


@dataclass
class _Sweep:
    """A sweep in progress: its random streams are numbered in order of execution."""

    state: ChainState
    memories: list[Any]
    seed: int
    chain: int
    number: int
    record: SweepRecord
    layout: dict[str, Any]
    wanted: AbstractSet[str] | None
    executions: int = 0

    def key(self) -> Key:
        self.executions += 1
        return Key(self.seed, self.chain, self.number, self.executions)


class Executor:
    """Runs the schedule of a bound model.

    `debug` checks after each step that it kept to what its kernel declares (see `ppl_topics.engine.contract`), that the
    counts are those of z, and that all values are finite. That takes three runs of each step, and copies.
    """

    def __init__(self, bound: BoundModel, debug: bool = False) -> None:
        self.bound = bound
        self.debug = debug
        schedule = bound.plan.schedule
        self.steps = list(steps(schedule))
        self.functions = [self._build(step) for step in self.steps]
        self.dead_steps = dead_steps(schedule, bound.model)
        self.redrawn = dead_variables(schedule, bound.model)
        self._checks = [FiniteCheck(bound, s, f.checked) for s, f in zip(self.steps, self.functions, strict=True)]
        self._contracts = (
            [Contract(bound, s, f) for s, f in zip(self.steps, self.functions, strict=True)] if debug else []
        )
        self._places = {id(step): place for place, step in enumerate(self.steps)}

    def memories(self, state: ChainState) -> list[Any]:
        """Return the memory of each step's kernel for one chain."""
        result = []
        for step, functions in zip(self.steps, self.functions, strict=True):
            try:
                result.append(functions.init(state))
            except Exception as error:
                name = step.kernel.name
                raise RunError(f"kernel {name!r} failed to initialise: {type(error).__name__}: {error}") from error
        return result

    def sweep(
        self,
        state: ChainState,
        memories: list[Any],
        seed: int,
        chain: int,
        number: int,
        wanted: AbstractSet[str] | None = None,
        seen: bool = True,
    ) -> SweepRecord:
        """Run the schedule once, in place.

        Variables that are not ``wanted`` afterwards need not be drawn if the next sweep does not read them. A state
        that is not ``seen`` need not be whole until it is settled; others need no z, n_wk or topics unless wanted.
        """
        record = SweepRecord.of(len(self.steps))
        sweep = _Sweep(state, memories, seed, chain, number, record, _layout(state), wanted)
        with self.tempered(state, number):
            self._run(self.bound.plan.schedule, sweep)
        return record

    def tempered(self, state: ChainState, number: int) -> AbstractContextManager[None]:
        """Let a state have the concentrations of sweep ``number``, others than those of the model in some warmups."""
        return tempered(state, self.bound.plan.annealing, number)

    def settle(self, state: ChainState, memories: list[Any], seed: int, chain: int, number: int) -> None:
        """See to it that a state is whole, before sweep ``number``; here it always is."""

    def summary(self, state: ChainState, chain: int) -> Summary | None:
        """Return what a trace says of the assignments where they are, if that is not in the state."""
        return None

    def draw(self, place: int, state: ChainState, memory: Any, key: Key) -> Mapping[str, float] | None:
        """Run the kernel of one step, in place, and return its statistics."""
        return self.functions[place].step(state, memory, key)

    def fail(self, place: int, state: ChainState, key: Key, error: Exception) -> NoReturn:
        """Raise what a step's error comes to: values that are not finite, or a failure of its kernel."""
        if isinstance(error, FloatingPointError):
            self._checks[place].all_variables(state, key.sweep, key.chain)
        raise _failure(self.steps[place], key, f"failed: {type(error).__name__}: {error}") from error

    def check_finite(self, place: int, state: ChainState, key: Key) -> None:
        """Refuse what a step has drawn if it is not finite."""
        self._checks[place](state, key.sweep, key.chain)

    def _build(self, step: Step) -> KernelFunctions:
        name, binding = step.kernel.name, self.bound.binding(step.variable)
        try:
            functions = step.kernel.build(binding, **step.arguments)
        except Exception as error:
            raise RunError(f"kernel {name!r}: its builder failed: {type(error).__name__}: {error}") from error
        if not isinstance(functions, KernelFunctions):
            raise RunError(f"kernel {name!r}: its builder returned {functions!r}; expected KernelFunctions(step)")
        return functions if binding.view is None else _of_response(functions, binding.view)

    def _run(self, node: Node, sweep: _Sweep) -> None:
        if isinstance(node, Step):
            self._step(node, sweep)
        elif isinstance(node, Cycle):
            for child in node.children:
                self._run(child, sweep)
        elif isinstance(node, Mixture):
            bounds = np.cumsum(node.weights) / sum(node.weights)
            chosen = int(np.searchsorted(bounds, sweep.key().generator().random(), side="right"))
            self._run(node.children[min(chosen, len(bounds) - 1)], sweep)
        elif isinstance(node, Repeat):
            for _ in range(node.times):
                self._run(node.child, sweep)
        elif sweep.number % node.n == 0:
            self._run(node.child, sweep)

    def _step(self, step: Step, sweep: _Sweep) -> None:
        place = self._places[id(step)]
        functions, key = self.functions[place], sweep.key()
        # What a kernel keeps between steps may depend on all of them.
        drawn = None if functions.has_memory else self.dead_steps.get(place)
        if sweep.wanted is not None and drawn is not None and not drawn & sweep.wanted:
            return
        self.run_step(place, sweep.state, sweep.memories, key, sweep.record, sweep.layout)

    def run_step(
        self,
        place: int,
        state: ChainState,
        memories: list[Any],
        key: Key,
        record: SweepRecord,
        layout: dict[str, Any] | None = None,
    ) -> None:
        """Run one step of the schedule, in place, and see to it that it leaves what it must not touch."""
        step, layout = self.steps[place], layout or _layout(state)
        before = self._contracts[place].before(state, memories, place) if self.debug else None
        started = time.perf_counter()
        try:
            statistics = self.draw(place, state, memories[place], key)
            record.add(place, time.perf_counter() - started, statistics)
        except Exception as error:
            self._check_layout(step, state, layout, key)
            self.fail(place, state, key, error)
        self._check_layout(step, state, layout, key)
        self.check_finite(place, state, key)
        if before is not None:
            breach = self._contracts[place].breach(before, state, memories, place, key)
            if breach:
                raise _breach(step, key, breach)
            try:
                state.check()
            except RunError as error:
                raise _breach(step, key, str(error), ": ") from None

    def _check_layout(self, step: Step, state: ChainState, layout: dict[str, Any], key: Key) -> None:
        """Refuse what would make compiled code read or write out of bounds; cheap, so always done."""
        if layout != _layout(state):
            changed = ", ".join(sorted(dict(layout.items() ^ _layout(state).items())))
            raise _breach(step, key, f"changed the type, shape or name of {changed}")
        # Our kernels are tested; in those of others, a topic that does not exist would crash the process.
        ours = (step.kernel.build.__module__ or "").startswith("ppl_topics.")
        if not ours and state.z.size and int(state.z.max()) >= state.sizes.topics:
            wrong = int(state.z.max())
            raise _breach(step, key, f"wrote topic {wrong} into z; there are {state.sizes.topics} topics")


def _of_response(functions: KernelFunctions, view: ResponseView) -> KernelFunctions:
    """Return the functions of a kernel that knows one response of several, for states of all."""

    def step(state: ChainState, memory: Any, key: Key) -> Mapping[str, float] | None:
        seen = view.of(state)
        statistics = functions.step(seen, memory, key)
        view.put_back(seen, state)
        return statistics

    def init(state: ChainState) -> Any:
        return functions.init(view.of(state))

    def restore(memory: Any, arrays: Mapping[str, NDArray[Any]], state: ChainState) -> None:
        assert functions.restore is not None, "a kernel that keeps nothing"
        functions.restore(memory, arrays, view.of(state))

    def statistic(state: ChainState) -> list[Any]:
        assert functions.statistic is not None, "a kernel that draws given a statistic"
        return functions.statistic(view.of(state))

    def draw_given(state: ChainState, key: Key, given: Any) -> None:
        assert functions.draw_given is not None, "a kernel that draws given a statistic"
        seen = view.of(state)
        functions.draw_given(seen, key, given)
        view.put_back(seen, state)

    return functions._replace(
        step=step,
        init=init if functions.has_memory else functions.init,
        restore=None if functions.restore is None else restore,
        checked=tuple(view.variables.get(name, name) for name in functions.checked),
        statistic=None if functions.statistic is None else statistic,
        draw_given=None if functions.draw_given is None else draw_given,
    )


def _layout(state: ChainState) -> dict[str, Any]:
    """Return type and shape of each array of a state, by name."""
    arrays = {"z": state.z, "n_wk": state.n_wk, "n_k": state.n_k, **state.arrays}
    return {name: (type(a), getattr(a, "dtype", None), getattr(a, "shape", None)) for name, a in arrays.items()}


def _failure(step: Step, key: Key, what: str, joint: str = " ") -> KernelError:
    name, number, chain = step.kernel.name, key.sweep, key.chain
    return KernelError(f"kernel {name!r} (sweep {number}, chain {chain}){joint}{what}", name, number, chain)


def _breach(step: Step, key: Key, what: str, joint: str = " ") -> DeclarationError:
    failure = _failure(step, key, what, joint)
    return DeclarationError(str(failure), failure.kernel, failure.sweep, failure.chain, what)


def step_labels(schedule: Node) -> list[str]:
    """Return ``variable:kernel`` of each step of a schedule, numbered if it occurs twice."""
    labels = [step.label for step in steps(schedule)]
    result = []
    for i, label in enumerate(labels):
        nth = labels[: i + 1].count(label)
        result.append(f"{label}#{nth}" if labels.count(label) > 1 else label)
    return result
