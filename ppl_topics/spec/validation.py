"""From pydantic's errors to one sentence with a location, a key and the nearest valid word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pydantic
from pydantic_core import ErrorDetails

from ppl_topics._util.nearest import did_you_mean, nearest
from ppl_topics.errors import SpecError
from ppl_topics.spec.source import KeyPath, Location, short_repr

__all__ = ["validated"]

M = TypeVar("M", bound=pydantic.BaseModel)


def validated(
    model: type[M],
    data: Any,
    what: str,
    locate: Callable[[KeyPath], Location],
    error: type[SpecError] = SpecError,
) -> M:
    """Validate ``data`` as ``model``; raise ``error`` with one sentence on the most telling of pydantic's errors.

    ``what`` names the data in messages, such as ``block 'phi' (dirichlet)``; ``locate`` gives the location of a key
    path inside ``data``.
    """
    try:
        return model.model_validate(data)
    except pydantic.ValidationError as failure:
        details = failure.errors(include_url=False)
    path, alike = _most_telling(details, data)
    raise error(f"{locate(path)}: {what}: {_sentence(alike, path, model)}") from None


def _most_telling(details: list[ErrorDetails], data: Any) -> tuple[KeyPath, list[ErrorDetails]]:
    """Return the key path that deserves the message, and pydantic's errors there, best first.

    For a union pydantic reports all members. The innermost error comes first, since that member was probably meant;
    then an unknown key, a value out of range, a wrong type, a missing key.
    """
    paths = [_data_path(d, data) for d in details]
    known = {path for path, d in zip(paths, details, strict=True) if d["type"] not in ("extra_forbidden", "missing")}

    def telling(index: int) -> tuple[int, int]:
        kind = details[index]["type"]
        if kind == "extra_forbidden":
            # What is unknown to one member of a union may be a key of another.
            return len(paths[index]), -1 if paths[index] in known else 3
        return len(paths[index]), 0 if kind == "missing" else 1 if kind.endswith("_type") else 2

    chosen = max(range(len(details)), key=telling)
    path = paths[chosen]
    return path, [details[chosen], *(d for i, d in enumerate(details) if paths[i] == path and i != chosen)]


def _data_path(detail: ErrorDetails, data: Any) -> KeyPath:
    """Drop the union members that pydantic mixes into locations; keep what indexes the data."""
    path: list[int | str] = []
    loc = detail["loc"]
    for position, part in enumerate(loc):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and part in range(len(data)):
            data = data[int(part)]
        elif detail["type"] == "missing" and position == len(loc) - 1:
            pass  # a missing key is placed at its mapping
        else:
            continue
        path.append(part)
    return tuple(path)


def _sentence(alike: list[ErrorDetails], path: KeyPath, model: type[pydantic.BaseModel]) -> str:
    key = ".".join(str(p) for p in path) or "this"
    detail = alike[0]
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        valid = {key for d in alike if d["type"] == kind for key in _valid_keys(d["loc"], model)}
        return f"unknown key {key!r}{nearest(str(path[-1]), valid)}"
    if kind == "missing":
        return f"the key {key!r} is missing"
    if kind == "too_short":
        return f"{key}: needs at least {detail['ctx']['min_length']} of them, got {short_repr(given)}"
    if kind == "literal_error" or kind.endswith("_type"):
        wanted = dict.fromkeys(_wanted(d) for d in alike if d["type"] == "literal_error" or d["type"].endswith("_type"))
        hint = did_you_mean(str(given), _literals(detail)) if kind == "literal_error" else ""
        return f"{key}: expected {' or '.join(wanted)}, got {short_repr(given)}{hint}"
    sentence = detail["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return sentence if key == "this" else f"{key}: {sentence}"
    for bound in detail.get("ctx", {}).values():
        # pydantic writes 1e-20 with all its zeros.
        if isinstance(bound, float) and not 1e-6 < abs(bound) < 1e9 and bound != 0.0:
            sentence = f"{sentence.rsplit(' ', 1)[0]} {bound:g}"
    return f"{key}: must be {sentence.removeprefix('Input should be ')}, got {short_repr(given)}"


def _wanted(detail: ErrorDetails) -> str:
    wanted = detail["msg"].removeprefix("Input should be ").removeprefix("a valid ").split(" or instance")[0]
    plain = {"dictionary": "a mapping", "boolean": "true or false", "integer": "a whole number"}
    return plain.get(wanted, wanted if detail["type"] == "literal_error" else f"a {wanted}")


def _literals(detail: ErrorDetails) -> Iterable[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [word.strip(" '\"") for word in expected.replace(" or ", ",").split(",")]


def _valid_keys(loc: tuple[int | str, ...], model: type[pydantic.BaseModel]) -> list[str]:
    """Return the valid keys at the location of an unknown one, following nested models by field or class name."""
    current = model
    members: list[type[pydantic.BaseModel]] = []
    for part in loc[:-1]:
        field = current.model_fields.get(str(part))
        if field:
            members = _models_in(field.annotation)
            current = members[0] if members else current
        else:
            current = next((cls for cls in members if cls.__name__ == part), current)
    return list(current.model_fields)


def _models_in(annotation: Any) -> list[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models_in(a)]
