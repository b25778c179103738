"""Loops over tasks that are called by their address."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from ppl_topics._util.compiled import compiled
from ppl_topics._util.tasks import for_each

TWO = min(2, numba.config.NUMBA_NUM_THREADS)


class Pair(NamedTuple):
    values: np.ndarray
    factor: float


@compiled
def multiply(index, pair, nothing, more, out):
    out[index] += pair.factor * pair.values[index] + len(nothing) + more[1].values[0] + more[0]


@compiled
def add(index, left, right):
    left[index] += right[index]


@compiled
def refuse(index, at):
    if index == at:
        raise ValueError("a task that fails")


@pytest.mark.parametrize("threads", [1, TWO])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_each_task_is_called_once(threads, dtype):
    numba.set_num_threads(threads)
    for size in (0, 1, 3, 1000):
        values, out = (np.arange(size) % 200).astype(dtype), np.zeros(size)
        for_each(multiply, size, Pair(values, 0.5), (), (7, Pair(np.array([3]), 1.0)), out)
        np.testing.assert_array_equal(out, 0.5 * values + 10)


def test_arguments_of_other_types_have_code_of_their_own():
    """In any order, and with arrays that cannot be written to, or have gaps."""
    more, whole = (0, Pair(np.array([0]), 1.0)), np.arange(20)
    frozen = whole.astype(np.uint8)
    frozen.setflags(write=False)
    for values in (whole.astype(np.uint8), whole.astype(np.float64)[::2], frozen, whole.astype(np.uint8)):
        out = np.zeros(len(values))
        for_each(multiply, len(values), Pair(values, 2.0), (), more, out)
        np.testing.assert_array_equal(out, 2.0 * values)


def test_arguments_may_all_be_of_one_type():
    left, right = np.arange(5), np.arange(5)
    for_each(add, 5, left, right)
    np.testing.assert_array_equal(left, 2 * np.arange(5))


@pytest.mark.parametrize("threads", [1, TWO])
def test_a_task_that_fails_says_so(threads):
    numba.set_num_threads(threads)
    for_each(refuse, 5, 6)
    with pytest.raises(RuntimeError, match="1 of 5 tasks of refuse failed"):
        for_each(refuse, 5, 3)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from numba.core import event
from test_tasks import Pair, add, for_each, multiply
out = np.zeros(9)
with event.install_recorder("numba:compile") as made:
    if sys.argv[1] == "add":
        for_each(add, 9, out, np.arange(9.0))
    else:
        for_each(multiply, 9, Pair(np.arange(9.0), 2.0), (), (0, Pair(np.array([1]), 1.0)), out)
print(out.sum(), len(made.buffer) > 0)
"""


def test_code_is_kept_on_disk(tmp_path):
    """A process that loads all of it works too, even if the process that compiled a task had loaded the loop."""
    words = [sys.executable, "-c", PROGRAM.format(folder=str(Path(__file__).parent))]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    shown = [
        subprocess.run([*words, task], env=environment, check=True, capture_output=True, text=True).stdout
        for task in ("add", "multiply", "multiply")
    ]
    assert shown == ["36.0 True\n", "81.0 True\n", "81.0 False\n"]
