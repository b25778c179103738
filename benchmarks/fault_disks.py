"""Runs on a disk that is full, or may not be written to: a small file system in memory that can grow."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fault_kills import check_readable, resumed
from fault_runs import Case, Child, difference, flat, go_on, turns

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

__all__ = ["can_mount", "full", "full_at_the_end", "read_only"]

ROOM = 2**26
"""Bytes of a disk that has room for all."""


class Disk:
    """A file system in memory."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def resize(self, size: int) -> None:
        """Give it another size, in bytes."""
        _mount(self.place, f"remount,size={size}")

    def writable(self, yes: bool) -> None:
        """Allow writing, or not."""
        _mount(self.place, f"remount,{'rw' if yes else 'ro'}")

    @property
    def used(self) -> int:
        """Bytes that are taken."""
        found = os.statvfs(self.place)
        return (found.f_blocks - found.f_bfree) * found.f_frsize


def _mount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(place)], check=True, capture_output=True)


@contextmanager
def mounted(place: Path, size: int = ROOM) -> Iterator[Disk]:
    """Mount an empty one."""
    place.mkdir(exist_ok=True)
    _mount(place, f"size={size}")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def can_mount(folder: Path | None) -> bool:
    """Tell whether one can be mounted here."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            with mounted(Path(place) / "disk"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def size_of_run(case: Case, folder: Path, sweeps: int) -> tuple[int, int]:
    """Return the bytes that a run takes when it has begun, and at its end."""
    with mounted(folder / "disk") as disk:
        run = disk.place / "run"
        child = Child(partial(case.sample, run, checkpoint_sweeps=sweeps), folder / "log.txt")
        while not (run / "run.json").exists() and not child.ended():
            time.sleep(0.001)
        begun = disk.used
        child.result().expect(0)
        return begun, disk.used


def full(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Give a run less room than it takes, from before it has begun to just before its end; then make room."""
    sweeps = 7
    begun, ended = size_of_run(case, folder, sweeps)
    for turn in turns(case.model, number):
        low, high = (begun // 2, begun) if turn % 3 == 0 else (begun, ended)
        with mounted(folder / "disk", int(rng.integers(low, high)) // 4096 * 4096) as disk:
            run = disk.place / "run"
            result = Child(partial(case.sample, run, checkpoint_sweeps=sweeps), folder / "log.txt").result()
            if result.code == 0:
                continue
            spoken = os.strerror(errno.ENOSPC) in result.error and str(run) in result.error
            if result.code != 1 or not spoken:
                raise AssertionError(f"ended with {result.code}: {result.said}")
            after = check_readable(case, run, folder / "read.txt")
            # Resumed while there is still no room: refused in the same way, and nothing is lost by it.
            begun_before = (run / "run.json").exists()
            if begun_before:
                again = Child(partial(go_on, run), folder / "again.txt").result()
                if again.code != 1 or os.strerror(errno.ENOSPC) not in again.error:
                    raise AssertionError(f"ended with {again.code}: {again.said}")
                assert check_readable(case, run, folder / "read.txt") == after
            disk.resize(ROOM)
            if begun_before:
                resumed(case, run, folder / "resume.txt")
            else:
                again = Child(partial(case.sample, run, checkpoint_sweeps=sweeps), folder / "log.txt").result()
                again.expect(0)
                resumed(case, run, folder / "resume.txt")
            when = _when(result.error) if begun_before else "before the folder was complete"
            outcome = "one error (exit code 1); what was kept is readable; once there is room, resumed, equal"
            if not begun_before:
                outcome = "one error (exit code 1); once there is room, begun in the same folder, equal"
            yield {"fault": "disk full", "when": when, "after": after, "outcome": outcome}


def _when(error: str) -> str:
    return "before the first checkpoint" if "no checkpoint yet" in error else "after a checkpoint"


def full_at_the_end(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Let a run whose draws are in memory find no room for its file."""
    data = folder / "corpus"
    case.corpus.save(data)
    for _ in range(number):
        shutil.rmtree(folder / "spare", ignore_errors=True)
        (folder / "spare").mkdir()
        with mounted(folder / "disk", int(rng.integers(1, 5)) * 4096) as disk:
            out = disk.place / "run.nc"

            def work(out: Path = out) -> int:
                tempfile.tempdir = str(folder / "spare")
                return command(case.words(out, data))

            result = Child(work, folder / "log.txt").result()
            if result.code != 1 or not result.error:
                raise AssertionError(f"ended with {result.code}: {result.said}")
            assert not list(disk.place.iterdir()), "a part of a file is left"
        kept = list((folder / "spare").rglob("*.nc"))
        outcome = "one error (exit code 1); the draws are lost"
        if kept:
            path = kept[0]
            assert str(path) in result.error

            def read(path: Path = path) -> None:
                wrong = difference(flat(pt.load_fit(path)), case.whole)
                assert not wrong, f"{wrong} is not that of the whole run"

            Child(read, folder / "read.txt").result().expect(0)
            outcome = "one error (exit code 1) that names a file in the temporary folder, which holds all draws, equal"
        yield {"fault": "disk full", "when": "at the end of a run with --out x.nc", "outcome": outcome}


def read_only(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Read, resume and begin runs on a disk that may not be written to."""
    half = case.draws // 2
    for _ in range(number):
        with mounted(folder / "disk") as disk:
            run = disk.place / "run"
            Child(partial(case.sample, run, draws=half), folder / "log.txt").result().expect(0)
            disk.writable(False)
            after = check_readable(case, run, folder / "read.txt")
            works = {
                "begin": partial(case.sample, disk.place / "other"),
                "resume": partial(go_on, run, draws=case.draws),
            }
            for name, work in works.items():
                result = Child(work, folder / f"{name}.txt").result()
                if result.code != 1 or os.strerror(errno.EROFS) not in result.error:
                    raise AssertionError(f"ended with {result.code}: {result.said}")
            disk.writable(True)
            resumed(case, run, folder / "resume.txt", draws=case.draws)
        outcome = "read as ever; begin and resume end with one error (exit code 1); once it is writable, resumed, equal"
        yield {"fault": "read-only disk", "when": "after a run", "after": after, "outcome": outcome}
