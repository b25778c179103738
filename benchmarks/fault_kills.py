"""Runs that are killed at random moments, and killed again when they are resumed, until they end by themselves."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fault_checks import check_end, check_readable, parts, sweeps_done
from fault_moments import Moment, kill
from fault_runs import Case, Child, Program, Result

import ppl_topics as pt

__all__ = ["Pace", "begun", "commands", "ends_within", "kills", "shorten", "writes"]


MOST = 1.2
"""Of the time that a run still takes, about, when it may be killed: then some end before."""


class Asked(NamedTuple):
    """What a run is asked for that its draws do not depend on."""

    processes: int
    sweeps: int
    minutes: float | None

    @property
    def flags(self) -> list[str]:
        """As words of the command line."""
        minutes = [] if self.minutes is None else ["--checkpoint-minutes", str(self.minutes)]
        return ["--processes", str(self.processes), "--checkpoint-sweeps", str(self.sweeps), *minutes]


Start = Callable[[Case, Path, Path, Asked], Child | Program]
"""Begin a run, or resume it where it was begun; the folder, what takes the output, what is asked for."""


def kills(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Kill runs so often in all; each is resumed, and killed again, until it ends."""
    yield from _kills(case, number, folder, rng, _forked, "SIGKILL", spread=0.06)
    if number > 0:
        # Once for each model, the last part is resumed by a new interpreter.
        run = folder / "run"
        shorten(run)
        _in_new_interpreter(run, folder / "log.txt").expect(0)
        check_end(case, run, folder / "read.txt")


def commands(
    case: Case, number: int, folder: Path, rng: np.random.Generator, *, most: float = MOST
) -> Iterator[dict[str, Any]]:
    """Kill runs of the command line, in a new interpreter each time, half of them of two processes."""
    case.corpus.save(folder / "corpus")
    yield from _kills(case, number, folder, rng, _commanded, "SIGKILL of the command", spread=0.5, most=most)


def _kills(
    case: Case,
    number: int,
    folder: Path,
    rng: np.random.Generator,
    start: Start,
    fault: str,
    *,
    spread: float,
    most: float = MOST,
) -> Iterator[dict[str, Any]]:
    """Kill runs that are begun in some way, a share of them of two processes."""
    pace = Pace(case)
    while number > 0:
        run, log = folder / "run", folder / "log.txt"
        shutil.rmtree(run, ignore_errors=True)
        processes = 2 if rng.random() < spread else 1
        asked = Asked(processes, int(rng.integers(1, 20)), 0.002 if rng.random() < 0.2 else None)
        records: list[dict[str, Any]] = []
        while True:
            before, started, begins = parts(run), time.monotonic(), begun(run)
            child = start(case, run, log, asked)
            if number == len(records) or not _killed(case, run, child, started, begins, pace, most, rng):
                break
            group = bool(rng.random() < 0.5)
            child.kill(signal.SIGKILL, group=group)
            child.result()
            when = phase(case, run, before)
            after = check_readable(case, run, folder / "read.txt") if run.exists() else "no draw yet"
            record = {"fault": fault, "when": when, "group": group, "processes": processes}
            records.append({**record, "after": after, "sweeps": sweeps_done(run), "before": len(records)})
        child.result().expect(0)
        check_end(case, run, folder / "read.txt")
        number -= len(records)
        yield from ({**record, "outcome": "resumed, equal"} for record in records)


def _forked(case: Case, run: Path, log: Path, asked: Asked) -> Child:
    def work() -> None:
        if (run / "run.json").is_file():
            pt.resume(run, progress=False)
        else:
            how = {"processes": asked.processes, "checkpoint_sweeps": asked.sweeps}
            case.sample(run, checkpoint_minutes=asked.minutes, **how)

    return Child(work, log)


def _commanded(case: Case, run: Path, log: Path, asked: Asked) -> Program:
    if (run / "run.json").is_file():
        return Program([sys.executable, "-m", "ppl_topics", "resume", str(run), "--no-progress"], log)
    words = case.words(run, log.parent / "corpus")
    return Program([sys.executable, "-m", "ppl_topics", *words, *asked.flags], log)


