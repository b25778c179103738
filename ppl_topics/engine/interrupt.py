"""Ctrl-C, or SIGTERM, ends a run after the sweep in progress; a second one ends it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["GracefulStop"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GracefulStop:
    """Context in which the first interrupt only sets a flag, `requested`.

    Outside the main thread, where signals cannot be handled, it does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> GracefulStop:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None stands for a handler that Python did not install; it cannot be put back.
            if handler is not None:
                signal.signal(number, handler)

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self.requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
