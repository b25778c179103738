"""How many threads compiled loops use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba

from ppl_topics.errors import RunError

__all__ = ["enough_threads", "use_threads", "using_threads"]

LEAST_SECONDS = 2e-3
"""Of work that a thread is woken for, between two times that all wait for each other."""


def enough_threads(given: int | None, seconds: float) -> int:
    """Return the threads that are given; if None, as many as have enough to do where one takes so many seconds."""
    return max(1, min(numba.get_num_threads(), int(seconds / LEAST_SECONDS))) if given is None else given


def use_threads(threads: int) -> None:
    """Set how many threads compiled loops use; raise a `RunError` if there are not as many."""
    available = numba.config.NUMBA_NUM_THREADS
    if not 1 <= threads <= available:
        raise RunError(
            f"threads must be from 1 to {available} here, got {threads}; "
            "the environment variable NUMBA_NUM_THREADS sets the limit"
        )
    numba.set_num_threads(threads)


@contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """Run compiled loops on a number of threads, and afterwards on as many as before; None changes nothing."""
    before = numba.get_num_threads()
    if threads is not None:
        use_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)
