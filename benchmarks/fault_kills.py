"""Runs that are killed, or told to stop, at random moments."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from fault_runs import Case, Child, Result, difference, flat, go_on, sweeps_done, turns

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

__all__ = ["check_end", "check_readable", "kills", "resumed", "stops", "two_at_once", "workers"]

NOT_YET = ("no draw yet", "there is none yet", "not the folder of a run", "no such file")
"""What a message says where no draw was made yet."""

PREFIX, NOTHING = 0, 3
"""Exit codes of a child that reads: the trace is the beginning of the whole one, there is no draw yet."""


def check_readable(case: Case, folder: Path, log: Path) -> str:
    """Say what can be read of a run that has not ended; fail if that is not the beginning of the whole one."""

    def read() -> int:
        try:
            fit = pt.load_fit(folder)
        except pt.TraceError as error:
            if any(reason in str(error) for reason in NOT_YET):
                return NOTHING
            raise
        wrong = difference(flat(fit), case.whole, begun=True)
        assert not wrong, f"{wrong} is not the beginning of the whole run's"
        return PREFIX

    result = Child(read, log).result()
    if result.code == NOTHING:
        return "no draw yet"
    result.expect(PREFIX)
    return "readable"


def check_end(case: Case, folder: Path, log: Path) -> None:
    """Fail unless a run that has ended has the draws of the whole one."""

    def read() -> None:
        wrong = difference(flat(pt.load_fit(folder)), case.whole)
        assert not wrong, f"{wrong} is not that of the whole run"

    Child(read, log).result().expect(0)
    assert not [path for suffix in ("part", "partial") for path in folder.rglob(f"*.{suffix}")], (
        "parts of files are left"
    )


def resumed(case: Case, folder: Path, log: Path, **options: Any) -> Result:
    """Resume a run to its end, which must be the whole one's."""
    result = Child(partial(go_on, folder, **options), log).result().expect(0)
    check_end(case, folder, log)
    return result


def in_new_interpreter(folder: Path) -> Result:
    """Resume by the command, as a user would: nothing is there already, and threads are others."""
    program = Path(sys.executable).with_name("ppl-topics")
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "default"}
    words = [str(program), "resume", str(folder), "--no-progress", "--threads", str(min(2, os.cpu_count() or 1))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=600)
    return Result(done.returncode, done.stdout + done.stderr)


def phase(case: Case, folder: Path, parts_before: set[Path]) -> str:
    """Say what a run was about when it was killed."""
    if not (folder / "run.json").is_file():
        return "before the folder was complete"
    new = {path for suffix in ("part", "partial") for path in folder.rglob(f"*.{suffix}")} - parts_before
    if any("checkpoints" in path.parts for path in new):
        return "while a checkpoint was written"
    if any("draws.zarr" in path.parts for path in new):
        return "while draws were written"
    done = sweeps_done(folder)
    return "before the first checkpoint" if done == 0 else "in warmup" if done < case.warmup else "among the draws"


