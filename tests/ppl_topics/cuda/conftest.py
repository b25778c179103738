"""Tests of kernels on a device run on one where there is one, and in numba's CUDA simulator elsewhere.

The simulator must be asked for before numba is imported: `test_in_simulator` runs all of them in a process of its own.
"""

import sys

import pytest
from numba import config, cuda

SIMULATED = bool(config.ENABLE_CUDASIM)
ANYWHERE = ("test_in_simulator.py", "test_placing.py")

if SIMULATED:
    # The simulator passes the turn from thread to thread; by default each keeps it for five milliseconds.
    sys.setswitchinterval(1e-6)


def pytest_collection_modifyitems(items):
    if SIMULATED or cuda.is_available():
        return
    for item in items:
        if item.path.parent.name == "cuda" and item.path.name not in ANYWHERE:
            item.add_marker(pytest.mark.skip(reason="no GPU here; test_in_simulator.py runs it in the simulator"))
