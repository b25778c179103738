"""What topics are called that a model has names for: after their keywords, or their labels."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

__all__ = ["called", "named", "topic_names", "with_names"]


def topic_names(groups: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the name of each topic, empty for one that has none; an empty list if no topic has one."""
    constants = groups.get("constant_data", xr.Dataset())
    return [] if "topic_name" not in constants else [str(name) for name in constants["topic_name"].values]


def with_names(table: pd.DataFrame, groups: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """Return a table with the names of topics beside the column ``topic``, if topics have names."""
    names = topic_names(groups)
    if names:
        texts = ["" if pd.isna(topic) else names[int(topic)] for topic in table["topic"]]
        table.insert(list(table.columns).index("topic") + 1, "name", texts)
    return table


def called(names: list[str], topic: int) -> str:
    """Return the number of a topic, with its name if it has one: ``3 (economy)``."""
    return f"{topic} ({names[topic]})" if topic < len(names) and names[topic] else str(topic)


def named(names: list[str], topic: int, words: str) -> str:
    """Return the words of a topic, after its name if it has one."""
    return f"{names[topic]}: {words}" if topic < len(names) and names[topic] else words
