"""Names for the types of arrays, one for each type of number, and arrays that cannot be written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "Float32Array",
    "FloatArray",
    "Int16Array",
    "Int32Array",
    "IntArray",
    "IntegerArray",
    "RealArray",
    "UInt8Array",
    "UInt16Array",
    "UInt32Array",
    "UInt64Array",
    "UnsignedArray",
    "read_only",
]

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int16Array = NDArray[np.int16]
Int32Array = NDArray[np.int32]
UInt8Array = NDArray[np.uint8]
UInt16Array = NDArray[np.uint16]
UInt32Array = NDArray[np.uint32]
UInt64Array = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
UnsignedArray = NDArray[np.unsignedinteger[Any]]
RealArray = NDArray[np.floating[Any]]
IntegerArray = NDArray[np.integer[Any]]


def read_only(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return an array as one that cannot be written, whatever it was: numba compiles once for each of the two."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    view.flags.writeable = False
    return view
