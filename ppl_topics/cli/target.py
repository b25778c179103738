"""Where a run, or another file, is to be written: refused before anything is read or computed."""

from __future__ import annotations

import os
from pathlib import Path

from ppl_topics._util.paths import as_path
from ppl_topics.errors import PplTopicsError, TraceError

__all__ = ["check_file", "check_target"]

MAX_NAME = 200


def check_target(out: str, overwrite: bool) -> Path:
    """Return the file or the folder that a run would write, having checked that it can be.

    Nothing is made or written.

    Parameters
    ----------
    out : str
        A file that ends in ``.nc``, or a folder, there or yet to be made.
    overwrite : bool
        Whether a file may stand there.

    Raises
    ------
    TraceError
    """
    if not out:
        raise TraceError("--out: the name is empty; give a file that ends in .nc, or a folder")
    place = as_path(out, "a run", TraceError)
    # The draws are first written under a name that is a little longer.
    if len(os.fsencode(place.name)) > MAX_NAME:
        raise TraceError(f"--out {place.name[:40]}...: the name is too long; give one of at most {MAX_NAME} bytes")
    if place.suffix != ".nc":
        return _check_folder(place, overwrite)

    from ppl_topics.results.store import check_new

    check_new(place, overwrite)
    return place


def _check_folder(place: Path, overwrite: bool) -> Path:
    from ppl_topics.results.run_folder.folder import check_free
    from ppl_topics.results.store import check_writable

    if os.path.lexists(place) and not place.is_dir():
        raise TraceError(f"{place}: a file stands there; name a file that ends in .nc, or a folder")
    if not place.is_dir():
        # The folder, and those above it, are made when there is something to put into them.
        above = next(parent for parent in place.absolute().parents if os.path.lexists(parent))
        if not above.is_dir():
            raise TraceError(f"{place}: {above} is a file; name a folder, or a file that ends in .nc")
        check_writable(above / place.name)
        return place
    check_free(place, overwrite, TraceError)
    check_writable(place / "run.json")
    return place


def check_file(out: str | Path, overwrite: bool, option: str = "--out") -> Path:
    """Return the file that a command would write, having checked that it can be; nothing is made or written.

    Parameters
    ----------
    out : str or pathlib.Path
    overwrite : bool
        Whether a file may stand there. A device, or anything else that is no file, may not.
    option : str
        That named it.

    Raises
    ------
    PplTopicsError
    """
    path = Path(out)
    if not str(out) or not path.name:
        raise PplTopicsError(f"{option}: the name is empty; name a file")
    if path.is_dir():
        raise PplTopicsError(f"{out}: a folder stands there; name a file")
    if os.path.exists(path):
        if not path.is_file():
            raise PplTopicsError(f"{out}: what stands there is no file, and would be lost; choose another {option}")
        if not overwrite:
            raise PplTopicsError(f"{out}: a file stands there already; choose another {option}, or give --overwrite")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise PplTopicsError(f"{out}: cannot be written; the folder {path.parent} is missing or not writable")
    return path
