"""The tests of this folder, in numba's CUDA simulator: they show what kernels draw, and nothing of their speed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

FOLDER = Path(__file__).parent


@pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="runs in the simulator already")
@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_kernels_in_the_simulator(which):
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *options, "-m", which, str(FOLDER)]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=FOLDER.parents[2])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2000:]
    assert int(passed[1]) >= (8 if which == "slow" else 30)
