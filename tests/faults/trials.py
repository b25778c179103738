"""A trial: one run in a folder that something happens to, and what must hold of it afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from processes import Child, Result
from runs import Case, difference, flat

import ppl_topics as pt

Record = dict[str, Any]
"""What a trial found: the fault, when or where it struck, and the outcome."""

NO_DRAW, READABLE = "no draw yet", "readable"
NOT_YET = (
    "no draw yet",
    "there is none yet",
    "none can be read",
    "not the folder of a run",
    "no such file",
    "no run in",
)
"""Parts of the messages for a folder in which no draw was made yet."""

EMPTY = 3
"""Exit code of a child that reads such a folder."""


class Fault(NamedTuple):
    """A kind of fault, how often it is tried in all, and what makes a run, strikes, and checks it.

    ``strike`` returns a record for each time that it struck, none if the run ended before.
    """

    name: str
    times: int
    strike: Callable[[Trial], list[Record]]
    needs_disk: bool = False


@dataclass
class Trial:
    """One trial of a fault; the folder and what is ``shared`` serve all trials of that fault on one model.

    ``turn`` goes on from model to model, so that the variants of a fault take turns; ``most`` records are wanted.
    """

    case: Case
    folder: Path
    rng: np.random.Generator
    turn: int
    most: int
    shared: dict[str, Any] = field(default_factory=dict)
    run: Path = Path()

    def __post_init__(self) -> None:
        self.run = self.folder / "run"
        shutil.rmtree(self.run, ignore_errors=True)

    def start(self, work: Callable[[], Any], name: str = "log") -> Child:
        """Fork a process that does some work."""
        return Child(work, self.folder / f"{name}.txt")

    def call(self, work: Callable[[], Any], name: str = "log") -> Result:
        """Fork a process and wait for its end."""
        return self.start(work, name).result()

    def begin_or_resume(self, **options: Any) -> None:
        """Resume the run, or begin it where it was not begun."""
        if (self.run / "run.json").is_file():
            pt.resume(self.run, progress=False)
        else:
            self.case.sample(self.run, **options)

    def resume(self, **options: Any) -> Result:
        """Resume the run in another process."""
        return self.call(lambda: pt.resume(self.run, progress=False, **options), "resume")

    @property
    def data(self) -> Path:
        """The corpus, saved for the command line."""
        path = self.folder / "corpus"
        if not path.exists():
            self.case.corpus.save(path)
        return path

    def make_half(self) -> None:
        """Put in place a run that has half of its draws, in several chunks, and two checkpoints in each chain."""
        original, half = self.folder / "original", self.case.draws // 2

        def work() -> None:
            from ppl_topics.results.run_folder import draws

            draws.CHUNK_DRAWS = max(2, half // 3)
            self.case.sample(original, draws=half, checkpoint_sweeps=self.case.warmup)

        if not original.exists():
            self.call(work).expect(0)
        shutil.copytree(original, self.run)

    def begun(self) -> int:
        """Return how often the run was begun or resumed."""
        path = self.run / "log.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return sum(" started: " in line or line.endswith(" resumed") for line in lines)

    def sampling(self) -> bool:
        """Tell whether the chains have begun: their folders exist."""
        return len(list(self.run.glob("checkpoints/*/owner.json"))) >= 2

    def sweeps_done(self, damaged: Collection[Path] = ()) -> int:
        """Return how many sweeps the chain that is furthest behind has in a checkpoint."""
        if not (self.run / "run.json").exists():
            return 0
        units = int(json.loads((self.run / "run.json").read_text())["units"])
        chains = [(self.run / "checkpoints" / f"chain-{unit}").glob("*.ckpt") for unit in range(units)]
        return min(max((int(path.stem) for path in found if path not in damaged), default=0) for found in chains)

    def parts(self) -> set[Path]:
        """Return the files that are, or were, being written."""
        return {path for suffix in ("part", "partial") for path in self.run.rglob(f"*.{suffix}")}

    def read(self, path: Path | None = None, *, begun: bool = True, may_be_empty: bool = False) -> Result:
        """Read all of a run in a process, which fails unless it is the whole run's, or its beginning."""

        def work() -> int:
            try:
                fit = pt.load_fit(path or self.run)
            except pt.TraceError as error:
                if may_be_empty and any(reason in str(error) for reason in NOT_YET):
                    return EMPTY
                raise
            for group in fit.groups.values():
                group.load()
            wrong = difference(flat(fit), self.case.whole, begun=begun)
            assert not wrong, f"{wrong} is not that of the whole run"
            print(f"{fit.posterior.sizes['draw']} draws")
            return 0

        return self.call(work, "read")

    def check_readable(self, damaged: Collection[Path] = ()) -> str:
        """Say what can be read of a run that has not ended, which must be all draws that its checkpoints count."""
        before = self.sweeps_done(damaged) - self.case.warmup
        result = self.read(may_be_empty=True)
        # A worker whose parent was killed goes on for a sweep.
        after = max(before, self.sweeps_done(damaged) - self.case.warmup)
        if result.code == EMPTY:
            assert before <= 0, f"{before} draws were kept, and none is found: {result.said}"
            return NO_DRAW
        found = int(result.expect(0).said.splitlines()[-1].partition(" ")[0])
        assert before <= found <= after, f"{found} draws are found; the checkpoints count {before} to {after}"
        return READABLE

    def check_end(self) -> None:
        """Fail unless the run has ended with all draws of the whole one, and left nothing else."""
        self.read(begun=False).expect(0)
        assert not self.parts(), "parts of files are left"

    def resume_to_end(self, **options: Any) -> Result:
        """Resume the run to its end, which must be the whole one's."""
        result = self.resume(**options).expect(0)
        self.check_end()
        return result
