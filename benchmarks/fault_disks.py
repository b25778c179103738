"""Runs where a disk is full, or may not be written to: a small file system in memory that can grow."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fault_checks import check_end, check_readable, difference, flat, resumed
from fault_moments import KINDS, Moment
from fault_runs import Case, Child, Result, go_on, turns

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

__all__ = ["can_mount", "full", "full_at_the_end", "read_only"]

ROOM = 2**26
"""Bytes of a disk that has room for all."""

SWEEPS = 7
"""Between checkpoints."""

TRIES = 12
"""Runs for each trial, at most: one may just have had room."""

PAGE = 4096
FILLER = "filler"
NOBODY = 65534
"""Number of a user who owns nothing."""


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


def size_of_run(case: Case, folder: Path) -> tuple[int, int]:
    """Return the bytes that a run takes when it has begun, and at its end."""
    with mounted(folder / "disk") as disk:
        run = disk.place / "run"
        child = Child(partial(case.sample, run, checkpoint_sweeps=SWEEPS), folder / "log.txt")
        while not (run / "run.json").exists() and not child.ended():
            time.sleep(0.001)
        begun = disk.used
        child.result().expect(0)
        return begun, disk.used


def full(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Let a disk be full from the start, at random, or in the midst of a write, by what others put there; make room."""
    begun, ended = size_of_run(case, folder)
    for turn in turns(case.model, number):
        for _ in range(TRIES):
            found = _filled(case, turn, (begun, ended), folder, rng)
            if found:
                yield found
                break
        else:
            raise AssertionError(f"there was room enough for {TRIES} runs")


