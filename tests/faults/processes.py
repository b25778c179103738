"""Processes that can be killed, forks of this one, which has compiled a model; and strikes in the middle of a write.

A fork starts at once. It can use the threads of numba's layer "workqueue" and no others, so that layer is chosen here,
before numba is imported.
"""

from __future__ import annotations

import os

os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
os.environ.setdefault("NUMBA_NUM_THREADS", str(min(2, os.cpu_count() or 1)))

import itertools
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.np.ufunc import parallel

import ppl_topics as pt

SECONDS = 1800.0
"""A process that takes longer hangs."""


class Child:
    """A forked process in a group of its own, which does some work and prints into a file.

    ``code`` is its exit code once it has ended, below zero for a signal.
    """

    def __init__(self, work: Callable[[], Any], log: Path) -> None:
        self.log = log
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_exit_code(work, log))

    @property
    def said(self) -> str:
        """What it has printed."""
        return self.log.read_text(errors="replace")

    def ends_before(self, condition: Callable[[], bool] = lambda: False, seconds: float = SECONDS) -> bool:
        """Wait until it ends, something is so, or some seconds have passed; tell whether it has ended."""
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG) if self.code is None else (0, 0)
            self.code = os.waitstatus_to_exitcode(status) if pid else self.code
            left = until - time.monotonic()
            if self.code is not None or condition() or left <= 0:
                return self.code is not None
            time.sleep(min(0.002, left))

    def kill(self, number: int = signal.SIGKILL, *, group: bool = False) -> None:
        """Send a signal to it, or to it and its own children."""
        (os.killpg if group else os.kill)(self.pid, number)

    def wait(self) -> Child:
        """Wait for the end."""
        if not self.ends_before():
            self.kill(group=True)
            raise AssertionError(f"it has not ended after {SECONDS:.0f} s: {self.said[-2000:]}")
        return self

    def expect(self, code: int, *words: object) -> Child:
        """Fail unless it ends with a code, and with one error that holds some words, if any are given."""
        errors = [line for line in self.wait().said.splitlines() if line.startswith("error: ")]
        clean = len(errors) == 1 and "Traceback" not in self.said and all(str(word) in errors[0] for word in words)
        if self.code != code or (words and not clean):
            raise AssertionError(f"ended with {self.code}, expected {code} {words}: {self.said[-2000:]}")
        return self


def _exit_code(work: Callable[[], Any], log: Path) -> int:
    """Do some work; errors of the package end it as on the command line."""
    os.setsid()
    # numba shares a lock with its forks; one that is killed while it holds the lock would leave it locked for all.
    parallel._backend_init_process_lock = None
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code: Any = 70
    try:
        code = work()
    except pt.PplTopicsError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0


WRITTEN = {"a checkpoint": "checkpoints", "a file of draws": "draws.zarr"}
"""What a run writes once it has started, and the folder that it is in."""


def strike_in_a_write(run: Path, kind: str, number: int, share: float, strike: Callable[[], None], said: Path) -> None:
    """Strike when this process has written a share of the n-th file of a kind, and say in a file where that was.

    A file is written beside its final name and then renamed, by zarr as by us. The call that renames is replaced: there
    the file can still be cut back to any share. From a share of 1 on it is complete but not renamed, from 1.5 on it is.
    """
    rename, seen = os.replace, itertools.count()

    def replaced(old: Any, new: Any, **named: Any) -> None:
        started = (run / "run.json").exists() and Path(new).is_relative_to(run / WRITTEN[kind])
        if not started or next(seen) != number:
            return rename(old, new, **named)
        if share < 1.5:
            data = Path(old).read_bytes()
            os.truncate(old, int(min(share, 1.0) * len(data)))
            said.write_text(f"while {kind} was written" if share < 1.0 else f"before {kind} was renamed into place")
            strike()
            Path(old).write_bytes(data)
            return rename(old, new, **named)
        rename(old, new, **named)
        said.write_text(f"after {kind} was renamed into place")
        return strike()

    os.replace = replaced  # type: ignore[assignment]
