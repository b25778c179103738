"""What a checkpoint holds of a chain, when one is due, and how a chain continues from it.

Held are the assignments, the variables that a sweep reads before it draws them, the memory of kernels, and the running
mean of the topics. Counts are not: they are those of z. Neither is the state of a random generator: streams are named
by seed, chain and sweep.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.state import ChainState
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.recorder import Recorder
from ppl_topics.errors import RunError, TraceError
from ppl_topics.results.mean_topics import SparseMean, mean_arrays, mean_of
from ppl_topics.results.run_folder.checkpoint import chain_folder, write_checkpoint
from ppl_topics.results.run_folder.draws import ChainStream, DrawLayout
from ppl_topics.results.run_folder.lock import locked
from ppl_topics.results.run_folder.log import log
from ppl_topics.results.run_folder.manifest import Manifest
from ppl_topics.results.run_folder.newest import newest

__all__ = ["ChainCheckpoints", "Checkpointing", "check_resumable"]

EVERY_MINUTES = 1.0
"""Between checkpoints, unless something else is asked for, but at least"""

LEAST_RATIO = 100
"""times as long as one takes, so that they cost at most a hundredth of the time."""

ORPHAN_SECONDS = 120.0
"""How long to wait for a worker whose parent was killed: it ends after the sweep that it is in."""

WRITE_SPEED = 2.5e8
"""Bytes a second at which the first checkpoint is assumed to be written."""

LISTED = ("pointer", "topics", "counts", "values")


@dataclass(frozen=True)
class Checkpointing:
    """How the chains of a run are kept; can be sent to worker processes.

    If the manifest sets no sweeps or minutes between checkpoints, they are written after one minute, or 100 times as
    long as those of all chains of a process take if that is longer; how long the first takes is guessed by its size.
    """

    place: DrawLayout
    manifest: Manifest

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.place.folder

    @contextmanager
    def chain(self, number: int, together: int) -> Iterator[ChainCheckpoints]:
        """Hold a chain's part of the folder."""
        folder = chain_folder(self.folder, number)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot create the folder for checkpoints ({error.strerror})") from None
        chain, response = divmod(number, self.place.responses)
        place = replace(self.place, chain=chain, response=None if self.place.response is None else response)
        with locked(folder, ORPHAN_SECONDS):
            yield ChainCheckpoints(self, number, together, folder, place)


@dataclass
class ChainCheckpoints:
    """The checkpoints and draws of one chain, one of `together` in this process; `sweep` is that of the newest."""

    checkpointing: Checkpointing
    number: int
    together: int
    folder: Path
    place: DrawLayout
    sweep: int = 0
    since: float = 0.0
    """When it was written, or the chain continued from it."""
    cost: float = 0.0
    """Seconds that it took, or that the first is thought to take."""

    def restore(self, phases: Phases, state: ChainState) -> tuple[Executor, list[Any], Recorder]:
        """Bring a chain's first state, in place, to where its newest checkpoint is.

        Returned are what runs its next sweep, the memories of the kernels, and what records it.
        """
        executor, memories, recorder = self._restore(phases, state)
        self.since = time.monotonic()
        # With the mean, as after the first draw.
        whole = {**_kept(executor, state, memories, recorder), **mean_arrays(recorder.topics.mean)}
        self.cost = sum(array.nbytes for array in whole.values()) / WRITE_SPEED
        return executor, memories, recorder

    def _restore(self, phases: Phases, state: ChainState) -> tuple[Executor, list[Any], Recorder]:
        found, wrong = newest(self.folder, self.number, self.checkpointing.manifest)
        if wrong:
            then = "starts again, with the same draws"
            then = then if found is None else f"continues from the one before, {found.path.name}"
            for problem in (*wrong, f"chain {self.number} {then}"):
                log(self.checkpointing.folder, problem, warn=True)
        executor = phases.at(0 if found is None else found.about["sweep"])
        memories = executor.memories(state)
        if found is None:
            return executor, memories, Recorder(phases.bound, ChainStream(self.place))
        about = found.about
        try:
            _put_state(executor, state, found.arrays)
            _put_memories(executor, memories, found.arrays, state)
            stream = ChainStream(self.place, (about["warmup"], about["draws"]), about["names"])
            recorder = Recorder(phases.bound, stream)
            if stream.n_draws:
                recorder.topics.mean = _like(recorder.topics.mean, mean_of(found.arrays))
        except TraceError:
            raise
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise RunError(f"{found.path}: the checkpoint does not fit the model ({error})") from None
        self.sweep = about["sweep"]
        return executor, memories, recorder

    def due(self, sweep: int) -> bool:
        """Tell whether a checkpoint is due after a number of sweeps."""
        passed, manifest = time.monotonic() - self.since, self.checkpointing.manifest
        sweeps, minutes = manifest.checkpoint_sweeps, manifest.checkpoint_minutes
        if sweeps is not None and sweep - self.sweep >= sweeps:
            return True
        if minutes is not None:
            return passed >= 60.0 * minutes
        least = max(60.0 * EVERY_MINUTES, LEAST_RATIO * self.together * self.cost)
        return sweeps is None and passed >= least

    def save(self, sweep: int, executor: Executor, state: ChainState, memories: list[Any], recorder: Recorder) -> None:
        """Write a checkpoint after a number of sweeps, and the draws before it."""
        started, sink = time.monotonic(), recorder.sink
        assert isinstance(sink, ChainStream), "draws that are in memory have no checkpoints"
        sink.flush()
        about = {
            "run": self.checkpointing.manifest.run,
            "chain": self.number,
            "sweep": sweep,
            "draws": sink.n_draws,
            "warmup": sink.n_warmup,
            "names": sink.names,
        }
        write_checkpoint(self.folder, sweep, about, _kept(executor, state, memories, recorder))
        self.sweep, self.since = sweep, time.monotonic()
        self.cost = self.since - started


