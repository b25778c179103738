"""Runs a target on damaged inputs, one after another, in a separate process with limits on memory and time.

What a case may do is return or raise a PplTopicsError with one line of message. Anything else is a finding: another
exception, a crash, a hang, memory beyond the allowance, a file written outside the case's folder, a process started,
a pickle opened. The input of a finding is saved under the folder of the run; seed and case number make it again.
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
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import ppl_topics
from ppl_topics import diagnostics, models, samplers
from ppl_topics.errors import PplTopicsError
from ppl_topics.results import opening


@dataclass(frozen=True)
class Limits:
    """What a case may take: seconds, and bytes more than the process has before its first case."""

    seconds: float = 20.0
    """Processor time; all inputs are small."""
    wall: float = 240.0
    """Time by the clock, on a machine that may be busy; waiting takes no processor time."""
    silence: float = 300.0
    """Time without a report after which a worker hangs that no Python signal reaches."""
    allowance: int = 768 << 20
    """Address space."""
    resident: int = 400 << 20
    """Resident memory."""


LIMITS = Limits()

AGAIN = 1.0
"""Seconds after which an alarm is repeated: one that comes where Python drops exceptions is lost."""

SECRET = "secret"
"""Name of a file beside the valid inputs that links of damaged ones may lead to."""

BAIT = ("/etc/passwd", "/etc/hostname", "/dev/zero")
"""What inputs try to lead to, and nothing reads."""

OWN = tuple(f"{package.__path__[0]}/" for package in (ppl_topics, models, samplers, diagnostics))
"""Where the code of ppl-topics is."""

FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "subprocess.Popen", "socket.connect", "socket.bind", "ctypes.dlopen", "webbrowser.open", "os.kill",
)  # fmt: skip

RESULTS = "results.jsonl"
"""File with a line for each run in a folder."""

CHANGING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.truncate", "os.chmod")


class Target(Protocol):
    """What is fuzzed."""

    name: str

    def prepare(self, folder: Path) -> None:
        """Make the valid inputs, once, in a folder of the run; imports and compiles what cases need."""

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged input into the empty folder ``place``."""

    def run(self, rng: random.Random, place: Path) -> None:
        """Do with it what a user would."""


@dataclass
class Finding:
    """What went wrong in a case, the first that showed it, and in how many.

    The kind is the name of an exception, or hang, memory, crash, message (not one line), or forbidden (what no reader
    may do); make is an error of the target itself. ``where`` is the innermost place in ppl_topics.
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


def fuzz(
    target: Target,
    *,
    seconds: float,
    seed: int,
    folder: Path,
    cases: int | None = None,
    limits: Limits = LIMITS,
) -> Outcome:
    """Run a target for some seconds, or some cases; inputs of findings go to ``folder/findings``."""
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
        worker = fork.Process(target=_work, args=(target, seed, number, folder, left, cases, limits, theirs))
        worker.start()
        theirs.close()
        number = _follow(worker, ours, outcome, folder, number, limits.silence)
    outcome.cases = number
    outcome.minutes = (time.monotonic() - begun) / 60
    with open(folder / RESULTS, "a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")
    return outcome


def _follow(worker: Any, news: Connection, outcome: Outcome, folder: Path, number: int, silence: float) -> int:
    """Collect the worker's reports until it ends; return the number of the next case."""
    running: int | None = None
    while True:
        try:
            if not news.poll(silence):
                os.kill(worker.pid, signal.SIGKILL)
                worker.join()
                hung = running if running is not None else number
                _note(outcome, folder, Finding("hang", "no news", "the process does not answer", hung))
                return hung + 1
            report = news.recv()
        except EOFError:
            worker.join()
            if worker.exitcode:
                crashed = running if running is not None else number
                what = Finding("crash", f"exit code {worker.exitcode}", "the process died", crashed)
                _note(outcome, folder, what)
                return crashed + 1
            return number
        kind, payload = report
        if kind == "begin":
            running = payload
        elif kind == "count":
            number, refused = payload
            outcome.refused += refused
        else:
            _note(outcome, folder, Finding(**payload))


def _note(outcome: Outcome, folder: Path, finding: Finding) -> None:
    for other in outcome.findings:
        if (other.kind, other.where) == (finding.kind, finding.where):
            other.times += 1
            return
    outcome.findings.append(finding)
    name = outcome.target
    what = f"{name}: case {finding.case}: {finding.kind} at {finding.where}: {finding.message[:300]}"
    print(what, file=sys.stderr, flush=True)
    _keep(folder, name, finding.case)


