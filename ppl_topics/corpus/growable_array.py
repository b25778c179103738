"""An array that grows in place, so that collecting N values takes little more memory than N values."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["GrowableArray"]

T = TypeVar("T", np.int64, np.uint32)


class GrowableArray(Generic[T]):
    """An array that grows in place, by an eighth at a time.

    Its memory is reallocated with ``refcheck=False``, so nothing may hold a `view` while it grows.
    """

    def __init__(self, dtype: type[T]) -> None:
        self._data: npt.NDArray[T] = np.empty(1024, dtype=dtype)
        self.size = 0

    def extend(self, values: npt.NDArray[T]) -> None:
        """Append values."""
        end = self.size + len(values)
        if end > len(self._data):
            self._data.resize(end + end // 8, refcheck=False)
        self._data[self.size : end] = values
        self.size = end

    def view(self) -> npt.NDArray[T]:
        """Return the values so far, without a copy."""
        return self._data[: self.size]

    def release(self) -> npt.NDArray[T]:
        """Return the array, cut to its size; append nothing afterwards."""
        self._data.resize(self.size, refcheck=False)
        return self._data
