"""Chains of one process, advanced in turn, sweep by sweep, so that all have as many draws when stopped."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ppl_topics.run.bind import BoundModel
from ppl_topics.run.execute import Executor
from ppl_topics.state import ChainState, Key
from ppl_topics.threads import using_threads
from ppl_topics.trace.recorder import ChainDraws, Recorder

__all__ = ["Report", "Settings", "run_chains"]


@dataclass(frozen=True)
class Settings:
    """How to run.

    Attributes
    ----------
    draws, warmup : int
        Kept draws, and sweeps before them, of each chain.
    thin : int
        Sweeps for each kept draw.
    seed : int
    threads : int
        Of each process.
    debug : bool
        See :class:`ppl_topics.run.execute.Executor`.
    """

    draws: int
    warmup: int
    thin: int
    seed: int
    threads: int
    debug: bool = False

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.warmup + self.draws * self.thin


@dataclass(frozen=True)
class Report:
    """One sweep, reported to whoever shows progress.

    Attributes
    ----------
    chain : int
    sweep, sweeps : int
        How many of how many sweeps are done.
    warmup : bool
    log_posterior : float
    seconds : float
        Of this sweep, recording included.
    """

    chain: int
    sweep: int
    sweeps: int
    warmup: bool
    log_posterior: float
    seconds: float


@dataclass
class _Chain:
    number: int
    state: ChainState
    memories: list[Any]
    recorder: Recorder
    sweep: int = 0


def run_chains(
    bound: BoundModel,
    chains: list[int],
    settings: Settings,
    report: Callable[[Report], None],
    stopped: Callable[[], bool],
) -> dict[int, ChainDraws]:
    """Run some chains in this process.

    Parameters
    ----------
    bound : BoundModel
    chains : list of int
        Numbers of the chains; their draws do not depend on which others run.
    settings : Settings
    report : callable
        Called with a :class:`Report` after each sweep.
    stopped : callable
        Asked before each sweep; once true, what was drawn is returned.

    Returns
    -------
    dict of int to ChainDraws
    """
    with using_threads(settings.threads):
        executor = Executor(bound, settings.debug)
        running = [_start(bound, executor, chain, settings) for chain in chains]
        in_turn = itertools.chain.from_iterable(itertools.repeat(running, settings.sweeps))
        for chain in in_turn:
            if stopped():
                break
            report(_advance(chain, executor, settings))
        return {chain.number: chain.recorder.finish(chain.state, chain.sweep) for chain in running}


def _start(bound: BoundModel, executor: Executor, chain: int, settings: Settings) -> _Chain:
    state = bound.initial_state(settings.seed, chain)
    return _Chain(chain, state, executor.memories(state), Recorder(bound))


def _advance(chain: _Chain, executor: Executor, settings: Settings) -> Report:
    started = time.perf_counter()
    done = chain.sweep + 1
    warmup = done <= settings.warmup
    recorded = warmup or (done - settings.warmup) % settings.thin == 0
    wanted = chain.recorder.kept(warmup).keys() if recorded else frozenset()
    record = executor.sweep(chain.state, chain.memories, settings.seed, chain.number, chain.sweep, wanted)
    if recorded:
        key = Key(settings.seed, chain.number, chain.sweep, 0)
        chain.recorder.record(chain.state, record, key, warmup=warmup)
    chain.sweep = done
    seconds = time.perf_counter() - started
    return Report(chain.number, chain.sweep, settings.sweeps, warmup, chain.recorder.log_posterior, seconds)
