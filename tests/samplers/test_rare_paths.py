"""Kernels that often take paths that they take a few times in a million otherwise, or on large corpora only.

The unit of rounding is raised from 2^-24 to 2^-7 before anything is compiled, in a process with its own cache. Cores
then leave out an eighth of each running sum, so that `verify` tests what a kernel draws beyond them. Likewise a word's
list of likely topics holds those within a quarter of its largest phi, not 2^-14 of it, so that others are drawn often;
words have alias tables from their second token on; and gains of responses are kept in every document. False alarms: at
most 1e-5 a kernel, as `verify` states.
"""

import os
import subprocess
import sys

import pytest

CASES = {
    "partially_collapsed": "lda",
    "sparse_partially_collapsed": "lda",
    "alias_partially_collapsed": "lda",
    "block_collapsed": "lda",
    "sparse_collapsed": "lda",
    "semi_collapsed": "lda",
    "gram_partially_collapsed": "slda_gaussian",
    "light_partially_collapsed": "medlda",
    "listed_partially_collapsed": "lda_spike_slab",
}

SCRIPT = """
import sys
import numba
import numpy as np
import ppl_topics as pt
from ppl_topics.samplers.assignments import alias_partially_collapsed, likely_topics
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
alias_partially_collapsed.TABLE_TOKENS = 2
kept_gains.PAYS, kept_gains.LEAST_RESPONSES = 1000, 0
likely_topics.LISTED = np.float32(0.25)
model, kernels, bug = sys.argv[1], sys.argv[2].split(), sys.argv[3]
if bug:
    for module in list(sys.modules.values()):
        if hasattr(module, bug):
            setattr(module, bug, globals()[bug])
storage = {"storage": "sparse"} if model == "lda_spike_slab" else {}
# Most bugs are refused by few chains.
few = {"replicates": 300 if bug else 600, "long_run": 2000}
result = pt.verify(model, kernel=kernels, **few, **storage)
if bug and any(c.certified for c in result.certificates):
    result = pt.verify(model, kernel=kernels, **storage)
print(*(f"{c.kernel}={c.certified}" for c in result.certificates))
"""


def certified(tmp_path, model, kernels, bug=""):
    """Return by kernel whether it is certified where rare paths are taken often."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, model, " ".join(kernels), bug]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = dict(word.split("=") for word in done.stdout.split())
    return {kernel: outcome == "True" for kernel, outcome in outcomes.items()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The cache of what is compiled without a bug, alike for all models."""
    return tmp_path_factory.mktemp("compiled")


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(set(CASES.values())))
def test_kernels_are_certified(model, compiled):
    kernels = [kernel for kernel, of in CASES.items() if of == model]
    assert certified(compiled, model, kernels) == dict.fromkeys(kernels, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "kernels"),
    [
        # The topic with the largest remainder is taken.
        ("draw_from_remainders", ["partially_collapsed", "block_collapsed"]),
        # A topic that is not listed is never drawn where the list was not.
        ("find_other", ["sparse_partially_collapsed"]),
        # The first cell of an alias table that is not shared is taken.
        ("draw_alias", ["alias_partially_collapsed"]),
        # What topics have in common is forgotten.
        ("set_bend", ["light_partially_collapsed"]),
    ],
)
def test_a_planted_bug_is_refused(bug, kernels, tmp_path):
    assert certified(tmp_path, CASES[kernels[0]], kernels, bug) == dict.fromkeys(kernels, False)
