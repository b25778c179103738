"""JSON and ``.npy`` files that anybody may have written: no links, no pickles, no more memory than file."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["open_array", "read_json"]

MAX_JSON = 1 << 28
MAX_HEADER = 10_000
MAX_DIMS = 2


def read_json(file: Path) -> Any:
    """Read a JSON file; raise OSError if it is no plain file or too large, ValueError if it is not JSON."""
    with _opened(file) as stream:
        if os.fstat(stream.fileno()).st_size > MAX_JSON:
            raise OSError(f"{file.name} has over {MAX_JSON:,} bytes")
        try:
            return json.loads(stream.read(MAX_JSON).decode("utf-8"))
        except RecursionError:
            raise ValueError(f"{file.name} nests too deeply") from None


def open_array(file: Path) -> npt.NDArray[Any]:
    """Map an ``.npy`` file into memory, read-only; an empty array, which cannot be mapped, is made."""
    with _opened(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        # Later versions give the header's length in four bytes, and it is allocated before it is read.
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{file.name} has an unknown version")
        try:
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=MAX_HEADER)
        except (RecursionError, MemoryError):
            raise ValueError(f"{file.name} has a header that nests too deeply") from None
        begin = stream.tell()
        whole = all(type(n) is int and 0 <= n < 2**48 for n in shape)
        if not whole or not 1 <= len(shape) <= MAX_DIMS or (by_columns and len(shape) > 1):
            raise ValueError(f"{file.name} has the shape {shape}")
        if dtype.kind not in "iuf" or dtype.fields is not None or dtype.subdtype is not None or not dtype.isnative:
            raise ValueError(f"{file.name} has values of type {dtype}, expected numbers")
        expected = math.prod(shape) * dtype.itemsize
        if expected != size - begin:
            raise ValueError(f"{file.name} should have {expected:,} bytes of values but has {size - begin:,}")
        if not expected:
            return np.empty(shape, dtype)
        return np.memmap(stream, dtype, mode="r", offset=begin, shape=shape).view(np.ndarray)


def _opened(file: Path) -> Any:
    """Open a plain file, but not a link, device or pipe, which could lead elsewhere or never end."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        # The system's message for a link, ELOOP, speaks of several levels of links.
        reason = f"{file.name} is a link" if file.is_symlink() else f"{file.name}: {error.strerror}"
        raise OSError(reason) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{file.name} is not a plain file")
    return os.fdopen(handle, "rb")
