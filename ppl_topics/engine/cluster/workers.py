"""The workers of a Dask cluster as members of one chain."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ppl_topics.engine.cluster.connection import Cluster, check_workers
from ppl_topics.engine.cluster.members import ClusterLostError, MemberLostError, Store

__all__ = ["Workers"]

LOOK_SECONDS = 1.0
"""Between two looks at whether the worker of a call is still there."""

_stores: dict[str, Store] = {}
"""In a worker: what it keeps of each run."""


def _on_worker(run: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_stores.setdefault(run, {}), *arguments)


def _forget(run: str) -> None:
    _stores.pop(run, None)


class Workers:
    """The workers of a cluster; each call is a task that is pinned to one of them."""

    def __init__(self, cluster: Cluster) -> None:
        self.client, self.address = cluster.client, cluster.address
        self.run = f"ppl-topics-{uuid.uuid4().hex}"
        self.calls = 0
        self._where: dict[str, str] = {}

    def members(self) -> Sequence[str]:
        """Return the addresses of the workers that there are, having waited for one if there are none."""
        self._check_client()
        check_workers(self.client)
        return sorted(self._present())

    def call(self, member: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task to a worker."""
        self.calls += 1
        key = f"{self.run}-{self.calls}"
        self._where[key] = member
        return self.client.submit(_on_worker, self.run, function, *arguments, key=key, workers=[member], pure=False)

    def fetch(self, value: Any) -> Any:
        """Wait for a task and return its result; a task whose worker is lost would wait for ever."""
        import distributed

        member, looked = self._where.pop(value.key, ""), time.monotonic()
        try:
            while not value.done():
                with suppress(TimeoutError, distributed.TimeoutError):
                    return value.result(timeout=LOOK_SECONDS)
                self._check_client()
                if time.monotonic() - looked >= LOOK_SECONDS:
                    looked = time.monotonic()
                    if member not in self._present():
                        raise MemberLostError(member)
            return value.result()
        except (distributed.CancelledError, distributed.KilledWorker):
            self._check_client()
            raise MemberLostError(member) from None

    def put(self, value: Any) -> Any:
        """Send a value to all workers."""
        self._check_client()
        try:
            return self.client.scatter([value], broadcast=True, hash=False)[0]
        except (OSError, TimeoutError):
            self._check_client()
            raise MemberLostError("of those that a value was sent to") from None

    def close(self) -> None:
        """Let the workers forget the run."""
        with suppress(Exception):
            self.client.run(_forget, self.run, on_error="ignore")

    def _present(self) -> set[str]:
        return set(self.client.scheduler_info(n_workers=-1)["workers"])

    def _check_client(self) -> None:
        if self.client.status != "running":
            raise ClusterLostError(f"{self.address}: the scheduler is lost")
