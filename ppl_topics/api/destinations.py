"""Where a run, or another file, is to be written: refused before anything is read or computed."""

from __future__ import annotations

import os
from pathlib import Path

from ppl_topics._util.argument_names import argument
from ppl_topics._util.paths import as_path
from ppl_topics.errors import PplTopicsError, TraceError

__all__ = ["check_file", "check_run"]

MAX_NAME = 200


def check_run(out: str | Path, overwrite: bool) -> Path:
    """Return the ``.nc`` file or the folder that a run is to write, having checked that it can; nothing is written."""
    if not str(out):
        raise TraceError(f"{argument('out')}: the name is empty; give a file that ends in .nc, or a folder")
    place = as_path(out, "a run", TraceError)
    # The draws are first written under a name that is a little longer.
    if len(os.fsencode(place.name)) > MAX_NAME:
        raise TraceError(
            f"{argument('out')} {place.name[:40]}...: the name is too long; give one of at most {MAX_NAME} bytes"
        )
    if place.suffix != ".nc":
        return _check_run_folder(place, overwrite)

    from ppl_topics.results.store import check_new

    check_new(place, overwrite)
    return place


def _check_run_folder(place: Path, overwrite: bool) -> Path:
    from ppl_topics.results.run_folder.folder import check_free
    from ppl_topics.results.store import check_writable

    if os.path.lexists(place) and not place.is_dir():
        raise TraceError(f"{place}: an existing file; name a file that ends in .nc, or a folder")
    if place.is_dir():
        check_free(place, overwrite, TraceError)
        check_writable(place / "run.json")
        return place
    # The folder, and those above it, are made when there is something to put into them.
    above = next(parent for parent in place.absolute().parents if os.path.lexists(parent))
    if not above.is_dir():
        raise TraceError(f"{place}: {above} is a file; name a folder, or a file that ends in .nc")
    check_writable(above / place.name)
    return place


def check_file(out: str | Path, overwrite: bool, name: str = "out") -> Path:
    """Return the file that the argument ``name`` names, having checked that it can be written; nothing is written."""
    path = Path(out)
    if not str(out) or not path.name:
        raise PplTopicsError(f"{argument(name)}: the name is empty; name a file")
    if path.is_dir():
        raise PplTopicsError(f"{out}: an existing folder; name a file")
    if os.path.exists(path):
        if not path.is_file():
            raise PplTopicsError(f"{out}: exists and is neither a file nor a folder; choose another {argument(name)}")
        if not overwrite:
            raise PplTopicsError(
                f"{out}: the file already exists; choose another {argument(name)}, or give {argument('overwrite')}"
            )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise PplTopicsError(f"{out}: cannot be written; the folder {path.parent} is missing or not writable")
    return path
