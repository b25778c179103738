"""The log of a run folder: a line for each event."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ppl_topics._util.user_warning import warn_user

__all__ = ["LOG", "RunWarning", "log"]

LOG = "log.txt"


class RunWarning(UserWarning):
    """Something went wrong that the run could recover from, such as a damaged checkpoint with an older one."""


def log(folder: Path, text: str, *, warn: bool = False) -> None:
    """Add a line to the log of a run, and warn the user if ``warn``, or if the log cannot be written."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        with (folder / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{now} {' '.join(text.split())}\n")
    except OSError as error:
        warn_user(f"{folder / LOG}: cannot be written ({error.strerror}): {text}", RunWarning)
        return
    if warn:
        warn_user(text, RunWarning)
