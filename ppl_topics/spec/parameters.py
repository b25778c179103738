"""``$parameters``: named values that a user may set, put in where they are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ppl_topics.errors import SpecError
from ppl_topics.spec.source import KeyPath, Place, Source
from ppl_topics.spec.suggest import nearest

__all__ = ["overridden", "substituted"]


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
    parameters = dict(data.get("parameters") or {})
    for name, value in values.items():
        place = Place(call.format(name=name))
        head, *rest = name.split(".")
        if head not in parameters:
            raise SpecError(f"{place}: model {data.get('name')!r} has no parameter {head!r}{nearest(head, parameters)}")
        parameters[head] = _set(parameters[head], rest, value)
        for path in [p for p in places if p[:2] == ("parameters", head)]:
            del places[path]
        places[("parameters", head)] = place
    data["parameters"] = parameters
    return replace(source, data=data, places=places)


def _set(current: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    inner = dict(current) if isinstance(current, dict) else {}
    inner[keys[0]] = _set(inner.get(keys[0]), keys[1:], value)
    return inner


def substituted(source: Source) -> tuple[Source, set[str]]:
    """Replace each string ``$name`` outside ``parameters`` by the parameter's value.

    Returns
    -------
    source : Source
        Its places lead to where the parameter was set.
    used : set of str
        Names of the parameters that something refers to.

    Raises
    ------
    SpecError
        If a name is undefined, or parameters refer to each other in a circle.
    """
    parameters = source.data.get("parameters") or {}
    places = dict(source.places)
    used: set[str] = set()

    def resolve(value: Any, path: KeyPath, open_names: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {key: resolve(v, (*path, key), open_names) for key, v in value.items()}
        if isinstance(value, list):
            return [resolve(v, (*path, i), open_names) for i, v in enumerate(value)]
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        name = value[1:]
        here = source.place(path)
        if name not in parameters:
            raise SpecError(f"{here}: ${name} is not a parameter of this model{nearest(name, parameters)}")
        if name in open_names:
            raise SpecError(
                f"{here}: the parameters {' -> '.join([*open_names, name])} refer to each other in a circle"
            )
        used.add(name)
        set_at = source.place(("parameters", name))
        places[path] = set_at
        return resolve(parameters[name], ("parameters", name), (*open_names, name))

    data = {key: resolve(value, (key,), ()) for key, value in source.data.items()}
    return replace(source, data=data, places=places), used
