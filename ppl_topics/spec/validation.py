"""From pydantic's errors to one sentence with a place, a key and the nearest valid word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pydantic
from pydantic_core import ErrorDetails

from ppl_topics.errors import SpecError
from ppl_topics.spec.source import KeyPath, Place
from ppl_topics.spec.suggest import nearest

__all__ = ["spell", "validated"]

M = TypeVar("M", bound=pydantic.BaseModel)


def validated(
    model: type[M],
    data: Any,
    what: str,
    locate: Callable[[KeyPath], Place],
    error: type[SpecError] = SpecError,
) -> M:
    """Validate ``data`` as ``model``.

    Parameters
    ----------
    model : type of pydantic.BaseModel
    data : object
    what : str
        How the message calls the thing, such as ``block 'phi' (dirichlet)``.
    locate : callable
        Place of a key path inside ``data``.
    error : type of SpecError
        Class to raise.

    Raises
    ------
    SpecError
        With one sentence on the most telling of pydantic's errors.
    """
    try:
        return model.model_validate(data)
    except pydantic.ValidationError as failure:
        details = failure.errors(include_url=False)
    detail = _most_telling(details)
    path = _data_path(detail["loc"], data)
    raise error(f"{locate(path)}: {what}: {_sentence(detail, details, path, model)}") from None


def spell(value: Any) -> str:
    """Return a short form of a value for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _most_telling(details: list[ErrorDetails]) -> ErrorDetails:
    """Prefer a value out of range over a wrong type: of a union, the member that was meant."""
    telling = [d for d in details if not d["type"].endswith("_type")]
    extra = [d for d in telling if d["type"] == "extra_forbidden"]
    return (extra or telling or details)[0]


def _data_path(loc: tuple[int | str, ...], data: Any) -> KeyPath:
    """Drop the union members that pydantic mixes into locations; keep what indexes the data."""
    path: list[int | str] = []
    for position, part in enumerate(loc):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and part in range(len(data)):
            data = data[int(part)]
        elif isinstance(data, dict) and position == len(loc) - 1:
            pass  # a missing key is placed at its mapping
        else:
            continue
        path.append(part)
    return tuple(path)


def _sentence(detail: ErrorDetails, details: list[ErrorDetails], path: KeyPath, model: type[pydantic.BaseModel]) -> str:
    key = ".".join(str(p) for p in path)
    kind = detail["type"]
    if kind == "extra_forbidden":
        return f"unknown key {key!r}{nearest(str(path[-1]), _valid_keys(detail['loc'], model))}"
    if kind == "missing":
        return f"the key {key!r} is missing"
    wanted = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if kind.endswith("_type"):
        members = [
            d["msg"].removeprefix("Input should be a valid ") for d in details if d["loc"][0] == detail["loc"][0]
        ]
        wanted = " or ".join(dict.fromkeys(m.split(" or instance")[0] for m in members))
        return f"{key or 'this'}: expected a {wanted}, got {spell(detail['input'])}"
    if kind == "value_error":
        return f"{key}: {wanted}" if key else wanted
    hint = nearest(detail["input"], _literals(detail)) if kind == "literal_error" else ""
    hint = hint if hint.startswith("; did") else ""
    return f"{key}: must be {wanted}, got {spell(detail['input'])}{hint}"


def _literals(detail: ErrorDetails) -> Iterable[str]:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [word.strip(" '\"") for word in expected.replace(" or ", ",").split(",")]


def _valid_keys(loc: tuple[int | str, ...], model: type[pydantic.BaseModel]) -> list[str]:
    """Return the keys valid where an unknown one stood, following nested models by field or class name."""
    current = model
    for part in loc[:-1]:
        nested = {cls.__name__: cls for f in current.model_fields.values() for cls in _models_in(f.annotation)}
        field = current.model_fields.get(str(part))
        inside = _models_in(field.annotation) if field else []
        if str(part) in nested:
            current = nested[str(part)]
        elif inside:
            current = inside[0]
    return list(current.model_fields)


def _models_in(annotation: Any) -> list[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models_in(a)]
