"""How fast this machine is, against the nominal one that kernels' cost formulas are written for."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from ppl_topics.core.keys import Key
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.collapsed_gibbs import Priors, sweep_collapsed
from ppl_topics.samplers.counts import Counts
from ppl_topics.samplers.responses.response_term import NO_RESPONSE

__all__ = ["machine_speed"]

DOCS, LENGTH, WORDS, TOPICS = 100, 100, 2000, 100

NOMINAL_SECONDS = 1.43e-3
"""What the nominal machine takes for one sweep of the reference, once it has been compiled."""

REPEATS = 9


@cache
def machine_speed() -> float:
    """Return the speed of one thread of this machine, the nominal one having 1: measured once, in about 30 ms.

    The reference is collapsed Gibbs sampling on 10,000 random tokens. The shortest of several sweeps counts: whatever
    else runs on the machine can only slow them down.
    """
    rng = np.random.default_rng(0)
    doc_ptr = np.arange(DOCS + 1) * LENGTH
    words = rng.zipf(1.2, DOCS * LENGTH).astype(np.uint32) % np.uint32(WORDS)
    z = rng.integers(TOPICS, size=words.size).astype(np.uint8)
    n_wk = np.zeros((WORDS, TOPICS), np.int32)
    np.add.at(n_wk, (words, z), 1)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    tokens = TokensByDocument(np.array([0, DOCS]), doc_ptr, words, np.ones(WORDS, np.bool_))
    priors = Priors(np.full((1, TOPICS), 0.1), np.empty(0, np.int64), np.full(WORDS, 0.01), 0.01 * WORDS)
    for array in (doc_ptr, words):
        # As in a run, so that the function is compiled for these types once.
        array.flags.writeable = False
    best = float("inf")
    for sweep in range(REPEATS):
        started = time.perf_counter()
        sweep_collapsed(tokens, z, Counts(n_wk, n_k), priors, NO_RESPONSE, Key(0, 0, sweep, 1))
        best = min(best, time.perf_counter() - started)
    return NOMINAL_SECONDS / best
