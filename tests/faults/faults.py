"""The faults: what strikes a run, how often it is tried on each model, and what must hold then."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import psutil
from damage import CHECKPOINTS, CHUNKS, CONSTANTS, PARTS, strike_files
from disks import fill_disk, fill_disk_at_the_end, forbid_writing
from processes import SECONDS, WRITTEN, strike_in_a_write
from runs import DRAWS, SWEEPS, Outcome, Trial
from spread import strike_workers

import ppl_topics as pt
from ppl_topics.cli.entry import main as command

MANY_TOPICS = 60_000
EXISTS, IN_USE = "a run exists here", "another process is writing to it"


def kill_at_random(trial: Trial, *, by_command: bool = False) -> list[Outcome]:
    """Kill a run at random moments, resume it and kill it again, until it ends by itself.

    Where that is the command's, it has a new interpreter each time; more of those runs have two processes.
    """
    rng, found = trial.rng, list[Outcome]()
    processes, sweeps = 1 + int(rng.random() < (0.5 if by_command else 0.06)), int(rng.integers(1, 20))

    def work() -> None:
        if by_command:
            start = trial.case.command(trial.run, processes=processes, checkpoint_sweeps=sweeps)
            words = ["resume", str(trial.run), "--no-progress"] if trial.complete() else start
            # With the threading layer of its own choice, unlike a fork.
            layer = {"NUMBA_THREADING_LAYER": "default"}
            os.execve(sys.executable, [sys.executable, "-m", "ppl_topics", *words], os.environ | layer)
        trial.start_or_resume(processes=processes, checkpoint_sweeps=sweeps)

    while True:
        kept = trial.sweeps_kept()
        target, early = kept + int(rng.integers(SWEEPS - kept + 1)), rng.random() < 1 / 8
        child = trial.start(work)
        reached = partial(trial.keeps, target)
        child.ends_before(reached, seconds=rng.uniform(0.0, 1.0) if early else SECONDS)
        if len(found) == trial.most or child.ends_before(seconds=rng.uniform(0.0, 0.05)):
            child.expect(0)
            trial.check_end()
            return found
        child.kill(group=bool(rng.random() < 0.5))
        child.wait()
        trial.check_readable()
        found.append(Outcome(f"SIGKILL{' of the command' * by_command}", trial.phase(), "resumed, equal"))


def kill_in_a_write(trial: Trial) -> list[Outcome]:
    """Kill a run while it writes a checkpoint or draws, resume it and kill it again, until it ends."""
    rng, found, said = trial.rng, list[Outcome](), trial.folder / "moment.txt"
    sweeps = int(rng.integers(1, 20))

    def run_until_killed() -> int:
        # Two chains write a checkpoint each, and some arrays of draws before it.
        files = max(1, 2 * (SWEEPS - trial.sweeps_kept()) // sweeps)
        kind, number, share = list(WRITTEN)[rng.integers(2)], int(rng.integers(files)), rng.uniform(0.0, 2.0)

        def work() -> None:
            if len(found) < trial.most:
                strike_in_a_write(trial.run, kind, number, share, lambda: os.kill(os.getpid(), signal.SIGKILL), said)
            trial.start_or_resume(checkpoint_sweeps=sweeps)

        return trial.call(work).code

    while code := run_until_killed():
        assert code == -signal.SIGKILL, (trial.folder / "log.txt").read_text()
        trial.check_readable()
        found.append(Outcome("SIGKILL", said.read_text(), "resumed, equal"))
    trial.check_end()
    return found


def stop_by_signal(trial: Trial) -> list[Outcome]:
    """Send Ctrl-C or SIGTERM to a run of the command line, of one process or two, and resume it."""
    name, number = (("Ctrl-C", signal.SIGINT), ("SIGTERM", signal.SIGTERM))[trial.turn % 2]
    two, log = trial.turn // 2 % 2 == 1, trial.run / "log.txt"
    child = trial.start(lambda: command(trial.case.command(trial.run, processes=1 + two, checkpoint_minutes=10)))
    # By turns, the signal comes when the two workers sample, or while they start.
    child.ends_before(trial.sampling if two and trial.turn // 4 % 2 else log.exists)
    if not child.ends_before(seconds=trial.rng.uniform(0.0, trial.case.pace * SWEEPS)):
        child.kill(number, group=two)
    code, said = child.wait().code, child.said
    assert "Traceback" not in said, said
    if "finished: all" in log.read_text():
        trial.check_end()
        return []
    assert f"ppl-topics resume {trial.run}" in " ".join(said.split()), said
    kept = trial.check_readable() > 0
    assert ("before the first draw" in said) != kept, said
    assert code == int(not kept), (code, said)
    trial.resume_to_end()
    how = "says how many draws are kept (exit code 0)" if kept else "says that no draw was made (exit code 1)"
    when = "to all of two processes" if two else "to one process"
    return [Outcome(name, when, f"ends by itself, {how}; resumed, equal")]


def kill_a_worker(trial: Trial) -> list[Outcome]:
    """Kill one of two worker processes, as the system does when memory runs out."""
    child = trial.start(lambda: trial.case.sample(trial.run, processes=2, checkpoint_sweeps=20))
    child.ends_before(trial.sampling)
    if not child.ends_before(seconds=trial.rng.uniform(0.0, trial.case.pace * SWEEPS / 2)):
        workers = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        for worker in workers[:1]:
            worker.kill()
    if child.wait().code == 0:
        return []
    child.expect(1, "a worker process died (exit code -9", f"ppl-topics resume {trial.run}")
    trial.check_readable()
    trial.resume_to_end(processes=1)
    what = "one error says so and how to continue (exit code 1); resumed, equal"
    return [Outcome("worker killed", "of two", what)]


def start_two(trial: Trial) -> list[Outcome]:
    """Let two processes start, or resume, the same run at the same time."""
    work: Callable[[], pt.Fit] = partial(trial.case.sample, trial.run, checkpoint_sweeps=40)
    if resumed := trial.turn % 2 == 1:
        shutil.copytree(trial.half(), trial.run)
        work = partial(pt.resume, trial.run, draws=DRAWS, progress=False)
    first = trial.start(work, "one")
    time.sleep(trial.rng.uniform(0.0, 0.05) if trial.turn % 4 < 2 else 0.0)
    whole, other = sorted([trial.call(work, "two"), first.wait()], key=lambda child: child.code or 0)
    whole.expect(0)
    if refused := other.code != 0:
        # A process that comes when the other has ended may resume the whole run, but not start it again.
        other.expect(1, f"{trial.run}: {EXISTS if EXISTS in other.said and not resumed else IN_USE}")
    trial.check_end()
    what = "the second is refused (exit code 1); the first ends, equal" if refused else "one after the other, equal"
    return [Outcome("two processes", "resume one run" if resumed else "begin one run", what)]


def limit_memory(trial: Trial) -> list[Outcome]:
    """Ask for more than fits into what the system allows the process (as ``ulimit -v`` does)."""
    extra = int(trial.rng.integers(20, 60)) * 10**6

    def work() -> None:
        # First a run without a limit, so that what every run needs is loaded.
        trial.case.sample(draws=1, warmup=1)
        limit = psutil.Process().memory_info().vms + extra
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        trial.case.sample(trial.run, topics=MANY_TOPICS)

    said = trial.call(work).expect(1, "ulimit -v").said
    assert "It would fit with: " in said or "No single option makes it fit" in said, said
    assert not trial.run.exists(), "something was written"
    what = "one error before it began that says what would fit, if anything does (exit code 1)"
    return [Outcome("memory too small", "by the limit of the process", what)]


class Fault(NamedTuple):
    """A kind of fault: how often each model meets it, and what makes a run, strikes and checks it.

    ``strike`` returns an outcome for each time that it struck, none if the run ended before.
    """

    name: str
    times: int
    strike: Callable[[Trial], list[Outcome]]
    needs_disk: bool = False


FAULTS = (
    Fault("kills", 12, kill_at_random),
    Fault("writes", 12, kill_in_a_write),
    Fault("commands", 2, partial(kill_at_random, by_command=True)),
    Fault("stops", 4, stop_by_signal),
    Fault("workers", 1, kill_a_worker),
    Fault("cluster", 6, strike_workers),
    Fault("two", 2, start_two),
    Fault("checkpoints", 12, partial(strike_files, CHECKPOINTS)),
    Fault("chunks", 4, partial(strike_files, CHUNKS)),
    Fault("constants", 8, partial(strike_files, CONSTANTS)),
    Fault("lost", 11, partial(strike_files, PARTS)),
    Fault("full", 4, fill_disk, needs_disk=True),
    Fault("file", 1, fill_disk_at_the_end, needs_disk=True),
    Fault("read-only", 2, forbid_writing, needs_disk=True),
    Fault("memory", 1, limit_memory),
)
"""In the order of the table."""