def _filled(
    case: Case, turn: int, sizes: tuple[int, int], folder: Path, rng: np.random.Generator
) -> dict[str, Any] | None:
    begun, ended = sizes
    size, moment = ROOM, None
    if turn % 4 == 0:
        size = int(rng.integers(begun // 2, begun)) // PAGE * PAGE
    elif turn % 4 == 1:
        size = int(rng.integers(begun, ended)) // PAGE * PAGE
    else:
        kind = list(KINDS)[turn % 4 - 2]
        # Of two chains; of draws there are some files for each checkpoint.
        files = int(rng.integers(2 * case.sweeps // SWEEPS))
        moment = Moment(kind, files, float(rng.uniform(0.0, 1.0)), fill, folder / "moment.txt")
    with mounted(folder / "disk", size) as disk:
        return _full(case, disk, moment, folder)


def fill(path: Path) -> None:
    """Take all the room there is on the file system of a file."""
    disk = next(parent for parent in path.parents if os.path.ismount(parent))
    found = os.statvfs(disk)
    with (disk / FILLER).open("ab") as file:
        if found.f_bavail:
            os.posix_fallocate(file.fileno(), file.tell(), found.f_bavail * found.f_frsize)


def _full(case: Case, disk: Disk, moment: Moment | None, folder: Path) -> dict[str, Any] | None:
    """Try once; None if there was room for all."""
    run = disk.place / "run"

    def work() -> None:
        if moment is not None:
            moment.watch()
        case.sample(run, checkpoint_sweeps=SWEEPS)

    result = Child(work, folder / "log.txt").result()
    if result.code == 0:
        check_end(case, run, folder / "read.txt")
        return None
    _check_refused(result, errno.ENOSPC, run)
    after = check_readable(case, run, folder / "read.txt")
    begun = (run / "run.json").exists()
    if begun:
        # Resumed while there is still no room: refused in the same way, and nothing is lost by it.
        fill(run)
        _check_refused(Child(partial(go_on, run), folder / "again.txt").result(), errno.ENOSPC, run)
        assert check_readable(case, run, folder / "read.txt") == after
    disk.resize(ROOM)
    (disk.place / FILLER).unlink(missing_ok=True)
    if not begun:
        Child(partial(case.sample, run, checkpoint_sweeps=SWEEPS), folder / "log.txt").result().expect(0)
    resumed(case, run, folder / "resume.txt")
    if not begun:
        when, outcome = "before the folder was complete", "one error (exit code 1); once there is room, begun in the "
        outcome += "same folder, equal"
    else:
        when = "when it was full" if moment is None else moment.said.read_text()
        outcome = "one error (exit code 1); what was kept is readable; once there is room, resumed, equal"
    return {"fault": "disk full", "when": when, "after": after, "outcome": outcome}


def _check_refused(result: Result, number: int, run: Path) -> None:
    """Fail unless a process ended with one error that says what is wrong with which run."""
    if result.code != 1 or os.strerror(number) not in result.error or str(run) not in result.error:
        raise AssertionError(f"ended with {result.code}: {result.said}")


def full_at_the_end(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Let a run whose draws are in memory find no room for its file."""
    data = folder / "corpus"
    case.corpus.save(data)
    pages = sum(array.nbytes for array in case.whole.values()) // PAGE
    for turn in turns(case.model, number):
        with (
            mounted(folder / "disk", int(rng.integers(1, pages // 4)) * PAGE) as disk,
            mounted(folder / "spare") as spare,
        ):
            out, aside = disk.place / "run.nc", turn % 3 > 0
            if not aside:
                spare.resize(PAGE)

            def work(out: Path = out, spare: Path = spare.place) -> int:
                tempfile.tempdir = str(spare)
                return command(case.words(out, data))

            result = Child(work, folder / "log.txt").result()
            _check_refused(result, errno.ENOSPC, out)
            assert not list(disk.place.iterdir()), "a part of a file is left"
            kept = list(spare.place.rglob("*"))
            if not aside:
                assert not kept, kept
                assert "the draws are lost" in result.error, result.error
                when = "at the end of a run with --out x.nc, and for temporary files"
                outcome = "one error (exit code 1): the draws are lost"
            else:
                (path,) = (path for path in kept if path.is_file())
                assert f"move {path} " in result.error, result.error
                Child(partial(_check_file, case, path), folder / "read.txt").result().expect(0)
                when = "at the end of a run with --out x.nc"
                outcome = "one error (exit code 1) that names a file in the temporary folder with all draws, equal"
        yield {"fault": "disk full", "when": when, "outcome": outcome}


def _check_file(case: Case, path: Path) -> None:
    wrong = difference(flat(pt.load_fit(path)), case.whole)
    assert not wrong, f"{wrong} is not that of the whole run"


def read_only(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Read, resume and begin runs on a disk that may not be written to, or in a folder of another user."""
    half = case.draws // 2
    for turn in turns(case.model, number):
        with mounted(folder / "disk") as disk:
            run, other = disk.place / "run", disk.place / "other"
            Child(partial(case.sample, run, draws=half), folder / "log.txt").result().expect(0)
            disk.place.chmod(0o755)
            works: dict[str, Callable[[], None]] = {
                "resume": partial(go_on, run, draws=case.draws),
                "begin": partial(case.sample, other),
            }
            if turn % 2 == 0:
                disk.writable(False)
                why, become = errno.EROFS, None
            else:
                why, become = errno.EACCES, NOBODY
            after = check_readable(case, run, folder / "read.txt")
            for name, work in works.items():
                result = Child(partial(_as_user, work, become), folder / f"{name}.txt").result()
                _check_refused(result, why, run if name == "resume" else other)
            assert after == check_readable(case, run, folder / "read.txt")
            disk.writable(True)
            resumed(case, run, folder / "resume.txt", draws=case.draws)
        outcome = "read as ever; begin and resume end with one error (exit code 1); once it is writable, resumed, equal"
        when = "by how its disk is mounted" if become is None else "by its permissions"
        yield {"fault": "read-only folder", "when": when, "after": after, "outcome": outcome}


def _as_user(work: Callable[[], None], user: int | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    work()
