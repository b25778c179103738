"""Importing every module of a package, so that each registers what it defines."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import walk_packages

__all__ = ["import_modules"]


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import the modules of a package, given its name and its ``__path__``, in alphabetical order."""
    for module in walk_packages(path, f"{package}."):
        import_module(module.name)
