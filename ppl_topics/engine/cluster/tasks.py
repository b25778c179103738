"""Tasks that depend on nothing but what they are given, on the workers of a cluster.

A task whose worker is lost runs again on another one. All draw from streams that are named by seed and chain, so that
where and how often they run makes no difference.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ppl_topics.engine.cluster.connection import Cluster
from ppl_topics.errors import PplTopicsError, RunError

__all__ = ["Here", "run_tasks"]

POLL_SECONDS = 0.02

REPORT_SECONDS = 0.2
"""Least time between two reports of a task."""

LOOK_SECONDS = 0.05
"""Least time between two checks whether to stop."""

_stopped: set[str] = set()
"""In a worker: the runs that were told to stop."""


@dataclass
class Here:
    """What a task knows of the worker that it runs on."""

    run: str
    threads: int
    reported: float = -REPORT_SECONDS
    looked: float = -LOOK_SECONDS
    told: bool = False

    def report(self, news: Any, *, last: bool = False) -> None:
        """Send news to the client, unless there were some a moment ago."""
        from distributed import get_worker

        if last or time.monotonic() - self.reported >= REPORT_SECONDS:
            self.reported = time.monotonic()
            get_worker().log_event(self.run, news)

    def stopped(self) -> bool:
        """Tell whether the client wants no more than what there is, or is gone."""
        if not self.told and time.monotonic() - self.looked >= LOOK_SECONDS:
            self.looked = time.monotonic()
            self.told = self.run in _stopped or _is_released()
        return self.told


def _is_released() -> bool:
    """Tell whether nobody waits for the task that this thread is in."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state in ("cancelled", "released", "forgotten")


def _stop(run: str) -> None:
    _stopped.add(run)


def _forget(run: str) -> None:
    _stopped.discard(run)


def _task(function: Callable[[Any, Any, Here], Any], shared: Any, item: Any, run: str, threads: int) -> Any:
    """Do a task; errors that cannot be sent come as a `RunError` that says the same."""
    try:
        return function(shared, item, Here(run, threads))
    except PplTopicsError:
        raise
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RunError(f"{type(error).__name__}: {error}") from None
        raise


def run_tasks(
    cluster: Cluster,
    function: Callable[[Any, Any, Here], Any],
    shared: Any,
    items: Sequence[Any],
    *,
    threads: int | None = None,
    report: Callable[[Any], None] | None = None,
    finished: Callable[[int, Any], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    advice: str = "",
) -> list[Any]:
    """Call ``function(shared, item, here)`` for each item, and return the results in order.

    Parameters
    ----------
    cluster : Cluster
    function : callable
        Of a module that workers can import.
    shared : object
        Sent once to each worker.
    items : sequence
    threads : int, optional
        For `here`; by default all that a worker has for itself.
    report : callable, optional
        Called with what tasks report, in another thread.
    finished : callable, optional
        Called with the place of an item, and its result, for each in order, as soon as it and all before it are there.
    stopped : callable
        Asked now and then; once it is true, ``here.stopped()`` is true everywhere.
    advice : str
        Added to the message if workers or the scheduler are lost.

    Raises
    ------
    RunError
        If the scheduler, or worker after worker, is lost.
    """
    import distributed

    client, run = cluster.client, f"ppl-topics-{uuid.uuid4().hex}"
    with _reports(client, run, report):
        futures: list[Any] = []
        try:
            (held,) = client.scatter([shared], broadcast=True, hash=False)
            arguments = (run, threads or cluster.threads)
            futures = [
                client.submit(_task, function, held, item, *arguments, key=f"{run}-{place}", pure=False)
                for place, item in enumerate(items)
            ]
            results: list[Any] = []
            told = False
            while len(results) < len(futures):
                time.sleep(POLL_SECONDS)
                if client.status != "running":
                    raise RunError(f"{cluster.address}: the scheduler is lost{advice}")
                failed = next((future for future in futures if future.status == "error"), None)
                if failed is not None:
                    failed.result()
                if stopped() and not told:
                    told = True
                    client.run(_stop, run, on_error="ignore")
                while len(results) < len(futures) and futures[len(results)].status == "finished":
                    results.append(futures[len(results)].result())
                    if finished is not None:
                        finished(len(results) - 1, results[-1])
            return results
        except distributed.KilledWorker as error:
            raise RunError(
                f"{cluster.address}: {error.allowed_failures + 1} workers died, one after another, in the same task "
                f"(the last was {error.last_worker.address}; were they killed, or out of memory?){advice}"
            ) from None
        except distributed.CancelledError:
            raise RunError(f"{cluster.address}: all workers that held the corpus are lost{advice}") from None
        finally:
            for future in futures:
                if not future.done():
                    future.cancel()
            if client.status == "running":
                with suppress(Exception):
                    client.run(_forget, run, on_error="ignore")


@contextmanager
def _reports(client: Any, run: str, report: Callable[[Any], None] | None) -> Iterator[None]:
    if report is None:
        yield
        return
    client.subscribe_topic(run, lambda event: report(event[1]))
    try:
        yield
    finally:
        if client.status == "running":
            client.unsubscribe_topic(run)
