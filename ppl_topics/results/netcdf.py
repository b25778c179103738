"""Groups of a netCDF file as Datasets, read by h5py.

xarray would open each variable a dozen times, and turn numbers into dates if an attribute says so.
"""

from __future__ import annotations

from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics.results.opening import only_names_a_dim

__all__ = ["read_group"]

INTERNAL = frozenset(
    {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
)
"""Attributes by which netCDF joins dims and coordinates."""


def read_group(group: Any) -> xr.Dataset:
    """Read a group of an open HDF5 file, which `check_contents` has checked, into memory."""
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    further: set[str] = set()
    for name, item in group.items():
        attributes = _attributes(item)
        if only_names_a_dim(item):
            continue
        if {"scale_factor", "add_offset"} & set(attributes):
            raise ValueError(f"{item.name} is packed")
        dims = _dims(name, item)
        values = _values(item, attributes)
        fill = attributes.pop("_FillValue", None)
        if values.dtype.kind == "f" and isinstance(fill, float | np.floating) and not np.isnan(fill):
            values = np.where(values == fill, np.nan, values)
        further |= set(str(attributes.pop("coordinates", "")).split())
        (coords if dims == (name,) else data)[name] = (dims, values, attributes)
    attributes = _attributes(group)
    further |= set(str(attributes.pop("coordinates", "")).split())
    return xr.Dataset(data, coords, attributes).set_coords(sorted(further & set(data)))


def _dims(name: str, item: Any) -> tuple[str, ...]:
    """Return the dims of a dataset: the names of the scales that it refers to, or its own if it is a scale."""
    if not item.shape:
        return ()
    if "DIMENSION_LIST" not in item.attrs:
        if len(item.shape) != 1 or "CLASS" not in item.attrs:
            raise ValueError(f"{item.name} has no dims")
        return (name,)
    dims = []
    for references in item.attrs["DIMENSION_LIST"]:
        path = h5py.h5r.get_name(references[0], item.id) if len(references) else None
        if not path:
            raise ValueError(f"{item.name} has a dim without a name")
        dims.append(path.decode().rsplit("/", 1)[-1])
    if len(dims) != len(item.shape):
        raise ValueError(f"{item.name} has {len(item.shape)} dims, but {len(dims)} names")
    return tuple(dims)


def _values(item: Any, attributes: dict[str, Any]) -> NDArray[Any]:
    text = h5py.check_string_dtype(item.dtype) is not None
    values: NDArray[Any] = np.asarray(item.asstr("utf-8")[()] if text else item[()])
    if text:
        names = np.empty(values.shape, dtype=object)
        names[...] = values
        return names
    if attributes.get("dtype") == "bool":
        del attributes["dtype"]
        if values.dtype.kind != "b" and (values.dtype.kind not in "iu" or not np.isin(values, (0, 1)).all()):
            raise ValueError(f"{item.name} holds values that are neither true nor false")
        return values.astype(bool)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _attributes(item: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in item.attrs:
        if name in INTERNAL:
            continue
        value = item.attrs[name]
        if isinstance(value, h5py.Empty):
            value = ""
        elif isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        elif isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
            value = value.tolist()
        result[name] = value.decode() if isinstance(value, bytes) else value
    return result
