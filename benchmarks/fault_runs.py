"""Small runs of each shipped model, in processes that can be killed, and how a trace is compared with a whole one.

A process that has compiled a model is forked for each run, which so begins at once; such a process has no threads of
zarr, and numba's are its own (the layer "workqueue").
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import ppl_topics as pt
from ppl_topics.models import shipped

__all__ = ["Case", "Child", "Result", "difference", "flat", "go_on", "made_case", "sweeps_done", "turns"]

TOPICS, CHAINS = 3, 2
LENGTHS = (40, 0, 1, 25, 60, 3, 1, 80)
"""Of the documents: empty ones and such of one token among them."""

SECONDS = 300.0
"""A run that takes longer hangs."""

NOT_COMPARED = ("step_seconds",)


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
    """

    model: str
    corpus: pt.Corpus
    draws: int
    warmup: int
    seed: int
    whole: dict[str, NDArray[Any]]
    pace: float = 0.01

    @property
    def sweeps(self) -> int:
        """Of one chain."""
        return self.draws + self.warmup

    def options(self, threads: int = 1) -> dict[str, Any]:
        """Return the arguments of `ppl_topics.sample` that the draws depend on, and some that they do not."""
        return {
            "topics": TOPICS,
            "draws": self.draws,
            "warmup": self.warmup,
            "chains": CHAINS,
            "seed": self.seed,
            "record": {"z": "all"},
            "threads": threads,
            "progress": False,
        }

    def words(self, folder: Path, data: Path) -> list[str]:
        """Return the words of the command that does the same."""
        numbers = {"draws": self.draws, "warmup": self.warmup, "chains": CHAINS, "seed": self.seed, "threads": 1}
        flags = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
        asked = ["--set", f"topics={TOPICS}", "--record", "z=all", "--no-progress"]
        return ["run", self.model, "--data", str(data), "--out", str(folder), *flags, *asked]

    def sample(self, folder: Path, **options: Any) -> None:
        """Sample into a folder."""
        pt.sample(self.model, self.corpus, out=folder, **{**self.options(), **options})


def made_case(model: str, draws: int, warmup: int, seed: int, folder: Path) -> Case:
    """Make a case; the whole run is one of another process, in memory, on two threads."""
    corpus = corpus_for(model)
    bare = Case(model, corpus, draws, warmup, seed, {})
    threads = min(2, os.cpu_count() or 1)

    def run() -> None:
        save_flat(folder / "whole.npz", pt.sample(model, corpus, **bare.options(threads)))

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


class Child:
    """A forked process in a group of its own.

    Parameters
    ----------
    work : callable
        Done there; an exit code, or None for 0. Errors of the package become what the command line makes of them.
    log : pathlib.Path
        Takes what it prints.
    """

    def __init__(self, work: Callable[[], int | None], log: Path) -> None:
        self.log = log
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_done(work, log))

    def ended(self) -> bool:
        """Tell whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def kill(self, number: int, *, group: bool) -> None:
        """Send a signal."""
        (os.killpg if group else os.kill)(self.pid, number)

    def result(self) -> Result:
        """Wait for the end."""
        until = time.monotonic() + SECONDS
        while not self.ended():
            if time.monotonic() > until:
                self.kill(signal.SIGKILL, group=True)
                raise AssertionError(f"no end after {SECONDS:.0f} s: {self.log.read_text()[-2000:]}")
            time.sleep(0.005)
        assert self.status is not None
        return Result(os.waitstatus_to_exitcode(self.status), self.log.read_text(errors="replace"))


def _done(work: Callable[[], int | None], log: Path) -> int:
    os.setsid()
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


def flat(fit: pt.Fit) -> dict[str, NDArray[Any]]:
    """Return all variables of a trace by group and name, but for those that are times."""
    return {
        f"{group}/{name}": _plain(data[name].values)
        for group, data in fit.groups.items()
        for name in data.data_vars
        if name not in NOT_COMPARED
    }


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(str) if values.dtype == object else values


def save_flat(path: Path, fit: pt.Fit) -> None:
    """Write them to a file."""
    with path.open("wb") as file:
        np.savez(file, **flat(fit))  # type: ignore[arg-type]


def difference(found: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]], *, begun: bool = False) -> str:
    """Say in what a trace differs, in any bit, from a whole one, or where ``begun`` from its beginning; "" if not."""
    if found.keys() != whole.keys():
        return f"variables {sorted(found.keys() ^ whole.keys())}"
    for name, values in found.items():
        expected = whole[name]
        if begun and name.startswith(("posterior/", "sample_stats/", "warmup_")):
            expected = expected[:, : values.shape[1]]
        elif begun and name == "constant_data/z_last":
            expected = _last(found, whole)
        elif begun and name in ("constant_data/phi_mean", "constant_data/sweeps"):
            continue
        if values.dtype != expected.dtype or not np.array_equal(values, expected, equal_nan=values.dtype.kind == "f"):
            return name
    return ""


def _last(found: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the assignments after the sweeps that each chain has made."""
    sweeps, z = found["constant_data/sweeps"], whole["posterior/z"]
    warmup = whole["warmup_sample_stats/lp"].shape[1]
    rows = [
        [z[chain, n - warmup - 1, part] for part, n in enumerate(s)] if np.ndim(s) else z[chain, s - warmup - 1]
        for chain, s in enumerate(sweeps)
    ]
    return np.array(rows)


def sweeps_done(folder: Path) -> int:
    """Return how many sweeps the chain that is behind has in a checkpoint."""
    newest = [
        max((int(file.stem) for file in chain.glob("*.ckpt")), default=0) for chain in folder.glob("checkpoints/*")
    ]
    return min(newest, default=0)
