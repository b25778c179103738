"""What the benchmarks share: corpora, our kernels as programs, clocks that also watch memory, scores, results."""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest import mock

import numpy as np
import yaml

import ppl_topics as pt
from ppl_topics._util.jsonable import jsonable
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.log_joint import log_marginal
from ppl_topics.engine.recorder import Recorder
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes

RESULTS = Path(__file__).parent / "results"

ALPHA, BETA = 0.1, 0.01
"""Concentrations of every program; none tunes them."""


class Point(NamedTuple):
    """Where a program stood after some sweeps.

    ``seconds`` are those of the sweeps only, ``score`` is log p(w, z) / N, and ``memory`` the bytes by which
    the program's largest memory so far exceeded what the process held before it (NaN where unknown).
    """

    sweeps: int
    seconds: float
    score: float
    memory: float


class Program(Protocol):
    """A sampler of LDA with fixed concentrations ``ALPHA`` and ``BETA``."""

    name: str
    threads: int

    def trajectory(self, corpus: pt.Corpus, topics: int, seed: int, marks: Iterable[int]) -> Iterator[Point]:
        """Start from scratch, and yield a point at each of the given numbers of sweeps, which increase."""


class Ours:
    """One of our kernels: whole sweeps (z, counts, tables, phi) through the executor, nothing recorded.

    Parameters
    ----------
    kernel : str
        Its name, and options after a colon: ``light_partially_collapsed:steps=4``.
    threads : int
    """

    def __init__(self, kernel: str, threads: int) -> None:
        self.name, self.threads = kernel, threads

    def trajectory(self, corpus: pt.Corpus, topics: int, seed: int, marks: Iterable[int]) -> Iterator[Point]:
        """See `Program`."""
        use_threads(self.threads)
        meter, sweep = Meter(), 0
        with meter.untimed():
            bound = bound_model(corpus, self.name, topics)
            executor = Executor(bound)
            state = bound.initial_state(seed, 0)
            memories = executor.memories(state)
        for mark in marks:
            with meter.timed():
                while sweep < mark:
                    executor.sweep(state, memories, seed, 0, sweep)
                    sweep += 1
            yield Point(sweep, meter.seconds, score(corpus, state.z, topics), meter.memory)


class Sampled:
    """`pt.sample` as a user calls it: the kernel that the scheduler chooses, or another, and all it records by default.

    Draws are kept after the first mark. The clock is read whenever a sweep has been recorded, so that all between two
    of them counts. A function in ``record`` would not do: it has the whole state drawn.

    Parameters
    ----------
    threads : int
    kernel : str, optional
        Of z, with options as in `Ours`; phi is drawn after it.
    """

    name = "pt.sample"

    def __init__(self, threads: int, kernel: str | None = None) -> None:
        self.threads = threads
        self.schedule = None if kernel is None else pt.cycle(step_of(kernel), pt.step("phi", "dirichlet_rows"))

    def trajectory(self, corpus: pt.Corpus, topics: int, seed: int, marks: Iterable[int]) -> Iterator[Point]:
        """See `Program`."""
        first, *_, last = wanted = list(marks)
        meter, clock, record = Meter(), [], Recorder.record

        def timed(*args: Any, **how: Any) -> None:
            record(*args, **how)
            clock.append(time.perf_counter())

        with meter.untimed(), mock.patch.object(Recorder, "record", timed):
            fit = pt.sample(
                "lda",
                corpus,
                topics=topics,
                alpha=ALPHA,
                beta=BETA,
                warmup=first,
                draws=last - first,
                chains=1,
                seed=seed,
                threads=self.threads,
                schedule=self.schedule,
                progress=False,
            )

        parts = [fit.groups[name] for name in ["warmup_sample_stats"] * (first > 0) + ["sample_stats"]]
        score = np.concatenate([part["log_marginal"].values[0] for part in parts]) / corpus.n_tokens
        begun = clock[0] - float(parts[0]["step_seconds"].values[0, 0].sum())
        for mark in wanted:
            if mark == 0:
                yield Point(0, 0.0, float("nan"), meter.memory)
            else:
                yield Point(mark, clock[mark - 1] - begun, float(score[mark - 1]), meter.memory)


class Meter:
    """Adds up the seconds of the parts that are timed, and the largest memory of those and the untimed parts.

    What happens outside both, such as scoring, counts for neither.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.memory = float("nan")
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        self._base = resident("VmRSS")

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """Watch the memory of a part."""
        reset_peak()
        yield
        self.memory = float(np.fmax(self.memory, resident("VmHWM") - self._base))

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Watch the memory and the time of a part."""
        with self.untimed():
            started = time.perf_counter()
            yield
            self.seconds += time.perf_counter() - started


def reset_peak() -> None:
    """Set the largest resident memory back to what is resident now, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident(field: str) -> float:
    """Return the resident memory of this process in bytes, now (VmRSS) or at most so far (VmHWM); NaN if unknown.

    Unlike ``ru_maxrss``, which a process inherits from the one that started it, this is the process's own.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return 1024.0 * int(line.split()[1])
    return float("nan")


def load(data: str | None, vocabulary: str | None) -> pt.Corpus:
    """Read a corpus, or the embedded one, without the words that do not occur, which no peer would see."""
    corpus = pt.read_corpus(data, vocabulary=vocabulary) if data else pt.load_docstrings()
    return corpus.with_vocabulary(corpus.vocabulary[corpus.word_counts > 0])


def classes_of(corpus: pt.Corpus) -> list[str]:
    """Return the class of each document."""
    assert corpus.labels is not None, "a corpus with classes"
    return [str(corpus.labels.classes[value]) for value in corpus.labels.values]


