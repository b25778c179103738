"""Importing every module of a package, so that each registers what it defines, and what entry points name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import EntryPoint
from pkgutil import walk_packages
from typing import Any

from ppl_topics.errors import SpecError

__all__ = ["import_modules", "load_entry_point"]


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import the modules of a package, given its name and its ``__path__``, in alphabetical order."""
    for module in walk_packages(path, f"{package}."):
        import_module(module.name)


def load_entry_point(point: EntryPoint) -> Any:
    """Return what an entry point names; a package that fails to be imported is a SpecError."""
    try:
        return point.load()
    except Exception as error:
        raise SpecError(
            f"entry point {point.name!r} of group {point.group!r} ({point.value}) fails to load: "
            f"{type(error).__name__}: {error}; fix or uninstall that package"
        ) from error
