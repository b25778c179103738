"""Draws on their way to disk: a zarr store in which each chain writes its own chunks, so that none waits.

A chunk holds some draws of one variable of one chain; it is written when it is full, and as far as it is filled before
each checkpoint. What was drawn since the last checkpoint is drawn again, with the same bits, by a run that is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.errors import ContainsArrayError

from ppl_topics._util.files import sync, unreadable
from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import ANEW, CHECKPOINTS, chain_folder, remedy
from ppl_topics.results.run_folder.chunks import check_chunk, codecs, is_drawn, is_ours

__all__ = ["CHUNK_BYTES", "DRAWS", "STREAMED", "ChainStream", "DrawLayout"]

DRAWS = "draws.zarr"
CHUNK_BYTES = 2**22
"""Of a chunk in memory, unless one draw takes more."""

CHUNK_DRAWS = 1000
"""Most draws of a chunk."""

COMPRESSION = -1
"""Level of Zstandard: of phi, level 1 saves three in a hundred bytes more, and takes half as long again."""

STREAMED = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
"""Groups that draws are added to."""

SOMETHING_ELSE = "it describes something else"


@dataclass(frozen=True)
class DrawLayout:
    """Where a chain's draws stand.

    Attributes
    ----------
    folder : pathlib.Path
        Of the run.
    chain : int
    response : int, optional
        Where each response has its own chains.
    chains : int
    responses : int
    draws, warmup : int
        Asked for, of each chain.
    dims : mapping of str to tuple of str
        Of one draw of each variable.
    kernels : int
        Steps of the schedule.
    """

    folder: Path
    chain: int
    response: int | None
    chains: int
    responses: int
    draws: int
    warmup: int
    dims: Mapping[str, tuple[str, ...]]
    kernels: int


@dataclass
class _Column:
    """The draws of one variable that are not in a full chunk yet; shape and type are those of one draw."""

    array: zarr.Array[Any]
    chain: int
    response: int | None
    group: Path
    checkpoints: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    first: int = 0
    rows: list[NDArray[Any]] = field(default_factory=list)
    unsynced: set[Path] = field(default_factory=set)

    @property
    def size(self) -> int:
        return int(self.array.chunks[1])

    def append(self, value: NDArray[Any]) -> None:
        self.rows.append(value)
        if len(self.rows) == self.size:
            self.flush()
            self.first += self.size
            self.rows = []

    def flush(self) -> None:
        """Write what there is, a whole chunk at a time: nothing has to be read for it."""
        if not self.rows:
            return
        room = min(self.size, self.array.shape[1] - self.first)
        values = np.empty((room, *self.shape), self.dtype)
        np.stack(self.rows, out=values[: len(self.rows)])
        values[len(self.rows) :] = self.array.fill_value
        self.array[self._at(self.first, self.first + room)] = values
        self.unsynced.add(self._path())

    def begin(self, count: int) -> None:
        """Begin after a number of draws that have no value."""
        self.first = count - count % self.size
        none = np.full((self.size, *self.shape), self.array.fill_value, self.dtype)
        for first in range(0, self.first, self.size):
            self.array[self._at(first, first + self.size)] = none
        self.rows = list(none[: count - self.first])

    def resume(self, count: int) -> None:
        """Go on after a number of draws; those of a chunk that is not full are read again.

        Raises
        ------
        TraceError
            If they are not as they were written.
        """
        self.first = count - count % self.size
        if count == self.first:
            return
        try:
            if not self._path().is_file():
                raise FileNotFoundError("no such file")
            check_chunk(self.array, self._path())
            self.rows = list(self._held(self.first, count))
            if len(self.rows) < count - self.first:
                raise ValueError(f"it has {len(self.rows):,} draws of {count - self.first:,}")
        except MemoryError:
            raise
        # Each codec has its own errors.
        except Exception as error:
            raise _damaged(self._path(), error, self.checkpoints) from None

    def _held(self, begin: int, end: int) -> NDArray[Any]:
        return np.asarray(self.array[self._at(begin, end)])

    def _path(self) -> Path:
        """Return the file of the chunk that is being filled."""
        place = [self.chain, self.first // self.size, *([0] * (self.array.ndim - 2))]
        if self.response is not None:
            place[2] = self.response
        return self.group.joinpath(self.array.path, "c", *map(str, place))

    def _at(self, begin: int, end: int) -> tuple[Any, ...]:
        return (self.chain, slice(begin, end), *(() if self.response is None else (self.response,)))


class ChainStream:
    """The draws of one chain, streamed to a store; see `ppl_topics.engine.recorder.Sink`.

    Parameters
    ----------
    place : DrawLayout
    counts : tuple of int
        Warmup sweeps and draws that are in the store already, and
    names : iterable of str
        of what (see the attribute).

    Attributes
    ----------
    names : list of str
        Of variables and statistics that the chain has had so far, each with its group: ``posterior/phi``.

    Raises
    ------
    TraceError
        If the store is not as it was written.
    """

    def __init__(self, place: DrawLayout, counts: tuple[int, int] = (0, 0), names: Iterable[str] = ()) -> None:
        self.place = place
        self.store = place.folder / DRAWS
        self.groups = {name: self._group(name) for name in STREAMED}
        self.columns: dict[tuple[str, str], _Column] = {}
        self.n_warmup, self.n_draws = counts
        for name in names:
            self._resume(name)

    def add(self, warmup: bool, values: Mapping[str, NDArray[Any]], statistics: Mapping[str, Any]) -> None:
        """Keep a state."""
        prefix = "warmup_" if warmup else ""
        for name, given in values.items():
            dims, value = self.place.dims[name], given
            if self.place.response is not None and "response" in dims:
                # Of the one response that the chain observes.
                value, dims = given.squeeze(dims.index("response")), tuple(dim for dim in dims if dim != "response")
            self._append(f"{prefix}posterior", name, dims, value)
        stats = f"{prefix}sample_stats"
        missing = np.full(self.place.kernels, np.nan)
        known = [name for group, name in self.columns if group == stats]
        for name in dict.fromkeys([*known, *statistics]):
            value = np.asarray(statistics.get(name, missing), dtype=np.float64)
            self._append(stats, name, ("kernel",) if value.ndim else (), value)
        if warmup:
            self.n_warmup += 1
        else:
            self.n_draws += 1

    @property
    def names(self) -> list[str]:
        """See the class."""
        return [f"{group}/{name}" for group, name in self.columns]

    def flush(self) -> None:
        """Have all draws on disk."""
        for column in self.columns.values():
            column.flush()
        written = {path for column in self.columns.values() for path in column.unsynced}
        # A file that was replaced is there after a loss of power only if its folder is, too.
        sync([*written, *{path.parent for path in written}])
        for column in self.columns.values():
            column.unsynced.clear()

    def _append(self, group: str, name: str, dims: tuple[str, ...], value: NDArray[Any]) -> None:
        known = self.columns.get((group, name))
        column = known or self._column(group, self._array(group, name, dims, value))
        if (column.shape, column.dtype) != (value.shape, value.dtype):
            raise _damaged(self._description(group, name), SOMETHING_ELSE, self.place.folder / CHECKPOINTS)
        if known is None:
            column.begin(self._count(group))
            self.columns[group, name] = column
        column.append(value)

    def _resume(self, name: str) -> None:
        """Go on with a variable that the chain has draws of."""
        group, _, variable = name.partition("/")
        if group not in self.groups or "/" in variable:
            raise ValueError(f"{name!r} is no variable of a trace")
        column = self._column(group, self._found(group, variable))
        column.resume(self._count(group))
        self.columns[group, variable] = column

    def _found(self, group: str, name: str) -> zarr.Array[Any]:
        """Open an array that is there, and check it."""
        path = self._description(group, name)
        try:
            found = self.groups[group][name]
        except MemoryError:
            raise
        except Exception as error:
            raise _damaged(path, error, self.place.folder / CHECKPOINTS) from None
        if not isinstance(found, zarr.Array):
            raise _damaged(path, SOMETHING_ELSE, self.place.folder / CHECKPOINTS)
        self._check(found, group, name)
        return found

    def _check(self, array: zarr.Array[Any], group: str, name: str) -> None:
        """Refuse an array that has no room for all draws, other dims, or other chunks than those of one chain."""
        first, path = self._first, self._description(group, name)
        roomy = is_drawn(array) and array.ndim >= first and array.shape[1] >= self._room(group)
        if not roomy or array.shape[0] != self.place.chains or array.shape[2:first] != self._apart:
            raise _damaged(path, SOMETHING_ELSE, self.place.folder / CHECKPOINTS)
        if group.endswith("posterior"):
            dims = [dim for dim in self.place.dims.get(name, ()) if dim != "response" or not self._apart]
            like = name in self.place.dims and array.ndim == first + len(dims)
        else:
            like = array.shape[first:] in ((), (self.place.kernels,))
        if not like:
            raise _damaged(path, SOMETHING_ELSE, self.place.folder / CHECKPOINTS)
        chunks, whole = array.chunks, tuple(max(1, size) for size in array.shape[first:])
        ours = chunks[0] == 1 and 0 < chunks[1] <= CHUNK_DRAWS and set(chunks[2:first]) <= {1}
        if not ours or chunks[first:] != whole or not is_ours(array):
            raise _damaged(path, "it describes other chunks", self.place.folder / CHECKPOINTS)

    def _column(self, group: str, array: zarr.Array[Any]) -> _Column:
        # A reader takes what is not there for lost.
        whole, place = array.with_config({"write_empty_chunks": True}), self.place
        unit = place.chain if place.response is None else place.chain * place.responses + place.response
        checkpoints = chain_folder(place.folder, unit)
        return _Column(
            whole, place.chain, place.response, self.store / group, checkpoints, array.shape[self._first :], array.dtype
        )

    def _count(self, group: str) -> int:
        return self.n_warmup if group.startswith("warmup_") else self.n_draws

    def _room(self, group: str) -> int:
        return self.place.warmup if group.startswith("warmup_") else self.place.draws

    @property
    def _apart(self) -> tuple[int, ...]:
        return () if self.place.response is None else (self.place.responses,)

    @property
    def _first(self) -> int:
        """First axis of a draw in an array: after chain and draw, and response where they are apart."""
        return 2 + len(self._apart)

    def _description(self, group: str, name: str) -> Path:
        return self.store / group / name / "zarr.json"

    def _group(self, name: str) -> zarr.Group:
        try:
            return zarr.open_group(self.store / name, mode="r+", zarr_format=3)
        except MemoryError:
            raise
        except Exception as error:
            path, reason = self.store / name, str(error) or type(error).__name__
            raise unreadable(path, error, f"{path}: a part of the run is lost or damaged ({reason}). {ANEW}") from None

    def _array(self, group: str, name: str, dims: tuple[str, ...], value: NDArray[Any]) -> zarr.Array[Any]:
        """Open the array of a variable; the chain that is first to have a value makes it."""
        place, parent, draws, apart = self.place, self.groups[group], self._room(group), self._apart
        chunk = max(1, min(CHUNK_DRAWS, draws, CHUNK_BYTES // max(1, value.nbytes)))
        try:
            return parent.create_array(
                name,
                shape=(place.chains, draws, *apart, *value.shape),
                chunks=(1, chunk, *(1 for _ in apart), *(max(1, size) for size in value.shape)),
                dtype=value.dtype,
                # Of draws that a chain does not have, as where a kernel did not run.
                fill_value=np.nan if value.dtype.kind == "f" else 0,
                compressors=codecs(COMPRESSION),
                dimension_names=("chain", "draw", *("response" for _ in apart), *dims),
            )
        except ContainsArrayError:
            # Another chain was first, or the run is resumed; chains that make it at once write the same description.
            return self._found(group, name)
        except (ValueError, TypeError, KeyError) as error:
            raise _damaged(self._description(group, name), error, place.folder / CHECKPOINTS) from None


def _damaged(path: Path, why: object, checkpoints: Path) -> TraceError:
    """Return the error for a part of the draws that is not as it was written; the checkpoints count on it."""
    reason = str(why) or type(why).__name__
    return unreadable(path, why, f"{path}: draws are lost or damaged ({reason}). {remedy(checkpoints)}")
