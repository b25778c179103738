"""One chain in the hand: sweep by sweep, or one kernel at a time."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.nearest import choices
from ppl_topics._util.threads import using_threads
from ppl_topics.api.run_arguments import check_corpus, check_device_of_run, check_warmup_schedule
from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.api.starting import Given, Init, start_values, with_start
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import bind
from ppl_topics.engine.contract import copy_memory
from ppl_topics.engine.executor import SweepRecord, step_labels
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.placing import Device, using_device
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.errors import PplTopicsError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes

__all__ = ["Chain"]


class Chain:
    """One chain in the hand, for scripts that look at kernels: it sweeps, or takes single steps, when it is told to.

    After as many sweeps its state has the same bits as chain ``chain`` of :func:`ppl_topics.sample` with the same seed
    and as long a warmup.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        As in :func:`ppl_topics.sample`.
    corpus : Corpus
    seed : int, optional
        By default it is drawn.
    chain : int
        Number of the chain; chains of one seed are independent.
    threads : int, optional
        By default those that numba uses.
    schedule : mapping or list, optional
        Replaces the model's own schedule.
    warmup : int
        Sweeps of the ``warmup`` of a model, or annealed ones where it says nothing; after them the chain runs the
        schedule, by default from the first sweep on.
    warmup_schedule : mapping or list, optional
        Replaces the model's own ``warmup``; see :func:`ppl_topics.sample`.
    init : Fit or mapping, optional
    given : mapping, optional
        What is held fixed; both as in :func:`ppl_topics.sample`.
    debug : bool
        Whether to hold each step against the declaration of its kernel.
    device : {'cpu', 'cuda'}
        As in :func:`ppl_topics.sample`. What a GPU has drawn is copied when `state` is asked for: ask again after each
        sweep, and before each change.
    **parameters
        Model parameters to set.

    Attributes
    ----------
    state : ChainState
        The current values, not a copy: kernels change them in place.
    plan : Plan
        Of the schedule that the chain runs.
    seed : int
    sweeps : int
        Sweeps that are done; single steps are part of the sweep after these.

    Raises
    ------
    SpecError, ScheduleError
        If the model, its parameters or its schedule are wrong.
    CorpusError
        If the corpus has no tokens, or lacks the labels that the model observes.

    Examples
    --------
    >>> from ppl_topics import Corpus
    >>> corpus = Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> chain = Chain("lda", corpus, topics=2, seed=1)
    >>> chain.sweep(10)
    >>> chain.state.n_k.sum()
    np.int64(8)
    >>> chain.step("z")["acceptance_rate"]
    1.0
    """

    def __init__(
        self,
        model: ModelLike,
        corpus: Corpus,
        *,
        seed: int | None = None,
        chain: int = 0,
        threads: int | None = None,
        schedule: Any = None,
        warmup: int = 0,
        warmup_schedule: Any = None,
        init: Init | None = None,
        given: Given | None = None,
        debug: bool = False,
        device: Device = "cpu",
        **parameters: Any,
    ) -> None:
        self.seed = secrets.randbits(32) if seed is None else seed
        check_whole(argument("seed"), self.seed, 0, MAX_SEED)
        check_whole(argument("chain"), chain, 0, MAX_SWEEPS)
        check_whole(argument("warmup"), warmup, 0, MAX_SWEEPS)
        check_warmup_schedule(warmup_schedule, warmup)
        if threads is not None:
            check_threads(argument("threads"), threads)
        check_corpus(corpus)
        trees = {"schedule": schedule, "warmup_schedule": warmup_schedule}
        spec = with_start(resolve(model, parameters, **trees), init, given)
        check_device_of_run(device, False, 1, debug)
        self.plan: Plan = make_plan(spec, CorpusSizes.of(corpus), device=device)
        self.sweeps = 0
        self._chain, self._threads = chain, threads
        bound = bind(self.plan, corpus)
        with using_device(device):
            self._phases = Phases.here(bound, warmup, debug)
        self._recorder = Recorder(bound, ChainDraws())
        with using_threads(threads):
            start = start_values(bound, corpus, init, given, 1) if init is not None or spec.given else {}
            self._state: ChainState = bound.initial_state(
                self.seed, chain, {name: values[0] for name, values in start.items()}
            )
            self._begin()
        self._record = SweepRecord.of(len(self._labels))
        self._executions = 0

    def _begin(self) -> None:
        """Begin with the kernels of the next sweep."""
        self._executor = self._phases.at(self.sweeps)
        self._memories = self._executor.memories(self._state)
        self._labels = step_labels(self._executor.bound.plan.schedule)
        self._seconds, self._runs = np.zeros(len(self._labels)), np.zeros(len(self._labels), dtype=np.int64)

    @property
    def state(self) -> ChainState:
        """The current values; see the class."""
        self._executor.settle(self._state, self._memories, self.seed, self._chain, self.sweeps)
        return self._state

    def __repr__(self) -> str:
        """Return one line: model, corpus, sweeps."""
        return f"Chain: {self.plan.model.spec.name}, seed {self.seed}, chain {self._chain}, {self.sweeps:,} sweeps"

    def sweep(self, times: int = 1) -> None:
        """Run the schedule, several times.

        Parameters
        ----------
        times : int

        Raises
        ------
        RunError
            If a kernel fails; the state is then that between two of its steps.
        """
        check_whole(argument("times"), times, 0, MAX_SWEEPS)
        with using_threads(self._threads):
            for _ in range(times):
                self._end_sweep()
                self._record = self._executor.sweep(
                    self._state, self._memories, self.seed, self._chain, self.sweeps, seen=False
                )
                self._seconds += self._record.seconds
                self._runs += self._record.runs
                self._count_sweep()

    def step(self, name: str) -> dict[str, float]:
        """Run one step of the schedule.

        Taken one after another in the order of a schedule that is a cycle, steps are a sweep, of the same bits.

        Parameters
        ----------
        name : str
            The variable, the kernel, or ``variable:kernel`` (``variable:kernel#2`` if that is in the schedule twice).

        Returns
        -------
        dict of str to float
            What the kernel says of its step, such as ``acceptance_rate``, which is 1 for Gibbs kernels.

        Raises
        ------
        PplTopicsError
            If no step, or more than one, has this name.
        RunError
            If the kernel fails.
        """
        place = self._place(name)
        self._executions += 1
        key, record = Key(self.seed, self._chain, self.sweeps, self._executions), SweepRecord.of(len(self._labels))
        with using_threads(self._threads), self._executor.tempered(self._state, self.sweeps):
            self._executor.run_step(place, self._state, self._memories, key, record)
        self._record = record
        self._seconds += record.seconds
        self._runs += record.runs
        if place == len(self._labels) - 1:
            self._end_sweep()
        return {each: float(values[place]) for each, values in record.statistics.items()}

    def _end_sweep(self) -> None:
        """Let single steps count as a sweep, so that the next one has other random numbers."""
        if self._executions:
            self._executions = 0
            self._count_sweep()

    def _count_sweep(self) -> None:
        """Count a sweep; after the last of the warmup, the schedule begins."""
        self.sweeps += 1
        if self._phases.at(self.sweeps) is not self._executor:
            self._executor.settle(self._state, self._memories, self.seed, self._chain, self.sweeps)
            self._begin()

    def _place(self, name: str) -> int:
        """Return which step has a name."""
        found = [
            place
            for place, (label, step) in enumerate(zip(self._labels, self._executor.steps, strict=True))
            if name in (label, step.variable, step.kernel.name)
        ]
        if len(found) != 1:
            several = "several steps have" if found else "no step has"
            raise PplTopicsError(f"{several} the name {name!r}; give one of {choices(self._labels)}")
        return found[0]

    def log_posterior(self) -> float:
        """Return the log posterior density of the state up to a constant, the ``lp`` of a trace."""
        with using_threads(self._threads):
            return float(self._statistics()["lp"])

    def statistics(self) -> dict[str, Any]:
        """Return what ``sample_stats`` of a trace would hold of the state and the last sweep or step, by name.

        ``lp`` is the log posterior density up to a constant. What kernels say of themselves, and ``step_seconds``, have
        shape (steps,); NaN where a step did not run.
        """
        with using_threads(self._threads):
            return self._statistics()

    def _statistics(self) -> dict[str, Any]:
        """Return what a trace would say, of assignments on a device from there."""
        summary = self._executor.summary(self._state, self._chain)
        state = self.state if summary is None or self.plan.model.supervised else self._state
        return self._recorder.statistics(state, replace(self._record, summary=summary))

    @property
    def seconds(self) -> dict[str, float]:
        """Mean seconds of each step since its schedule began, by ``variable:kernel``; NaN if it has not run."""
        runs = np.where(self._runs > 0, self._runs, np.nan)
        return dict(zip(self._labels, (self._seconds / runs).tolist(), strict=True))

    @property
    def last_seconds(self) -> list[float]:
        """Seconds of each step in the last sweep or step, in the order of `seconds`; 0 where it did not run."""
        seconds: list[float] = self._record.seconds.tolist()
        return seconds

    @property
    def values(self) -> Mapping[str, Any]:
        """The variables by name, z included, as the state holds them: topics word by word, of shape (V, K)."""
        return {self.plan.model.names["z"]: self.state.z, **self.state.values}

    def copy(self) -> Chain:
        """Return a chain that goes on from here by itself, and draws the same."""
        other = copy.copy(self)
        other._state = self.state.copy()
        other._memories = copy_memory(self._memories, self._state, other._state)
        other._record = copy.deepcopy(self._record)
        other._seconds, other._runs = self._seconds.copy(), self._runs.copy()
        return other
