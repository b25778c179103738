"""Draws on their way to disk: a zarr store in which each chain writes its own chunks, so that none waits.

A chunk holds some draws of one variable of one chain. It is written when it is full, and before each checkpoint with
the draws that it has so far. A resumed run draws again, with the same bits, what was drawn since the last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.errors import ContainsArrayError

from ppl_topics._util.files import sync, unreadable
from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import CHECKPOINTS, anew, chain_folder, remedy
from ppl_topics.results.run_folder.chunks import check_chunk, codecs, is_drawn, is_ours

__all__ = ["CHUNK_BYTES", "DRAWS", "STREAMED", "ChainStream", "DrawLayout"]

DRAWS = "draws.zarr"
CHUNK_BYTES = 2**22
"""Size of a chunk in memory, unless one draw takes more."""

CHUNK_DRAWS = 1000
"""Most draws in a chunk."""

COMPRESSION = -1
"""Level of Zstandard. For phi, level 1 saves three more bytes in a hundred and takes half as long again."""

STREAMED = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
"""Groups that draws are added to."""

SOMETHING_ELSE = "it describes something else"


@dataclass(frozen=True)
class DrawLayout:
    """Which part of the store takes the draws of a chain."""

    folder: Path  # of the run
    chain: int
    response: int | None  # if each response has its own chains
    chains: int
    responses: int
    draws: int  # asked for, of each chain
    warmup: int
    dims: Mapping[str, tuple[str, ...]]  # of one draw of each variable
    kernels: int  # steps of the schedule
    warmup_kernels: int  # steps of what runs before the first kept draw

    @property
    def apart(self) -> tuple[int, ...]:
        """Sizes of the axes between draws and values: that of responses if each has its own chains."""
        return () if self.response is None else (self.responses,)

    @property
    def first(self) -> int:
        """First axis of a value in an array."""
        return 2 + len(self.apart)

    def room(self, group: str) -> int:
        """Return the number of draws of a group that were asked for."""
        return self.warmup if group.startswith("warmup_") else self.draws

    def steps(self, group: str) -> int:
        """Return how many steps the statistics of a group are of."""
        return self.warmup_kernels if group.startswith("warmup_") else self.kernels

    def value_dims(self, name: str) -> tuple[str, ...]:
        """Return the dims of a value of a variable as it is stored."""
        return tuple(dim for dim in self.dims[name] if dim != "response" or not self.apart)

    def checkpoints(self) -> Path:
        """Return the folder of the chain's checkpoints."""
        number = self.chain if self.response is None else self.chain * self.responses + self.response
        return chain_folder(self.folder, number)


