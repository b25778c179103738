"""What a netCDF file must be before any of it is read: plain datasets in groups, no larger than the file bears out.

An HDF5 file can lead to other files (external and soft links, external and virtual datasets), name one dataset a
thousand times, promise a petabyte of fill values, or spell one long string a million times over. None of it is in what
`save` writes, and none is opened: what is refused is refused from the descriptions alone.

The HDF5 library itself can crash on a damaged file, or go round in it for ever: version 2.0 does where the sizes in a
heap of strings are wrong. So a file is first read by its own process, which this module is the program of; it
imports nothing else of ppl-topics, to start fast.
"""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np

__all__ = ["check_contents", "only_names_a_dim", "probe", "probe_here"]

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"

MAX_GROUPS = 64
MAX_DATASETS = 4_096
MAX_ATTRIBUTES = 1_024
"""Of a group or dataset."""

MAX_ITEMS, MAX_TEXTS = 4_096, 64
"""Of an attribute."""

MAX_DIMS = 8
MAX_ITEM_BYTES = 4_096
"""Of a number, or of a string of fixed length."""

SLACK = 1 << 20
"""Bytes that may be promised and not be there."""

MAX_CHUNK = 1 << 24
RATIO = 1_040
"""Of the deflate filter at its best, which is 1,032."""

FILTERS = {h5py.h5z.FILTER_DEFLATE: "deflate", h5py.h5z.FILTER_SHUFFLE: "shuffle", h5py.h5z.FILTER_FLETCHER32: "sum"}
REFERENCE = 16
"""Bytes by which a dataset refers to a string: its length (4), where it is (8), and its number there (4)."""

SECONDS, BYTES_PER_SECOND = 10, 20_000_000
"""Of the processor, for any file and for each so many bytes of it, in which an honest file is read."""

WALL_SECONDS = 900

MEMORY = 2 << 30
"""Of the process that reads a file first, beside four times the file's size."""

READ_WHOLE = 64 << 20
"""Bytes of a dataset up to which it is read; of a larger one only the places of its pieces are looked up."""

ONE_BY_ONE = 10_000
"""Strings that are looked at one after another where their lengths cannot be had otherwise."""

LISTS = ("DIMENSION_LIST", "REFERENCE_LIST")
"""Attributes by which netCDF joins dims and coordinates: references within the file."""


def probe(path: Path) -> list[str]:
    """Let its own process read a netCDF file, and return the names of its groups."""
    if not sys.executable:
        return probe_here(path)
    seconds = SECONDS + path.stat().st_size // BYTES_PER_SECOND
    command = [sys.executable, "-I", __file__, str(path.resolve()), str(seconds)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_SECONDS, check=False)
        told = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError, OSError):
        raise ValueError("the HDF5 library fails on it") from None
    if isinstance(told, str):
        raise ValueError(told)
    return [str(name) for name in told]


def probe_here(path: Path) -> list[str]:
    """Check a file without its own process, and return the names of its groups."""
    with h5py.File(path, "r") as file:
        return check_contents(file, path)


def read_all(path: Path) -> list[str]:
    """Check a file, read what can be read of it, and return the names of its groups."""
    with h5py.File(path, "r") as file:
        names = check_contents(file, path)
        for item in (inner for name in names for inner in file[name].values()):
            if only_names_a_dim(item):
                continue
            if item.nbytes <= READ_WHOLE:
                item[()]
            elif item.chunks is not None:
                item.id.chunk_iter(lambda chunk: None)
            for references in item.attrs.get("DIMENSION_LIST", ()):
                h5py.h5r.get_name(references[0], item.id)
    return names


