"""The tables of proposals as arrays, for checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["arrays_of_tables", "restored_tables"]


def arrays_of_tables(tables: Any, name: str = "table") -> dict[str, NDArray[Any]]:
    """Return the numbers and arrays in nested tuples; names tell where each is.

    Examples
    --------
    >>> arrays_of_tables(((1.5, np.zeros(2)), ()))
    {'table.0.0': array(1.5), 'table.0.1': array([0., 0.])}
    """
    return {place: np.asarray(value) for place, value in _leaves(tables, name)}


def restored_tables(
    tables: Any, arrays: Mapping[str, NDArray[Any]], shared: Iterable[NDArray[Any]], name: str = "table"
) -> Any:
    """Return tables with the numbers and arrays that `arrays_of_tables` returned for others of the same form.

    Arrays of `tables` are overwritten, except those that share memory with one of `shared`: these belong to the state
    of the chain, which has been restored already. Raises KeyError or ValueError if the forms differ.
    """
    if isinstance(tables, tuple):
        parts = [restored_tables(part, arrays, shared, f"{name}.{place}") for place, part in enumerate(tables)]
        return type(tables)(*parts) if hasattr(tables, "_fields") else tuple(parts)
    if not isinstance(tables, np.ndarray):
        return type(tables)(arrays[name].item())
    if not any(np.may_share_memory(tables, array) for array in shared):
        if arrays[name].shape != tables.shape or arrays[name].dtype != tables.dtype:
            raise ValueError(f"{name} has another shape or type")
        tables[...] = arrays[name]
    return tables


def _leaves(tables: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tables, tuple):
        for place, part in enumerate(tables):
            yield from _leaves(part, f"{name}.{place}")
    elif isinstance(tables, (np.ndarray, float, int, np.number)):
        yield name, tables
    else:
        raise TypeError(f"{name} is a {type(tables).__name__}; checkpoints hold numbers, arrays and tuples of these")
