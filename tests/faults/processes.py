"""Processes that can be killed: forks of this one, which has compiled a model, and new interpreters.

A fork begins at once. It can use the threads of numba's layer "workqueue" and no others, so that layer is chosen here,
before numba is imported.
"""

from __future__ import annotations

import os

os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
os.environ.setdefault("NUMBA_NUM_THREADS", str(min(2, os.cpu_count() or 1)))

import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numba.np.ufunc import parallel

import ppl_topics as pt

SECONDS = 1800.0
"""A process that takes longer hangs."""


class Result(NamedTuple):
    """How a process ended: the exit code, below zero for a signal, and what it printed."""

    code: int
    said: str

    def expect(self, code: int, *words: object) -> Result:
        """Fail unless it ended with a code, and with one error that holds some words, if any are given."""
        errors = [line for line in self.said.splitlines() if line.startswith("error: ")]
        clean = len(errors) == 1 and "Traceback" not in self.said and all(str(word) in errors[0] for word in words)
        if self.code != code or (words and not clean):
            raise AssertionError(f"ended with {self.code}, expected {code} {words}: {self.said[-2000:]}")
        return self


class Child:
    """A forked process in a group of its own: what it does, and a file that receives what it prints.

    The work returns an exit code, or anything else for 0. Errors of the package end it as on the command line.
    """

    def __init__(self, work: Callable[[], Any], log: Path) -> None:
        self.log = log
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_call(work, log))

    def ended(self) -> bool:
        """Tell whether it has ended."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def ends_before(self, condition: Callable[[], bool] = lambda: False, seconds: float = SECONDS) -> bool:
        """Wait until it ends, something is so, or some seconds have passed; tell whether it has ended."""
        until = time.monotonic() + seconds
        while not self.ended() and not condition() and (left := until - time.monotonic()) > 0:
            time.sleep(min(0.002, left))
        return self.ended()

    def kill(self, number: int = signal.SIGKILL, *, group: bool = False) -> None:
        """Send a signal to it, or to it and its own children."""
        (os.killpg if group else os.kill)(self.pid, number)

    def result(self) -> Result:
        """Wait for the end."""
        if not self.ends_before():
            self.kill(group=True)
        return Result(-99 if self.code is None else self.code, self.log.read_text(errors="replace"))


def program(words: list[str]) -> None:
    """Become a new program, with a threading layer of its own choice."""
    os.execve(words[0], words, {**os.environ, "NUMBA_THREADING_LAYER": "default"})


def _call(work: Callable[[], Any], log: Path) -> int:
    os.setsid()
    # numba shares a lock with its forks; one that is killed while it holds the lock would leave it locked for all.
    parallel._backend_init_process_lock = None
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code: Any = 70
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *place, **more: print(f"warning: {message}", file=sys.stderr)
            warnings.simplefilter("always", pt.RunWarning)
            code = work()
    except pt.PplTopicsError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0
