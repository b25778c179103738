"""Runs a target on damaged inputs, one after another, in a process of its own with bounds on memory and time.

What a case may do is return or raise a PplTopicsError with one line of message. Anything else is a finding: another
exception, a crash, a hang, memory beyond the allowance, a file written outside the case's folder, a process started,
a pickle opened. The input of a finding is saved under the folder of the run; case number and seed make it anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from ppl_topics.errors import PplTopicsError

__all__ = ["Finding", "Outcome", "Target", "fuzz"]

CASE_SECONDS = 20
"""Of the processor for one case, all inputs being small."""

WALL_SECONDS = 240
"""Of the clock for one case, on a machine that may be busy; what waits for ever takes no time of the processor."""

ALLOWANCE = 768 << 20
"""Bytes of address space that cases may take beyond what the process has before the first one."""

RESIDENT = 400 << 20
"""Bytes of memory in use that a case may add."""

SILENCE = 300
"""Seconds without news after which a worker hangs where no Python signal reaches it."""

FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "subprocess.Popen", "socket.connect", "socket.bind", "ctypes.dlopen", "webbrowser.open", "os.kill",
)  # fmt: skip

CHANGING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.truncate", "os.chmod")


class Target(Protocol):
    """What is fuzzed.

    Attributes
    ----------
    name : str
    """

    name: str

    def prepare(self, folder: Path) -> None:
        """Make the valid inputs, once, in a folder of the run; imports and compiles what cases need."""

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged input into the empty folder ``place``."""

    def run(self, rng: random.Random, place: Path) -> None:
        """Do with it what a user would."""


@dataclass
class Finding:
    """What went wrong in a case.

    Attributes
    ----------
    kind : str
        Exception, hang, memory, crash, or what was done that may not be.
    where : str
        Innermost place in ppl_topics.
    message : str
    case : int
        The first case that showed it.
    times : int
    """

    kind: str
    where: str
    message: str
    case: int
    times: int = 1


@dataclass
class Outcome:
    """What a run of a target found."""

    target: str
    seed: int
    minutes: float
    cases: int = 0
    refused: int = 0
    findings: list[Finding] = field(default_factory=list)


class _Hang(BaseException):
    pass


class _Forbidden(BaseException):
    pass


def fuzz(target: Target, *, seconds: float, seed: int, folder: Path, cases: int | None = None) -> Outcome:
    """Run a target for some time, or for some cases; inputs of findings go to ``folder/findings``."""
    folder = folder.resolve()
    (folder / "findings").mkdir(parents=True, exist_ok=True)
    seeds = folder / "valid" / target.name
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir(parents=True)
    target.prepare(seeds)
    outcome = Outcome(target.name, seed, 0.0)
    begun = time.monotonic()
    fork = multiprocessing.get_context("fork")
    number = 0
    while time.monotonic() - begun < seconds and (cases is None or number < cases):
        ours, theirs = fork.Pipe(duplex=False)
        left = seconds - (time.monotonic() - begun)
        worker = fork.Process(target=_work, args=(target, seed, number, folder, left, cases, theirs))
        worker.start()
        theirs.close()
        number = _follow(worker, ours, target, outcome, folder, number)
    outcome.minutes = (time.monotonic() - begun) / 60
    (folder / f"{target.name}.json").write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    return outcome


def _follow(worker: Any, news: Connection, target: Target, outcome: Outcome, folder: Path, number: int) -> int:
    """Collect the worker's reports until it ends; return the number of the next case."""
    running: int | None = None
    while True:
        try:
            if not news.poll(SILENCE):
                os.kill(worker.pid, signal.SIGKILL)
                worker.join()
                _note(outcome, folder, target.name, Finding("hang", "no news", "the process answers no more", number))
                return number + 1
            report = news.recv()
        except EOFError:
            worker.join()
            if worker.exitcode:
                crashed = running if running is not None else number
                what = Finding("crash", f"exit code {worker.exitcode}", "the process died", crashed)
                _note(outcome, folder, target.name, what)
                return crashed + 1
            return number
        kind, payload = report
        if kind == "begin":
            running = payload
        elif kind == "count":
            number, done, refused = payload
            outcome.cases += done
            outcome.refused += refused
        else:
            _note(outcome, folder, target.name, Finding(**payload))


