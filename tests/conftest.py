"""What holds for all tests."""

import os

# The tests' workers share the cores: threads that wait by turning round take them from each other, a quarter of the
# time of all. Read by OpenMP when the first parallel function is compiled, so before any of them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
