"""Disks that are full or read-only: small file systems in memory, which only an administrator can mount."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from processes import WRITTEN, strike_in_a_write
from runs import DRAWS, SWEEPS, Outcome, Trial

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

LARGE, PAGE = 2**26, 4096
"""Bytes of a disk that has space for everything, and of a page."""

BETWEEN = 7
"""Sweeps between checkpoints."""

NOBODY = 65534
"""The number of a user who owns nothing."""


def mount(place: Path, how: str) -> None:
    """Mount a file system in memory, or mount it in another way."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(place)], check=True, capture_output=True)


@contextmanager
def mounted(place: Path, size: int = LARGE) -> Iterator[Path]:
    """Mount an empty file system."""
    place.mkdir(exist_ok=True)
    mount(place, f"size={size}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def can_mount() -> bool:
    """Tell whether a file system can be mounted here."""
    with tempfile.TemporaryDirectory() as place:
        try:
            with mounted(Path(place) / "disk"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def fill(filler: Path) -> None:
    """Take all the space that is left, for a file."""
    left = os.statvfs(filler.parent)
    with filler.open("ab") as file:
        if left.f_bavail:
            os.posix_fallocate(file.fileno(), file.tell(), left.f_bavail * left.f_frsize)


def pages(run: Path) -> int:
    """Return the pages that the files of a run take."""
    return sum(-(-path.stat().st_size // PAGE) for path in run.rglob("*") if path.is_file())


def fill_disk(trial: Trial) -> list[Outcome]:
    """Let a disk be too small, or be filled by another program in the middle of a write; then make space."""
    rng, said = trial.rng, trial.folder / "moment.txt"
    too_small, kind = trial.turn % 4 < 2, list(WRITTEN)[trial.turn % 2]
    size = int(rng.uniform(0.3, 1.0) * pages(trial.half())) * PAGE if too_small else LARGE
    # Two chains write checkpoints, and some files of draws before each.
    number, share = int(rng.integers(2 * SWEEPS // BETWEEN)), rng.uniform(0.0, 1.0)
    with mounted(trial.folder / "disk", size) as disk:
        trial.run, filler = disk / "run", disk / "filler"

        def work(strikes: bool = False) -> None:
            if strikes:
                strike_in_a_write(trial.run, kind, number, share, lambda: fill(filler), said)
            trial.start_or_resume(checkpoint_sweeps=BETWEEN)

        first = trial.call(lambda: work(strikes=not too_small))
        if first.code == 0:
            trial.check_end()
            return []
        kept, complete = trial.check_readable(), trial.complete()
        # While the disk is still full it is refused in the same way, and nothing is lost by it.
        fill(filler)
        for result in (first, trial.call(work)):
            result.expect(1, os.strerror(errno.ENOSPC), trial.run)
        assert trial.check_readable() == kept
        mount(disk, f"remount,size={LARGE}")
        filler.unlink()
        trial.call(work).expect(0)
        trial.check_end()
    if not complete:
        what = "one error (exit code 1); with space again: begun in the same folder, equal"
        return [Outcome("disk full", "before the folder was complete", what)]
    what = "one error (exit code 1); what was kept is readable; with space again: resumed, equal"
    return [Outcome("disk full", "when it was full" if too_small else said.read_text(), what)]


def fill_disk_at_the_end(trial: Trial) -> list[Outcome]:
    """Let a run whose draws are in memory find no space for its file, and by turns none for temporary files."""
    aside, bytes_of_all = trial.turn % 3 > 0, sum(group.nbytes for group in trial.case.whole.values())
    size = int(trial.rng.integers(1, bytes_of_all // PAGE // 4)) * PAGE
    when, what = "at the end of a run with --out x.nc", "one error (exit code 1)"
    with (
        mounted(trial.folder / "disk", size) as disk,
        mounted(trial.folder / "spare", LARGE if aside else PAGE) as spare,
    ):

        def work() -> int:
            tempfile.tempdir = str(spare)
            return command(trial.case.command(disk / "run.nc"))

        result = trial.call(work).expect(1, os.strerror(errno.ENOSPC), disk / "run.nc")
        assert not list(disk.iterdir()), "a part of a file is left"
        kept = [path for path in spare.rglob("*") if path.is_file()]
        if not aside:
            assert not kept, kept
            result.expect(1, "the draws are lost")
            return [Outcome("disk full", f"{when}, and for temporary files", f"{what}: the draws are lost")]
        result.expect(1, f"All draws are in {kept[0]}: ")
        trial.read(kept[0], ended=True).expect(0)
        what += " that names a file in the temporary folder with all draws, equal"
        return [Outcome("disk full", when, what)]


def forbid_writing(trial: Trial) -> list[Outcome]:
    """Read, resume and start runs on a read-only disk, or in a folder of another user."""
    by_mount = trial.turn % 2 == 0
    with mounted(trial.folder / "disk") as disk:
        trial.run = disk / "run"
        trial.call(lambda: trial.case.sample(trial.run, draws=DRAWS // 2)).expect(0)
        disk.chmod(0o755)
        if by_mount:
            mount(disk, "remount,ro")
        kept = trial.check_readable()

        def attempt(work: Callable[[], pt.Fit]) -> None:
            if not by_mount:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()

        reason = os.strerror(errno.EROFS if by_mount else errno.EACCES)
        resume = partial(pt.resume, trial.run, draws=DRAWS, progress=False)
        for code, work in ((1, resume), (2, partial(trial.case.sample, disk / "other"))):
            trial.call(partial(attempt, work)).expect(code, reason)
        assert trial.check_readable() == kept
        mount(disk, "remount,rw")
        trial.resume_to_end()
    what = "readable; one error from resuming (exit code 1) and from a new run (exit code 2); "
    when = "by how its disk is mounted" if by_mount else "by its permissions"
    return [Outcome("read-only folder", when, what + "once writable: resumed, equal")]
