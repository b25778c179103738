"""Traces on disk: netCDF, a group for each group, readable by ``arviz.from_netcdf``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import xarray as xr

from ppl_topics.errors import TraceError

__all__ = ["check_writable", "load_groups", "save_groups"]

COMPRESS_OVER = 1_000
"""Numbers of an array from which compression pays."""


def save_groups(groups: Mapping[str, xr.Dataset], path: str | Path) -> Path:
    """Write the groups to one netCDF file, whole or not at all.

    Raises
    ------
    TraceError
        If the file cannot be written.
    """
    path = Path(path)
    handle, temporary = -1, ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        # The root carries the attributes too, as `idata.attrs`.
        xr.Dataset(attrs=groups["posterior"].attrs).to_netcdf(temporary, mode="w", engine="h5netcdf")
        for name, dataset in groups.items():
            dataset.to_netcdf(temporary, mode="a", group=name, engine="h5netcdf", encoding=_encoding(dataset))
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"{path}: cannot write the trace ({reason})") from None
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
    return path


def load_groups(path: str | Path) -> dict[str, xr.Dataset]:
    """Read all groups of a trace into memory.

    Raises
    ------
    TraceError
        If the file is missing, is no netCDF file, or holds no posterior.
    """
    path = Path(path)
    if not path.is_file():
        raise TraceError(f"{path}: no such file; `ppl-topics run MODEL --data FILE --out {path}` writes one")
    try:
        with h5py.File(path, "r") as file:
            names = [name for name, item in file.items() if isinstance(item, h5py.Group)]
        groups = {name: xr.load_dataset(path, group=name, engine="h5netcdf") for name in names}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise TraceError(f"{path}: not a trace that can be read ({error}); was it written by ppl-topics?") from None
    if "posterior" not in groups:
        raise TraceError(f"{path}: no group `posterior` (groups: {', '.join(names) or 'none'}); not a trace")
    return groups


def check_writable(path: str | Path) -> None:
    """Refuse, before a run begins, a place that its result could not be written to.

    Raises
    ------
    TraceError
    """
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise TraceError(f"{path}: a folder stands there; name a file that ends in .nc")
    if not folder.is_dir():
        raise TraceError(f"{path}: the folder {folder} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TraceError(f"{path}: the folder {folder} cannot be written to ({error.strerror})") from None


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    return {
        str(name): {"zlib": True, "complevel": 1, "shuffle": True}
        for name, array in dataset.variables.items()
        if array.size > COMPRESS_OVER and np.issubdtype(array.dtype, np.number)
    }


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
