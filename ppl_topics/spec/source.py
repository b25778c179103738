"""Plain data of a model, and where each part of it was written.

The limits on size and depth apply to YAML files and to data given in Python.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ppl_topics.errors import SpecError

__all__ = ["LARGE_INTEGER", "MAX_DEPTH", "KeyPath", "Location", "Source", "plain", "short_repr", "source_of"]

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 40

LARGE_INTEGER = 10**18
"""Larger whole numbers are read as floats, as YAML files have them."""


@dataclass(frozen=True)
class Location:
    """Where something was written: a file with line and column, or an argument."""

    name: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Return ``name:line:column``, the form editors jump to."""
        return self.name if self.line is None else f"{self.name}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Source:
    """Plain data, and the location of each of its keys and items.

    The location of a mapping's entry is that of its key. `name` is the file, or what messages say instead;
    `own_parameters` are those that an extending file adds, None if all are its own.
    """

    name: str
    data: dict[str, Any]
    locations: dict[KeyPath, Location] = field(default_factory=dict)
    own_parameters: frozenset[str] | None = None

    def locate(self, path: KeyPath) -> Location:
        """Return the location of ``path``, or of its nearest ancestor that has one."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.locations:
                return self.locations[path[:end]]
        return Location(self.name)


def source_of(data: Mapping[str, Any], name: str) -> Source:
    """Return the source of data that were given as a Python mapping."""
    return Source(name, plain(data, name))


def plain(value: Any, name: str) -> Any:
    """Return Python data as YAML would give it: tuples and arrays as lists, NumPy's numbers as Python's."""

    def build(value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise SpecError(f"{name}: nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise SpecError(f"{name}: keys must be words, got {short_repr(key)}; make it a string")
            return {str(key): build(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [build(item, depth + 1) for item in value]
        if type(value) is int and abs(value) >= LARGE_INTEGER:
            # YAML reads it as a float.
            if abs(value) > sys.float_info.max:
                raise SpecError(f"{name}: the number {short_repr(value)} is too large")
            return float(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise SpecError(f"{name}: expected numbers, words, lists and mappings, got {short_repr(value)}")

    return build(value, 0)


def short_repr(value: Any) -> str:
    """Return a value for messages, cut to 60 characters."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to print thousands of digits.
        return f"a number of {math.log10(abs(value)):,.0f} digits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
