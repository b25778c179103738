"""Small runs in folders that tests stop, damage and resume, and how their traces are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ppl_topics as pt

__all__ = ["OPTIONS", "load_all", "made_corpus", "same"]

OPTIONS: dict[str, Any] = {"topics": 3, "warmup": 3, "seed": 3, "chains": 2, "threads": 1, "progress": False}


def made_corpus() -> pt.Corpus:
    """Return documents of some words, one and none."""
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    return pt.Corpus.from_tokens(documents)


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
