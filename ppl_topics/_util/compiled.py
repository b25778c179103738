"""The decorators of all compiled functions of the project."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np

from ppl_topics._util.precompiled import cache_on_disk

__all__ = ["compiled", "inlined", "parallel", "signed", "specialised", "tight"]

F = TypeVar("F", bound=Callable[..., Any])

# Threads that wait by turning round take the cores from whatever else runs there, other chains among them. OpenMP reads
# it when numba starts its threads, which is later than this.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# In parallel functions only `prange` loops are parallel. numba would also make a parallel loop of each `np.zeros` and
# each sum: a loop takes a second to compile, and a sum of as many parts as there are threads has other last digits.
NO_OTHER_LOOPS = dict.fromkeys(("numpy", "reduction", "setitem", "inplace_binop", "stencil"), False)


def _jit(function: F, *, cache: bool = False, **how: Any) -> F:
    """Compile a function with numba, and the options that all have."""
    dispatcher = numba.njit(error_model="numpy", nogil=True, **how)(function)
    if cache:
        cache_on_disk(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def compiled(function: F) -> F:
    """Compile a serial function with numba, cached on disk.

    Division follows NumPy (no ZeroDivisionError branches in inner loops), and floating point is never
    reassociated: sums are computed in the order that is written, so draws keep their bits.
    """
    return _jit(function, cache=True, _nrt=True)


def inlined(function: F) -> F:
    """Compile a small serial function into each of its callers, for work as small as a call."""
    return _jit(function, forceinline=True, _nrt=False)


def tight(function: F) -> F:
    """Compile a serial function with a hot loop, cached on disk, without reference counting.

    It must not allocate. By default numba counts references to each array used in the loop, with atomic
    instructions that cost more than the work itself.
    """
    return _jit(function, cache=True, _nrt=False)


def parallel(function: F) -> F:
    """Compile a function with ``prange`` loops, cached on disk.

    The loops must not depend on the number of threads: each iteration owns its output and its random stream. Give
    their index to other functions as ``signed(index)``. Arithmetic on whole arrays belongs in a serial
    function: here it warns, or does not compile. Where the body of a loop is large, let
    `ppl_topics._util.tasks.for_each` call it: that compiles much sooner.
    """
    return _jit(function, cache=True, parallel=dict(NO_OTHER_LOOPS))  # a copy, since numba empties it


@inlined
def signed(index: int) -> int:
    """Return the index of a ``prange`` as int64.

    numba first reads it as int64 and then makes it uint64: a function that is given the index itself is compiled for
    both.
    """
    return np.int64(index)  # type: ignore[return-value]


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
    """Compile a copy of a plain function in which some names refer to other compiled functions, or constants.

    numba cannot reuse a cached closure over compiled functions, because it compares these by their address. A copy
    has no closure, and its own name in the cache.
    """
    name = f"{template.__name__}_{label}"
    copy = FunctionType(template.__code__, {**template.__globals__, **names}, name)
    copy.__module__, copy.__qualname__ = template.__module__, name
    options: dict[str, Any] = {"cache": cached}
    if in_parallel:
        options["parallel"] = dict(NO_OTHER_LOOPS)
    if in_line:
        options["forceinline"] = True
    if not counting:
        options["_nrt"] = False
    return _jit(copy, **options)
