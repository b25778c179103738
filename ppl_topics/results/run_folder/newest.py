"""The newest checkpoint of a chain that is not damaged."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import Checkpoint, checkpoints, read_checkpoint
from ppl_topics.results.run_folder.manifest import Manifest

__all__ = ["newest"]

MOST_TRIED = 8
"""Most checkpoints of a chain to read; two are kept, and more were put there by somebody."""


def newest(
    folder: Path, chain: int, manifest: Manifest, *, mapped: bool = False
) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest checkpoint of a chain that is not damaged, and what is wrong with newer ones."""
    wrong: list[str] = []
    tried: set[Path] = set()
    while len(tried) < MOST_TRIED and (left := [path for path in checkpoints(folder) if path not in tried]):
        path = left[0]
        tried.add(path)
        try:
            found = read_checkpoint(path, mapped=mapped)
            _check(found, chain, manifest)
            return found, wrong
        except TraceError as error:
            # A run in progress replaces them: if this one is gone, there is a newer one.
            if path.exists():
                wrong.append(str(error))
    return None, wrong


def _check(found: Checkpoint, chain: int, manifest: Manifest) -> None:
    """Refuse a checkpoint that is not of this chain, or contradicts its name."""
    path, about = found.path, found.about
    for name, value in (("run", manifest.run), ("chain", chain)):
        if about.get(name) != value:
            raise TraceError(f"{path}: the checkpoint belongs to another {name}")
    sweep = int(path.stem)
    if sweep > manifest.sweeps:
        raise TraceError(f"{path}: the checkpoint is from sweep {sweep:,}, but the run has only {manifest.sweeps:,}")
    warmup = min(sweep, manifest.warmup)
    for name, count in {"sweep": sweep, "warmup": warmup, "draws": (sweep - warmup) // manifest.thin}.items():
        if type(about.get(name)) is not int or about[name] != count:
            raise TraceError(f"{path}: the checkpoint contradicts its file name ({name} is not {count:,})")
    names = about.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) and name.isprintable() for name in names):
        raise TraceError(f"{path}: the checkpoint does not list what was drawn")
