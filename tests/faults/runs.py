"""Small runs of each shipped model, and the undisturbed run that every other one must equal, bit for bit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from processes import Child

import ppl_topics as pt

Arrays = Mapping[str, NDArray[Any]]

LENGTHS = (40, 0, 1, 25, 60, 3, 1, 80)
"""Tokens in each document, empty documents included."""

NUMBERS, TWO_CLASSES = np.linspace(-1.0, 1.0, len(LENGTHS)), ["a", "b"] * 4
LABELS: dict[str, Any] = {
    "slda_gaussian": NUMBERS,
    "medlda_regression": NUMBERS,
    "slda_counts": [0, 3, 1, 2, 0, 1, 5, 2],
    "slda_covariates": TWO_CLASSES,
    "medlda_binary": TWO_CLASSES,
}
"""Labels for models that do not take three classes."""


def corpus_for(model: str) -> pt.Corpus:
    """Return documents with labels of the kind that a model observes."""
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in LENGTHS]
    labels = None if model.startswith("lda") else LABELS.get(model, list("abcabcab"))
    covariates = np.arange(16.0).reshape(8, 2) % 5 if model == "slda_covariates" else None
    kind = "count" if model == "slda_counts" else None
    return pt.Corpus.from_tokens(documents, labels=labels, label_kind=kind, covariates=covariates)


@dataclass(frozen=True)
class Case:
    """A model and a corpus on which it runs in seconds; ``pace`` is about the seconds of a sweep of all chains."""

    model: str
    corpus: pt.Corpus
    draws: int
    warmup: int
    seed: int
    topics: int = 3
    record: dict[str, str] = field(default_factory=lambda: {"z": "all"})
    whole: Arrays = field(default_factory=dict)
    pace: float = 0.01

    @property
    def sweeps(self) -> int:
        """The sweeps of one chain."""
        return self.draws + self.warmup

    @property
    def numbers(self) -> dict[str, int]:
        """The arguments that are numbers."""
        return {"draws": self.draws, "warmup": self.warmup, "chains": 2, "seed": self.seed, "threads": 1}

    def sample(self, folder: Path | None = None, **options: Any) -> pt.Fit:
        """Sample, into a folder or in memory."""
        how = {**self.numbers, "topics": self.topics, "record": self.record, "progress": False, **options}
        return pt.sample(self.model, self.corpus, out=folder, **how)

    def words(self, folder: Path, data: Path, **options: Any) -> list[str]:
        """Return the words of the command that does the same on a saved corpus."""
        named = {**self.numbers, **options}.items()
        flags = [word for name, value in named for word in (f"--{name.replace('_', '-')}", str(value))]
        flags += [word for name, what in self.record.items() for word in ("--record", f"{name}={what}")]
        flags += ["--set", f"topics={self.topics}", "--no-progress"]
        return ["run", self.model, "--data", str(data), "--out", str(folder), *flags]

    def with_whole(self, folder: Path) -> Case:
        """Add the undisturbed run, of another process, in memory, on two threads; compile here what forks will use."""

        def run() -> None:
            np.savez(folder / "whole.npz", **flat(self.sample(threads=2)))  # type: ignore[arg-type]

        Child(run, folder / "whole.log").result().expect(0)
        self.sample(draws=1, warmup=1)
        started = time.monotonic()
        self.sample(draws=10, warmup=10)
        pace = (time.monotonic() - started) / 20
        with np.load(folder / "whole.npz") as held:
            return replace(self, whole=dict(held), pace=pace)


def flat(fit: pt.Fit) -> Arrays:
    """Return all variables and coordinates of a trace by group and name, except those that are times."""
    values = {
        f"{group}/{name}": data[name].values
        for group, data in fit.groups.items()
        for name in data.variables
        if name != "step_seconds"
    }
    return {name: array.astype(str) if array.dtype == object else array for name, array in values.items()}


def difference(found: Arrays, whole: Arrays, *, begun: bool = False) -> str:
    """Name a variable that differs in any bit from the whole run's, or from its beginning; "" if there is none."""
    if found.keys() != whole.keys():
        return f"variables {sorted(found.keys() ^ whole.keys())}"
    for name, values in found.items():
        expected = _beginning(name, found, whole) if begun else whole[name]
        if (values.dtype, values.shape, values.tobytes()) != (expected.dtype, expected.shape, expected.tobytes()):
            return name
    return ""


def _beginning(name: str, found: Arrays, whole: Arrays) -> NDArray[Any]:
    """Return what a variable must be in a run that has not ended."""
    values, expected = found[name], whole[name]
    if name.endswith("/draw"):
        return expected[: len(values)]
    if name.startswith(("posterior/", "sample_stats/", "warmup_")):
        return expected[:, : values.shape[1]] if expected.ndim > 1 else expected
    if name == "constant_data/z_last":
        # The assignments after the sweeps that each chain has made.
        z, warmup = whole["posterior/z"], whole["warmup_sample_stats/lp"].shape[1]
        rows = [
            [z[chain, n - warmup - 1, part] for part, n in enumerate(s)] if np.ndim(s) else z[chain, s - warmup - 1]
            for chain, s in enumerate(found["constant_data/sweeps"])
        ]
        return np.array(rows).astype(values.dtype, copy=False)
    # What depends on the number of sweeps cannot be compared.
    return values if name in ("constant_data/phi_mean", "constant_data/sweeps") else expected
