"""Small runs of each shipped model, and the undisturbed run that every other one must equal, bit for bit."""

from __future__ import annotations

import json
import pickle
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from processes import Child

import ppl_topics as pt
from ppl_topics.results.run_folder import draws as draws_on_disk

DRAWS, WARMUP = 100, 20
SWEEPS = DRAWS + WARMUP

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

KEYWORDS = {"keywords": {"first": ["w1*"], "second": ["w2", "w3"]}}
PARAMETERS: dict[str, dict[str, Any]] = {
    "keyword_lda": KEYWORDS,
    "seeded_lda": KEYWORDS,
    "slda_ordinal": {"levels": ["a", "b", "c"]},
}
"""Parameters that a model needs."""

BY_SWEEPS = ("phi_mean", "sweeps", "z_last")
"""Variables that differ with the number of sweeps: compared once a run has ended."""


def corpus_for(model: str) -> pt.Corpus:
    """Return documents with labels of the kind that a model observes."""
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in LENGTHS]
    blocks = pt.load_spec(model).blocks
    observes = "y" in blocks or blocks["theta"].labels_above is not None
    labels = LABELS.get(model, list("abcabcab")) if observes else None
    covariates: Any = np.arange(16.0).reshape(8, 2) % 5 if "x" in blocks else None
    if model == "dmr_time":
        covariates = [{"size": i % 5, "year": str(2001 + i % 3)} for i in range(8)]
    kind = "count" if model == "slda_counts" else None
    return pt.Corpus.from_tokens(documents, labels=labels, label_kind=kind, covariates=covariates)


class Case:
    """A model on a small corpus, and its undisturbed run: of another process, in memory, with two threads.

    ``pace`` is about the seconds of a sweep of both chains.
    """

    def __init__(self, model: str, folder: Path) -> None:
        self.model, self.corpus, self.data = model, corpus_for(model), folder / "corpus"
        self.corpus.save(self.data)
        self.options = {"draws": DRAWS, "warmup": WARMUP, "chains": 2, "seed": 1, "threads": 1}
        whole = folder / "whole.pickle"

        def keep() -> None:
            whole.write_bytes(pickle.dumps(self.sample(threads=2).groups))

        Child(keep, folder / "log.txt").expect(0)
        self.whole: Mapping[str, xr.Dataset] = pickle.loads(whole.read_bytes())
        # Compiles what the forks will use.
        self.sample(draws=1, warmup=1)
        started = time.monotonic()
        self.sample(draws=10, warmup=10)
        self.pace = (time.monotonic() - started) / 20

    def sample(self, out: Path | None = None, **options: Any) -> pt.Fit:
        """Sample, into a folder or in memory."""
        options = {"topics": 3, "record": {"z": "all"}, "progress": False, **self.options, **options}
        options |= PARAMETERS.get(self.model, {})
        return pt.sample(self.model, self.corpus, out=out, **options)

    def command(self, out: Path, **options: Any) -> list[str]:
        """Return the words of the command that does the same on the saved corpus."""
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in {**self.options, **options}.items()]
        flags += [f"--set={name}={json.dumps(value)}" for name, value in PARAMETERS.get(self.model, {}).items()]
        what = ["run", self.model, f"--data={self.data}", f"--out={out}"]
        return [*what, *flags, "--set=topics=3", "--record=z=all", "--no-progress"]

    def difference(self, fit: pt.Fit, *, ended: bool) -> str:
        """Name a variable that differs in any bit from the undisturbed run's, or from its start; "" if none does."""
        for group, data in fit.groups.items():
            whole = self.whole[group]
            if not ended and "draw" in data.sizes:
                whole = whole.isel(draw=slice(data.sizes["draw"]))
            if data.variables.keys() != whole.variables.keys():
                return f"{group}: {sorted(data.variables.keys() ^ whole.variables.keys())}"
            for name in data.variables.keys() - {"step_seconds", *(() if ended else BY_SWEEPS)}:
                if _bits(data[name]) != _bits(whole[name]):
                    return f"{group}/{name}"
        return "" if fit.groups.keys() == self.whole.keys() else "the list of groups"


def _bits(variable: xr.DataArray) -> tuple[np.dtype[Any], tuple[int, ...], bytes]:
    values = variable.values.astype(str) if variable.dtype == object else variable.values
    return values.dtype, values.shape, values.tobytes()


class Outcome(NamedTuple):
    """A row of the table: what struck, when or where, and what happened."""

    fault: str
    when: str
    what: str


