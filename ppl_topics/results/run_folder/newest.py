"""The newest checkpoint of a chain that is whole."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import Checkpoint, checkpoints, read_checkpoint
from ppl_topics.results.run_folder.manifest import Manifest

__all__ = ["newest"]

MOST_TRIED = 8
"""Checkpoints of a chain, of which two are kept; where more are there, somebody put them there."""


def newest(
    folder: Path, chain: int, manifest: Manifest, *, mapped: bool = False
) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest checkpoint of a chain that is whole, and what was wrong with newer ones."""
    wrong: list[str] = []
    tried: set[Path] = set()
    while len(tried) < MOST_TRIED and (left := [path for path in checkpoints(folder) if path not in tried]):
        path = left[0]
        tried.add(path)
        try:
            return _whole(path, chain, manifest, mapped), wrong
        except TraceError as error:
            # A run that goes on replaces them: where one is gone, there is a newer one.
            if path.exists():
                wrong.append(str(error))
    return None, wrong


def _whole(path: Path, chain: int, manifest: Manifest, mapped: bool) -> Checkpoint:
    found = read_checkpoint(path, mapped=mapped)
    for name, value in (("run", manifest.run), ("chain", chain)):
        if found.about.get(name) != value:
            raise TraceError(f"{path}: the checkpoint belongs to another {name}")
    sweep = int(path.stem)
    if sweep > manifest.sweeps:
        raise TraceError(f"{path}: the checkpoint is from sweep {sweep:,}, but the run has only {manifest.sweeps:,}")
    expected = {
        "sweep": sweep,
        "warmup": min(sweep, manifest.warmup),
        "draws": max(0, sweep - manifest.warmup) // manifest.thin,
    }
    for name, count in expected.items():
        if type(found.about.get(name)) is not int or found.about[name] != count:
            raise TraceError(f"{path}: the checkpoint contradicts its file name ({name} is not {count:,})")
    names = found.about.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) and name.isprintable() for name in names):
        raise TraceError(f"{path}: the checkpoint does not list what was drawn")
    return found
