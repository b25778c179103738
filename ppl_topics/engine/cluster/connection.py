"""A Dask cluster as a run sees it: which workers there are, and whether they can be used."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union

from ppl_topics._util.argument_names import argument
from ppl_topics.errors import PplTopicsError, RunError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

__all__ = ["Cluster", "ClusterLike", "check_workers", "connected"]

ClusterLike: TypeAlias = Union[str, "Client", "LocalCluster"]

JOIN_SECONDS = 30.0
"""How long to wait for the first worker."""

CONNECT_SECONDS = 10.0

LOCAL = "local:"

FORMS = "expected a Dask client or cluster, the address of a scheduler such as tcp://10.0.0.5:8786, or local:2"


@dataclass(frozen=True)
class Cluster:
    """A client of a scheduler, how many workers it had at first, and the threads that numba may use on each."""

    client: Client
    workers: int
    threads: int

    def __str__(self) -> str:
        """Return how many workers there are, and where to see what they do."""
        info = self.client.scheduler_info(n_workers=0)
        link = f"; dashboard: {self.client.dashboard_link}" if "dashboard" in info["services"] else ""
        return f"{info['address']}: {'1 worker' if self.workers == 1 else f'{self.workers} workers'}{link}"

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return str(self.client.scheduler_info(n_workers=0)["address"])


class Software(NamedTuple):
    """What must be the same everywhere, so that the same seed gives the same draws."""

    ppl_topics: str
    streams: int
    python: str
    numpy: str
    numba: str


@contextmanager
def connected(cluster: ClusterLike | None) -> Iterator[Cluster | None]:
    """Connect to a cluster, or start one on this machine for as long as it is used; None is none.

    Raises
    ------
    PplTopicsError
        If the argument is not a cluster, or Dask is not installed.
    RunError
        If the scheduler cannot be reached, has no workers, or these cannot be used.
    """
    if cluster is None:
        yield None
        return
    try:
        import distributed
    except ModuleNotFoundError:
        raise PplTopicsError(
            f"{argument('cluster')}: needs Dask; install it with pip install 'ppl-topics[cluster]'"
        ) from None
    with ExitStack() as kept:
        if isinstance(cluster, str):
            client = kept.enter_context(_client(cluster, kept))
        elif isinstance(cluster, distributed.Client):
            client = cluster
        elif hasattr(cluster, "get_client"):
            client = kept.enter_context(cluster.get_client())
        else:
            raise PplTopicsError(f"{argument('cluster')}: {FORMS}, got {cluster!r}")
        if client.asynchronous:
            raise PplTopicsError(f"{argument('cluster')}: the client is asynchronous; give one that is not")
        yield Cluster(client, *check_workers(client))


def _client(address: str, kept: ExitStack) -> Client:
    """Connect to a scheduler by its address, or start workers on this machine."""
    import distributed

    # Losses are reported by us, once, and not by tracebacks of the connection that notices.
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        log = logging.getLogger(name)
        kept.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)
    if not address.startswith(LOCAL):
        if "://" not in address:
            raise PplTopicsError(f"{argument('cluster')} {address}: {FORMS}")
        try:
            return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise RunError(
                f"{argument('cluster')} {address}: no scheduler answers there ({_first_line(error)}); start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`"
            ) from None
    count = address.removeprefix(LOCAL)
    if not count.isdigit() or int(count) < 1:
        raise PplTopicsError(f"{argument('cluster')} {address}: expected a number of workers, such as local:2")
    workers = kept.enter_context(
        distributed.LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=":0")
    )
    return distributed.Client(workers, set_as_default=False, direct_to_workers=True)


def check_workers(client: Client, answering: Collection[str] = ()) -> tuple[int, int]:
    """Refuse workers that cannot be used; return how many there are, and how many threads each has for itself.

    Others than those ``answering`` are not asked, if some are named.
    """
    import distributed

    address = client.scheduler_info(n_workers=0)["address"]
    try:
        client.wait_for_workers(1, timeout=JOIN_SECONDS)
    except (TimeoutError, distributed.TimeoutError):
        raise RunError(
            f"{address}: no worker has joined in {JOIN_SECONDS:g} s; start some with "
            f"`dask worker {address} --nthreads 1`, one on each machine"
        ) from None
    ours = _software()
    found: dict[str, tuple[Software | str, str, int]] = client.run(_describe, workers=list(answering) or None)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    for name, (theirs, host, _) in found.items():
        if isinstance(theirs, str):
            raise RunError(f"worker {name} ({host}): {theirs}; install the same ppl-topics on all machines")
        for what, here, there in zip(Software._fields, ours, theirs, strict=True):
            if here != there:
                raise RunError(
                    f"worker {name} ({host}) has {what.replace('_', '-')} {there}, and this process {here}; install "
                    "the same versions on all machines, so that the same seed gives the same draws"
                )
        threads = workers[name]["nthreads"] if name in workers else 1
        if threads != 1:
            # numba's own threads are not to be called from several threads of Python.
            raise RunError(
                f"worker {name} ({host}) has {threads} threads; start workers with --nthreads 1, one on each machine: "
                "each uses all cores of its machine by itself"
            )
    sharing = Counter(host for _, host, _ in found.values())
    return len(found), min(max(1, cores // sharing[host]) for _, host, cores in found.values())


def _software() -> Software:
    import platform
    from importlib.metadata import version

    import numba
    import numpy as np

    from ppl_topics.core.keys import STREAMS

    return Software(version("ppl-topics"), STREAMS, platform.python_version(), np.__version__, numba.__version__)


def _describe() -> tuple[Software | str, str, int]:
    """Return what a worker has, or what is wrong there; its machine; and how many threads numba can use."""
    import socket

    import numba

    host = socket.gethostname()
    try:
        return _software(), host, int(numba.config.NUMBA_NUM_THREADS)
    except ImportError as error:
        return str(error), host, os.cpu_count() or 1


def _first_line(error: Any) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
