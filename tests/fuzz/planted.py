"""Readers with faults, one each, which the harness has to find: ``python tests/fuzz/planted.py FOLDER CASES``."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np
from harness import SECRET, Limits, fuzz

from ppl_topics.errors import PplTopicsError

LIMITS = Limits(seconds=0.3, wall=60.0, silence=120.0, allowance=256 << 20, resident=64 << 20)
Reader = Callable[[Path], object]


def sound(path: Path) -> None:
    """Read a number below 10, and refuse any other in one line."""
    number = path.read_text()
    if len(number) != 1:
        raise PplTopicsError(f"{path}: holds {number!r}, expected a number below 10")
    (path.parent / "made").write_text(number)


def looks_up(path: Path) -> object:
    return {}[path.read_text()]


def sizes_by_a_number(path: Path) -> object:
    return np.zeros(10**10 * int(path.read_text()))


def fills_memory(path: Path) -> object:
    return len(b"x" * (100 << 20))


def loops(path: Path) -> None:
    while True:
        pass


def waits(path: Path) -> None:
    time.sleep(60)


def loops_out_of_reach(path: Path) -> None:
    # As a library does that does not come back to Python.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF, signal.SIGALRM})
    loops(path)


def swallows_an_alarm(path: Path) -> None:
    """Loop where Python drops exceptions, and then where it does not."""

    class Held:
        def __del__(self) -> None:
            loops(path)

    held = Held()
    del held
    loops(path)


def writes_elsewhere(path: Path) -> None:
    (path.parents[1] / "elsewhere").write_text("x")


def removes_elsewhere(path: Path) -> None:
    elsewhere = path.parents[1] / "elsewhere"
    elsewhere.unlink(missing_ok=True)


def reads_elsewhere(path: Path) -> None:
    with contextlib.suppress(OSError):
        open("/etc/hostname", "rb").close()


def writes_by_a_library(path: Path) -> None:
    """Write where Python is not asked."""
    target = path.parents[3] / "valid" / "writes_by_a_library" / SECRET
    with h5py.File(path.parent / "made.h5", "w") as file:
        made = file.create_dataset("elsewhere", (6,), "u1", external=[(str(target), 0, 6)])
        made[...] = len(path.read_text())


def starts_a_process(path: Path) -> object:
    return subprocess.run(["true"], check=False)


def runs_a_command(path: Path) -> object:
    return os.system("true")


def unpickles(path: Path) -> object:
    return pickle.loads(pickle.dumps(Path))


def connects(path: Path) -> None:
    with socket.socket() as made:
        made.connect_ex(("127.0.0.1", 9))


class TwoLinesError(PplTopicsError):
    """What the base makes one line of, it says in two all the same."""

    def __str__(self) -> str:
        return super().__str__().replace(":", ":\n")


def says_two_lines(path: Path) -> None:
    raise TwoLinesError(f"{path}: holds {path.read_text()}")


def says_nothing(path: Path) -> None:
    raise PplTopicsError("")


def dies(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


FAULTS: tuple[Reader, ...] = (
    looks_up,
    sizes_by_a_number,
    fills_memory,
    loops,
    waits,
    loops_out_of_reach,
    swallows_an_alarm,
    writes_elsewhere,
    removes_elsewhere,
    reads_elsewhere,
    writes_by_a_library,
    starts_a_process,
    runs_a_command,
    unpickles,
    connects,
    says_two_lines,
    says_nothing,
    dies,
)


LIMITS_OF: dict[Reader, dict[str, float]] = {
    waits: {"wall": 1.0},
    loops_out_of_reach: {"silence": 2.5},
    fills_memory: {"seconds": 10.0},
}
"""Limits that hold others up, or are too tight for one, where a machine is busy."""


@dataclass
class Planted:
    """A target with one reader, of files that hold a number.

    Attributes
    ----------
    reader : callable
    """

    reader: Reader

    @property
    def name(self) -> str:
        """Name of the reader."""
        return self.reader.__name__

    def prepare(self, folder: Path) -> None:
        """Write what no reader may change."""
        (folder / SECRET).write_text("secret")

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a number."""
        (place / "input").write_text(str(rng.randrange(5, 15)))

    def run(self, rng: random.Random, place: Path) -> None:
        """Read it."""
        self.reader(place / "input")


class Unmade(Planted):
    """A target that does not make its input."""

    name = "unmade"

    def make(self, rng: random.Random, place: Path) -> None:
        """Fail."""
        raise OSError("no room")


def main() -> None:
    """Run all targets; outcomes go to the folder."""
    folder, cases = Path(sys.argv[1]), int(sys.argv[2])
    for target in (*map(Planted, (sound, *FAULTS)), Unmade(sound)):
        limits = replace(LIMITS, **LIMITS_OF.get(target.reader, {}))
        fuzz(target, seconds=300, seed=1, folder=folder, cases=cases, limits=limits)


if __name__ == "__main__":
    main()
