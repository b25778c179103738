"""Arrays of a store that stay on disk until they are used.

The store may come from anywhere. Its metadata are checked before anything is allocated: every chunk that will be read
exists, and none holds more than a run would put into one (see `ppl_topics.results.run_folder.chunks`).
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
from ppl_topics.results.run_folder.checkpoint import anew
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

MAX_CONSTANT_RATIO, CONSTANT_BYTES = 2_000, 2**27
"""What a group holds besides draws is read at once, and may take the larger of these: the first times its bytes on
disk, or the second. Covariates, mostly zeros, may take 80 MB."""

DRAW_BYTES = 128
"""Memory for the number of a draw."""


class _Stored(BackendArray):
    """An array of a store, read as xarray asks for it."""

    def __init__(self, array: zarr.Array[Any], group: Path) -> None:
        self.array, self.group = array, group
        self.shape = array.shape
        # Text has no fixed size in a store.
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
    # Chunks belong to an array, since a killed process leaves none without its description.
    chunked = {path.name for path in place.iterdir() if (path / "c").exists()}
    if lost := sorted((drawn | chunked) - set(arrays)):
        what = what_to_do(place, drawn=lost[0] in drawn)
        raise TraceError(f"{place / lost[0] / 'zarr.json'}: this array is missing. {what}")
    held, stored = DRAW_BYTES * (draws or 0), 0
    variables: dict[str, xr.Variable] = {}
    for title, array in arrays.items():
        # Chunks of a statistic that a kernel did not return are missing; it is as large as one that is always there.
        likes = [arrays[like].shape for like in STATISTICS if like in arrays and like != title]
        share = 1.0
        if shares is not None and is_drawn(array) and array.shape in likes:
            share = shares.get(title, 0.0)
        in_memory, on_disk = check_array(array, place, draws, share)
        held, stored = held + (0 if is_drawn(array) else in_memory), stored + on_disk
        variable = _variable(array, place)
        # If a run was killed while its arrays were extended for more draws, some are longer than others.
        variables[title] = variable.isel(draw=slice(draws)) if is_drawn(array) else variable
    if held > max(CONSTANT_BYTES, MAX_CONSTANT_RATIO * stored):
        raise TraceError(f"{place}: claims that its {stored:,} bytes hold {held:,} besides draws; no run writes that")
    try:
        coords = {title: variable.load() for title, variable in variables.items() if variable.dims == (title,)}
        return xr.Dataset({t: v for t, v in variables.items() if t not in coords}, coords, attributes)
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(f"{place}: its arrays do not fit together ({error})") from None


def _variable(array: zarr.Array[Any], group: Path) -> xr.Variable:
    """Return an array as a variable that is read when it is used."""
    path = group / array.path
    dims = tuple(getattr(array.metadata, "dimension_names", None) or ())
    if len(dims) != array.ndim or not all(isinstance(dim, str) for dim in dims) or len(set(dims)) != len(dims):
        raise TraceError(f"{path}: its dims are {dims}, of {array.ndim}; it was not written by ppl-topics")
    try:
        # Names that start with _ are those of xarray and zarr.
        attributes = {key: value for key, value in dict(array.attrs).items() if not key.startswith("_")}
    except (TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"{path}: its attributes cannot be read ({error}); it is damaged") from None
    return xr.Variable(dims, indexing.LazilyIndexedArray(_Stored(array, group)), attrs=attributes)


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
        # One after another: if several opened at once fail, asyncio prints a traceback for all but one.
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
        raise unreadable(path, error, f"{path}: cannot be read ({reason}); it is damaged. {anew()}") from None
