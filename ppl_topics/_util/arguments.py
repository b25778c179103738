"""Checks of the numbers that users pass, with clear messages."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Sequence
from typing import Any

import numba

from ppl_topics.errors import PplTopicsError

__all__ = ["MAX_SEED", "MAX_SWEEPS", "check_choice", "check_threads", "check_whole", "is_whole"]

MAX_SEED = 2**63 - 1
MAX_SWEEPS = 10**9
"""Most draws, sweeps of warmup, thinning and chains; more is probably a typing error."""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number and not a boolean."""
    # Arrays have __index__ too, and fail in it.
    with contextlib.suppress(TypeError):
        operator.index(value)
        return not isinstance(value, bool)
    return False


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise a `PplTopicsError` unless a value is a whole number in a range."""
    span = f"at least {least}" if most is None else f"from {least} to {most}"
    if not is_whole(value) or value < least or (most is not None and value > most):
        raise PplTopicsError(f"{name}: must be a whole number {span}, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise PplTopicsError(f"{name}: expected {' or '.join(choices)}, got {value!r}")


def check_threads(name: str, threads: Any) -> None:
    """Raise a `PplTopicsError` if there are more threads than cores."""
    check_whole(name, threads, 1)
    available = int(numba.config.NUMBA_NUM_THREADS)
    if threads > available:
        raise PplTopicsError(
            f"{name}: must be at most {available}, the cores of this machine, got {threads}; "
            "the draws do not depend on it"
        )
