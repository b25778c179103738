"""The tables of proposals, as arrays that a checkpoint holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_tables", "restored_tables"]


def kept_tables(tables: Any, name: str = "table") -> dict[str, NDArray[Any]]:
    """Return the numbers and arrays of tables, by their places.

    Parameters
    ----------
    tables : tuple
        Of numbers, arrays, and tuples of these.
    name : str
        That names begin with.

    Raises
    ------
    TypeError
        If they hold something else.

    Examples
    --------
    >>> kept_tables(((1.5, np.zeros(2)), ()))
    {'table.0.0': array(1.5), 'table.0.1': array([0., 0.])}
    """
    return {place: np.asarray(value) for place, value in _leaves(tables, name)}


def restored_tables(
    tables: Any, arrays: Mapping[str, NDArray[Any]], held: Iterable[NDArray[Any]], name: str = "table"
) -> Any:
    """Return tables with the numbers and arrays that `kept_tables` returned of others of the same form.

    Parameters
    ----------
    tables : tuple
        What is not shared is written to.
    arrays : mapping of str to ndarray
    held : iterable of ndarray
        Arrays of the chain's state. Tables that share memory with them are left as they are: the state has been
        restored itself.
    name : str

    Raises
    ------
    KeyError, ValueError
        If the arrays are of tables of another form.
    """
    if isinstance(tables, tuple):
        parts = [restored_tables(part, arrays, held, f"{name}.{place}") for place, part in enumerate(tables)]
        return type(tables)(*parts) if hasattr(tables, "_fields") else tuple(parts)
    if not isinstance(tables, np.ndarray):
        return type(tables)(arrays[name].item())
    if not any(np.may_share_memory(tables, array) for array in held):
        if arrays[name].shape != tables.shape or arrays[name].dtype != tables.dtype:
            raise ValueError(f"{name} is of another shape or type")
        tables[...] = arrays[name]
    return tables


def _leaves(tables: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tables, tuple):
        for place, part in enumerate(tables):
            yield from _leaves(part, f"{name}.{place}")
    elif isinstance(tables, (np.ndarray, float, int, np.number)):
        yield name, tables
    else:
        raise TypeError(f"{name} is a {type(tables).__name__}; a checkpoint holds numbers, arrays and tuples of these")
