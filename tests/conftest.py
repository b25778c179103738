"""What holds for all tests."""

import numba
import pytest

from ppl_topics.results import opening, store


def pytest_runtest_setup() -> None:
    """Begin each test with one thread, for the corpora are tiny; tests of more say so."""
    numba.set_num_threads(1)


@pytest.fixture(autouse=True)
def traces_are_opened_here(request):
    """Leave out the process that reads a trace first, a quarter of a second each, but where it is what is tested."""
    # Not the test's own `monkeypatch`, which other fixtures may rely on being undone before them.
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("own_process") is None:
            patch.setattr(store, "probe", opening.probe_here)
        yield