def _in_new_interpreter(run: Path, log: Path) -> Result:
    """Resume by the installed command, as a user would: nothing is there already, and threads are others."""
    program = Path(sys.executable).with_name("ppl-topics")
    words = [str(program), "resume", str(run), "--no-progress", "--threads", str(min(2, os.cpu_count() or 1))]
    return Program(words, log).result()


def writes(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Kill runs so often while they write a checkpoint or draws; each is resumed, and killed again."""
    said = folder / "moment.txt"
    while number > 0:
        run, log = folder / "run", folder / "log.txt"
        shutil.rmtree(run, ignore_errors=True)
        asked = Asked(1, int(rng.integers(1, 20)), None)
        records: list[dict[str, Any]] = []
        while True:
            moment = None
            if number > len(records):
                left = (case.sweeps - sweeps_done(run)) // asked.sweeps
                # Of two chains; each writes some arrays of draws for each checkpoint.
                moment = Moment.any(rng, 2 * left, partial(kill), said)
            result = _with_moment(case, run, log, asked, moment).result()
            if result.code == 0:
                break
            result.expect(-signal.SIGKILL)
            where = said.read_text()
            if "put in its place" not in where:
                assert parts(run), f"killed {where}, and nothing is left of it"
            after = check_readable(case, run, folder / "read.txt")
            record = {"fault": "SIGKILL", "when": where, "group": False, "processes": 1}
            records.append({**record, "after": after, "sweeps": sweeps_done(run)})
        check_end(case, run, folder / "read.txt")
        number -= len(records)
        yield from ({**record, "outcome": "resumed, equal"} for record in records)


def _with_moment(case: Case, run: Path, log: Path, asked: Asked, moment: Moment | None) -> Child:
    def work() -> None:
        if moment is not None:
            moment.watch()
        if (run / "run.json").is_file():
            pt.resume(run, progress=False)
        else:
            case.sample(run, checkpoint_sweeps=asked.sweeps)

    return Child(work, log)


def phase(case: Case, folder: Path, parts_before: set[Path]) -> str:
    """Say what a run was about when it was killed."""
    if not (folder / "run.json").is_file():
        return "before the folder was complete"
    new = parts(folder) - parts_before
    if any("checkpoints" in path.parts for path in new):
        return "while a checkpoint was written"
    if any("draws.zarr" in path.parts for path in new):
        return "while draws were written"
    done = sweeps_done(folder)
    return "before the first checkpoint" if done == 0 else "in warmup" if done < case.warmup else "among the draws"


class Pace:
    """Seconds until a run begins, and for each sweep, as far as they are known."""

    def __init__(self, case: Case) -> None:
        self.begin, self.sweep = 1.0, case.pace


def begun(run: Path) -> int:
    """Return how often a run was begun or resumed."""
    try:
        return sum(" begun: " in line or line.endswith(" resumed\n") for line in (run / "log.txt").open())
    except OSError:
        return 0


def _killed(
    case: Case,
    run: Path,
    child: Child | Program,
    started: float,
    begins: int,
    pace: Pace,
    most: float,
    rng: np.random.Generator,
) -> bool:
    """Wait for a random moment; False if the run ended before it."""
    if rng.random() < 0.12:
        return not ends_within(child, rng.uniform(0.0, pace.begin))
    while begun(run) == begins:
        if child.ended():
            return False
        time.sleep(0.002)
    now = time.monotonic()
    pace.begin = now - started
    done = sweeps_done(run)
    left = pace.sweep * (case.sweeps - done)
    if not ends_within(child, rng.uniform(0.0, most * left)):
        gone = sweeps_done(run) - done
        if gone > 0:
            # Files are written too; checkpoints tell only about how many sweeps were made.
            pace.sweep = (pace.sweep + (time.monotonic() - now) / gone) / 2
        return True
    return False


def ends_within(child: Child | Program, seconds: float) -> bool:
    """Wait for so long, or until it has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if child.ended():
            return True
        time.sleep(min(0.002, max(0.0, until - time.monotonic())))
    return child.ended()


def shorten(run: Path) -> None:
    """Take the newest checkpoints away, so that something is left to resume."""
    for chain in run.glob("checkpoints/*"):
        for path in sorted(chain.glob("*.ckpt"))[1:]:
            path.unlink()
