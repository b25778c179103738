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
from typing import Any

from moments import WRITTEN, Moment
from trials import Record, Trial

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

LARGE, PAGE = 2**26, 4096
"""Bytes of a disk that has space for everything, and of a page."""

SWEEPS = 7
"""Sweeps between checkpoints."""

FILLER, NOBODY = "filler", 65534
"""The file that fills a disk, and the number of a user who owns nothing."""


def _mount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(place)], check=True, capture_output=True)


@contextmanager
def mounted(place: Path, size: int = LARGE) -> Iterator[Path]:
    """Mount an empty file system."""
    place.mkdir(exist_ok=True)
    _mount(place, f"size={size}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def can_mount(folder: Path | None) -> bool:
    """Tell whether a file system can be mounted here."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            with mounted(Path(place) / "disk"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def _used(disk: Path) -> int:
    found = os.statvfs(disk)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def fill(path: Path) -> None:
    """Take all the space on the file system of a file."""
    disk = next(parent for parent in path.parents if os.path.ismount(parent))
    found = os.statvfs(disk)
    with (disk / FILLER).open("ab") as file:
        if found.f_bavail:
            os.posix_fallocate(file.fileno(), file.tell(), found.f_bavail * found.f_frsize)


def _measure(trial: Trial) -> tuple[int, int]:
    """Return the bytes of a run when it has begun and at its end."""
    with mounted(trial.folder / "disk") as disk:
        child = trial.start(lambda: trial.case.sample(disk / "run", checkpoint_sweeps=SWEEPS))
        child.ends_before((disk / "run" / "run.json").exists)
        begun = _used(disk)
        child.result().expect(0)
        return begun, _used(disk)


def fill_disk(trial: Trial) -> list[Record]:
    """Let a disk be too small, or be filled by another program in the middle of a write; then make space."""
    if "sizes" not in trial.shared:
        trial.shared["sizes"] = _measure(trial)
    begun, ended = trial.shared["sizes"]
    # Where the disk is large: two chains write checkpoints, and some files of draws before each.
    number, share = int(trial.rng.integers(2 * trial.case.sweeps // SWEEPS)), float(trial.rng.uniform(0.0, 1.0))
    variant, said = trial.turn % 4, trial.folder / "moment.txt"
    moment = Moment(list(WRITTEN)[variant % 2], number, share, fill, said)
    low, high = ((begun // 2, begun), (begun, ended), (LARGE, LARGE + 1), (LARGE, LARGE + 1))[variant]
    with mounted(trial.folder / "disk", int(trial.rng.integers(low, high)) // PAGE * PAGE) as disk:
        trial.run = disk / "run"
        refusal = (1, os.strerror(errno.ENOSPC), trial.run)

        def work() -> None:
            if variant > 1:
                moment.watch()
            trial.case.sample(trial.run, checkpoint_sweeps=SWEEPS)

        result = trial.call(work)
        if result.code == 0:
            trial.check_end()
            return []
        result.expect(*refusal)
        after, exists = trial.check_readable(), (trial.run / "run.json").exists()
        if exists:
            # Resumed while the disk is still full: refused in the same way, and nothing is lost by it.
            fill(trial.run)
            trial.resume().expect(*refusal)
            assert trial.check_readable() == after
        _mount(disk, f"remount,size={LARGE}")
        (disk / FILLER).unlink(missing_ok=True)
        if not exists:
            trial.call(lambda: trial.case.sample(trial.run, checkpoint_sweeps=SWEEPS)).expect(0)
        trial.resume_to_end()
    when, outcome = "before the folder was complete", "with space again: begun in the same folder, equal"
    if exists:
        when = said.read_text() if variant > 1 else "when it was full"
        outcome = "what was kept is readable; with space again: resumed, equal"
    return [{"fault": "disk full", "when": when, "after": after, "outcome": f"one error (exit code 1); {outcome}"}]


def fill_disk_at_the_end(trial: Trial) -> list[Record]:
    """Let a run whose draws are in memory find no space for its file, and by turns none for temporary files."""
    case, aside = trial.case, trial.turn % 3 > 0
    pages = sum(array.nbytes for array in case.whole.values()) // PAGE
    size = int(trial.rng.integers(1, pages // 4)) * PAGE
    with mounted(trial.folder / "disk", size) as disk, mounted(trial.folder / "spare") as spare:
        out = disk / "run.nc"
        if not aside:
            _mount(spare, f"remount,size={PAGE}")

        def work() -> int:
            tempfile.tempdir = str(spare)
            return command(case.words(out, trial.data))

        result = trial.call(work).expect(1, os.strerror(errno.ENOSPC), out)
        assert not list(disk.iterdir()), "a part of a file is left"
        kept = [path for path in spare.rglob("*") if path.is_file()]
        if aside:
            (path,) = kept
            result.expect(1, f"All draws are in {path}: ")
            trial.read(path, begun=False).expect(0)
            outcome = "one error (exit code 1) that names a file in the temporary folder with all draws, equal"
        else:
            assert not kept, kept
            result.expect(1, "the draws are lost")
            outcome = "one error (exit code 1): the draws are lost"
    when = "at the end of a run with --out x.nc" + ("" if aside else ", and for temporary files")
    return [{"fault": "disk full", "when": when, "outcome": outcome}]


def forbid_writing(trial: Trial) -> list[Record]:
    """Read, resume and begin runs on a read-only disk, or in a folder of another user."""
    case, by_mount = trial.case, trial.turn % 2 == 0
    with mounted(trial.folder / "disk") as disk:
        trial.run, other = disk / "run", disk / "other"
        trial.call(lambda: case.sample(trial.run, draws=case.draws // 2)).expect(0)
        disk.chmod(0o755)
        if by_mount:
            _mount(disk, "remount,ro")
        after = trial.check_readable()
        number = errno.EROFS if by_mount else errno.EACCES
        resume = partial(pt.resume, trial.run, draws=case.draws, progress=False)
        for code, work in ((1, resume), (2, partial(case.sample, other))):
            trial.call(partial(_as_user, None if by_mount else NOBODY, work)).expect(code, os.strerror(number))
        assert trial.check_readable() == after
        _mount(disk, "remount,rw")
        trial.resume_to_end(draws=case.draws)
    outcome = "readable; one error from resuming (exit code 1) and from a new run (exit code 2); "
    outcome += "once writable: resumed, equal"
    when = "by how its disk is mounted" if by_mount else "by its permissions"
    return [{"fault": "read-only folder", "when": when, "after": after, "outcome": outcome}]


def _as_user(user: int | None, work: Callable[[], Any]) -> None:
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    work()
