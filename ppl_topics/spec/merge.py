"""``extends``: a model that takes another's parts and overrides some."""

from __future__ import annotations

from typing import Any

from ppl_topics.spec.source import KeyPath, Place, Source

__all__ = ["merged"]


def merged(base: Source, top: Source) -> Source:
    """Lay ``top`` over ``base``: mappings merge key by key, all else replaces, null removes.

    A block that changes its kind replaces the block of the base, whose keys would not fit it; and so does what
    to record of a variable.
    """
    places: dict[KeyPath, Place] = {}

    def copy(source: Source, data: Any, path: KeyPath) -> Any:
        places[path] = source.place(path)
        if isinstance(data, dict):
            return {key: copy(source, value, (*path, key)) for key, value in data.items()}
        if isinstance(data, list):
            return [copy(source, value, (*path, i)) for i, value in enumerate(data)]
        return data

    def join(low: Any, high: Any, path: KeyPath) -> Any:
        whole = _changes_kind(low, high) or (path[:1] == ("record",) and len(path) == 2)
        if whole or not (isinstance(low, dict) and isinstance(high, dict)):
            return copy(top, high, path)
        places[path] = top.place(path)
        result = {}
        for key in [*low, *(k for k in high if k not in low)]:
            here = (*path, key)
            if key not in high:
                result[key] = copy(base, low[key], here)
            elif high[key] is not None:
                result[key] = join(low[key], high[key], here) if key in low else copy(top, high[key], here)
        return result

    data = join(base.data, {k: v for k, v in top.data.items() if k != "extends"}, ())
    return Source(top.name, data, places, base.own_parameters)


def _changes_kind(low: Any, high: Any) -> bool:
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return False
    return "block" in low and "block" in high and low["block"] != high["block"]
