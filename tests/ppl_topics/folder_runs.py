"""Small runs in folders that tests stop, damage and resume, and how their traces are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ppl_topics as pt
from ppl_topics.results.run_folder.checkpoint import checkpoints

__all__ = ["OPTIONS", "cut", "flip", "load_all", "made_corpus", "made_run", "newest", "same"]

OPTIONS: dict[str, Any] = {"topics": 3, "warmup": 3, "seed": 3, "chains": 2, "threads": 1, "progress": False}


def made_corpus() -> pt.Corpus:
    """Return documents of some words, one and none."""
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    return pt.Corpus.from_tokens(documents)


def made_run(corpus: pt.Corpus, path: Path) -> Path:
    """Make a run of 12 draws in a folder, with a checkpoint after 14 sweeps and one at the end."""
    pt.sample("lda", corpus, draws=12, out=path, checkpoint_sweeps=7, **OPTIONS)
    return path


def newest(run: Path, chain: int = 0) -> Path:
    """Return the newest checkpoint of a chain."""
    return checkpoints(run / "checkpoints" / f"chain-{chain}")[0]


def flip(path: Path, place: int = -200) -> None:
    """Change a bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    """Leave out the end of a file."""
    path.write_bytes(path.read_bytes()[:-100])


def same(one: pt.Fit, other: pt.Fit) -> None:
    """Fail unless two traces are equal in all but times."""
    assert set(one.groups) == set(other.groups)
    for group, data in one.groups.items():
        assert set(data.variables) == set(other.groups[group].variables)
        for name in data.variables:
            if name != "step_seconds":
                np.testing.assert_array_equal(data[name].values, other.groups[group][name].values, err_msg=str(name))


def load_all(run: Path) -> None:
    """Read all that a run holds."""
    for group in pt.load_fit(run).groups.values():
        group.load()
