"""Whether the values of arrays are finite, at the speed of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.compiled import tight

__all__ = ["all_finite", "first_not_finite", "spelled"]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@tight
def _some_not_finite(values: Any) -> bool:
    """Return whether a flat array of floats has a value that is infinite or not a number.

    For such a value x, and for no other, x - x is not 0. The loop has no branch, so it compiles to vector
    instructions and is as fast as memory.
    """
    found = False
    for index in range(values.size):
        found |= (values[index] - values[index]) != 0
    return found


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether all values of an array of real numbers are finite; integers always are.

    Examples
    --------
    >>> all_finite(np.array([[1.0, -1e308], [0.0, 3.0]])), all_finite(np.array([1.0, np.nan], np.float32))
    (True, False)
    """
    if array.dtype.kind != "f":
        return True
    if array.dtype not in FLOATS or not array.flags.c_contiguous:
        return bool(np.isfinite(array).all())
    return not _some_not_finite(array.reshape(-1))


def first_not_finite(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Return the index of the first value that is not finite, or None.

    Examples
    --------
    >>> first_not_finite(np.array([[1.0, 2.0], [np.inf, 3.0]]))
    (1, 0)
    """
    if all_finite(array):
        return None
    place = int(np.argmin(np.isfinite(array)))
    return tuple(int(i) for i in np.unravel_index(place, array.shape))


def spelled(value: Any) -> str:
    """Return a value that is not finite in words.

    Examples
    --------
    >>> spelled(float("-inf"))
    'minus infinity'
    """
    return {"nan": "not a number", "inf": "infinity", "-inf": "minus infinity"}[str(float(value))]
