"""Say so while kernels are compiled, which numba does once and keeps on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

__all__ = ["announcing_compilation"]

PATIENCE = 1.0
"""Seconds of compilation that go by without a word."""

MESSAGE = "compiling kernels (once; they are kept on disk for later runs)"


@contextmanager
def announcing_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Call `say` once if compilation takes longer than `PATIENCE`; functions that are loaded from disk do not count."""
    watch = _Watch(say)
    with event.install_listener("numba:compile", watch):
        try:
            yield
        finally:
            watch.stop()


class _Watch(event.Listener):  # type: ignore[misc]
    """Adds up the seconds of compilations, and speaks up in the midst of a long one."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.lock = say, threading.Lock()
        self.depth, self.started, self.spent, self.said = 0, 0.0, 0.0, False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Begin to count, unless this is a function that another one calls."""
        with self.lock:
            self.depth += 1
            if self.depth > 1 or self.said:
                return
            self.started = time.perf_counter()
            self.timer = threading.Timer(max(0.0, PATIENCE - self.spent), self._speak)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stop to count."""
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and not self.said:
                self.spent += time.perf_counter() - self.started
                self._cancel()

    def stop(self) -> None:
        """Say nothing any more."""
        with self.lock:
            self.said = True
            self._cancel()

    def _cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _speak(self) -> None:
        with self.lock:
            if self.said or self.depth == 0:
                return
            self.said = True
        self.say(MESSAGE)