def _keep(folder: Path, name: str, case: int) -> None:
    """Keep the input of a case; seed and number make it again, except for times of day in stored runs."""
    saved = folder / "findings" / f"{name}-{case}"
    if not saved.exists():
        with contextlib.suppress(shutil.Error, OSError):
            # A worker that died left it there.
            shutil.copytree(folder / "work" / name / "case", saved, symlinks=True)


def _work(
    target: Target,
    seed: int,
    first: int,
    folder: Path,
    seconds: float,
    cases: int | None,
    limits: Limits,
    news: Connection,
) -> None:
    """Run cases until the time is over, or until memory grew and another process must continue."""
    warnings.simplefilter("ignore")
    place, seeds = folder / "work" / target.name / "case", folder / "valid" / target.name
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + limits.allowance, held + limits.allowance))
    watch = _Watch(place)
    sys.addaudithook(watch)
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    limit = time.monotonic() + seconds
    refused = 0
    known: set[tuple[str, str]] = set()
    number = first
    guarded = [*map(Path, BAIT[:2]), *(path for name in (SECRET, "*.nc") for path in seeds.rglob(name))]
    before = _states(guarded)
    peak = _peak()
    told = time.monotonic()
    while time.monotonic() < limit and (cases is None or number < cases):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        rng = random.Random(f"{seed} {target.name} {number}")
        news.send(("begin", number))
        found: tuple[str, BaseException] | None = None
        making = True
        signal.setitimer(signal.ITIMER_PROF, limits.seconds, AGAIN)
        signal.setitimer(signal.ITIMER_REAL, limits.wall, AGAIN)
        try:
            target.make(rng, place)
            making, watch.seen, watch.active = False, [], True
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
        findings = [Finding("forbidden", event.split(" ")[0], event, number) for event in watch.seen]
        # Libraries write without an audit event.
        after = _states(guarded)
        findings += [Finding("forbidden", "changed", path, number) for path in after if after[path] != before[path]]
        before = after
        if found is not None:
            findings.append(_finding("make" if making else found[0], found[1], number))
        grown = _peak() - peak
        if grown > limits.resident:
            findings.append(Finding("memory", "resident", f"{grown >> 20} MiB more", number))
        for finding in findings:
            if (finding.kind, finding.where) not in known:
                # Before the next case takes its place.
                known.add((finding.kind, finding.where))
                _keep(folder, target.name, number)
            news.send(("finding", asdict(finding)))
        number += 1
        if time.monotonic() - told > 2 or grown > limits.resident or found is not None:
            news.send(("count", (number, refused)))
            refused = 0
            told = time.monotonic()
        if grown > limits.resident:
            break
        found = None
        if number % 200 == 0:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
    news.send(("count", (number, refused)))
    news.close()
    os._exit(0)


def _finding(kind: str, error: BaseException, number: int) -> Finding:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    own = [frame for frame in frames if frame.filename.startswith(OWN)]
    where = "harness"
    if frames:
        last = (own or frames)[-1]
        where = f"{'/'.join(last.filename.rsplit('/', 3)[1:])}:{last.lineno}"
    return Finding(kind, where, f"{type(error).__name__}: {error}"[:500], number)


def _called_by(package: str) -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def _alarm(signum: int, frame: Any) -> None:
    raise _Hang("took too long, of the processor or by the clock")


def _states(paths: Iterable[Path]) -> dict[str, tuple[int, int] | None]:
    """Return size and time of files."""
    stats = {str(path): path.stat() if path.exists() else None for path in paths}
    return {path: stat and (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


def _peak() -> int:
    """Return the peak of resident memory in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Watch:
    """An audit hook that notes what reading a file never does."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)
        self.active = False
        self.seen: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        # Compiled code that numba kept beside its source, and found there.
        if event == "pickle.find_class" and _called_by("numba"):
            return
        # The process that reads a trace first.
        if event == "subprocess.Popen" and args[1][1:3] == ["-I", opening.__file__]:
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
            if path in BAIT or (writes and not self._inside(path)):
                self.seen.append(f"open {args!r}"[:300])

    def _inside(self, path: Any) -> bool:
        if isinstance(path, int):
            return True
        with contextlib.suppress(TypeError, ValueError):
            text = os.path.abspath(os.fsdecode(path))
            # Compiled code is kept beside its source; temporary files of libraries are their own affair.
            return f"{text}/".startswith(f"{self.place}/") or "__pycache__" in text or text == os.devnull
        return True
