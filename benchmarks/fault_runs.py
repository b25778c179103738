"""Small runs of each shipped model, in processes that can be killed.

A process that has compiled a model is forked for each run, which so begins at once; such a process has no threads of
zarr, and numba's are its own (the layer "workqueue").
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numba.np.ufunc import parallel
from numpy.typing import NDArray

import ppl_topics as pt
from ppl_topics.spec.shipped import shipped

__all__ = ["Case", "Child", "Program", "Result", "go_on", "made_case", "turns"]

TOPICS, CHAINS = 3, 2
LENGTHS = (40, 0, 1, 25, 60, 3, 1, 80)
"""Of the documents: empty ones and such of one token among them."""

SECONDS = 1800.0
"""A run that takes longer hangs."""


@dataclass(frozen=True)
class Case:
    """A model, and a corpus that it runs on in seconds.

    Attributes
    ----------
    model : str
    corpus : Corpus
    draws, warmup, seed : int
    whole : dict of str to ndarray
        All groups of a run that was never stopped, by group and name.
    pace : float
        Seconds for a sweep of all chains, about.
    topics : int
    record : tuple of pairs
        Variables, and what is kept of each.
    """

    model: str
    corpus: pt.Corpus
    draws: int
    warmup: int
    seed: int
    whole: dict[str, NDArray[Any]]
    pace: float = 0.01
    topics: int = TOPICS
    record: tuple[tuple[str, str], ...] = (("z", "all"),)

    @property
    def sweeps(self) -> int:
        """Of one chain."""
        return self.draws + self.warmup

    def options(self, threads: int = 1) -> dict[str, Any]:
        """Return the arguments of `ppl_topics.sample` that the draws depend on, and some that they do not."""
        return {
            "topics": self.topics,
            "draws": self.draws,
            "warmup": self.warmup,
            "chains": CHAINS,
            "seed": self.seed,
            "record": dict(self.record),
            "threads": threads,
            "progress": False,
        }

    def words(self, folder: Path, data: Path) -> list[str]:
        """Return the words of the command that does the same."""
        numbers = {"draws": self.draws, "warmup": self.warmup, "chains": CHAINS, "seed": self.seed, "threads": 1}
        flags = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
        flags += [word for name, what in self.record for word in ("--record", f"{name}={what}")]
        asked = ["--set", f"topics={self.topics}", "--no-progress"]
        return ["run", self.model, "--data", str(data), "--out", str(folder), *flags, *asked]

    def sample(self, folder: Path, **options: Any) -> None:
        """Sample into a folder."""
        pt.sample(self.model, self.corpus, out=folder, **{**self.options(), **options})


def made_case(
    model: str, draws: int, warmup: int, seed: int, folder: Path, save: Callable[[Path, pt.Fit], None]
) -> Case:
    """Make a case; the whole run is one of another process, in memory, on two threads."""
    corpus = corpus_for(model)
    bare = Case(model, corpus, draws, warmup, seed, {})
    threads = min(2, os.cpu_count() or 1)

    def run() -> None:
        save(folder / "whole.npz", pt.sample(model, corpus, **bare.options(threads)))

    Child(run, folder / "whole.log").result().expect(0)
    with np.load(folder / "whole.npz") as held:
        whole = dict(held)
    # Compiled here once for all children, and then timed.
    for sweeps in (2, 20):
        started = time.monotonic()
        pt.sample(model, corpus, **{**bare.options(), "draws": sweeps, "warmup": sweeps})
    return Case(model, corpus, draws, warmup, seed, whole, pace=(time.monotonic() - started) / (2 * sweeps))


def turns(model: str, number: int) -> range:
    """Return numbers of trials that go on from model to model, so that all kinds of a fault take turns."""
    first = sorted(shipped()).index(model) * number
    return range(first, first + number)


def go_on(folder: Path, **options: Any) -> None:
    """Resume a run."""
    pt.resume(folder, progress=False, **options)


def corpus_for(model: str) -> pt.Corpus:
    """Return documents with labels of the kind that a model observes."""
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in LENGTHS]
    labels: Any = list("abcabcab")
    if model.startswith("lda"):
        labels = None
    elif model in ("slda_gaussian", "medlda_regression"):
        labels = np.linspace(-1.0, 1.0, len(LENGTHS))
    elif model == "slda_counts":
        labels = [0, 3, 1, 2, 0, 1, 5, 2]
    elif model in ("slda_covariates", "medlda_binary"):
        labels = ["a", "b"] * 4
    covariates = np.arange(16.0).reshape(8, 2) % 5 if model == "slda_covariates" else None
    kind: Literal["count"] | None = "count" if model == "slda_counts" else None
    return pt.Corpus.from_tokens(documents, labels=labels, label_kind=kind, covariates=covariates)


@dataclass(frozen=True)
class Result:
    """How a process ended.

    Attributes
    ----------
    code : int
        As a shell counts them, but below zero for a signal.
    said : str
    """

    code: int
    said: str

    def expect(self, code: int) -> Result:
        """Fail unless it ended so."""
        if self.code != code:
            raise AssertionError(f"ended with {self.code}, expected {code}: {self.said[-2000:]}")
        return self

    @property
    def error(self) -> str:
        """The line that begins with ``error:``, if there is exactly one, and no traceback."""
        lines = [line for line in self.said.splitlines() if line.startswith("error: ")]
        return lines[0] if len(lines) == 1 and "Traceback" not in self.said else ""


class _Process(ABC):
    """A process in a group of its own, whose output goes to a file."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.pid = -1

    @abstractmethod
    def exit_code(self) -> int | None:
        """Return it, below zero for a signal; None while the process runs."""

    def ended(self) -> bool:
        """Tell whether it has ended."""
        return self.exit_code() is not None

    def kill(self, number: int, *, group: bool) -> None:
        """Send a signal."""
        (os.killpg if group else os.kill)(self.pid, number)

    def result(self) -> Result:
        """Wait for the end."""
        until = time.monotonic() + SECONDS
        while (code := self.exit_code()) is None:
            if time.monotonic() > until:
                self.kill(signal.SIGKILL, group=True)
                raise AssertionError(f"no end after {SECONDS:.0f} s: {self.log.read_text()[-2000:]}")
            time.sleep(0.005)
        return Result(code, self.log.read_text(errors="replace"))


