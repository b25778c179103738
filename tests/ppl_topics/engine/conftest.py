"""What tests of running a model share."""

import os
import signal
from typing import ClassVar

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.engine import run


@pytest.fixture(scope="module")
def corpus():
    """Four short documents, one of them empty."""
    rng = np.random.default_rng(5)
    return pt.Corpus.from_tokens([[f"w{i}" for i in rng.integers(0, 9, n)] for n in (20, 0, 1, 15)])


@pytest.fixture
def interrupted(monkeypatch):
    """Interrupt the run once each of two workers has reported ten sweeps or more."""

    class Interrupting(run.ProgressBars):
        reached: ClassVar[set[int]] = set()

        def __call__(self, report):
            # Chains are dealt out in turn. Reports come later than sweeps, and not all chains of a worker have them.
            if report.sweep >= 10 and len(self.reached) < 2:
                self.reached.add(report.chain % 2)
                if len(self.reached) == 2:
                    os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(run, "ProgressBars", Interrupting)
