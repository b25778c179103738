"""Arrays of a store that stay on disk until they are looked at, and say what is wrong with them in words.

The store may come from anywhere. What its metadata say is checked before anything is allocated: every chunk that will
be read is there, and none holds more than a run would put into one (see `ppl_topics.results.run_folder.chunks`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from ppl_topics._util.files import unreadable
from ppl_topics._util.finite import all_finite
from ppl_topics.errors import TraceError
from ppl_topics.results.model_dims import STATISTICS
from ppl_topics.results.run_folder.checkpoint import ANEW
from ppl_topics.results.run_folder.chunks import (
    TEXT,
    check_array,
    check_chunk,
    chunks_of,
    damaged,
    is_drawn,
    what_to_do,
)
from ppl_topics.results.validation import DRAWN

__all__ = ["lazy_group", "open_arrays"]

MAX_CONSTANT_RATIO = 2_000
"""Bytes in memory for each on disk, of all that a group holds beside draws, which is read at once; and"""

CONSTANT_BYTES = 2**27
"""so many whatever their ratio: covariates, mostly zeros, may take 80 MB of them."""

DRAW_BYTES = 128
"""That a draw takes whatever is drawn: its number."""


class _Stored(BackendArray):
    """An array of a store, read as xarray asks for it.

    Parameters
    ----------
    array : zarr.Array
    group : pathlib.Path
    """

    def __init__(self, array: zarr.Array[Any], group: Path) -> None:
        self.array, self.group = array, group
        self.shape = array.shape
        # Text has no size of its own in a store.
        self.dtype = np.dtype(object) if array.dtype.kind in TEXT else array.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        try:
            for file in chunks_of(self.array, self.group, key):
                check_chunk(self.array, file)
            values = np.asarray(self.array[key]).astype(self.dtype, copy=False)
        except MemoryError:
            raise
        # Each codec has its own errors.
        except Exception as error:
            path, what = self.group / self.array.path, what_to_do(self.group, drawn=is_drawn(self.array))
            raise unreadable(path, error, damaged(path, error, what)) from None
        if self.group.name in DRAWN and is_drawn(self.array) and not all_finite(values):
            raise TraceError(
                f"{self.group / self.array.path}: holds draws that are not finite, which no run records; it is "
                f"damaged. {what_to_do(self.group, drawn=True)}"
            )
        return values


def lazy_group(
    store: Path, name: str, draws: int | None = None, shares: Mapping[str, float] | None = None
) -> xr.Dataset:
    """Open a group of a store."""
    place = store / name
    attributes, arrays = open_arrays(place, "r")
    drawn = set(shares or ())
    held, stored = DRAW_BYTES * (draws or 0), 0
    # Where there are chunks there was an array; a killed process leaves none without.
    chunked = {path.name for path in place.iterdir() if (path / "c").exists()}
    if lost := sorted((drawn | chunked) - set(arrays)):
        what = what_to_do(place, drawn=lost[0] in drawn)
        raise TraceError(f"{place / lost[0] / 'zarr.json'}: this array is missing. {what}")
    variables: dict[str, xr.Variable] = {}
    for title, array in arrays.items():
        dims = tuple(getattr(array.metadata, "dimension_names", None) or ())
        if len(dims) != array.ndim or not all(isinstance(dim, str) for dim in dims) or len(set(dims)) != len(dims):
            raise TraceError(f"{place / title}: its dims are {dims}, of {array.ndim}; it was not written by ppl-topics")
        # A statistic that a kernel did not return is in no file; none is larger than those that are always there.
        likes = [arrays[like].shape for like in STATISTICS if like in arrays and like != title]
        share = 1.0
        if shares is not None and is_drawn(array) and array.shape in likes:
            share = shares.get(title, 0.0)
        sizes = check_array(array, place, draws, share)
        held, stored = held + (0 if is_drawn(array) else sizes[0]), stored + sizes[1]
        data = indexing.LazilyIndexedArray(_Stored(array, place))
        # Names that begin so are those of xarray and zarr.
        try:
            own = {key: value for key, value in dict(array.attrs).items() if not key.startswith("_")}
        except (TypeError, ValueError, AttributeError) as error:
            raise TraceError(f"{place / title}: its attributes cannot be read ({error}); it is damaged") from None
        variable = xr.Variable(dims, data, attrs=own)
        # Where a run was killed while it made room for more draws, some arrays have it and some do not.
        variables[title] = variable.isel(draw=slice(draws)) if is_drawn(array) else variable
    if held > max(CONSTANT_BYTES, MAX_CONSTANT_RATIO * stored):
        raise TraceError(f"{place}: claims that its {stored:,} bytes hold {held:,} besides draws; no run writes that")
    try:
        coords = {title: variable.load() for title, variable in variables.items() if variable.dims == (title,)}
        # Names of classes are a coordinate too, as they are in memory.
        return xr.Dataset({t: v for t, v in variables.items() if t not in coords}, coords, attributes)
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(f"{place}: its arrays do not fit together ({error})") from None


def _check_chunk_shape(path: Path) -> None:
    """Refuse chunks of length 0 as stored, since zarr 3.4 and later read a 0 as 1, with a warning."""
    grid = json.loads((path / "zarr.json").read_bytes()).get("chunk_grid", {})
    if not all(grid.get("configuration", {}).get("chunk_shape", ())):
        raise TraceError(f"{path}: has a chunk length of 0, which ppl-topics never writes; the file is damaged")


def open_arrays(place: Path, mode: Literal["r", "r+"]) -> tuple[dict[str, Any], dict[str, zarr.Array[Any]]]:
    """Open a group of a store, and return its attributes and its arrays by name."""
    path = place
    try:
        group = zarr.open_group(place, mode=mode, zarr_format=3)
        arrays = {}
        # One after another: where several that are opened at once fail, asyncio prints a traceback for all but one.
        for path in sorted(each.parent for each in place.glob("*/zarr.json")):
            _check_chunk_shape(path)
            found = group[path.name]
            if isinstance(found, zarr.Array):
                arrays[path.name] = found
        return dict(group.attrs), arrays
    except (MemoryError, TraceError):
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise unreadable(path, error, f"{path}: cannot be read ({reason}); it is damaged. {ANEW}") from None
