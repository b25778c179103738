"""The faults: what strikes a run, how often it is tried in all, and what must hold then."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from damage import DAMAGES, strike_files
from disks import fill_disk, fill_disk_at_the_end, forbid_writing
from moments import WRITTEN, Moment
from processes import Child, program
from trials import NO_DRAW, READABLE, Fault, Record, Trial

from ppl_topics.cli.entry import main as command

MANY_TOPICS = 60_000
ALREADY, IN_USE = "a run exists here", "another process is writing to it"


def kill_at_random(trial: Trial) -> list[Record]:
    """Kill a run at random moments, and once for each model resume the last part by the installed command."""
    records = _kill_until_it_ends(trial, "SIGKILL", 0.06, trial.begin_or_resume)
    if records and not trial.shared.get("by the command"):
        trial.shared["by the command"] = True
        _shorten(trial)
        installed = str(Path(sys.executable).with_name("ppl-topics"))
        words = [installed, "resume", str(trial.run), "--no-progress", "--threads", str(min(2, os.cpu_count() or 1))]
        trial.call(lambda: program(words)).expect(0)
        trial.check_end()
    return records


def kill_the_command(trial: Trial) -> list[Record]:
    """Kill runs of the command line, in a new interpreter each time, half of them of two processes."""

    def begin_or_resume(**options: float) -> None:
        resume = ["resume", str(trial.run), "--no-progress"]
        words = resume if trial.begun() else trial.case.words(trial.run, trial.data, **options)
        program([sys.executable, "-m", "ppl_topics", *words])

    return _kill_until_it_ends(trial, "SIGKILL of the command", 0.5, begin_or_resume)


def _kill_until_it_ends(trial: Trial, fault: str, two: float, work: Callable[..., Any]) -> list[Record]:
    """Kill a run, resume it and kill it again; a share of the runs has two processes."""
    rng, records = trial.rng, list[Record]()
    processes = 1 + int(rng.random() < two)
    options: dict[str, float] = {"processes": processes, "checkpoint_sweeps": int(rng.integers(1, 20))}
    if rng.random() < 0.2:
        options["checkpoint_minutes"] = 0.002
    while len(records) < trial.most:
        parts, group = trial.parts(), bool(rng.random() < 0.5)
        child = trial.start(lambda: work(**options))
        if _ends_before_a_random_moment(trial, child):
            child.result().expect(0)
            break
        child.kill(group=group)
        child.result()
        record = {"fault": fault, "when": _phase(trial, parts), "group": group, "processes": processes}
        after = trial.check_readable() if trial.run.exists() else NO_DRAW
        records.append({**record, "after": after})
    trial.call(lambda: work(**options)).expect(0)
    trial.check_end()
    return [{**record, "outcome": "resumed, equal"} for record in records]


def _ends_before_a_random_moment(trial: Trial, child: Child) -> bool:
    """Wait for a random moment, sometimes before sampling begins; True if the run ended before it."""
    shared, begun, started = trial.shared, trial.begun(), time.monotonic()
    if trial.rng.random() < 0.12:
        return child.ends_before(seconds=trial.rng.uniform(0.0, shared.get("begin", 1.0)))
    child.ends_before(lambda: trial.begun() > begun)
    now, done, pace = time.monotonic(), trial.sweeps_done(), shared.get("pace", trial.case.pace)
    shared["begin"] = now - started
    # A little longer than what is left takes, so that some runs end before.
    ended = child.ends_before(seconds=trial.rng.uniform(0.0, 1.2 * pace * (trial.case.sweeps - done)))
    if gone := trial.sweeps_done() - done:
        shared["pace"] = (pace + (time.monotonic() - now) / gone) / 2
    return ended


def _phase(trial: Trial, parts_before: set[Path]) -> str:
    """Say what the run was doing when it was killed."""
    if not (trial.run / "run.json").is_file():
        return "before the folder was complete"
    written = {part for path in trial.parts() - parts_before for part in path.parts}
    for what, folder in WRITTEN.items():
        if folder in written:
            return f"while {what} was written"
    done = trial.sweeps_done()
    if done == 0:
        return "before the first checkpoint"
    return "in warmup" if done < trial.case.warmup else "among the draws"


def kill_in_a_write(trial: Trial) -> list[Record]:
    """Kill a run while it writes a checkpoint or draws, resume it and kill it again, until it ends."""
    rng, records, said = trial.rng, list[Record](), trial.folder / "moment.txt"
    sweeps = int(rng.integers(1, 20))

    def work(moment: Moment) -> None:
        if len(records) < trial.most:
            moment.watch()
        trial.begin_or_resume(checkpoint_sweeps=sweeps)

    def strike() -> int:
        # Two chains write a checkpoint each, and some arrays of draws before it.
        files = max(1, 2 * (trial.case.sweeps - trial.sweeps_done()) // sweeps)
        kind, share = list(WRITTEN)[int(rng.integers(2))], float(rng.uniform(0.0, 2.0))
        moment = Moment(kind, int(rng.integers(files)), share, lambda path: os.kill(os.getpid(), signal.SIGKILL), said)
        return trial.call(lambda: work(moment)).code

    while code := strike():
        where = said.read_text()
        assert code == -signal.SIGKILL, (trial.folder / "log.txt").read_text()
        assert where.startswith("after ") or trial.parts(), f"killed {where}, and nothing is left of it"
        records.append({"fault": "SIGKILL", "when": where, "after": trial.check_readable()})
    trial.check_end()
    return [{**record, "outcome": "resumed, equal"} for record in records]


def stop_by_signal(trial: Trial) -> list[Record]:
    """Send Ctrl-C or SIGTERM to a run of the command line, and resume it."""
    turn, run, number = trial.turn, trial.run, (signal.SIGINT, signal.SIGTERM)[trial.turn % 2]
    # One of four has two processes, with a Ctrl-C and a SIGTERM by turns.
    two = turn % 4 == 2 + turn // 4 % 2
    words = trial.case.words(run, trial.data, processes=1 + two, checkpoint_minutes=10)
    child = trial.start(lambda: command(words))
    # By turns, the signal comes when the workers sample, or while they start.
    child.ends_before(trial.sampling if two and turn // 8 % 2 == 0 else lambda: trial.begun() > 0)
    early = not child.ends_before(seconds=trial.rng.uniform(0.0, trial.case.pace * trial.case.sweeps))
    if early:
        child.kill(number, group=two)
    code, said = child.result()
    assert "Traceback" not in said, said
    if not early or "finished: all" in (run / "log.txt").read_text():
        # All draws were kept; the signal can only have ended what the command prints of them.
        assert code == 0 or (early and code in (1, -signal.SIGTERM)), (code, said)
        trial.check_end()
        return []
    none_yet = "before the first draw" in said
    assert code == int(none_yet), (code, said)
    assert "stopped" in said, said
    assert f"ppl-topics resume {run}" in " ".join(said.split()), said
    after = trial.check_readable()
    assert after == (NO_DRAW if none_yet else READABLE), (after, said)
    trial.resume_to_end()
    how = "says that no draw was made (exit code 1)" if none_yet else "says how many draws are kept (exit code 0)"
    when = "to all of two processes" if two else "to one process"
    outcome = f"ends by itself, {how}; resumed, equal"
    return [{"fault": ("Ctrl-C", "SIGTERM")[turn % 2], "when": when, "after": after, "outcome": outcome}]


def kill_a_worker(trial: Trial) -> list[Record]:
    """Kill one of two worker processes, as the system does when memory runs out."""
    child = trial.start(lambda: trial.case.sample(trial.run, processes=2, checkpoint_sweeps=20))
    child.ends_before(trial.sampling)
    if not child.ends_before(seconds=trial.rng.uniform(0.0, trial.case.pace * trial.case.sweeps / 2)):
        found = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        if found:
            found[int(trial.rng.integers(len(found)))].kill()
    result = child.result()
    if result.code == 0:
        trial.check_end()
        return []
    result.expect(1, "a worker process died (exit code -9", f"ppl-topics resume {trial.run}")
    after = trial.check_readable()
    trial.resume_to_end(processes=1)
    outcome = "one error says so and how to continue (exit code 1); resumed, equal"
    return [{"fault": "worker killed", "when": "of two", "after": after, "outcome": outcome}]


def start_two(trial: Trial) -> list[Record]:
    """Let two processes begin, or resume, the same run at the same time."""
    new, begin = trial.turn % 2 == 0, partial(trial.case.sample, trial.run, checkpoint_sweeps=40)
    if not new:
        trial.call(begin).expect(0)
        _shorten(trial)
    work = begin if new else trial.begin_or_resume
    first = trial.start(work, "one")
    time.sleep(trial.rng.uniform(0.0, 0.05) if trial.turn % 4 < 2 else 0.0)
    whole, other = sorted([trial.call(work, "two"), first.result()], key=lambda result: result.code)
    whole.expect(0)
    if refused := other.code != 0:
        # A process that comes when the other has ended may resume the whole run, but not begin it again.
        other.expect(1, f"{trial.run}: {ALREADY if new and ALREADY in other.said else IN_USE}")
    trial.check_end()
    outcome = "the second is refused (exit code 1); the first ends, equal" if refused else "one after the other, equal"
    return [{"fault": "two processes", "when": "begin one run" if new else "resume one run", "outcome": outcome}]


def _shorten(trial: Trial) -> None:
    """Remove the newest checkpoints, so that something is left to resume."""
    for chain in trial.run.glob("checkpoints/*"):
        for path in sorted(chain.glob("*.ckpt"))[1:]:
            path.unlink()


def limit_memory(trial: Trial) -> list[Record]:
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
    trial.call(lambda: trial.case.sample(trial.run)).expect(0)
    trial.check_end()
    outcome = "one error before it began that says what would fit, if anything does (exit code 1)"
    return [{"fault": "memory too small", "when": "by the limit of the process", "outcome": outcome}]


FAULTS = (
    Fault("kills", 216, kill_at_random),
    Fault("writes", 216, kill_in_a_write),
    Fault("commands", 36, kill_the_command),
    Fault("stops", 72, stop_by_signal),
    Fault("workers", 18, kill_a_worker),
    Fault("two", 36, start_two),
    Fault("checkpoints", 216, partial(strike_files, DAMAGES["checkpoints"])),
    Fault("chunks", 72, partial(strike_files, DAMAGES["chunks"])),
    Fault("constants", 144, partial(strike_files, DAMAGES["constants"])),
    Fault("lost", 198, partial(strike_files, DAMAGES["lost"])),
    Fault("full", 72, fill_disk, needs_disk=True),
    Fault("file", 18, fill_disk_at_the_end, needs_disk=True),
    Fault("read-only", 36, forbid_writing, needs_disk=True),
    Fault("memory", 18, limit_memory),
)
"""In the order of the table."""
