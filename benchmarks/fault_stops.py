"""Runs that are told to stop, lose a worker, meet another process, or would not fit into memory."""

from __future__ import annotations

import resource
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from fault_checks import check_end, check_readable, resumed
from fault_kills import Pace, begun, ends_within, shorten
from fault_runs import Case, Child, turns

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

__all__ = ["memory", "stops", "two_at_once", "workers"]

TRIES = 12
"""Runs for each trial, at most: a signal may come when all is done."""

MANY_TOPICS = 60_000


def stops(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Send Ctrl-C or SIGTERM to runs of the command line, and resume them."""
    data = folder / "corpus"
    case.corpus.save(data)
    pace = Pace(case)
    for turn in turns(case.model, number):
        for _ in range(TRIES):
            found = _stopped(case, turn, folder, data, pace, rng)
            if found:
                yield found
                break
        else:
            raise AssertionError(f"none of {TRIES} runs was stopped before its end")


def _stopped(
    case: Case, turn: int, folder: Path, data: Path, pace: Pace, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Try once; None if the run had ended before."""
    run, log = folder / "run", folder / "log.txt"
    shutil.rmtree(run, ignore_errors=True)
    # Of four, one goes to two processes, by turns a Ctrl-C and a SIGTERM.
    processes = 2 if turn % 4 == 2 + turn // 4 % 2 else 1
    interrupt = turn % 2 == 0
    words = [*case.words(run, data), "--processes", str(processes), "--checkpoint-minutes", "10"]
    child = Child(partial(command, words), log)
    while begun(run) == 0 and not child.ended():
        time.sleep(0.002)
    while processes == 2 and turn // 8 % 2 == 0 and not child.ended() and not _sampling(run):
        # By turns, the signal comes when the workers sample, or while they start.
        time.sleep(0.01)
    early = not ends_within(child, rng.uniform(0.0, pace.sweep * case.sweeps))
    sent = time.monotonic()
    if early:
        child.kill(signal.SIGINT if interrupt else signal.SIGTERM, group=processes == 2)
    while early and not child.ended() and not _over(run):
        time.sleep(0.002)
    seconds = time.monotonic() - sent
    result = child.result()
    if not early or "ended: all" in (run / "log.txt").read_text():
        # All was kept; what the signal may have ended is what the command prints of it.
        printing = early and result.code in (1, -signal.SIGTERM) and "Traceback" not in result.said
        assert result.code == 0 or printing, (result.code, result.said)
        check_end(case, run, folder / "read.txt")
        return None
    if "stopped" not in result.said or result.code not in (0, 1) or "Traceback" in result.said:
        raise AssertionError(f"ended with {result.code}: {result.said}")
    assert f"ppl-topics resume {run}" in " ".join(result.said.split()), result.said
    none_yet = "before the first draw" in result.said
    assert result.code == (1 if none_yet else 0), result.said
    after = check_readable(case, run, folder / "read.txt")
    assert after == ("no draw yet" if none_yet else "readable"), (after, result.said)
    resumed(case, run, folder / "resume.txt")
    said = "says that no draw was made (exit code 1)" if none_yet else "says how many draws are kept (exit code 0)"
    return {
        "fault": "Ctrl-C" if interrupt else "SIGTERM",
        "when": "to all of two processes" if processes == 2 else "to one process",
        "seconds": seconds,
        "after": after,
        "outcome": f"ends by itself, {said}; resumed, equal",
    }


def _over(run: Path) -> bool:
    text = (run / "log.txt").read_text()
    return "stopped after" in text or "ended:" in text or "failed" in text or "interrupted" in text


def _sampling(run: Path) -> bool:
    """Tell whether the chains have begun: their folders are there."""
    return len(list(run.glob("checkpoints/*/owner.json"))) >= 2


def workers(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Kill one of two worker processes, as the system does that is out of memory."""
    pace = Pace(case)
    for _ in range(number):
        for _ in range(TRIES):
            found = _worker_killed(case, folder, pace, rng)
            if found:
                yield found
                break
        else:
            raise AssertionError(f"no worker was killed in {TRIES} runs")


def _worker_killed(case: Case, folder: Path, pace: Pace, rng: np.random.Generator) -> dict[str, Any] | None:
    run, log = folder / "run", folder / "log.txt"
    shutil.rmtree(run, ignore_errors=True)
    child = Child(partial(case.sample, run, processes=2, checkpoint_sweeps=20), log)
    while not child.ended() and not _sampling(run):
        time.sleep(0.01)
    if not ends_within(child, rng.uniform(0.0, pace.sweep * case.sweeps / 2)):
        found = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        if found:
            found[int(rng.integers(len(found)))].kill()
    result = child.result()
    if result.code == 0:
        check_end(case, run, folder / "read.txt")
        return None
    if "a worker process died (exit code -9" not in result.error or f"ppl-topics resume {run}" not in result.error:
        raise AssertionError(f"ended with {result.code}: {result.said}")
    result.expect(1)
    after = check_readable(case, run, folder / "read.txt")
    resumed(case, run, folder / "resume.txt", processes=1)
    outcome = "one error names it and how to go on (exit code 1); resumed, equal"
    return {"fault": "worker killed", "when": "of two", "after": after, "outcome": outcome}


def two_at_once(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Let two processes begin, or resume, the same run at the same time."""
    for turn in turns(case.model, number):
        run = folder / "run"
        new = turn % 2 == 0 or not run.exists()
        if new:
            shutil.rmtree(run, ignore_errors=True)
        else:
            shorten(run)

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
        reasons = ("another process is writing to it", *(["a run stands there already"] if new else []))
        refused = results[1].code == 1 and any(f"{run}: {reason}" in results[1].error for reason in reasons)
        if results[1].code and not refused:
            raise AssertionError(f"ended with {results[1].code}: {results[1].said}")
        check_end(case, run, folder / "read.txt")
        outcome = "the second refused (exit code 1); the first ends, equal" if refused else "one after the other, equal"
        yield {"fault": "two processes", "when": "begin one run" if new else "resume one run", "outcome": outcome}


def memory(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Ask for more than fits into what the system allows the process (as ``ulimit -v`` does)."""
    for _ in range(number):
        run, room = folder / "run", int(rng.integers(20, 60)) * 10**6

        def work(run: Path = run, room: int = room) -> None:
            # Once with room, so that all that a run needs anyway is there.
            pt.sample(case.model, case.corpus, **{**case.options(), "draws": 1, "warmup": 1})
            limit = psutil.Process().memory_info().vms + room
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            case.sample(run, topics=MANY_TOPICS)

        result = Child(work, folder / "log.txt").result()
        fitting = ("It would fit with: ", "No option that was tried makes it fit")
        if result.code != 1 or not any(said in result.error for said in fitting) or "ulimit -v" not in result.error:
            raise AssertionError(f"ended with {result.code}: {result.said}")
        assert not run.exists(), "something was written"
        Child(partial(case.sample, run), folder / "log.txt").result().expect(0)
        check_end(case, run, folder / "read.txt")
        shutil.rmtree(run)
        outcome = "one error before it began that says what would fit, if anything does (exit code 1)"
        yield {"fault": "memory too small", "when": "by the limit of the process", "outcome": outcome}
