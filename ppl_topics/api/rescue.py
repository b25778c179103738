"""Draws that are in memory are not lost where their file cannot be written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ppl_topics.engine.interrupt import GracefulStop
from ppl_topics.errors import RunError, TraceError
from ppl_topics.fit import Fit

__all__ = ["save_somewhere"]


def save_somewhere(fit: Fit, out: str | Path) -> Path:
    """Write draws to a file, or if that fails to a new folder among the system's temporary files, and say so.

    The run is over: the first Ctrl-C or SIGTERM that comes meanwhile stops nothing, and a second one the writing.

    Parameters
    ----------
    fit : Fit
    out : str or path-like

    Returns
    -------
    pathlib.Path

    Raises
    ------
    RunError
        If the file cannot be written; the message says where the draws are.
    """
    with GracefulStop():
        return _save_somewhere(fit, out)


def _save_somewhere(fit: Fit, out: str | Path) -> Path:
    try:
        return fit.save(out)
    except TraceError as error:
        reason = str(error)
    try:
        folder = Path(tempfile.mkdtemp(prefix="ppl-topics-"))
    except OSError as error:
        raise RunError(f"{reason}, and there is no temporary folder either ({error.strerror}): {LOST}") from None
    spare = folder / Path(out).name
    try:
        fit.save(spare)
    except TraceError as error:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        raise RunError(f"{reason}, and neither can it be put aside ({error}): {LOST}") from None
    raise RunError(f"{reason}. All draws were put aside: move {spare} to where there is room")


LOST = "the draws are lost; a run whose output does not end in .nc keeps them as they are made"
