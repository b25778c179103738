"""What is said while kernels are compiled: once, and only if it takes long."""

import time

import pytest
from numba.core.event import trigger_event

from ppl_topics.engine import compilation
from ppl_topics.engine.compilation import MESSAGE, announcing_compilation


@pytest.fixture
def said():
    """Messages, of compilations that take longer than 0.3 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "PATIENCE", 0.3)
        yield []


def compile_for(seconds: float) -> None:
    """Do as numba does when it compiles a function, in which another one is compiled."""
    with trigger_event("numba:compile"), trigger_event("numba:compile"):
        time.sleep(seconds)


def test_a_long_compilation_is_announced_once_while_it_goes_on(said):
    with announcing_compilation(said.append):
        with trigger_event("numba:compile"):
            time.sleep(0.6)
            assert said == [MESSAGE]
        compile_for(0.4)
    assert said == [MESSAGE]


def test_short_ones_add_up(said):
    with announcing_compilation(said.append):
        for _ in range(3):
            compile_for(0.02)
        assert said == []
        for _ in range(3):
            compile_for(0.1)
    assert said == [MESSAGE]


def test_what_is_loaded_or_comes_after_is_not_announced(said):
    with announcing_compilation(said.append):
        time.sleep(0.4)
        compile_for(0.01)
        time.sleep(0.4)
    compile_for(0.4)
    assert said == []


def test_numba_tells_of_what_it_compiles(said):
    """The event is numba's own: a function that is new to it, for which no time is too short."""
    import numba

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "PATIENCE", 0.0)
        with announcing_compilation(said.append):
            numba.njit(lambda x: x + 1)(1)
            time.sleep(0.05)
    assert said == [MESSAGE]
