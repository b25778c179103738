"""What holds for all tests."""

import os

import numba

# The tests' workers share the cores: threads that wait by turning round take them from each other, a quarter of the
# time of all. Read by OpenMP when the first parallel function is compiled, so before any of them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_runtest_setup() -> None:
    """Begin each test with one thread, for the corpora are tiny; tests of more say so."""
    numba.set_num_threads(1)