def _note(outcome: Outcome, folder: Path, name: str, finding: Finding) -> None:
    for known in outcome.findings:
        if (known.kind, known.where) == (finding.kind, finding.where):
            known.times += 1
            return
    outcome.findings.append(finding)
    print(f"{name}: case {finding.case}: {finding.kind} at {finding.where}: {finding.message[:300]}", flush=True)
    saved = folder / "findings" / f"{name}-{finding.case}"
    place = folder / "work" / name / "case"
    if place.is_dir() and not saved.exists():
        # The worker may have gone on to the next case; seed and number make this one again.
        with contextlib.suppress(shutil.Error, OSError):
            shutil.copytree(place, saved, symlinks=True)


def _work(
    target: Target, seed: int, first: int, folder: Path, seconds: float, cases: int | None, news: Connection
) -> None:
    """Run cases until the time is over; the process ends early where memory grew, for another to go on."""
    warnings.simplefilter("ignore")
    place = folder / "work" / target.name / "case"
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + ALLOWANCE, held + ALLOWANCE))
    watch = _Watch(folder)
    sys.addaudithook(watch)
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    limit = time.monotonic() + seconds
    done = refused = 0
    number = first
    peak = _peak()
    told = time.monotonic()
    while time.monotonic() < limit and (cases is None or number < cases):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        rng = random.Random(f"{seed} {target.name} {number}")
        target.make(rng, place)
        news.send(("begin", number))
        watch.seen, watch.active = [], True
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
        found: tuple[str, BaseException] | None = None
        try:
            target.run(rng, place)
        except PplTopicsError as error:
            refused += 1
            if "\n" in str(error) or not str(error):
                found = ("message", error)
        except _Hang as error:
            found = ("hang", error)
        except MemoryError as error:
            found = ("memory", error)
        except BaseException as error:
            found = (type(error).__name__, error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            watch.active = False
        if found is not None:
            news.send(("finding", asdict(_finding(found[0], found[1], number))))
        for what in watch.seen:
            news.send(("finding", asdict(Finding("forbidden", what.split(" ")[0], what, number))))
        grown = _peak() - peak
        if grown > RESIDENT:
            news.send(("finding", asdict(Finding("memory", "resident", f"{grown >> 20} MiB more", number))))
        done += 1
        number += 1
        if time.monotonic() - told > 2 or grown > RESIDENT or found is not None:
            news.send(("count", (number, done, refused)))
            done = refused = 0
            told = time.monotonic()
        if grown > RESIDENT:
            break
        found = None
        if number % 200 == 0:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
    news.send(("count", (number, done, refused)))
    news.close()
    os._exit(0)


def _finding(kind: str, error: BaseException, number: int) -> Finding:
    frames = traceback.extract_tb(error.__traceback__)
    root = str(Path(__file__).resolve().parents[2])
    own = [
        f for f in frames if f.filename.startswith(root) and "/tests/" not in f.filename and ".venv" not in f.filename
    ]
    last = (own or frames)[-1]
    where = f"{last.filename.removeprefix(root + '/')}:{last.lineno}"
    return Finding(kind, where, f"{type(error).__name__}: {error}"[:500], number)


def _called_by(package: str) -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def _alarm(signum: int, frame: Any) -> None:
    raise _Hang(f"took over {CASE_SECONDS} s of the processor, or {WALL_SECONDS} s")


def _peak() -> int:
    """Return the resident memory at its most, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Watch:
    """An audit hook that notes what reading a file never does."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.active = False
        self.seen: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        # Compiled code that numba kept beside its source, and found there.
        if event == "pickle.find_class" and _called_by("numba"):
            return
        # The process that reads a trace first.
        if event == "subprocess.Popen" and args[1][2].endswith("opening.py"):
            return
        if event == "os.fork" and _called_by("trace_targets"):
            return
        if event in FORBIDDEN or (event in CHANGING and not self._inside(args[0])):
            self.seen.append(f"{event} {args!r}"[:300])
        elif event == "open":
            path, mode, flags = args
            writes = (isinstance(mode, str) and set(mode) & set("wxa+")) or (
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if writes and not self._inside(path):
                self.seen.append(f"open {args!r}"[:300])

    def _inside(self, path: Any) -> bool:
        if isinstance(path, int):
            return True
        with contextlib.suppress(TypeError, ValueError):
            text = os.path.abspath(os.fsdecode(path))
            # Compiled code is kept beside its source; temporary files of libraries are their own affair.
            return text.startswith(self.folder) or "__pycache__" in text or text == os.devnull
        return True