class Trial:
    """One run that something happens to, and what must hold of it afterwards.

    ``turn`` goes on from model to model, so that the variants of a fault take turns; ``most`` outcomes are wanted.
    """

    def __init__(self, case: Case, folder: Path, rng: np.random.Generator, turn: int, most: int) -> None:
        self.case, self.folder, self.rng, self.turn, self.most = case, folder, rng, turn, most
        self.run = folder / "run"
        shutil.rmtree(self.run, ignore_errors=True)

    def start(self, work: Callable[[], Any], name: str = "log") -> Child:
        """Fork a process that does some work."""
        return Child(work, self.folder / f"{name}.txt")

    def call(self, work: Callable[[], Any], name: str = "log") -> Child:
        """Fork a process and wait for its end."""
        return self.start(work, name).wait()

    def sampling(self) -> bool:
        """Tell whether both chains have started: their folders exist."""
        return len(list(self.run.glob("checkpoints/*/owner.json"))) >= 2

    def complete(self) -> bool:
        """Tell whether the run can be resumed."""
        return (self.run / "run.json").is_file()

    def start_or_resume(self, **options: Any) -> None:
        """Resume the run in this process, or start it where it was not started."""
        if self.complete():
            pt.resume(self.run, progress=False)
        else:
            self.case.sample(self.run, **options)

    def resume(self, **options: Any) -> Child:
        """Resume the run to all of its draws, in another process."""
        return self.call(lambda: pt.resume(self.run, draws=DRAWS, progress=False, **options), "resume")

    def resume_to_end(self, **options: Any) -> Child:
        """Resume the run to its end, which must be the whole one's."""
        result = self.resume(**options).expect(0)
        self.check_end()
        return result

    def half(self) -> Path:
        """Return a run that has half of its draws, in several chunks, and two checkpoints in each chain."""
        path = self.folder / "half"

        def work() -> None:
            draws_on_disk.CHUNK_DRAWS = DRAWS // 6
            self.case.sample(path, draws=DRAWS // 2, checkpoint_sweeps=WARMUP)

        if not path.exists():
            self.call(work).expect(0)
        return path

    def sweeps_kept(self, damaged: Collection[Path] = ()) -> int:
        """Return how many sweeps the chain that is furthest behind has in a checkpoint."""
        if not self.complete():
            return 0
        units = int(json.loads((self.run / "run.json").read_text())["units"])
        chains = [(self.run / "checkpoints" / f"chain-{unit}").glob("*.ckpt") for unit in range(units)]
        return min(max((int(path.stem) for path in found if path not in damaged), default=0) for found in chains)

    def phase(self) -> str:
        """Say how far the run is."""
        kept = self.sweeps_kept()
        if not self.complete():
            return "before the folder was complete"
        if kept == 0:
            return "before the first checkpoint"
        return "in warmup" if kept < WARMUP else "among the draws"

    def keeps(self, sweeps: int) -> bool:
        """Tell whether all chains have a checkpoint of at least this sweep."""
        return self.sweeps_kept() >= sweeps

    def read(self, path: Path | None = None, *, ended: bool = False) -> Child:
        """Read all of a run in a process, which fails unless it is the whole run's, or its start."""

        def work() -> None:
            fit = pt.load_fit(path or self.run)
            for group in fit.groups.values():
                group.load()
            wrong = self.case.difference(fit, ended=ended)
            assert not wrong, f"{wrong} is not that of the whole run"
            print(fit.posterior.sizes["draw"])

        return self.call(work, "read")

    def check_readable(self, damaged: Collection[Path] = ()) -> int:
        """Return the draws of a run that has not ended, which must be those that its checkpoints count."""
        before = self.sweeps_kept(damaged) - WARMUP
        result = self.read()
        # A worker whose parent was killed goes on for a sweep.
        after = self.sweeps_kept(damaged) - WARMUP
        if result.code != 0 and before <= 0:
            result.expect(2, self.run)
            return 0
        draws = int(result.expect(0).said.splitlines()[-1])
        assert before <= draws <= after, f"{draws} draws are found; the checkpoints count {before} to {after}"
        return draws

    def check_end(self) -> None:
        """Fail unless the run has ended with all draws of the whole one, and left nothing else."""
        self.read(ended=True).expect(0)
        assert not [*self.run.rglob("*.part"), *self.run.rglob("*.partial")], "parts of files are left"
