"""Chains spread over processes.

Workers are spawned, since a forked child cannot use the threads of its parent. They ignore Ctrl-C: the
parent tells them to stop, and they return what they have drawn.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext
from multiprocessing.managers import SyncManager
from typing import Any

from ppl_topics.corpus import Corpus
from ppl_topics.errors import RunError, SpecError
from ppl_topics.run.bind import bind
from ppl_topics.run.chains import Report, Settings, run_chains
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec
from ppl_topics.trace.recorder import ChainDraws

__all__ = ["run_in_processes"]

POLL_SECONDS = 0.1

REPORT_SECONDS = 0.05
"""Least time between two reports of a chain, so that fast sweeps do not swamp the queue."""


def run_in_processes(
    plan: Plan,
    corpus: Corpus,
    chains: int,
    processes: int,
    settings: Settings,
    report: Callable[[Report], None],
    stopped: Callable[[], bool],
) -> dict[int, ChainDraws]:
    """Run chains in several processes; arguments and result are those of ``run_chains``.

    Raises
    ------
    RunError
        If a worker dies.
    """
    shares = [list(range(first, chains, processes)) for first in range(processes)]
    spec = plan.model.spec.to_dict()
    context = multiprocessing.get_context("spawn")
    with (
        _manager(context) as manager,
        ProcessPoolExecutor(processes, context, initializer=_ignore_interrupts) as pool,
    ):
        reports, stop = manager.Queue(), manager.Event()
        futures = [pool.submit(_work, spec, corpus, share, settings, reports, stop) for share in shares]
        try:
            _watch(futures, reports, report, stopped, stop)
            results = [future.result() for future in futures]
        except BrokenProcessPool:
            raise RunError(
                "a worker process died (was it killed, or out of memory?); run fewer processes, or `processes=1`"
            ) from None
    return {chain: draws for result in results for chain, draws in result.items()}


def _manager(context: SpawnContext) -> SyncManager:
    try:
        return context.Manager()
    except EOFError:
        # Spawned processes import the main script, and there run into this very call.
        raise RunError(
            "no worker process could start: in a script, processes above 1 need the call to stand under "
            '`if __name__ == "__main__":`'
        ) from None


def _watch(
    futures: list[Future[dict[int, ChainDraws]]],
    reports: Any,
    report: Callable[[Report], None],
    stopped: Callable[[], bool],
    stop: Any,
) -> None:
    """Pass reports on until all workers are done."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        if stopped() or any(future.exception() for future in done):
            stop.set()
        while True:
            try:
                report(reports.get_nowait())
            except queue.Empty:
                break


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(
    spec: dict[str, Any], corpus: Corpus, chains: list[int], settings: Settings, reports: Any, stop: Any
) -> dict[int, ChainDraws]:
    try:
        plan = make_plan(load_spec(spec), CorpusSizes.of(corpus))
    except SpecError as error:
        raise RunError(
            f"a worker process cannot read the model that this one could ({error}); register its blocks and kernels "
            "in a module that workers can import, by an entry point, or use `processes=1`"
        ) from None
    sent: dict[int, float] = {}

    def report(news: Report) -> None:
        now = time.perf_counter()
        if news.sweep == news.sweeps or now - sent.get(news.chain, -REPORT_SECONDS) >= REPORT_SECONDS:
            sent[news.chain] = now
            reports.put(news)

    return run_chains(bind(plan, corpus), chains, settings, report, stop.is_set)
