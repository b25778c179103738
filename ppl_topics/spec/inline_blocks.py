"""Blocks that are written in the place of another block's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ppl_topics.core.registry import blocks
from ppl_topics.errors import SpecError
from ppl_topics.spec.source import KeyPath, Source

__all__ = ["named_blocks"]


def named_blocks(source: Source) -> Source:
    """Give each block that stands in a field for the name of one a name: that of the variable, ``_``, and the key.

    ``eta: {block: normal, variance: {block: gamma, ...}}`` becomes ``eta: {block: normal, variance: eta_variance}``
    beside ``eta_variance: {block: gamma, ...}``.

    Raises
    ------
    SpecError
        If the model has another block of that name.
    """
    named, locations, known = dict(source.data["blocks"]), dict(source.locations), blocks()
    left = list(named)
    while left:
        name = left.pop(0)
        for key in _fields(named[name], known):
            inner, path = f"{name}_{key}", ("blocks", name, key)
            if inner in named:
                raise SpecError(
                    f"{source.locate(path)}: block {name!r}: the block under {key} would be called {inner!r}, as "
                    "another block of this model is; give it a name of its own, and write that here"
                )
            named[inner] = named[name][key]
            named[name] = {**named[name], key: inner}
            new: KeyPath = ("blocks", inner)
            locations |= {(*new, *at[3:]): place for at, place in locations.items() if at[:3] == path}
            locations.setdefault(new, source.locate(path))
            left.append(inner)
    return replace(source, data={**source.data, "blocks": named}, locations=locations)


def _fields(data: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Return the keys of a block that hold another one."""
    kind = data.get("block")
    references = known[kind].references if isinstance(kind, str) and kind in known else {}
    return [key for key in references if isinstance(data.get(key), dict) and "block" in data[key]]
