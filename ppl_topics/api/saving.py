"""Draws in memory are not lost if their file cannot be written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ppl_topics.engine.interrupt import GracefulStop
from ppl_topics.errors import RunError, TraceError
from ppl_topics.fit import Fit

__all__ = ["save_somewhere"]

LOST = "the draws are lost; a run whose output does not end in .nc keeps them as they are made"


def save_somewhere(fit: Fit, out: str | Path) -> Path:
    """Write draws to a file, or if that fails to a new temporary folder, which the error then names.

    The run is over: the first Ctrl-C or SIGTERM that comes meanwhile stops nothing, and a second one the writing.
    """
    with GracefulStop():
        try:
            return fit.save(out)
        except TraceError as error:
            reason = str(error)
        try:
            folder = Path(tempfile.mkdtemp(prefix="ppl-topics-"))
        except OSError as error:
            raise RunError(f"{reason}, and no temporary folder can be made ({error.strerror}): {LOST}") from None
        spare = folder / Path(out).name
        try:
            fit.save(spare)
        except TraceError as error:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
            raise RunError(f"{reason}, nor can a temporary file ({error}): {LOST}") from None
        raise RunError(f"{reason}. All draws are in {spare}: move it to a disk with enough space")
