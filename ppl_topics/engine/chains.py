"""Chains of one process, advanced in turn, sweep by sweep, so that all have the same number of draws when stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ppl_topics._util.threads import using_threads
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.checkpointing import ChainCheckpoints, Checkpointing
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.placing import Device
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.engine.traced import Traced
from ppl_topics.errors import RunError
from ppl_topics.results.run_folder.checkpoint import checkpoint_path

__all__ = ["Settings", "SweepReport", "how_to_resume", "run_chains"]


@dataclass(frozen=True)
class Settings:
    """How to run a plan; `threads` are those of each process, and the chains run on a `cluster` if there is one."""

    draws: int
    warmup: int
    thin: int
    seed: int
    threads: int
    chains: int = 1
    processes: int = 1
    debug: bool = False
    progress: bool = True
    ignore_memory: bool = False
    # A `Cluster`, whose module imports this one.
    cluster: Any = field(default=None, compare=False)
    split: str = "chains"
    device: Device = "cpu"
    # By variable, one array for all chains, or one for each.
    start: Mapping[str, Sequence[NDArray[Any]]] = field(default_factory=dict, compare=False)

    traced: Sequence[Traced] = field(default=(), compare=False)

    def start_of(self, chain: int) -> dict[str, NDArray[Any]]:
        """Return the values that a chain is given to start with, by variable."""
        return {name: values[chain if len(values) > 1 else 0] for name, values in self.start.items()}

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.warmup + self.draws * self.thin


@dataclass(frozen=True)
class SweepReport:
    """One sweep, for progress bars: how many are done, and the seconds that it took, recording included.

    For `members`, `sent` and `waited` see `SweepRecord`.
    """

    chain: int
    sweep: int
    sweeps: int
    warmup: bool
    log_posterior: float
    seconds: float
    members: int = 0
    sent: int = 0
    waited: float = 0.0


@dataclass
class _Chain:
    number: int
    state: ChainState
    executor: Executor
    memories: list[Any]
    recorder: Recorder
    store: ChainCheckpoints | None = None
    sweep: int = 0


def run_chains(
    phases: Phases,
    chains: list[int],
    settings: Settings,
    report: Callable[[SweepReport], None],
    stopped: Callable[[], bool],
    checkpointing: Checkpointing | None = None,
) -> dict[int, ChainDraws]:
    """Run some chains in this process, in memory or, with `checkpointing`, on disk from where they were.

    `report` is called after each sweep, and `stopped` asked before each; once it is true, what was drawn is returned.
    """
    with using_threads(settings.threads), ExitStack() as kept:
        stores: dict[int, ChainCheckpoints] = {}
        if checkpointing is not None:
            stores = {chain: kept.enter_context(checkpointing.chain(chain, len(chains))) for chain in chains}
        running = [_start(phases, chain, settings, stores.get(chain)) for chain in chains]
        while not stopped():
            # In turn, so that a stop leaves equally many draws; chains that are behind when resumed go first.
            behind = min(running, key=lambda chain: chain.sweep)
            if behind.sweep >= settings.sweeps:
                break
            with _named(behind):
                report(_advance(behind, phases, settings))
                _keep(behind, settings.seed)
        for chain in running:
            with _named(chain):
                _settle(chain, settings.seed)
                _keep(chain, settings.seed, last=True)
        return {chain.number: _result(chain) for chain in running}


def _start(phases: Phases, number: int, settings: Settings, store: ChainCheckpoints | None) -> _Chain:
    state = phases.bound.initial_state(settings.seed, number, settings.start_of(number))
    if store is not None:
        return _Chain(number, state, *store.restore(phases, state), store, store.sweep)
    executor, recorder = phases.at(0), Recorder(phases.bound, ChainDraws(), settings.traced)
    return _Chain(number, state, executor, executor.memories(state), recorder)


def _advance(chain: _Chain, phases: Phases, settings: Settings) -> SweepReport:
    started = time.perf_counter()
    done = chain.sweep + 1
    warmup = done <= settings.warmup
    recorded = warmup or (done - settings.warmup) % settings.thin == 0
    following = phases.at(done)
    # What the warmup's next sweep would not read, the schedule may.
    last_of_warmup = following is not chain.executor
    wanted = None if last_of_warmup else chain.recorder.needed(warmup) if recorded else frozenset()
    record = chain.executor.sweep(
        chain.state, chain.memories, settings.seed, chain.number, chain.sweep, wanted, recorded
    )
    if recorded:
        # By the concentrations of the model, also where those of the sweep were others.
        record.summary = record.summary or chain.executor.summary(chain.state, chain.number)
        key = Key(settings.seed, chain.number, chain.sweep, 0)
        chain.recorder.record(chain.state, record, key, warmup=warmup)
    chain.sweep = done
    if last_of_warmup:
        _settle(chain, settings.seed)
        chain.executor, chain.memories = following, following.memories(chain.state)
    seconds = time.perf_counter() - started
    spread = (record.members, record.sent, record.waited)
    return SweepReport(
        chain.number, chain.sweep, settings.sweeps, warmup, chain.recorder.log_posterior, seconds, *spread
    )


def _settle(chain: _Chain, seed: int) -> None:
    """See to it that a chain's state is whole."""
    chain.executor.settle(chain.state, chain.memories, seed, chain.number, chain.sweep)


def _keep(chain: _Chain, seed: int, *, last: bool = False) -> None:
    store = chain.store
    if store is not None and chain.sweep > store.sweep and (last or store.due(chain.sweep)):
        _settle(chain, seed)
        store.save(chain.sweep, chain.executor, chain.state, chain.memories, chain.recorder)


@contextmanager
def _named(chain: _Chain) -> Iterator[None]:
    """Add the last checkpoint to the message of an error."""
    store = chain.store
    if store is None:
        yield
        return
    try:
        yield
    except RunError as error:
        error.args = (f"{error}; {_before(store)}",)
        raise
    except OSError as error:
        raise RunError(
            f"{store.checkpointing.folder}: cannot write draws or a checkpoint ({error.strerror or error}); "
            f"{_before(store)}; fix this, then {how_to_resume(store.checkpointing)}"
        ) from None


def how_to_resume(checkpointing: Checkpointing) -> str:
    """Say how to continue a run that failed."""
    return f"`ppl-topics resume {checkpointing.folder}` continues from the checkpoints"


def _before(store: ChainCheckpoints) -> str:
    if store.sweep == 0:
        return f"chain {store.number} has no checkpoint yet"
    return f"the last checkpoint is {checkpoint_path(store.folder, store.sweep)} (sweep {store.sweep})"


def _result(chain: _Chain) -> ChainDraws:
    sink = chain.recorder.sink
    draws = sink if isinstance(sink, ChainDraws) else ChainDraws()
    if draws is sink:
        draws.phi_mean, draws.z = chain.recorder.topics.mean, chain.state.z.copy()
    draws.sweeps = chain.sweep
    return draws
