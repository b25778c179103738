"""Reading models, and ``extends``: a model that takes over the parts of another and overrides some."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ppl_topics._util.nearest import choices, nearest
from ppl_topics.errors import SpecError
from ppl_topics.spec.parameters import parameters_of
from ppl_topics.spec.shipped import known_models
from ppl_topics.spec.source import KeyPath, Location, Source, short_repr, source_of
from ppl_topics.spec.yaml_source import parse_source, read_source

__all__ = ["merge", "read_model"]

MAX_EXTENDS = 10


def read_model(model: str | Path | Mapping[str, Any]) -> Source:
    """Return a model, by name, file, YAML text or mapping, merged with those that it extends."""
    return _extended(model, Path(), ())


def merge(base: Source, top: Source) -> Source:
    """Merge ``top`` into ``base``: mappings merge key by key, everything else is replaced, null removes a key.

    A block of another kind replaces the block of the base, whose keys would not fit; a rule of what to record
    replaces that of the base.
    """
    locations: dict[KeyPath, Location] = {}

    def copy(source: Source, data: Any, path: KeyPath) -> Any:
        locations[path] = source.locate(path)
        if isinstance(data, dict):
            return {key: copy(source, value, (*path, key)) for key, value in data.items()}
        if isinstance(data, list):
            return [copy(source, value, (*path, i)) for i, value in enumerate(data)]
        return data

    def join(low: Any, high: Any, path: KeyPath) -> Any:
        whole = _changes_kind(low, high) or (path[:1] == ("record",) and len(path) == 2)
        if whole or not (isinstance(low, dict) and isinstance(high, dict)):
            return copy(top, high, path)
        locations[path] = top.locate(path)
        result = {}
        for key in [*low, *(k for k in high if k not in low)]:
            here = (*path, key)
            if key not in high:
                result[key] = copy(base, low[key], here)
            elif high[key] is not None:
                result[key] = join(low[key], high[key], here) if key in low else copy(top, high[key], here)
        return result

    data = join(base.data, {k: v for k, v in top.data.items() if k != "extends"}, ())
    return Source(top.name, data, locations, base.own_parameters)


def _changes_kind(low: Any, high: Any) -> bool:
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return False
    return "block" in low and "block" in high and low["block"] != high["block"]


def _read(model: str | Path | Mapping[str, Any], folder: Path, by: str) -> tuple[Source, Path, Path | None]:
    """Return the source of a model, the folder that its relative paths start from, and its file."""
    if isinstance(model, Mapping):
        return source_of(model, str(model.get("name", "model"))), folder, None
    if not isinstance(model, str | os.PathLike):
        raise SpecError(f"the model is of type {type(model).__name__}; give a model's name, a file, a dict or a Spec")
    files = known_models()
    if isinstance(model, str) and model in files:
        return read_source(files[model], f"{model}.yaml"), files[model].parent, files[model].resolve()
    if isinstance(model, str) and "\n" in model:
        return parse_source(model, "<text>"), folder, None
    path = folder / model
    # Not is_file(), which raises if the name is too long for the file system.
    if not os.path.isfile(path):
        hint = f"; valid: {choices(files)}" if path.suffix in {".yaml", ".yml"} else nearest(str(model), files)
        raise SpecError(f"{by}{short_repr(str(model))} is neither a file nor a shipped model{hint}")
    return read_source(path, str(path)), path.parent, path.resolve()


def _extended(
    model: str | Path | Mapping[str, Any], folder: Path, chain: tuple[tuple[str, Path | None], ...], by: str = ""
) -> Source:
    """Return a model merged with those that it extends; ``chain`` has the models, with files, that led here."""
    source, folder, file = _read(model, folder, by)
    base = source.data.get("extends")
    if base is None:
        return source
    location = source.locate(("extends",))
    if not isinstance(base, str):
        raise SpecError(f"{location}: extends must name a model or a file, got {short_repr(base)}")
    if file is not None and file in [other for _, other in chain]:
        names = [*(name for name, _ in chain), source.name]
        raise SpecError(f"{location}: extends goes in a circle: {' -> '.join(names)}; one of them must extend nothing")
    if len(chain) >= MAX_EXTENDS:
        raise SpecError(f"{location}: more than {MAX_EXTENDS} models extend one another; this one must extend nothing")
    low = _extended(base, folder, (*chain, (source.name, file)), f"{location}: extends: ")
    own = set(parameters_of(source)) - set(parameters_of(low))
    result = merge(low, source)
    result.data.setdefault("name", source.name)
    return replace(result, own_parameters=frozenset(own))
