"""Something done in the midst of a write: between two bytes of a file, before it is put in its place, or just after.

A file is written beside its place and then put there, by zarr as by us. In a process that is to be hit, the calls by
which Python opens such a file and puts it in its place are replaced, so that one of them, chosen beforehand, does more.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["KINDS", "Moment", "kill"]

KINDS = {"a checkpoint": "checkpoints", "a file of draws": "draws.zarr"}
"""What is being written, and a folder above it."""

BEING_WRITTEN = (".part", ".partial")


def kill(path: Path) -> None:
    """Kill this process, as nothing can prevent."""
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Moment:
    """A moment within a write.

    Attributes
    ----------
    kind : str
        See `KINDS`.
    number : int
        Of the file, among those of this kind that the process writes, from 0.
    share : float
        Of its bytes that are written by then, as far as their number is known beforehand: that of the file before it.
        From 1 on, the file is whole, but not in its place; from 1.5 on it is there.
    act : callable
        Done then, with the file.
    said : pathlib.Path
        Takes a line that says where it was.
    """

    kind: str
    number: int
    share: float
    act: Callable[[Path], None]
    said: Path
    files: list[Path] = field(default_factory=list)
    size: int = 300

    @classmethod
    def any(cls, rng: np.random.Generator, most: int, act: Callable[[Path], None], said: Path) -> Moment:
        """Return one at random, among so many files."""
        kind = list(KINDS)[int(rng.integers(2))]
        return cls(kind, int(rng.integers(max(1, most))), float(rng.uniform(0.0, 2.0)), act, said)

    def watch(self) -> None:
        """Wait for it in this process."""
        opened, replaced = io.open, os.replace

        def open_file(path: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
            chosen = isinstance(path, Path) and "b" in mode and set(mode) & set("wx") and self._chosen(path)
            return io.BufferedWriter(_Watched(path, mode, self)) if chosen else opened(path, mode, *more, **named)

        def replace_file(old: Any, new: Any, **named: Any) -> None:
            mine = self.share >= 1.0 and self.files and Path(old) == self.files[-1]
            if mine and self.share < 1.5:
                self.hit(f"before {self.kind} was put in its place")
            replaced(old, new, **named)
            if mine and self.share >= 1.5:
                self.hit(f"as {self.kind} had been put in its place")
            elif self._is_kind(Path(new)):
                self.size = max(1, os.path.getsize(new))

        io.open = open_file  # type: ignore[assignment]
        os.replace = replace_file  # type: ignore[assignment]

    def hit(self, where: str) -> None:
        """Say where, and act."""
        path, self.files = self.files[-1], []
        self.number = -1
        self.said.write_text(where)
        self.act(path)

    def _is_kind(self, path: Path) -> bool:
        place = next((parent for parent in path.parents if parent.name == KINDS[self.kind]), None)
        # Until the manifest is there, data and constants are written.
        return place is not None and (place.parent / "run.json").exists()

    def _chosen(self, path: Path) -> bool:
        if not self._is_kind(path) or path.suffix not in BEING_WRITTEN:
            return False
        self.number -= 1
        if self.number == -1:
            self.files.append(path)
        return self.number == -1


class _Watched(io.FileIO):
    """A file in which the moment is."""

    def __init__(self, path: Path, mode: str, moment: Moment) -> None:
        super().__init__(path, mode.replace("b", ""))
        self.moment, self.left = moment, int(moment.share * moment.size) if moment.share < 1.0 else -1

    def write(self, data: Any) -> int:
        """Write, up to the moment and then the rest."""
        view = memoryview(data).cast("B")
        if not 0 <= self.left < len(view):
            self.left -= len(view) if self.left >= 0 else 0
            return self._all(view)
        begun = self._all(view[: self.left])
        self.left = -1
        self.moment.hit(f"while {self.moment.kind} was written")
        return begun + self._all(view[begun:])

    def _all(self, view: memoryview) -> int:
        done = 0
        while done < len(view):
            done += super().write(view[done:]) or 0
        return done

    def close(self) -> None:
        """Close; a file that was shorter than the one before it is hit here."""
        if not self.closed and self.left >= 0:
            self.left = -1
            self.moment.hit(f"while {self.moment.kind} was written")
        super().close()
