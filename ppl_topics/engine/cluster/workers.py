"""The workers of a Dask cluster as members of one chain."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ppl_topics.engine.cluster.connection import JOIN_SECONDS, Cluster, check_workers
from ppl_topics.engine.cluster.members import ClusterLostError, MemberLostError, Store

__all__ = ["Workers"]

LOOK_SECONDS = 1.0
"""Between two looks at whether all workers are still there."""
FROZEN_SECONDS = 30.0
"""Without a sign of life, after which a worker counts as lost; those that draw give one every few seconds too."""

_stores: dict[str, Store] = {}
"""In a worker: what it keeps of each run."""
_called: dict[str, int] = {}
"""In a worker: the number of the last call of each run."""


class RepeatedError(Exception):
    """A call came again, or too late."""


@dataclass(eq=False)
class _Task:
    """Calls on one worker that wait for no other between them; what each is given, by kind, is in `arguments`."""

    member: str
    functions: list[Callable[..., Any]] = field(default_factory=list)
    arguments: list[list[Any]] = field(default_factory=list)
    future: Any = None
    results: list[Any] | None = None


class _Reply(NamedTuple):
    """Stands for what a call returns: the place of that in the results of a task."""

    task: _Task
    place: int


def _on_worker(run: str, number: int, before: Any, functions: list[Any], arguments: list[list[Any]]) -> list[Any]:
    """Do the calls of a task once; when a worker is lost, Dask would repeat them for what that worker was sent."""
    if number <= _called.get(run, 0):
        raise RepeatedError(number)
    _called[run] = number
    store, results = _stores.setdefault(run, {}), list[Any]()

    def found(argument: list[Any]) -> Any:
        kind, *given = argument
        if kind == "earlier":
            return results[given[0]]
        if kind == "other":
            return given[0][given[1]]
        return [found(each) for each in given] if kind == "several" else given[0]

    for function, each in zip(functions, arguments, strict=True):
        results.append(function(store, *map(found, each)))
    return results


def _forget(run: str) -> None:
    _stores.pop(run, None)
    _called.pop(run, None)


class Workers:
    """The workers of a cluster; calls are tasks that are pinned to one of them.

    A task takes Dask some milliseconds: calls that wait for nothing in between go in one.
    """

    apart = True

    def __init__(self, cluster: Cluster) -> None:
        self.client, self.address = cluster.client, cluster.address
        self.run = f"ppl-topics-{uuid.uuid4().hex}"
        self.calls = 0
        self._asked: Sequence[str] = ()
        self._heard: dict[str, tuple[float, float]] = {}
        self._last: dict[str, Any] = {}
        self._next: dict[str, _Task] = {}

    def members(self) -> Sequence[str]:
        """Return the addresses of the workers that answer, having waited for one if there are none."""
        while True:
            with suppress(MemberLostError), self._losses():
                check_workers(self.client, self._answering())
                self._asked, self._last, self._next = sorted(self._present()), {}, {}
                return self._asked

    def call(self, member: str, function: Callable[..., Any], *arguments: Any, alone: bool = False) -> Any:
        """Add a call to the task that a worker is given next, or begin another if it has to wait for other workers."""
        others = [each.task for each in _replies(arguments) if each.task.member != member]
        for task in others:
            self._submit(task)
        if member in self._next and (others or alone):
            self._submit(self._next[member])
        task = self._next.setdefault(member, _Task(member))
        task.functions.append(function)
        task.arguments.append([_spelled(each, task) for each in arguments])
        if alone:
            self._submit(task)
        return _Reply(task, len(task.functions) - 1)

    def _submit(self, task: _Task) -> None:
        """Submit a task to its worker, for when it has done what was submitted before."""
        if task.future is not None:
            return
        self._next.pop(task.member, None)
        self.calls += 1
        key, where = f"{self.run}-{self.calls}", {"workers": [task.member], "pure": False}
        given = (self.run, self.calls, self._last.get(task.member), task.functions, task.arguments)
        with self._losses():
            task.future = self._last[task.member] = self.client.submit(_on_worker, *given, key=key, **where)

    def fetch(self, value: Any) -> Any:
        """Submit what is not yet, wait for a task and return its result; one that needs a lost worker never ends."""
        for task in list(self._next.values()):
            self._submit(task)
        task = value.task
        if task.results is None:
            task.results = self._results(task.future)
        return task.results[value.place]

    def _results(self, future: Any) -> Any:
        """Wait for a task."""
        import distributed

        looked = time.monotonic()
        with self._losses():
            while not future.done():
                with suppress(TimeoutError, distributed.TimeoutError):
                    future.exception(timeout=LOOK_SECONDS)
                self._check_client()
                if time.monotonic() - looked >= LOOK_SECONDS:
                    looked = time.monotonic()
                    lost = set(self._asked) - self._present()
                    if lost:
                        raise MemberLostError(", ".join(sorted(lost)))
            # What nobody has to wait for, the scheduler can forget.
            self._last = {member: last for member, last in self._last.items() if last.key != future.key}
            failed = future.exception() if future.status == "error" else None
            if isinstance(failed, (RepeatedError, distributed.KilledWorker)):
                raise failed
            # What was lost on the way is called again, and refuses.
            result = None if failed else future.result()
        if failed:
            raise failed
        return result

    def put(self, member: str, value: Any) -> Any:
        """Send a value to a worker."""
        with self._losses():
            return self.client.scatter([value], workers=[member], hash=False, timeout=FROZEN_SECONDS)[0]

    def close(self) -> None:
        """Let the workers forget the run."""
        with suppress(Exception):
            self.client.run(_forget, self.run, on_error="ignore")

    def _answering(self) -> set[str]:
        """Return the workers that give signs of life; wait if all that there are are frozen."""
        until = time.monotonic() + JOIN_SECONDS
        while not (present := self._present()) and self._heard:
            if time.monotonic() > until:
                raise ClusterLostError(f"{self.address}: no worker has given a sign of life in {FROZEN_SECONDS:g} s")
            time.sleep(LOOK_SECONDS)
        return present

    def _present(self) -> set[str]:
        """Return the workers that the scheduler knows and has heard of lately."""
        now, heard = time.monotonic(), {}
        for name, worker in self.client.scheduler_info(n_workers=-1)["workers"].items():
            seen, since = self._heard.get(name, (math.nan, now))
            heard[name] = (worker["last_seen"], since if worker["last_seen"] == seen else now)
        self._heard = heard
        return {name for name, (_, since) in heard.items() if now - since < FROZEN_SECONDS}

    @contextmanager
    def _losses(self) -> Iterator[None]:
        """Say what is lost, a member or the scheduler, where Dask has many words for it."""
        import distributed

        told = (RepeatedError, distributed.CancelledError, distributed.KilledWorker, distributed.TimeoutError)
        try:
            self._check_client()
            yield
        except (*told, OSError, TimeoutError, KeyError) as error:
            # A KeyError is what the scheduler makes of a worker that it has just lost.
            if not self._reachable():
                raise ClusterLostError(f"{self.address}: the scheduler is lost") from None
            raise MemberLostError(f"{type(error).__name__}: {error}") from None

    def _reachable(self) -> bool:
        """Tell whether the scheduler answers."""
        with suppress(Exception):
            return self.client.status == "running" and bool(self.client.scheduler_info(n_workers=0))
        return False

    def _check_client(self) -> None:
        if self.client.status != "running":
            raise ClusterLostError(f"{self.address}: the scheduler is lost")


def _replies(arguments: Iterable[Any]) -> Iterator[_Reply]:
    """Yield what stands for results of calls."""
    for argument in arguments:
        if isinstance(argument, _Reply):
            yield argument
        elif isinstance(argument, list):
            yield from _replies(argument)


def _spelled(argument: Any, task: _Task) -> list[Any]:
    """Spell an argument as its kind and what it is given by; futures have to stand in lists, where Dask finds them."""
    if isinstance(argument, _Reply):
        here = argument.task is task
        return ["earlier", argument.place] if here else ["other", argument.task.future, argument.place]
    if isinstance(argument, list) and any(_replies(argument)):
        return ["several", *(_spelled(each, task) for each in argument)]
    return ["value", argument]
