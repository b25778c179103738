"""What a netCDF file must be before any of it is read: plain datasets in groups that claim no more than they hold.

An HDF5 file can refer to other files (external and soft links, external and virtual datasets), name one dataset a
thousand times, claim a petabyte of fill values, or refer to one long string a million times. `save` writes nothing of
the kind, and nothing of the kind is opened: all this is refused from the descriptions, before any content is read.

The HDF5 library itself can crash on a damaged file, or loop for ever: version 2.0 does if the sizes in a heap of
strings are wrong. So another process reads a file first. This module is the program of that process, and imports
nothing else of ppl-topics, to start fast.
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
"""Bytes that a file may claim without holding them."""

MAX_CHUNK = 1 << 24
RATIO = 1_040
"""Of the deflate filter at its best, which is 1,032."""

FILTERS = {h5py.h5z.FILTER_DEFLATE: "deflate", h5py.h5z.FILTER_SHUFFLE: "shuffle", h5py.h5z.FILTER_FLETCHER32: "sum"}
REFERENCE = 16
"""Bytes by which a dataset refers to a string: its length (4), its address (8), and its number there (4)."""

SECONDS, BYTES_PER_SECOND = 10, 20_000_000
"""Processor time in which a sound file is read: the seconds, and one more for each of these numbers of bytes."""

WALL_SECONDS = 900

MEMORY = 2 << 30
"""Of the process that reads a file first, in addition to four times the file's size."""

READ_WHOLE = 64 << 20
"""Size of a dataset up to which its values are read; of a larger one only the places of its chunks are looked up."""

ONE_BY_ONE = 10_000
"""Most strings to read one after another if their lengths cannot be had otherwise."""

LISTS = ("DIMENSION_LIST", "REFERENCE_LIST")
"""Attributes by which netCDF joins dims and coordinates: references within the file."""


def probe(path: Path) -> list[str]:
    """Read a netCDF file in another process, and return the names of its groups."""
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
    """Check a file in this process, and return the names of its groups."""
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
    """Limit time and memory of this process, where the system can."""
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
    """Check the contents of a netCDF file, and return the names of its groups."""
    budget = _Budget(path, path.stat().st_size)
    names: list[str] = []
    budget.attributes(file)
    for name, item in _members(file, MAX_GROUPS):
        if not isinstance(item, h5py.Group):
            budget.dataset(item)
            continue
        names.append(name)
        budget.attributes(item)
        for _, inner in _members(item, MAX_DATASETS):
            budget.dataset(inner)
    return names


def only_names_a_dim(item: Any) -> bool:
    """Return whether a dataset stands for a dim without coordinate: netCDF makes it as long as the dim, but empty."""
    name = item.attrs.get("NAME", b"")
    return isinstance(name, bytes) and name.startswith(NO_VARIABLE)


def _members(group: Any, most: int) -> Iterator[tuple[str, Any]]:
    """Yield what a group holds, and refuse links."""
    if len(group) > most:
        raise ValueError(f"{_name_of(group)} holds {len(group):,} entries, expected at most {most:,}")
    for name in group:
        if not isinstance(name, str) or not name.isprintable():
            raise ValueError(f"{_name_of(group)} holds the name {name!r}"[:200])
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{_name_of(group)}/{name} is a link")
        yield name, group[name]


def _name_of(item: Any) -> str:
    return repr(item.name)[1:-1][:100] if item.name else "an entry without a name"


class _Budget:
    """Adds up what reading a file would take."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.seen: set[Any] = set()
        self.text = self.stored = self.claimed = 0

    def attributes(self, item: Any) -> None:
        """Check the attributes of a group or dataset."""
        if len(item.attrs) > MAX_ATTRIBUTES:
            raise ValueError(f"{_name_of(item)} has {len(item.attrs):,} attributes")
        for name in item.attrs:
            what = f"attribute {name!r} of {_name_of(item)}"[:200]
            described = item.attrs.get_id(name)
            dtype, count = described.dtype, math.prod(described.shape)
            if count > MAX_ITEMS or len(described.shape) > 1:
                raise ValueError(f"{what} has the shape {described.shape}")
            if name in LISTS:
                continue
            text = h5py.check_string_dtype(dtype)
            if text is None and (dtype.kind not in "iufb" or dtype.itemsize > MAX_ITEM_BYTES):
                raise ValueError(f"{what} is of type {dtype}")
            if text is not None and text.length is None:
                if count > MAX_TEXTS:
                    raise ValueError(f"{what} is a list of {count:,} texts")
                self._read_text(item.attrs[name], what)

    def dataset(self, item: Any) -> None:
        """Check that a dataset is in the file, once, with about as many bytes as it claims."""
        what = _name_of(item)
        if not isinstance(item, h5py.Dataset):
            raise ValueError(f"{what} is not a dataset")
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
        claimed, there = n_items * each, item.id.get_storage_size()
        most = there
        if item.chunks is not None:
            filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
            if set(filters) - set(FILTERS) or len(set(filters)) < len(filters):
                raise ValueError(f"{what} is stored by the filters {filters}, expected {', '.join(FILTERS.values())}")
            if math.prod(item.chunks) * each > max(MAX_CHUNK, 2 * claimed):
                raise ValueError(f"{what} has chunks of {math.prod(item.chunks) * each:,} bytes")
            most = RATIO * there
        # Two datasets may claim the same place.
        self.stored += there
        self.claimed += max(0, claimed - most)
        if self.stored > self.size or self.claimed > SLACK:
            raise ValueError(f"{what} claims {claimed:,} bytes, but {min(there, self.size):,} are there")
        if variable and n_items:
            self._texts(item, n_items, there)

    def _texts(self, item: Any, n_items: int, there: int) -> None:
        """Add up the lengths of strings before any is read, since many of them may be the same one in the file."""
        place, what = item.id.get_offset(), _name_of(item)
        if item.chunks is None and place is not None and there == n_items * REFERENCE:
            lengths = np.memmap(self.path, np.dtype("<u4"), "r", offset=place, shape=(n_items * 4,))
            self._add_text(int(lengths[::4].sum(dtype=np.uint64)), what)
        elif n_items <= ONE_BY_ONE:
            for index in np.ndindex(*item.shape):
                self._read_text(item[index], what)
        else:
            raise ValueError(f"{what} holds {n_items:,} texts, compressed")

    def _read_text(self, value: Any, what: str) -> None:
        values = value.ravel().tolist() if isinstance(value, np.ndarray) else [value]
        self._add_text(sum(len(each) for each in values if isinstance(each, str | bytes)), what)

    def _add_text(self, length: int, what: str) -> None:
        # In a sound file, each text takes its length.
        self.text += length
        if self.text > self.size + SLACK:
            raise ValueError(f"the texts up to {what} come to {self.text:,} bytes in a file of {self.size:,}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
