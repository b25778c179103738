"""Arrays of a store that stay on disk until they are looked at, and say what is wrong with them in words.

The store may come from anywhere. What its metadata say is checked before anything is allocated: every chunk that will
be read is there, and none says that it holds more than a run would put into one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from ppl_topics.errors import TraceError
from ppl_topics.finite import all_finite
from ppl_topics.storage.checkpoint import ANEW, CHECKPOINTS, remedy
from ppl_topics.storage.files import unreadable
from ppl_topics.trace.validation import DRAWN

__all__ = ["is_drawn", "lazy_group", "open_arrays"]

KINDS = "biufTUO"
"""Of arrays: numbers, and text."""

ALWAYS = ("lp", "step_seconds")
"""Statistics of every sweep."""

MAX_CHUNK_BYTES = 2**33
"""In memory, of a chunk; a draw of phi of 10,000 topics and 100,000 words takes half of it."""

MAX_RATIO = 40_000
"""Bytes in memory for each on disk: Zstandard writes 128 KiB that are all equal as four bytes, a ratio of 32,768."""


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
        self.dtype = np.dtype(object) if array.dtype.kind in "TU" else array.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        try:
            values = np.asarray(self.array[key]).astype(self.dtype, copy=False)
        # Each codec has errors of its own.
        except Exception as error:
            # A chunk of text says itself how many there are, which may be more than there is memory for.
            if isinstance(error, MemoryError) and self.dtype != object:
                raise
            path, what = self.group / self.array.path, _what_to_do(self.group, drawn=is_drawn(self.array))
            raise unreadable(path, error, f"{path}: a chunk cannot be read ({error}); it is damaged. {what}") from None
        if self.group.name in DRAWN and is_drawn(self.array) and not all_finite(values):
            raise TraceError(
                f"{self.group / self.array.path}: holds draws that are not finite, and a run records none; it is "
                f"damaged. {_what_to_do(self.group, drawn=True)}"
            )
        return values


def is_drawn(array: zarr.Array[Any]) -> bool:
    """Tell whether chains write an array; names and constants stand there from the beginning."""
    return tuple(getattr(array.metadata, "dimension_names", None) or ())[:2] == ("chain", "draw")


def _what_to_do(group: Path, *, drawn: bool) -> str:
    return remedy(group.parents[1] / CHECKPOINTS) if drawn else ANEW


def lazy_group(
    store: Path, name: str, draws: int | None = None, shares: Mapping[str, float] | None = None
) -> xr.Dataset:
    """Open a group of a store.

    Parameters
    ----------
    store : pathlib.Path
    name : str
    draws : int, optional
        How many draws of each chain will be read; all of them have to be there.
    shares : mapping of str to float, optional
        Variables that must be there, each with the share of the chains that have it: a kernel need not return the same
        statistics in all chains. By default, all chains have all that is found.

    Returns
    -------
    xarray.Dataset
        Coordinates are read, the other variables are left on disk.

    Raises
    ------
    TraceError
        If the group is missing, or is not what a run writes.
    """
    place = store / name
    attributes, arrays = open_arrays(place, "r")
    drawn = set(shares or ())
    # Where there are chunks there was an array; a killed process leaves none without.
    chunked = {path.name for path in place.iterdir() if (path / "c").exists()}
    if lost := sorted((drawn | chunked) - set(arrays)):
        what = _what_to_do(place, drawn=lost[0] in drawn)
        raise TraceError(f"{place / lost[0] / 'zarr.json'}: there is no such array any more. {what}")
    variables: dict[str, xr.Variable] = {}
    for title, array in arrays.items():
        dims = tuple(getattr(array.metadata, "dimension_names", None) or ())
        if len(dims) != array.ndim or not all(isinstance(dim, str) for dim in dims) or len(set(dims)) != len(dims):
            raise TraceError(f"{place / title}: its dims are {dims}, of {array.ndim}; it was not written by ppl-topics")
        # A statistic that a kernel did not return is in no file; none is larger than those that are always there.
        likes = [arrays[like].shape for like in ALWAYS if like in arrays and like != title]
        share = 1.0 if shares is None or array.shape not in likes else shares.get(title, 0.0)
        _check(array, place / title, draws if is_drawn(array) else None, share)
        data = indexing.LazilyIndexedArray(_Stored(array, place))
        # Names that begin so are those of xarray and zarr.
        try:
            own = {key: value for key, value in dict(array.attrs).items() if not key.startswith("_")}
        except (TypeError, ValueError, AttributeError) as error:
            raise TraceError(f"{place / title}: its attributes are none ({error}); it is damaged") from None
        variable = xr.Variable(dims, data, attrs=own)
        # Where a run was killed while it made room for more draws, some arrays have it and some do not.
        variables[title] = variable.isel(draw=slice(draws)) if is_drawn(array) else variable
    try:
        coords = {title: variable.load() for title, variable in variables.items() if variable.dims == (title,)}
        # Names of classes are a coordinate too, as they are in memory.
        return xr.Dataset({t: v for t, v in variables.items() if t not in coords}, coords, attributes)
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(f"{place}: its arrays do not fit together ({error})") from None


def open_arrays(place: Path, mode: Literal["r", "r+"]) -> tuple[dict[str, Any], dict[str, zarr.Array[Any]]]:
    """Open a group of a store, and return its attributes and its arrays by name.

    Parameters
    ----------
    place : pathlib.Path
        Folder of the group.
    mode : {"r", "r+"}

    Raises
    ------
    TraceError
        If the group or an array cannot be opened; the message says which.
    """
    path = place
    try:
        group = zarr.open_group(place, mode=mode, zarr_format=3)
        arrays = {}
        # One after another: where several that are opened at once fail, asyncio prints a traceback for all but one.
        for path in sorted(each.parent for each in place.glob("*/zarr.json")):
            found = group[path.name]
            if isinstance(found, zarr.Array):
                arrays[path.name] = found
        return dict(group.attrs), arrays
    except MemoryError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise unreadable(path, error, f"{path}: cannot be read ({reason}); it is damaged. {ANEW}") from None


def _check(array: zarr.Array[Any], path: Path, draws: int | None, share: float) -> None:
    """Refuse an array that lacks chunks, or would take memory which its files do not account for."""
    if array.dtype.kind not in KINDS:
        raise TraceError(f"{path}: holds {array.dtype}; a run writes numbers and text")
    if draws is not None and array.shape[1] < draws:
        raise TraceError(f"{path}: holds {array.shape[1]:,} draws, and the checkpoints say {draws:,}; it lost a part")
    shape = array.shape if draws is None else (array.shape[0], draws, *array.shape[2:])
    if not all(array.chunks):
        raise TraceError(f"{path}: says that its chunks hold nothing; it was not written by ppl-topics")
    size = math.prod(array.chunks) * max(1, array.dtype.itemsize)
    if size > MAX_CHUNK_BYTES:
        raise TraceError(f"{path}: says that a chunk takes {size:,} bytes; a run writes none so large")
    counts = [-(-total // chunk) for total, chunk in zip(shape, array.chunks, strict=True)]
    if math.prod(shape) == 0:
        return
    # Not a loop over what the metadata claim, but over the files, which are there.
    found = sum(1 for _ in _files(path / "c", array.ndim, counts))
    expected = round(share * math.prod(counts))
    if found < expected:
        raise TraceError(
            f"{path}: {expected - found:,} of its {expected:,} chunks are missing. "
            f"{_what_to_do(path.parent, drawn=is_drawn(array))}"
        )
    stored = sum(file.stat().st_size for file in _files(path / "c", array.ndim, counts))
    if size * found > MAX_RATIO * max(stored, 1):
        raise TraceError(f"{path}: says that its {stored:,} bytes hold {size * found:,}; a run writes no such thing")


def _files(folder: Path, depth: int, counts: list[int]) -> Iterator[Path]:
    """Yield the files of the chunks that will be read."""
    if depth == 0:
        if folder.is_file() and not folder.is_symlink():
            yield folder
        return
    names = (path for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else ()
    wanted = (path for path in names if int(path.name) < counts[len(counts) - depth])
    yield from itertools.chain.from_iterable(_files(path, depth - 1, counts) for path in wanted)