class Child(_Process):
    """A forked process.

    Parameters
    ----------
    work : callable
        Done there; an exit code, or None for 0. Errors of the package become what the command line makes of them.
    log : pathlib.Path
        Takes what it prints.
    """

    def __init__(self, work: Callable[[], int | None], log: Path) -> None:
        super().__init__(log)
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_done(work, log))

    def exit_code(self) -> int | None:
        """See `_Process`."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return None if self.status is None else os.waitstatus_to_exitcode(self.status)


class Program(_Process):
    """A program of a new interpreter, with a threading layer of its own choice."""

    def __init__(self, words: list[str], log: Path) -> None:
        super().__init__(log)
        environment = {**os.environ, "NUMBA_THREADING_LAYER": "default"}
        with log.open("wb") as out:
            how: dict[str, Any] = {"stdout": out, "stderr": out, "env": environment, "start_new_session": True}
            self.process = subprocess.Popen(words, **how)
        self.pid = self.process.pid

    def exit_code(self) -> int | None:
        """See `_Process`."""
        return self.process.poll()


def _done(work: Callable[[], int | None], log: Path) -> int:
    os.setsid()
    # numba shares a lock with its forks, and one that is killed while it holds that leaves it locked: to each its own.
    parallel._backend_init_process_lock = None
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 70
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *place, **more: print(f"warning: {message}", file=sys.stderr)
            warnings.simplefilter("always", pt.RunWarning)
            code = work() or 0
    except pt.PplTopicsError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
