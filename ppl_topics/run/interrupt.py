"""Ctrl-C ends a run after the sweep in progress; a second one ends it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

__all__ = ["GracefulStop"]


class GracefulStop:
    """Context in which the first interrupt only sets a flag.

    Outside the main thread, where signals cannot be handled, it does nothing.

    Attributes
    ----------
    requested : bool
        Whether an interrupt came.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: object = None

    def __enter__(self) -> GracefulStop:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self.requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
