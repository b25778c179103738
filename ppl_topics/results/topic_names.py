"""What topics are called that a model has names for: after their keywords, or their labels."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

__all__ = ["named", "topic_names"]


def topic_names(groups: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the name of each topic, empty for one that has none; an empty list if no topic has one."""
    constants = groups.get("constant_data", xr.Dataset())
    return [] if "topic_name" not in constants else [str(name) for name in constants["topic_name"].values]


def named(names: list[str], topic: int, words: str) -> str:
    """Return the words of a topic, after its name if it has one."""
    return f"{names[topic]}: {words}" if topic < len(names) and names[topic] else words
