"""Chains spread over processes.

Workers are spawned, since a forked child cannot use the threads of its parent. They ignore Ctrl-C and SIGTERM: the
parent tells them to stop, and they return what they have drawn. A worker whose parent is gone ends by itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from ppl_topics._util.argument_names import setting
from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import bind
from ppl_topics.engine.chains import Settings, SweepReport, how_to_resume, run_chains
from ppl_topics.engine.checkpointing import Checkpointing
from ppl_topics.engine.interrupt import SIGNALS
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.recorder import ChainDraws
from ppl_topics.errors import RunError, SpecError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec

__all__ = ["load_plan", "run_in_processes"]

POLL_SECONDS = 0.1

REPORT_SECONDS = 0.05
"""Least time between two reports of a chain, so that fast sweeps do not swamp the pipe."""

LOOK_SECONDS = 0.002
"""Least time between two checks whether to stop; a check takes as long as a small sweep."""

HOLDS_SIGNALS = hasattr(signal, "pthread_sigmask")
"""Windows cannot, and does not start processes in this way either."""

STARTED, RESULT, FAILED, STOP = "started", "result", "failed", "stop"


def run_in_processes(
    plan: Plan,
    corpus: Corpus,
    chains: int,
    processes: int,
    settings: Settings,
    report: Callable[[SweepReport], None],
    stopped: Callable[[], bool],
    checkpointing: Checkpointing | None = None,
) -> dict[int, ChainDraws]:
    """Run chains in several processes; arguments and result are those of ``run_chains``."""
    shares = [list(range(first, chains, processes)) for first in range(processes)]
    spec = plan.model.spec.to_dict()
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker] = []
    if HOLDS_SIGNALS:
        # multiprocessing's own helper process goes first: starting it would let signals through.
        resource_tracker.ensure_running()
    try:
        for share in shares:
            ours, theirs = context.Pipe()
            task = _Task(spec, corpus, share, settings, checkpointing)
            process = context.Process(target=_work, args=(theirs, task), daemon=True)
            with _signals_blocked():
                process.start()
            # The end of the pipe is seen only once nobody else holds it open.
            theirs.close()
            workers.append(_Worker(process, ours, checkpointing))
        while any(worker.running for worker in workers):
            wait([worker.reports for worker in workers if worker.running], POLL_SECONDS)
            for worker in workers:
                worker.receive(report)
            if stopped() or any(worker.failure for worker in workers):
                for worker in workers:
                    worker.stop()
    finally:
        # Workers are left only if something failed here, and then nobody waits for their draws.
        for worker in workers:
            if worker.process.is_alive() and worker.running:
                worker.process.kill()
            worker.process.join()
    failures = [worker.failure for worker in workers if worker.failure is not None]
    if failures:
        raise failures[0]
    return {chain: draws for worker in workers for chain, draws in worker.result.items()}


@dataclass
class _Worker:
    """A process, and what has come from it."""

    process: BaseProcess
    reports: Connection[Any, Any]
    checkpointing: Checkpointing | None
    told: bool = False
    running: bool = True
    started: bool = False
    result: dict[int, ChainDraws] = field(default_factory=dict)
    failure: BaseException | None = None

    def stop(self) -> None:
        """Tell it, once, to end after the sweep that it is in."""
        if not self.told:
            self.told = True
            # It may have ended already.
            with contextlib.suppress(OSError):
                self.reports.send(STOP)

    def receive(self, report: Callable[[SweepReport], None]) -> None:
        """Take what has come, without waiting."""
        while self.running:
            try:
                if not self.reports.poll():
                    return
                what, content = self.reports.recv()
            except (EOFError, OSError):
                self.running = False
                self.failure = self._death()
                return
            if what == STARTED:
                self.started = True
            elif what == RESULT:
                self.running, self.result = False, content
            elif what == FAILED:
                self.running, self.failure = False, content
            else:
                report(content)

    def _death(self) -> RunError:
        if not self.started:
            # Spawned processes import the main script, and there run into this very call; or they cannot import what
            # they are given.
            return RunError(
                "no worker process could start: in a script, a call with more than one process must be under "
                '`if __name__ == "__main__":`, and functions in `record` must be in a module that can be imported'
            )
        self.process.join()
        return RunError(
            f"a worker process died (exit code {self.process.exitcode}; was it killed, or out of memory?); use fewer "
            f"processes, or {setting('processes', 1)}"
            + ("" if self.checkpointing is None else f"; {how_to_resume(self.checkpointing)}")
        )


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals, so that a process started here never gets them: Ctrl-C goes to all processes at once."""
    if not HOLDS_SIGNALS:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Task(NamedTuple):
    """What a worker is sent."""

    spec: dict[str, Any]
    corpus: Corpus
    chains: list[int]
    settings: Settings
    checkpointing: Checkpointing | None


def _work(pipe: Connection[Any, Any], task: _Task) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    pipe.send((STARTED, None))
    try:
        pipe.send((RESULT, _run(pipe, task)))
    except BrokenPipeError:
        # The parent is gone; what was kept on disk is there.
        return
    except BaseException as error:
        pipe.send((FAILED, _sendable(error)))


def _run(pipe: Connection[Any, Any], task: _Task) -> dict[int, ChainDraws]:
    bound = bind(load_plan(task.spec, task.corpus), task.corpus)
    phases = Phases.here(bound, task.settings.warmup, task.settings.debug)
    sent: dict[int, float] = {}

    def report(news: SweepReport) -> None:
        now = time.perf_counter()
        if news.sweep == news.sweeps or now - sent.get(news.chain, -REPORT_SECONDS) >= REPORT_SECONDS:
            sent[news.chain] = now
            pipe.send(("report", news))

    looked = -LOOK_SECONDS

    def told() -> bool:
        nonlocal looked
        if (now := time.perf_counter()) - looked < LOOK_SECONDS:
            return False
        looked = now
        # The parent sends nothing but STOP; when it is gone, the pipe ends.
        return pipe.poll()

    return run_chains(phases, task.chains, task.settings, report, told, task.checkpointing)


def load_plan(spec: dict[str, Any], corpus: Corpus) -> Plan:
    """Plan a model of plain data, in a worker, where its blocks and kernels may be unknown."""
    try:
        return make_plan(load_spec(spec), CorpusSizes.of(corpus))
    except SpecError as error:
        raise RunError(
            f"a worker process cannot load the model ({error}); register its blocks and kernels "
            "in a module that workers can import, by an entry point, or run it without workers"
        ) from None


def _sendable(error: BaseException) -> BaseException:
    """Return an error that arrives as it is, or a RunError that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(f"{type(error).__name__}: {error}")
    return error