def kills(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Kill runs so often in all; each is resumed, and killed again, until it ends."""
    pace, first = Pace(case), True
    while number > 0:
        run, log = folder / "run", folder / "log.txt"
        shutil.rmtree(run, ignore_errors=True)
        processes = 2 if rng.random() < 0.06 else 1
        sweeps = int(rng.integers(1, 20))
        minutes = 0.002 if rng.random() < 0.2 else None
        records: list[dict[str, Any]] = []
        while True:
            child, started, parts, resumes = _begin_or_resume(case, run, log, processes, sweeps, minutes)
            if number == len(records) or not _killed(case, run, child, started, resumes, pace, rng):
                break
            group = bool(rng.random() < 0.5)
            child.kill(signal.SIGKILL, group=group)
            child.result()
            record = {"fault": "SIGKILL", "when": phase(case, run, parts), "group": group, "processes": processes}
            after = check_readable(case, run, folder / "read.txt") if run.exists() else "no draw yet"
            records.append({**record, "after": after, "sweeps": sweeps_done(run)})
        child.result().expect(0)
        check_end(case, run, folder / "read.txt")
        if first:
            # Once for each model, the last part is resumed by a new interpreter, after one more kill.
            first = False
            _shorten(run, case)
            in_new_interpreter(run).expect(0)
            check_end(case, run, folder / "read.txt")
        number -= len(records)
        yield from ({**record, "outcome": "resumed, equal"} for record in records)


class Pace:
    """Seconds until a run begins, and for each sweep, as far as they are known."""

    def __init__(self, case: Case) -> None:
        self.begin, self.sweep = 1.0, case.pace


def _begin_or_resume(
    case: Case, run: Path, log: Path, processes: int, sweeps: int, minutes: float | None
) -> tuple[Child, float, set[Path], int]:
    def work() -> None:
        if (run / "run.json").is_file():
            pt.resume(run, progress=False)
        else:
            case.sample(run, processes=processes, checkpoint_sweeps=sweeps, checkpoint_minutes=minutes)

    parts = {path for suffix in ("part", "partial") for path in run.rglob(f"*.{suffix}")}
    return Child(work, log), time.monotonic(), parts, _begun(run)


def _begun(run: Path) -> int:
    """Return how often a run was begun or resumed."""
    try:
        return sum(" begun: " in line or line.endswith(" resumed") for line in (run / "log.txt").open())
    except OSError:
        return 0


def _killed(
    case: Case, run: Path, child: Child, started: float, resumes: int, pace: Pace, rng: np.random.Generator
) -> bool:
    """Wait for a random moment; False if the run ended before it."""
    if rng.random() < 0.12:
        return not _ends_within(child, rng.uniform(0.0, pace.begin))
    while _begun(run) == resumes:
        if child.ended():
            return False
        time.sleep(0.002)
    now = time.monotonic()
    pace.begin = now - started
    done = sweeps_done(run)
    left = pace.sweep * (case.sweeps - done)
    if not _ends_within(child, rng.uniform(0.0, 1.2 * left)):
        gone = sweeps_done(run) - done
        if gone > 0:
            # Files are written too; checkpoints tell only about how many sweeps were made.
            pace.sweep = (pace.sweep + (time.monotonic() - now) / gone) / 2
        return True
    return False


def _ends_within(child: Child, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if child.ended():
            return True
        time.sleep(min(0.002, max(0.0, until - time.monotonic())))
    return child.ended()


def _shorten(run: Path, case: Case) -> None:
    """Take the newest checkpoints away, so that something is left to resume."""
    for chain in run.glob("checkpoints/*"):
        checkpoints = sorted(chain.glob("*.ckpt"))
        for path in checkpoints[1:]:
            path.unlink()


def stops(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Send Ctrl-C or SIGTERM to runs of the command line, and resume them."""
    data = folder / "corpus"
    case.corpus.save(data)
    pace = Pace(case)
    for turn in turns(case.model, number):
        run, log = folder / "run", folder / "log.txt"
        shutil.rmtree(run, ignore_errors=True)
        processes = 2 if turn % 3 == 2 else 1
        interrupt = turn % 2 == 0
        words = [*case.words(run, data), "--processes", str(processes), "--checkpoint-minutes", "10"]
        child = Child(partial(command, words), log)
        while _begun(run) == 0 and not child.ended():
            time.sleep(0.002)
        while processes == 2 and turn % 4 < 2 and not child.ended() and not _sampling(run):
            # By turns, the signal comes when the workers sample, or while they start.
            time.sleep(0.01)
        early = not _ends_within(child, rng.uniform(0.0, pace.sweep * case.sweeps))
        sent = time.monotonic()
        if early:
            child.kill(signal.SIGINT if interrupt else signal.SIGTERM, group=processes == 2)
        while early and not child.ended() and not _over(run):
            time.sleep(0.002)
        seconds = time.monotonic() - sent
        result = child.result()
        record = {
            "fault": "Ctrl-C" if interrupt else "SIGTERM",
            "when": "to all of two processes" if processes == 2 else "to one process",
            "seconds": seconds,
        }
        if not early or "ended: all" in (run / "log.txt").read_text():
            continue
        if "stopped" not in result.said or result.code not in (0, 1) or "Traceback" in result.said:
            raise AssertionError(f"ended with {result.code}: {result.said}")
        before = "before the first draw" in result.said
        record["after"] = check_readable(case, run, folder / "read.txt")
        resumed(case, run, folder / "resume.txt")
        said = "says that no draw was made (exit code 1)" if before else "says how many draws are kept (exit code 0)"
        yield {**record, "outcome": f"ends by itself, {said}; resumed, equal"}


def _over(run: Path) -> bool:
    text = (run / "log.txt").read_text()
    return "stopped after" in text or "ended:" in text or "failed" in text or "interrupted" in text


def _sampling(run: Path) -> bool:
    """Tell whether the chains have begun: their folders are there."""
    return len(list(run.glob("checkpoints/*/owner.json"))) == 2


def workers(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Kill one of two worker processes, as the system does that is out of memory."""
    pace = Pace(case)
    for _ in range(number):
        run, log = folder / "run", folder / "log.txt"
        shutil.rmtree(run, ignore_errors=True)

        def work(run: Path = run) -> None:
            case.sample(run, processes=2, checkpoint_sweeps=20)

        child = Child(work, log)
        while not child.ended() and not _sampling(run):
            time.sleep(0.01)
        if _ends_within(child, rng.uniform(0.0, pace.sweep * case.sweeps / 2)):
            child.result().expect(0)
            continue
        found = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        if found:
            found[int(rng.integers(len(found)))].kill()
        result = child.result()
        if result.code == 0:
            continue
        if "a worker process died (exit code -9" not in result.error or "ppl-topics resume" not in result.error:
            raise AssertionError(f"ended with {result.code}: {result.said}")
        after = check_readable(case, run, folder / "read.txt")
        resumed(case, run, folder / "resume.txt", processes=1)
        outcome = "one error names it and how to go on (exit code 1); resumed, equal"
        yield {"fault": "worker killed", "when": "of two", "after": after, "outcome": outcome}


def two_at_once(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Let two processes begin, or resume, the same run at the same time."""
    for turn in turns(case.model, number):
        run = folder / "run"
        new = turn % 2 == 0 or not run.exists()
        if new:
            shutil.rmtree(run, ignore_errors=True)
        else:
            _shorten(run, case)

        def work(new: bool = new, run: Path = run) -> None:
            if new:
                case.sample(run, checkpoint_sweeps=40)
            else:
                pt.resume(run, progress=False)

        children = [Child(work, folder / "one.txt")]
        time.sleep(rng.uniform(0.0, 0.05) if turn % 4 < 2 else 0.0)
        children.append(Child(work, folder / "two.txt"))
        results = sorted((child.result() for child in children), key=lambda result: result.code)
        results[0].expect(0)
        # One that comes when the other has ended finds a whole run: to begin another is refused, to resume it is not.
        refused = "another process is writing to it" if results[1].code else ""
        if refused not in results[1].error:
            raise AssertionError(f"ended with {results[1].code}: {results[1].said}")
        check_end(case, run, folder / "read.txt")
        outcome = "the second refused; the first ends, equal" if results[1].code else "one after the other, equal"
        yield {"fault": "two processes", "when": "begin one run" if new else "resume one run", "outcome": outcome}


Fault = Callable[[Case, int, Path, np.random.Generator], Iterator[dict[str, Any]]]
