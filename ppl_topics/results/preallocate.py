"""Disk space for a trace is allocated before HDF5 writes it.

If a write fails, as on a full disk, HDF5 crashes the process with a segmentation fault when it closes the file, and the
draws are lost. If there may be too little space, the file is built in memory and Python writes it.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from typing import Any

import xarray as xr

__all__ = ["file_in_memory", "largest_size", "preallocate"]

OF_ARRAY = 2**16
"""Most bytes that describe an array and its place in the file."""

OF_TEXT = 64
"""Most bytes that a text takes besides its characters."""


def largest_size(group: xr.Dataset) -> int:
    """Return the most bytes that a group takes in a file."""
    size = OF_ARRAY + sum(len(str(value).encode()) + OF_TEXT for value in group.attrs.values())
    for array in group.variables.values():
        size += OF_ARRAY + (sum(map(_of_text, array.values.ravel())) if array.dtype.kind in "OTU" else array.nbytes)
    # Chunks at the edges are padded, and data that cannot be compressed grows.
    return size + size // 4


def preallocate(path: str, size: int) -> None:
    """Extend a file by allocated bytes, so that later writes find space."""
    with open(path, "r+b") as file:
        size_before = os.fstat(file.fileno()).st_size
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), size_before, size)
            except OSError:
                file.truncate(size_before)
                raise
        elif shutil.disk_usage(path).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def file_in_memory(
    groups: Mapping[str, xr.Dataset], attributes: Mapping[str, Any], encodings: Mapping[str, dict[str, dict[str, Any]]]
) -> bytes:
    """Return the content of a netCDF file."""
    import h5netcdf

    with h5netcdf.File("in memory", "w", driver="core", backing_store=False) as file:
        for name, value in attributes.items():
            file.attrs[name] = value
        for name, group in groups.items():
            store = xr.backends.H5NetCDFStore(file, group=name, mode="a")
            group.dump_to_store(store, encoding=encodings[name])
        file.flush()
        file._h5file.flush()
        return bytes(file._h5file.id.get_file_image())


def _of_text(value: object) -> int:
    return len(str(value).encode()) + OF_TEXT
