"""Kernels that often take paths that they take a few times in a million otherwise, or on large corpora only.

The unit of rounding is raised from 2^-24 to 2^-7 before anything is compiled, in a process with its own cache. Cores
then leave out an eighth of each running sum, so that `verify` tests what a kernel draws beyond them. Likewise a word's
list of likely topics holds those within a quarter of its largest phi, not 2^-14 of it, so that others are drawn often;
words have alias tables from their second token on; and gains of responses are kept in every document. False alarms: at
most 1e-5 a kernel, as `verify` states.
"""

import json
import os
import subprocess
import sys

import pytest

CASES = {
    "lda": [
        "partially_collapsed",
        "sparse_partially_collapsed",
        "alias_partially_collapsed",
        "block_collapsed",
        "sparse_collapsed",
        "semi_collapsed",
    ],
    "slda_gaussian": ["gram_partially_collapsed"],
    "medlda": ["light_partially_collapsed"],
    "lda_spike_slab": ["listed_partially_collapsed"],
    "lda by word": ["block_collapsed"],
}
"""Models, and their kernels; "by word" where all words are frequent, and drawn from the lists of their documents."""

SCRIPT = """
import json
import sys
import numba
import numpy as np
import ppl_topics as pt
from ppl_topics.samplers.assignments import alias_partially_collapsed, block_collapsed, likely_topics, listed_draw
from ppl_topics.samplers.responses import kept_gains
from ppl_topics.samplers.variates import simd_categorical

@numba.njit(error_model="numpy")
def draw_from_remainders(stream, remainders, bound):
    return np.argmax(remainders)

@numba.njit(error_model="numpy")
def find_other(stream, point, token, given, likely, scratch):
    return -1

@numba.njit(error_model="numpy")
def draw_alias(stream, probability, alias):
    return np.argmax(probability)

@numba.njit(error_model="numpy")
def set_bend(doc, topic, term, row):
    row[:] = 0.0

simd_categorical.HALF_ULP = 2.0**-7
# Sums are bounds as wide as that, and must be computed anew before they are nothing but width.
listed_draw.FALL = 0.5
alias_partially_collapsed.TABLE_TOKENS = 2
kept_gains.PAYS, kept_gains.LEAST_RESPONSES = 1000, 0
likely_topics.LISTED = np.float32(0.25)
cases, bugs = json.loads(sys.argv[1])
for function, names in bugs.items():
    for name in names:
        assert hasattr(sys.modules[name], function), f"no {function} in {name}"
        setattr(sys.modules[name], function, globals()[function])
rare_words = block_collapsed.rare_words
for case, kernels in cases.items():
    model, *by_word = case.split(" by ")
    none = lambda word_counts, n_topics: word_counts < 0
    block_collapsed.rare_words = none if by_word else rare_words
    storage = {"storage": "sparse"} if model == "lda_spike_slab" else {}
    # Most bugs are refused by few chains.
    result = pt.verify(model, kernel=kernels, replicates=300 if bugs else 600, long_run=2000, **storage)
    if bugs and any(c.certified for c in result.certificates):
        result = pt.verify(model, kernel=kernels, **storage)
    print(*(f"{'_by_'.join([c.kernel, *by_word])}={c.certified}" for c in result.certificates))
"""


SAMPLERS = "ppl_topics.samplers"
ASSIGNMENTS = f"{SAMPLERS}.assignments"

BUGS = {
    "the topic with the largest remainder is taken": (
        {"lda": ["partially_collapsed", "block_collapsed"]},
        {"draw_from_remainders": [f"{SAMPLERS}.variates.remainder"]},
    ),
    "the entry with the largest remainder is taken": (
        {"lda": ["sparse_collapsed"], "lda by word": ["block_collapsed"]},
        {"draw_from_remainders": [f"{ASSIGNMENTS}.listed_draw"]},
    ),
    # Each is in the code of one kernel only. A topic that is not listed is never drawn where the list was not; the
    # first cell of an alias table that is not shared is taken; what topics have in common is forgotten.
    "a kernel of its own is wrong": (
        {"lda": ["sparse_partially_collapsed", "alias_partially_collapsed"], "medlda": ["light_partially_collapsed"]},
        {
            "find_other": [f"{ASSIGNMENTS}.sparse_partially_collapsed"],
            "draw_alias": [f"{ASSIGNMENTS}.alias_partially_collapsed"],
            "set_bend": [f"{SAMPLERS}.responses.kept_gains"],
        },
    ),
}
"""Models with kernels that must be refused, and the functions that are wrong, by module."""


def certified(folder, cases, bugs):
    """Return by kernel whether it is certified where rare paths are taken often: one process, as it compiles anew."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", SCRIPT, json.dumps([cases, bugs])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = dict(word.split("=") for word in done.stdout.split())
    return {kernel: outcome == "True" for kernel, outcome in outcomes.items()}


def names(cases):
    """The kernels of the cases, as the script names them."""
    return ["_by_".join([kernel, *case.split(" by ")[1:]]) for case, kernels in cases.items() for kernel in kernels]


@pytest.mark.slow
def test_kernels_are_certified(tmp_path):
    assert certified(tmp_path, CASES, {}) == dict.fromkeys(names(CASES), True)


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_refused(bug, tmp_path):
    cases, functions = BUGS[bug]
    assert certified(tmp_path, cases, functions) == dict.fromkeys(names(cases), False)
