"""Compiled code of a wheel is loaded where it fits, and nowhere else."""

import importlib.util
import sys

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba.core.caching import CacheImpl

from ppl_topics._util import precompiled
from ppl_topics._util.compiled import compiled

SOURCES = """
from ppl_topics._util.compiled import compiled

@compiled
def twice(x):
    return 2 * x
"""


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    """A package with compiled code of one function, for an int64; it is imported anew each time."""
    folder = tmp_path / "package" / "_precompiled"
    monkeypatch.setattr(precompiled, "FOLDER", folder)
    monkeypatch.setattr(precompiled, "FEATURES", folder / "features")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "in_wheel.py").write_text(SOURCES)

    def load():
        precompiled._digest.cache_clear()
        precompiled._runs_here.cache_clear()
        spec = importlib.util.spec_from_file_location("in_wheel", tmp_path / "package" / "in_wheel.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "in_wheel", module)
        spec.loader.exec_module(module)
        return module.twice

    with monkeypatch.context() as build:
        build.setattr(CacheImpl, "_locator_classes", [precompiled.Locator])
        assert load()(2) == 4
    (folder / "features").write_text(next(name for name, has in binding.get_host_cpu_features().items() if has))
    yield load
    precompiled._digest.cache_clear()
    precompiled._runs_here.cache_clear()


def loaded(function):
    return sum(function.stats.cache_hits.values()) == 1


def test_code_of_the_wheel_is_loaded(wheel, tmp_path):
    twice = wheel()
    assert (twice(3), loaded(twice)) == (6, True)
    assert not list((tmp_path / "cache").rglob("*.nbc"))


def test_other_types_are_compiled_and_kept_elsewhere(wheel, tmp_path):
    twice = wheel()
    assert (twice(1.5), loaded(twice)) == (3.0, False)
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 1
    again = wheel()
    assert (again(1.5), loaded(again)) == (3.0, True)


def test_what_was_compiled_here_comes_first(wheel, monkeypatch, tmp_path):
    with monkeypatch.context() as without:
        without.setattr(precompiled, "FEATURES", tmp_path / "none")
        wheel()(3)
    for file in precompiled.FOLDER.rglob("*.nbc"):
        file.unlink()
    twice = wheel()
    assert (twice(3), loaded(twice)) == (6, True)


@pytest.mark.parametrize("changed", ["in_wheel.py", "other.py"])
def test_changed_sources_are_compiled(wheel, tmp_path, changed):
    with (tmp_path / "package" / changed).open("a") as file:
        file.write("\n# changed\n")
    twice = wheel()
    assert (twice(3), loaded(twice)) == (6, False)


def test_a_processor_that_lacks_a_feature_compiles(wheel):
    precompiled.FEATURES.write_text("sse2 of_another_processor")
    twice = wheel()
    assert (twice(3), loaded(twice)) == (6, False)


def test_another_numba_compiles(wheel, monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    twice = wheel()
    assert (twice(3), loaded(twice)) == (6, False)


def test_without_a_wheel_there_is_no_other_cache():
    assert not precompiled.FEATURES.exists()

    @compiled
    def twice(x):
        return 2 * x

    assert type(twice._cache) is numba.core.caching.FunctionCache
    assert twice(np.int64(2)) == 4
