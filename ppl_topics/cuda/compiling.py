"""The decorators of all functions that run on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, cuda

__all__ = ["launched", "on_device", "swept"]

# Small corpora do not fill a device, and need not be told.
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

F = TypeVar("F", bound=Callable[..., Any])

SWEEP_REGISTERS = 40
"""Registers of a thread of a sweep: with more, fewer documents are under way, and more time is spent waiting."""


def on_device(function: F) -> F:
    """Compile a function that others on the device call."""
    return cuda.jit(device=True)(function)  # type: ignore[no-any-return]


def launched(function: Callable[..., None]) -> Any:
    """Compile a function that is launched from Python, ``function[grid](...)``, cached on disk."""
    return cuda.jit(cache=True)(function)


def swept(function: Callable[..., None]) -> Any:
    """Compile a function that works on documents with a warp each, which have shared memory of their own."""
    if config.ENABLE_CUDASIM:
        return cuda.jit(function)
    how = {"max_registers": SWEEP_REGISTERS, "shared_memory_carveout": "maxshared"}
    return cuda.jit(cache=True, **how)(function)
