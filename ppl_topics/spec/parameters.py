"""``$parameters``: named values that a user may set, put in where they are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ppl_topics._util.nearest import nearest
from ppl_topics.errors import SpecError
from ppl_topics.spec.source import MAX_DEPTH, KeyPath, Location, Source, plain, short_repr

__all__ = ["override_parameters", "parameters_of", "substitute_parameters"]

FREE_TEXT = ("name", "doc")
NAME = re.compile(r"[^\W\d][\w-]*")
"""Of a parameter."""

MAX_VALUES = 1_000_000


def override_parameters(source: Source, values: Mapping[str, Any], call: str) -> Source:
    """Set parameters by name; ``alpha.sum`` sets a key of a mapping.

    ``call`` is how messages refer to a setting, with ``{name}`` for its name.
    """
    data = dict(source.data)
    locations = dict(source.locations)
    parameters = dict(parameters_of(source))
    for name, value in values.items():
        location = Location(call.format(name=name))
        head, *rest = str(name).split(".")
        if head not in parameters:
            raise SpecError(
                f"{location}: model {data.get('name')!r} has no parameter {head!r}{nearest(head, parameters)}"
            )
        parameters[head] = _set(parameters[head], rest, plain(value, str(location)))
        for path in [p for p in locations if p[:2] == ("parameters", head)]:
            del locations[path]
        locations[("parameters", head)] = location
    data["parameters"] = parameters
    return replace(source, data=data, locations=locations)


def parameters_of(source: Source) -> dict[str, Any]:
    """Return the parameters as written; raise a `SpecError` unless they are a mapping with valid names."""
    parameters = source.data.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        location = source.locate(("parameters",))
        raise SpecError(f"{location}: parameters: expected a mapping, got {short_repr(parameters)}")
    for name in parameters:
        if not NAME.fullmatch(name):
            location = source.locate(("parameters", name))
            raise SpecError(
                f"{location}: parameter name {short_repr(name)}: use letters, digits, _ and -, a letter or _ first"
            )
    return parameters


def _set(current: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    inner = dict(current) if isinstance(current, dict) else {}
    inner[keys[0]] = _set(inner.get(keys[0]), keys[1:], value)
    return inner


def substitute_parameters(source: Source) -> tuple[Source, set[str]]:
    """Replace each string ``$name`` by the parameter's value; ``name`` and ``doc`` are free text."""
    parameters = parameters_of(source)
    locations = dict(source.locations)
    used: set[str] = set()
    count = 0

    def resolve(value: Any, path: KeyPath, written: KeyPath, open_names: tuple[str, ...], depth: int) -> Any:
        nonlocal count
        count += 1
        here = source.locate(written)
        if count > MAX_VALUES or depth > MAX_DEPTH:
            raise SpecError(
                f"{here}: with parameters substituted, the model has over {MAX_VALUES:,} values or {MAX_DEPTH} levels; "
                "use fewer $names inside parameters"
            )
        if written != path:
            locations[path] = here
        if isinstance(value, dict):
            return {k: resolve(v, (*path, k), (*written, k), open_names, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [resolve(v, (*path, i), (*written, i), open_names, depth + 1) for i, v in enumerate(value)]
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        name = value[1:]
        if name not in parameters:
            raise SpecError(f"{here}: ${name[:100]} is not a parameter of this model{nearest(name, parameters)}")
        if name in open_names:
            raise SpecError(
                f"{here}: the parameters {' -> '.join([*open_names, name])} refer to each other in a circle"
            )
        used.add(name)
        return resolve(parameters[name], path, ("parameters", name), (*open_names, name), depth + 1)

    data = {
        key: value if key in FREE_TEXT else resolve(value, (key,), (key,), (), 0) for key, value in source.data.items()
    }
    return replace(source, data=data, locations=locations), used