@dataclass
class _Column:
    """The draws of one variable that are not in a full chunk yet."""

    array: zarr.Array[Any]
    layout: DrawLayout
    path: Path
    first: int = 0
    rows: list[NDArray[Any]] = field(default_factory=list)
    unsynced: set[Path] = field(default_factory=set)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of a draw."""
        return tuple(self.array.shape[self.layout.first :])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @cached_property
    def size(self) -> int:
        return int(self.array.chunks[1])

    def append(self, value: NDArray[Any]) -> None:
        self.rows.append(value)
        if len(self.rows) == self.size:
            self.flush()
            self.first += self.size
            self.rows = []

    def flush(self) -> None:
        """Write the draws so far as a whole chunk, so that nothing has to be read for it."""
        if not self.rows:
            return
        room = min(self.size, self.array.shape[1] - self.first)
        values = np.empty((room, *self.shape), self.dtype)
        np.stack(self.rows, out=values[: len(self.rows)])
        values[len(self.rows) :] = self.array.fill_value
        self.array[self._at(self.first, self.first + room)] = values
        self.unsynced.add(self._chunk())

    def start(self, count: int) -> None:
        """Start after a number of draws that have no value."""
        self.first = count - count % self.size
        none = np.full((self.size, *self.shape), self.array.fill_value, self.dtype)
        for first in range(0, self.first, self.size):
            self.array[self._at(first, first + self.size)] = none
        self.rows = list(none[: count - self.first])

    def resume(self, count: int) -> None:
        """Continue after a number of draws; those in a chunk that is not full are read again."""
        self.first = count - count % self.size
        if count == self.first:
            return
        chunk = self._chunk()
        try:
            if not chunk.is_file():
                raise FileNotFoundError("no such file")
            check_chunk(self.array, chunk)
            self.rows = list(np.asarray(self.array[self._at(self.first, count)]))
            if len(self.rows) < count - self.first:
                raise ValueError(f"it has {len(self.rows):,} draws of {count - self.first:,}")
        except MemoryError:
            raise
        # Each codec has its own errors.
        except Exception as error:
            raise _damaged(chunk, error, self.layout.checkpoints()) from None

    def _chunk(self) -> Path:
        """Return the file of the chunk that is being filled."""
        place = [self.layout.chain, self.first // self.size, *([0] * (self.array.ndim - 2))]
        if self.layout.response is not None:
            place[2] = self.layout.response
        return self.path.joinpath("c", *map(str, place))

    def _at(self, begin: int, end: int) -> tuple[Any, ...]:
        layout = self.layout
        return (layout.chain, slice(begin, end), *(() if layout.response is None else (layout.response,)))


class ChainStream:
    """The draws of one chain, streamed to a store; see `ppl_topics.engine.recorder.Sink`.

    A chain that is resumed gives the numbers of warmup sweeps and draws that are stored, and the names of the
    variables and statistics that they are of.
    """

    def __init__(self, place: DrawLayout, counts: tuple[int, int] = (0, 0), names: Iterable[str] = ()) -> None:
        self.place = place
        self.store = place.folder / DRAWS
        self.groups = {name: self._group(name) for name in STREAMED}
        self.columns: dict[tuple[str, str], _Column] = {}
        self.n_warmup, self.n_draws = counts
        for name in names:
            self._resume(name)

    @property
    def names(self) -> list[str]:
        """Variables and statistics that the chain has had so far, each with its group: ``posterior/phi``."""
        return [f"{group}/{name}" for group, name in self.columns]

    def add(self, warmup: bool, values: Mapping[str, NDArray[Any]], statistics: Mapping[str, Any]) -> None:
        """Keep a state."""
        prefix = "warmup_" if warmup else ""
        for name, value in values.items():
            dims = self.place.dims[name]
            if self.place.apart and "response" in dims:
                # That of the one response that the chain observes.
                value = value.squeeze(dims.index("response"))
            self._append(f"{prefix}posterior", name, self.place.value_dims(name), value)
        stats = f"{prefix}sample_stats"
        missing = np.full(self.place.steps(stats), np.nan)
        known = [name for group, name in self.columns if group == stats]
        for name in dict.fromkeys([*known, *statistics]):
            value = np.asarray(statistics.get(name, missing), dtype=np.float64)
            self._append(stats, name, ("kernel",) if value.ndim else (), value)
        if warmup:
            self.n_warmup += 1
        else:
            self.n_draws += 1

    def flush(self) -> None:
        """Write all draws to disk."""
        for column in self.columns.values():
            column.flush()
        written = {path for column in self.columns.values() for path in column.unsynced}
        # A replaced file survives a loss of power only if its folder does, too.
        sync([*written, *{path.parent for path in written}])
        for column in self.columns.values():
            column.unsynced.clear()

    def _append(self, group: str, name: str, dims: tuple[str, ...], value: NDArray[Any]) -> None:
        known = self.columns.get((group, name))
        column = known or self._column(group, name, self._made(group, name, dims, value))
        if (column.shape, column.dtype) != (value.shape, value.dtype):
            raise self._not_as_written(group, name, SOMETHING_ELSE)
        if known is None:
            column.start(self._count(group))
            self.columns[group, name] = column
        column.append(value)

    def _resume(self, name: str) -> None:
        """Continue with a variable that the chain has draws of."""
        group, _, variable = name.partition("/")
        if group not in self.groups or "/" in variable:
            raise ValueError(f"{name!r} is not a variable of a trace")
        column = self._column(group, variable, self._existing(group, variable))
        column.resume(self._count(group))
        self.columns[group, variable] = column

    def _column(self, group: str, name: str, array: zarr.Array[Any]) -> _Column:
        # A chunk that is not in the store counts as lost.
        return _Column(array.with_config({"write_empty_chunks": True}), self.place, self.store / group / name)

    def _count(self, group: str) -> int:
        return self.n_warmup if group.startswith("warmup_") else self.n_draws

    def _group(self, name: str) -> zarr.Group:
        try:
            return zarr.open_group(self.store / name, mode="r+", zarr_format=3)
        except MemoryError:
            raise
        except Exception as error:
            path, reason = self.store / name, str(error) or type(error).__name__
            raise unreadable(
                path, error, f"{path}: a part of the run is lost or damaged ({reason}). {anew()}"
            ) from None

    def _made(self, group: str, name: str, dims: tuple[str, ...], value: NDArray[Any]) -> zarr.Array[Any]:
        """Create the array of a variable, as the first chain with a value does, or open it."""
        apart, draws = self.place.apart, self.place.room(group)
        chunk = max(1, min(CHUNK_DRAWS, draws, CHUNK_BYTES // max(1, value.nbytes)))
        try:
            return self.groups[group].create_array(
                name,
                shape=(self.place.chains, draws, *apart, *value.shape),
                chunks=(1, chunk, *(1 for _ in apart), *(max(1, size) for size in value.shape)),
                dtype=value.dtype,
                # For draws that a chain does not have, such as those of a kernel that did not run.
                fill_value=np.nan if value.dtype.kind == "f" else 0,
                compressors=codecs(COMPRESSION),
                dimension_names=("chain", "draw", *("response" for _ in apart), *dims),
            )
        except ContainsArrayError:
            # Another chain was first, or the run is resumed. Chains that create it at once write the same description.
            return self._existing(group, name)
        except (ValueError, TypeError, KeyError) as error:
            raise self._not_as_written(group, name, error) from None

    def _existing(self, group: str, name: str) -> zarr.Array[Any]:
        """Open an array, and refuse one that cannot take this chain's draws: of other dims, sizes or chunks."""
        try:
            array = self.groups[group][name]
        except MemoryError:
            raise
        except Exception as error:
            raise self._not_as_written(group, name, error) from None
        layout, first = self.place, self.place.first
        if not isinstance(array, zarr.Array) or not is_drawn(array):
            raise self._not_as_written(group, name, SOMETHING_ELSE)
        each, chunks = array.shape[first:], array.chunks
        if group.endswith("posterior"):
            fits = name in layout.dims and array.ndim == first + len(layout.value_dims(name))
        else:
            fits = each in ((), (layout.steps(group),))
        before = (layout.chains, *layout.apart)
        if not fits or (array.shape[0], *array.shape[2:first]) != before or array.shape[1] < layout.room(group):
            raise self._not_as_written(group, name, SOMETHING_ELSE)
        whole = tuple(max(1, size) for size in each)
        ours = chunks[0] == 1 and 0 < chunks[1] <= CHUNK_DRAWS and set(chunks[2:first]) <= {1}
        if not ours or chunks[first:] != whole or not is_ours(array):
            raise self._not_as_written(group, name, "it describes other chunks")
        return array

    def _not_as_written(self, group: str, name: str, why: object) -> TraceError:
        return _damaged(self.store / group / name / "zarr.json", why, self.place.folder / CHECKPOINTS)


def _damaged(path: Path, why: object, checkpoints: Path) -> TraceError:
    """Return the error for a part of the draws that is not as it was written; the checkpoints count on it."""
    reason = str(why) or type(why).__name__
    return unreadable(path, why, f"{path}: draws are lost or damaged ({reason}). {remedy(checkpoints)}")