def default_kernels() -> list[str]:
    """Return the names of the exact kernels of z that the scheduler may choose."""
    return [k.name for k in pt.kernels().values() if "z" in k.updates and k.exact and k.automatic]


def default_threads() -> list[int]:
    """Return 1, and 2 where there are two cores."""
    return sorted({1, min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)})


def uses_threads(kernel: str) -> bool:
    """Tell whether anything in a sweep with this kernel runs in parallel: the kernel, or the draw of phi."""
    declared = pt.kernels()[kernel.partition(":")[0]]
    return declared.parallel_over is not None or "phi" not in declared.integrates_out


def step_of(kernel: str) -> Any:
    """Return the step of a kernel of z, with its options after a colon."""
    name, _, options = kernel.partition(":")
    pairs = (pair.partition("=") for pair in options.split(",") if pair)
    return pt.step("z", name, **{key: yaml.safe_load(value) for key, _, value in pairs})


def bound_model(corpus: pt.Corpus, kernel: str, topics: int) -> BoundModel:
    """Return LDA under one assignment kernel: without phi if it integrates phi out, else drawing phi after z."""
    declared = pt.kernels()[kernel.partition(":")[0]]
    model, steps = "lda_collapsed" if "phi" in declared.integrates_out else "lda", [step_of(kernel)]
    if model == "lda" and "phi" not in declared.updates:
        steps.append(pt.step("phi", "dirichlet_rows"))
    spec = pt.load_spec(model, {"topics": topics, "alpha": ALPHA, "beta": BETA})
    return bind(make_plan(spec.with_schedule(pt.cycle(*steps), "benchmark"), CorpusSizes.of(corpus)), corpus)


def counts(rows: np.ndarray, z: np.ndarray, n_rows: int, topics: int) -> np.ndarray:
    """Return how many tokens each row, such as a word, has in each topic."""
    cells = rows.astype(np.int64)
    cells *= topics
    cells += z
    return np.bincount(cells, minlength=n_rows * topics).reshape(n_rows, topics)


def score(corpus: pt.Corpus, z: np.ndarray, topics: int) -> float:
    """Return log p(w, z) / N."""
    n_wk = counts(corpus.words, z, corpus.n_words, topics).astype(np.int32)
    alpha, beta = np.full(topics, ALPHA), np.full(corpus.n_words, BETA)
    value = log_marginal(np.array(corpus.doc_ptr), z, n_wk, n_wk.sum(axis=0, dtype=np.int64), alpha, beta)
    return value / corpus.n_tokens


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of the command line that has the options of every benchmark."""
    head, _, rest = (doc or "").partition("\n")
    result = argparse.ArgumentParser(
        description=head, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--results", type=Path, default=RESULTS, help="append the figures to files of this folder")
    return result


def load_frequent(data: str | None, vocabulary: str | None) -> pt.Corpus:
    """Load a corpus with the words of at least five tokens."""
    corpus = load(data, vocabulary)
    return corpus.with_vocabulary(corpus.vocabulary[corpus.word_counts >= 5])


class Results:
    """Appends figures to ``NAME.jsonl``, one JSON object each; `tables` makes tables of them.

    Parameters
    ----------
    folder : pathlib.Path
    name : str
        Of the script.
    question : str
        Heading of the table.
    **setting
        What holds of all figures: the corpus, numbers of topics, threads.
    """

    def __init__(self, folder: Path, name: str, question: str, **setting: Any) -> None:
        self.path, self.setting = folder / f"{name}.jsonl", setting
        before, _, after = "\0".join(sys.argv[1:]).partition("--results\0")
        given = [word for word in [*before.split("\0"), *after.split("\0")[1:]] if word]
        words = [Path(word).name if os.sep in word else word for word in given]
        command = shlex.join(["python", f"benchmarks/{name}.py", *words])
        self.about = {"command": command, "commit": commit(), "date": time.strftime("%Y-%m-%d"), "machine": machine()}
        self.question = question
        print(describe(self.about["machine"]))

    def add(
        self, program: str, measure: str, values: Sequence[float] | float, ratios: Any = None, **setting: Any
    ) -> None:
        """Append a figure: the median of values, the smallest, the largest, and ratios to peers by their names."""
        found = np.atleast_1d(np.asarray(values, dtype=np.float64))
        numbers = {"median": float(np.median(found)), "min": float(found.min()), "max": float(found.max())}
        record = {"question": self.question, "setting": {**self.setting, **setting}, "program": program}
        record |= {"measure": measure, **numbers, "ratios": ratios or {}, **self.about}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(jsonable(record), allow_nan=False) + "\n")


def name_of(data: str | None, default: str = "docstrings") -> str:
    """Return what results call a corpus: the name of its file, without the folder."""
    return default if data is None else Path(data).name


def commit() -> str:
    """Return the commit of the working tree, with a + where it was changed."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--dirty=+"]
    with suppress(OSError):
        return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    return "unknown"


def machine() -> dict[str, Any]:
    """Describe the machine: processor, cores, load before the run, and versions."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    versions = {"python": platform.python_version()}
    for package in ("numba", "tomotopy", "pyrmallet", "gensim", "arviz", "pyspark"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {"processor": model, "cores": os.cpu_count(), "load": load, **versions}


def describe(machine: Mapping[str, Any]) -> str:
    """Return the machine in one line."""
    versions = ", ".join(f"{name} {value}" for name, value in machine.items() if isinstance(value, str))
    return versions.replace("processor ", "") + f"; {machine['cores']} cores, load {machine['load']}"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns, the first to the left and the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip(), flush=True)
