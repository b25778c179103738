"""Where a run is to be written: refused before anything is read or sampled."""

from __future__ import annotations

import os
from pathlib import Path

from ppl_topics.errors import TraceError

__all__ = ["check_target"]

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
