"""Compiled code that comes in a wheel: functions load it where they would compile."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from llvmlite import binding  # type: ignore[import-untyped]
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.dispatcher import Dispatcher

__all__ = ["Locator", "cache_on_disk"]

FOLDER = Path(__file__).parents[1] / "_precompiled"
"""Filled by `make dist`; sources have none."""

FEATURES = FOLDER / "features"
"""Names the features of the processor that the code needs, as LLVM does: ``avx2 fma``."""


def cache_on_disk(function: Any) -> None:
    """Let a function that numba will compile be cached on disk, and look in the wheel if this came in one with code."""
    if isinstance(function, Dispatcher):  # a plain function with NUMBA_DISABLE_JIT
        if FEATURES.exists():
            function._cache = _Cache(function.py_func)  # type: ignore[attr-defined]
        else:
            function.enable_caching()


class Locator(_CacheLocator):  # type: ignore[misc]
    """Where a wheel has the compiled code of a function. `make dist` gives it to numba, which writes the code there."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file, self._function = file, function

    @classmethod
    def from_function(cls, function: Any, file: str) -> Locator:
        """Return the place for a function in a file of sources."""
        return cls(function, file)

    def get_cache_path(self) -> str:
        """Return the folder for the function's module."""
        return str(FOLDER / self._function.__module__)

    def get_source_stamp(self) -> bytes:
        """Return a digest of all sources: code has parts of functions in other files."""
        return _digest(FOLDER.parent)

    def get_disambiguator(self) -> str:
        """Return the line of the function."""
        return str(self._function.__code__.co_firstlineno)


class _OfWheel(FunctionCache):  # type: ignore[misc]
    """The code of a function in the wheel."""

    class _impl_class(CompileResultCacheImpl):  # type: ignore[misc]  # noqa: N801
        _locator_classes = (Locator,)

    def _load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature, whatever kind of processor it was compiled for."""
        wanted, _, code = self._index_key(signature, context.codegen())
        for (found, _, code_of), name in self._cache_file._load_index().items():
            if (found, code_of) == (wanted, code):
                return self._impl.rebuild(context, self._cache_file._load_data(name))
        return None


class _Cache(FunctionCache):  # type: ignore[misc]
    """What was compiled here, or else what came in the wheel."""

    def _load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature, or None."""
        found = super()._load_overload(signature, context)
        if found is None and _runs_here():
            found = _OfWheel(self._py_func)._load_overload(signature, context)
        return found


@functools.cache
def _runs_here() -> bool:
    """Return whether this processor has the features that the code needs."""
    here = binding.get_host_cpu_features()
    return all(here.get(feature, False) for feature in FEATURES.read_text().split())


@functools.cache
def _digest(package: Path) -> bytes:
    """Return a digest of a package's sources."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(package.rglob("*.py")))).digest()
