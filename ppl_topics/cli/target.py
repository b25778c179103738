"""Where a run, or another file, is to be written: refused before anything is read or computed."""

from __future__ import annotations

import os
from pathlib import Path

from ppl_topics.errors import PplTopicsError, TraceError

__all__ = ["check_file", "check_target"]

MAX_NAME = 200


def check_target(out: str, overwrite: bool) -> Path:
    """Return the file that a run would write, having checked that it can be.

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
    from ppl_topics.fit import trace_path
    from ppl_topics.trace.store import check_writable

    if not out:
        raise TraceError("--out: the name is empty; give a file that ends in .nc, or a folder")
    folder = Path(out)
    # The draws are first written under a name that is a little longer.
    if len(os.fsencode(folder.name)) > MAX_NAME:
        raise TraceError(f"--out {folder.name[:40]}...: the name is too long; give one of at most {MAX_NAME} bytes")
    path = trace_path(folder)
    if path != folder:
        if os.path.exists(folder) and not folder.is_dir():
            raise TraceError(f"{out}: a file stands there; name a file that ends in .nc, or a folder")
        if not os.path.exists(folder):
            # The folder is made when there is something to put into it; its parent must take it.
            check_writable(folder)
            return path
    if os.path.exists(path) and not path.is_dir() and not overwrite:
        raise TraceError(f"{path}: a run stands there already; choose another --out, or give --overwrite")
    check_writable(path)
    return path


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
