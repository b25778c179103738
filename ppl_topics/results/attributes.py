"""Which attributes a trace may have: those that a netCDF file can store and that are read back from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics.results.opening import MAX_ATTRIBUTES, MAX_ITEMS, MAX_TEXTS

__all__ = ["attribute_problems"]


def attribute_problems(groups: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield what is wrong with the attributes of a trace."""
    owners: dict[str, Mapping[Any, Any]] = {}
    for name, group in groups.items():
        owners |= {name: group.attrs, **{f"{name}/{label}": item.attrs for label, item in group.variables.items()}}
    for where, attributes in owners.items():
        if len(attributes) > MAX_ATTRIBUTES:
            yield f"{where} has {len(attributes):,} attributes, more than {MAX_ATTRIBUTES:,}"
        for name, value in attributes.items():
            if not _is_storable(value):
                yield (
                    f"the attribute {str(name)[:40]!r} of {where}, of type {type(value).__name__}, is neither text nor "
                    f"a number nor a list of at most {MAX_TEXTS} texts or {MAX_ITEMS:,} numbers"
                )


def _is_storable(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim <= 1 else [value]
    items = value if isinstance(value, list | tuple) else [value]
    if items and all(isinstance(item, str | bytes) for item in items):
        return len(items) <= MAX_TEXTS
    return len(items) <= MAX_ITEMS and all(_is_number(item) for item in items)


def _is_number(value: Any) -> bool:
    if isinstance(value, int | np.integer):
        return -(2**63) <= int(value) < 2**64
    return isinstance(value, float | np.floating | np.bool_)
