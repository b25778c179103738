"""One decorator for every compiled function of the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["compiled", "parallel"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a serial function with numba, cached on disk.

    Division follows NumPy (no ZeroDivisionError branches in inner loops), and floating point is never
    reassociated: sums run in the order that is written, so draws keep their bits.
    """
    return numba.njit(cache=True, error_model="numpy", nogil=True)(function)  # type: ignore[no-any-return]


def parallel(function: F) -> F:
    """Compile a function with ``prange`` loops, cached on disk.

    The loops must not depend on the number of threads: each iteration owns its output and its random stream.
    """
    return numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)(function)  # type: ignore[no-any-return]
