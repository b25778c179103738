"""Traces on disk: netCDF files that ``arviz.from_netcdf`` reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import setting
from ppl_topics._util.files import replaced
from ppl_topics._util.paths import check_replaceable
from ppl_topics.errors import TraceError
from ppl_topics.results.attributes import attribute_problems
from ppl_topics.results.netcdf import read_group
from ppl_topics.results.opening import probe
from ppl_topics.results.preallocate import file_in_memory, largest_size, preallocate
from ppl_topics.results.validation import check_finite, check_groups

__all__ = ["check_new", "check_writable", "load_groups", "save_groups"]

COMPRESS_OVER = 1_000
"""Arrays of more numbers are compressed."""


def save_groups(groups: Mapping[str, xr.Dataset], path: str | Path) -> Path:
    """Write the groups to one netCDF file, whole or not at all."""
    path = Path(path)
    check_replaceable(path, TraceError)
    try:
        for problem in attribute_problems(groups):
            raise ValueError(problem)
        with replaced(path) as work:
            _write(groups, str(work))
    except MemoryError:
        raise
    # Whatever a Dataset holds, HDF5 and xarray may raise any exception.
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TraceError(f"{path}: cannot write the trace ({reason})") from None
    return path


def _write(groups: Mapping[str, xr.Dataset], path: str) -> None:
    """Write the groups to a new file."""
    # The root has the attributes too, as `idata.attrs`.
    attributes = groups["posterior"].attrs
    Path(path).write_bytes(file_in_memory({}, attributes, {}))
    encodings = {name: _encoding(group) for name, group in groups.items()}
    for name, group in groups.items():
        try:
            preallocate(path, largest_size(group))
        except OSError:
            # Compressed, it may fit.
            Path(path).write_bytes(file_in_memory(groups, attributes, encodings))
            return
        group.to_netcdf(path, mode="a", group=name, engine="h5netcdf", encoding=encodings[name])


def load_groups(path: str | Path) -> dict[str, xr.Dataset]:
    """Read all groups of a trace into memory."""
    path = Path(path)
    if not path.is_file():
        raise TraceError(f"{path}: no such file; `ppl-topics run MODEL --data FILE --out {path}` writes one")
    try:
        names = probe(path)
        with h5py.File(path, "r") as file:
            groups = {name: read_group(file[name]) for name in names}
    except Exception as error:
        # Whatever is wrong with a file, HDF5 may raise any exception.
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise TraceError(f"{path}: cannot be read as a trace ({reason}); was it written by ppl-topics?") from None
    if "posterior" not in groups:
        raise TraceError(f"{path}: no group `posterior` (groups: {', '.join(names) or 'none'}); not a trace")
    check_groups(groups, path)
    check_finite(groups, path)
    return groups


def check_writable(path: str | Path) -> None:
    """Refuse a path that the result of a run could not be written to."""
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise TraceError(f"{path}: this is a folder; name a file that ends in .nc")
    if not folder.is_dir():
        raise TraceError(f"{path}: the folder {folder} does not exist; create it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TraceError(f"{path}: the folder {folder} cannot be written to ({error.strerror})") from None


def check_new(path: Path, overwrite: bool) -> None:
    """Refuse a file that exists already or could not be written."""
    if os.path.isfile(path) and not overwrite:
        raise TraceError(
            f"{path}: an existing result; choose another name, or replace it with {setting('overwrite', True)}"
        )
    check_replaceable(path, TraceError)
    check_writable(path)


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    return {
        str(name): {"zlib": True, "complevel": 1, "shuffle": True}
        for name, array in dataset.variables.items()
        if array.size > COMPRESS_OVER and np.issubdtype(array.dtype, np.number)
    }
