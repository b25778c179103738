"""Something done in the middle of a write.

A file is written beside its final name and then renamed, by zarr as by us. `Moment.watch` replaces the call that
renames: there a file can still be cut back to what was written at any earlier moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

WRITTEN = {"a checkpoint": "checkpoints", "a file of draws": "draws.zarr"}
"""What is written, and the folder that it is in."""


class Moment(NamedTuple):
    """The write of the n-th file of a kind, in this process, and where in it: below 1, the share that is written.

    From 1 on the file is complete but not renamed, from 1.5 on it is renamed. A line in ``said`` says where it was.
    """

    kind: str
    number: int
    share: float
    act: Callable[[Path], None]
    said: Path

    def watch(self) -> None:
        """Wait for the moment in this process."""
        replaced, seen = os.replace, iter(range(self.number + 1))

        def replace(old: Any, new: Any, **named: Any) -> None:
            chosen = self._is_kind(Path(new)) and next(seen, -1) == self.number
            if chosen and self.share < 1.0:
                self._in_the_middle(Path(old))
            elif chosen and self.share < 1.5:
                self._hit("before {} was renamed into place", Path(old))
            replaced(old, new, **named)
            if chosen and self.share >= 1.5:
                self._hit("after {} was renamed into place", Path(new))

        os.replace = replace  # type: ignore[assignment]

    def _in_the_middle(self, path: Path) -> None:
        data = path.read_bytes()
        done = int(self.share * len(data))
        os.truncate(path, done)
        self._hit("while {} was written", path)
        with path.open("r+b") as file:
            file.seek(done)
            file.write(data[done:])

    def _hit(self, where: str, path: Path) -> None:
        self.said.write_text(where.format(self.kind))
        self.act(path)

    def _is_kind(self, path: Path) -> bool:
        place = next((parent for parent in path.parents if parent.name == WRITTEN[self.kind]), None)
        # Before the manifest exists, data and constants are written, not draws.
        return place is not None and (place.parent / "run.json").exists()
