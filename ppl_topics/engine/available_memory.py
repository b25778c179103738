"""How much memory this process may still take: what the machine has free, and what limits of a container leave."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Available", "available_memory"]

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")

UNLIMITED = 2**60
"""A control group with at least this limit has none."""


class Available(NamedTuple):
    """Bytes that are still available, infinitely many if unknown, and what limits them, as messages say it."""

    bytes: float
    limit: str


def available_memory(*, one_process: bool = True) -> Available:
    """Return the least of what the machine has free, what control groups leave, and what this process's limits do.

    Examples
    --------
    >>> available_memory().bytes > 0
    True
    """
    found = [*_machine(), *_control_groups()]
    if one_process:
        found += _process_limits()
    return min(found, default=Available(float("inf"), "nothing"))


def _machine() -> Iterator[Available]:
    import psutil

    with suppress(OSError, psutil.Error):
        yield Available(float(psutil.virtual_memory().available), "the free memory of this machine")


def _process_limits() -> Iterator[Available]:
    """Yield what RLIMIT_AS and RLIMIT_DATA leave, as ``ulimit -v`` and ``ulimit -d`` set them."""
    if sys.platform == "win32":
        return
    import resource

    import psutil

    used = psutil.Process().memory_info()
    for name, option, taken in (("RLIMIT_AS", "-v", used.vms), ("RLIMIT_DATA", "-d", getattr(used, "data", 0))):
        limit = resource.getrlimit(getattr(resource, name))[0] if hasattr(resource, name) else resource.RLIM_INFINITY
        if limit != resource.RLIM_INFINITY:
            yield Available(float(max(0, limit - taken)), f"the limit of this process (ulimit {option})")


def _control_groups() -> Iterator[Available]:
    """Yield what control groups, such as those of containers, leave: of each group that this process is in."""
    for group in _own_groups():
        for limit, used, reclaimable in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most = _number(group / limit)
            taken = _number(group / used)
            if most is None or taken is None or most >= UNLIMITED:
                continue
            # Files that the system keeps in memory make room when it is needed.
            free = most - taken + (_statistic(group / "memory.stat", reclaimable) or 0)
            yield Available(float(max(0, free)), f"the memory limit of the container or control group ({group})")


def _own_groups() -> Iterator[Path]:
    """Yield the folders of the control groups that may limit memory, those above them included."""
    with suppress(OSError):
        for line in OWN_CGROUPS.read_text().splitlines():
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if "memory" in controllers.split(","):
                root = CGROUPS / "memory"
            elif number == "0":
                root = CGROUPS
            else:
                continue
            # Inside a container the path may be that of its host, and then it does not exist here.
            own = root / path.lstrip("/")
            for group in (own, *own.parents):
                if group == root or root in group.parents:
                    yield group


def _number(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def _statistic(path: Path, name: str) -> int | None:
    with suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return None
