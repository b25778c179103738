"""``$parameters``: named values that a user may set, put in where they are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ppl_topics._util.nearest import nearest
from ppl_topics.errors import SpecError
from ppl_topics.spec.source import MAX_DEPTH, KeyPath, Place, Source, plain, spell

__all__ = ["overridden", "parameters_of", "substituted"]

FREE_TEXT = ("name", "doc")
NAME = re.compile(r"[^\W\d][\w-]*")
"""Of a parameter."""

MAX_VALUES = 1_000_000


def overridden(source: Source, values: Mapping[str, Any], call: str) -> Source:
    """Set parameters by name; ``alpha.sum`` reaches into a mapping.

    Parameters
    ----------
    source : Source
    values : mapping of str to object
    call : str
        How messages call such a setting, with ``{name}`` where the name goes.

    Raises
    ------
    SpecError
        If the model has no parameter of that name.
    """
    data = dict(source.data)
    places = dict(source.places)
    parameters = dict(parameters_of(source))
    for name, value in values.items():
        place = Place(call.format(name=name))
        head, *rest = str(name).split(".")
        if head not in parameters:
            raise SpecError(f"{place}: model {data.get('name')!r} has no parameter {head!r}{nearest(head, parameters)}")
        parameters[head] = _set(parameters[head], rest, plain(value, str(place)))
        for path in [p for p in places if p[:2] == ("parameters", head)]:
            del places[path]
        places[("parameters", head)] = place
    data["parameters"] = parameters
    return replace(source, data=data, places=places)


def parameters_of(source: Source) -> dict[str, Any]:
    """Return the parameters, as yet unresolved.

    Raises
    ------
    SpecError
        If what stands under that key is no mapping, or a name is none that can be given by ``--set``.
    """
    parameters = source.data.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        place = source.place(("parameters",))
        raise SpecError(f"{place}: parameters: expected a mapping, got {spell(parameters)}")
    for name in parameters:
        if not NAME.fullmatch(name):
            place = source.place(("parameters", name))
            raise SpecError(f"{place}: parameter name {spell(name)}: use letters, digits, _ and -, a letter or _ first")
    return parameters


def _set(current: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    inner = dict(current) if isinstance(current, dict) else {}
    inner[keys[0]] = _set(inner.get(keys[0]), keys[1:], value)
    return inner


def substituted(source: Source) -> tuple[Source, set[str]]:
    """Replace each string ``$name`` by the parameter's value; ``name`` and ``doc`` are free text.

    Returns
    -------
    source : Source
        Its places lead to where the parameter was set.
    used : set of str
        Names of the parameters that something refers to.

    Raises
    ------
    SpecError
        If a name is undefined, or parameters refer to each other in a circle or expand without bound.
    """
    parameters = parameters_of(source)
    places = dict(source.places)
    used: set[str] = set()
    count = 0

    def resolve(value: Any, path: KeyPath, written: KeyPath, open_names: tuple[str, ...], depth: int) -> Any:
        nonlocal count
        count += 1
        here = source.place(written)
        if count > MAX_VALUES or depth > MAX_DEPTH:
            raise SpecError(
                f"{here}: with its parameters put in, the model has over {MAX_VALUES:,} values or {MAX_DEPTH} levels; "
                "use fewer $names inside parameters"
            )
        if written != path:
            places[path] = here
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
    return replace(source, data=data, places=places), used