def check_resumable(phases: Phases) -> None:
    """Refuse kernels with a memory that a checkpoint cannot hold."""
    pairs = (pair for executor in phases.all for pair in zip(executor.steps, executor.functions, strict=True))
    for step, functions in pairs:
        if not functions.resumable:
            raise RunError(
                f"kernel {step.kernel.name!r} has memory between steps but does not say what a checkpoint must store: "
                "give its KernelFunctions keep= and restore=, or scratch=True if no step reads what another one wrote; "
                "or write to a file that ends in .nc, without checkpoints"
            )


def _kept(executor: Executor, state: ChainState, memories: list[Any], recorder: Recorder) -> dict[str, NDArray[Any]]:
    """Return what a checkpoint holds."""
    # Before the first draw there is no mean.
    mean = mean_arrays(recorder.topics.mean) if recorder.sink.n_draws else {}
    return {**_kept_state(executor, state), **mean, **_kept_memories(executor, memories)}


def _read(executor: Executor, state: ChainState) -> dict[str, NDArray[Any]]:
    """Return the variables that are read before they are drawn again."""
    return {name: array for name, array in state.arrays.items() if name not in executor.redrawn}


def _kept_state(executor: Executor, state: ChainState) -> dict[str, NDArray[Any]]:
    arrays = {"z": state.z, **{f"value/{name}": array for name, array in _read(executor, state).items()}}
    if state.sparse_topics is not None:
        used = state.sparse_topics.size
        for name in LISTED:
            held = getattr(state.sparse_topics, name)
            # The last entries are unused.
            arrays[f"list/{name}"] = held if name == "pointer" else held[:used]
    return arrays


def _put_state(executor: Executor, state: ChainState, arrays: Mapping[str, NDArray[Any]]) -> None:
    state.z[...] = _checked("z", arrays["z"], state.z)
    if state.z.size and int(state.z.max()) >= state.sizes.topics:
        raise ValueError("z holds a topic that does not exist")
    executor.bound.count(state)
    for name, array in _read(executor, state).items():
        array[...] = _checked(name, arrays[f"value/{name}"], array)
    if state.sparse_topics is not None:
        held = {name: arrays[f"list/{name}"] for name in LISTED}
        state.sparse_topics = SparseTopics.restored(state.sizes.topics, **held)
        if state.sparse_topics.shape[0] != state.sizes.words:
            raise ValueError("sparse topics of another number of words")


def _kept_memories(executor: Executor, memories: list[Any]) -> dict[str, NDArray[Any]]:
    return {
        f"memory/{index}/{name}": array
        for index, (functions, memory) in enumerate(zip(executor.functions, memories, strict=True))
        if functions.keep is not None
        for name, array in functions.keep(memory).items()
    }


def _put_memories(
    executor: Executor, memories: list[Any], arrays: Mapping[str, NDArray[Any]], state: ChainState
) -> None:
    for index, (functions, memory) in enumerate(zip(executor.functions, memories, strict=True)):
        if functions.restore is not None:
            prefix = f"memory/{index}/"
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            functions.restore(memory, own, state)


def _like(before: Any, found: Any) -> Any:
    """Return a mean from a checkpoint as one that can be updated."""
    if isinstance(before, SparseMean):
        if not isinstance(found, SparseMean):
            raise ValueError("the mean of the topics has another form")
        return SparseMean(found.pointer.copy(), found.topics.copy(), found.values.copy(), found.rest.copy())
    return np.array(_checked("the mean of the topics", found, before))


def _checked(name: str, found: Any, expected: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(found, np.ndarray) or found.shape != expected.shape or found.dtype != expected.dtype:
        given = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "lists"
        raise ValueError(f"{name}: {given}, expected {expected.dtype} of shape {expected.shape}")
    return found
