"""The decorators of all compiled functions of the project."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numba

__all__ = ["compiled", "inlined", "parallel", "specialised", "tight"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a serial function with numba, cached on disk.

    Division follows NumPy (no ZeroDivisionError branches in inner loops), and floating point is never
    reassociated: sums run in the order that is written, so draws keep their bits.
    """
    return numba.njit(cache=True, error_model="numpy", nogil=True, _nrt=True)(function)  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Compile a small serial function into each of its callers: where a call would cost as much as the work."""
    return numba.njit(error_model="numpy", nogil=True, forceinline=True, _nrt=False)(function)  # type: ignore[no-any-return]


def tight(function: F) -> F:
    """Compile a serial function with a hot loop, cached on disk, without counting references.

    It must not allocate. Otherwise numba counts references to each array that the loop touches, with atomic
    instructions, which costs more than the work.
    """
    return numba.njit(cache=True, error_model="numpy", nogil=True, _nrt=False)(function)  # type: ignore[no-any-return]


def parallel(function: F) -> F:
    """Compile a function with ``prange`` loops, cached on disk.

    The loops must not depend on the number of threads: each iteration owns its output and its random stream.
    """
    return numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)(function)  # type: ignore[no-any-return]


def specialised(
    template: Callable[..., Any],
    label: str,
    *,
    cached: bool,
    in_parallel: bool = False,
    in_line: bool = False,
    counting: bool = True,
    **names: Any,
) -> Callable[..., Any]:
    """Compile a copy of a plain function in which some names stand for other compiled functions, or constants.

    numba never finds again what it has compiled of a closure over compiled functions, for it compares these by their
    place in memory. A copy has no closure, and a name of its own in the cache.

    Parameters
    ----------
    template : function
        Not compiled.
    label : str
        Ends the name of the copy; must tell apart what the names stand for.
    cached : bool
        Whether to keep it on disk. numba looks at the file of the template alone for changes, so of functions that
        are not the project's it would go on to use old versions.
    in_parallel : bool
        Whether the template has ``prange`` loops.
    in_line : bool
        Whether it is compiled into its callers: passing many arrays costs as much as a small function does.
    counting : bool
        Whether references to arrays are counted; without, it must not allocate (see `tight`).
    **names
        Compiled functions and constants, by the names that the template has for them.
    """
    name = f"{template.__name__}_{label}"
    copy = FunctionType(template.__code__, {**template.__globals__, **names}, name)
    copy.__module__, copy.__qualname__ = template.__module__, name
    options: dict[str, Any] = {"cache": cached, "error_model": "numpy", "nogil": True, "parallel": in_parallel}
    if in_line:
        options["forceinline"] = True
    if not counting:
        options["_nrt"] = False
    dispatcher: Callable[..., Any] = numba.njit(**options)(copy)
    return dispatcher