def _bound(size: int, seconds: int) -> None:
    """Bound what this process may take, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        memory = MEMORY + 4 * size
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _main(path: Path, seconds: int) -> None:
    told: Any
    try:
        _bound(path.stat().st_size, seconds)
        told = read_all(path)
    except Exception as error:
        told = " ".join(str(error).split())[:300] or type(error).__name__
    print(json.dumps(told))


def check_contents(file: h5py.File, path: Path) -> list[str]:
    """Check the groups of a netCDF file."""
    budget = _Budget(path, path.stat().st_size)
    names: list[str] = []
    budget.attributes(file)
    for name, item in _members(file, MAX_GROUPS):
        if isinstance(item, h5py.Group):
            names.append(name)
            budget.attributes(item)
            for _, inner in _members(item, MAX_DATASETS):
                if not isinstance(inner, h5py.Dataset):
                    raise ValueError(f"{_spelled(inner)} is not a dataset")
                budget.dataset(inner)
        elif isinstance(item, h5py.Dataset):
            budget.dataset(item)
        else:
            raise ValueError(f"{_spelled(item)} is neither a group nor a dataset")
    return names


def only_names_a_dim(item: Any) -> bool:
    """Tell whether a dataset is how netCDF writes a dim without coordinate: as long as that, and never read."""
    name = item.attrs.get("NAME", b"")
    return isinstance(name, bytes) and name.startswith(NO_VARIABLE)


def _members(group: Any, most: int) -> Iterator[tuple[str, Any]]:
    """Yield what a group holds itself, and refuse what it only leads to."""
    if len(group) > most:
        raise ValueError(f"{_spelled(group)} holds {len(group):,} entries, expected at most {most:,}")
    for name in group:
        if not isinstance(name, str) or not name.isprintable():
            raise ValueError(f"{_spelled(group)} holds the name {name!r}"[:200])
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{_spelled(group)}/{name} is a link")
        yield name, group[name]


def _spelled(item: Any) -> str:
    return repr(item.name)[1:-1][:100] if item.name else "an entry without a name"


class _Budget:
    """Adds up what reading a file would take."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.seen: set[Any] = set()
        self.text = self.stored = self.promised = 0

    def attributes(self, item: Any) -> None:
        """Check the attributes of a group or dataset."""
        if len(item.attrs) > MAX_ATTRIBUTES:
            raise ValueError(f"{_spelled(item)} has {len(item.attrs):,} attributes")
        for name in item.attrs:
            what = f"attribute {name!r} of {_spelled(item)}"[:200]
            described = item.attrs.get_id(name)
            if math.prod(described.shape) > MAX_ITEMS or len(described.shape) > 1:
                raise ValueError(f"{what} has the shape {described.shape}")
            dtype = described.dtype
            text = h5py.check_string_dtype(dtype)
            if name in LISTS:
                continue
            if text is None and (dtype.kind not in "iufb" or dtype.itemsize > MAX_ITEM_BYTES):
                raise ValueError(f"{what} is of type {dtype}")
            if text is not None and text.length is None:
                if math.prod(described.shape) > MAX_TEXTS:
                    raise ValueError(f"{what} is a list of {math.prod(described.shape):,} texts")
                self._spell(item.attrs[name], what)

    def dataset(self, item: Any) -> None:
        """Check a dataset: whether it stands in the file, once, with about as many bytes as it says."""
        what = _spelled(item)
        if item.id in self.seen:
            raise ValueError(f"{what} is stored under two names")
        self.seen.add(item.id)
        properties = item.id.get_create_plist()
        if properties.get_layout() == h5py.h5d.VIRTUAL or properties.get_external_count():
            raise ValueError(f"{what} is stored in another file")
        if item.shape is None or len(item.shape) > MAX_DIMS:
            raise ValueError(f"{what} has the shape {item.shape}")
        self.attributes(item)
        if only_names_a_dim(item):
            return
        n_items = math.prod(item.shape)
        text = h5py.check_string_dtype(item.dtype)
        variable = text is not None and text.length is None
        if not variable and (item.dtype.kind not in "iufbS" or item.dtype.itemsize > MAX_ITEM_BYTES):
            raise ValueError(f"{what} is of type {str(item.dtype)[:60]}")
        each = REFERENCE if variable else item.dtype.itemsize
        promised, there = n_items * each, item.id.get_storage_size()
        most = there
        if item.chunks is not None:
            filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
            if set(filters) - set(FILTERS) or len(set(filters)) < len(filters):
                raise ValueError(f"{what} is stored by the filters {filters}, expected {', '.join(FILTERS.values())}")
            if math.prod(item.chunks) * each > max(MAX_CHUNK, 2 * promised):
                raise ValueError(f"{what} has chunks of {math.prod(item.chunks) * each:,} bytes")
            most = RATIO * there
        # Two datasets may say that they stand in the same place.
        self.stored += there
        self.promised += max(0, promised - most)
        if self.stored > self.size or self.promised > SLACK:
            raise ValueError(f"{what} promises {promised:,} bytes and {min(there, self.size):,} are there")
        if variable and n_items:
            self._texts(item, n_items, there)

    def _texts(self, item: Any, n_items: int, there: int) -> None:
        """Add up the lengths of strings, before any is made: many of them may be one and the same in the file."""
        place = item.id.get_offset()
        if item.chunks is None and place is not None and there == n_items * REFERENCE:
            lengths = np.memmap(self.path, np.dtype("<u4"), "r", offset=place, shape=(n_items * 4,))
            self.text += int(lengths[::4].sum(dtype=np.uint64))
            self._check_text(_spelled(item))
        elif n_items <= ONE_BY_ONE:
            flat = np.ndindex(*item.shape)
            for index in flat:
                self._spell(item[index], _spelled(item))
        else:
            raise ValueError(f"{_spelled(item)} holds {n_items:,} texts, compressed")

    def _spell(self, value: Any, what: str) -> None:
        values = value.ravel().tolist() if isinstance(value, np.ndarray) else [value]
        self.text += sum(len(each) for each in values if isinstance(each, str | bytes))
        self._check_text(what)

    def _check_text(self, what: str) -> None:
        # Each of the texts of an honest file takes its length there.
        if self.text > self.size + SLACK:
            raise ValueError(f"the texts up to {what} come to {self.text:,} bytes in a file of {self.size:,}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
