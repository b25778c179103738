"""YAML text to plain data, with the place of every key, and nothing that YAML could do to harm us.

Only the safe loader's scalars are built. Tags, duplicate keys, keys that are no strings, files over a
megabyte, deep nesting and aliases that expand without bound are refused with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ppl_topics.errors import SpecError

__all__ = ["KeyPath", "Place", "Source", "parse_scalar", "parse_source", "read_source", "source_of"]

KeyPath = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 20_000


@dataclass(frozen=True)
class Place:
    """Where something was written: a file with line and column, or an argument."""

    name: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Return ``name:line:column``, the form editors jump to."""
        return self.name if self.line is None else f"{self.name}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Source:
    """Plain data, and the place of each of its keys and items.

    Attributes
    ----------
    name : str
        File name, or what stands for it in messages.
    data : dict
        Mappings, lists, strings, numbers, booleans and None.
    places : dict
        Place by key path; a mapping's entry is placed at its key.
    own_parameters : frozenset of str, optional
        Parameters that an extending file brings in; None where all are its own.
    """

    name: str
    data: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    own_parameters: frozenset[str] | None = None

    def place(self, path: KeyPath) -> Place:
        """Return the place of ``path``, or of its nearest ancestor that has one."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return Place(self.name)


class _Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2's scalars: ``1e-3`` is a number, ``no`` and ``1:30`` are strings."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("merge", r"^<<$", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read_source(path: str | Path, name: str | None = None) -> Source:
    """Read a YAML file.

    Parameters
    ----------
    path : path-like
        A UTF-8 file of at most 1 MB.
    name : str, optional
        How messages call the file; its path by default.

    Raises
    ------
    SpecError
        If the file cannot be read or breaks one of the limits of this module.
    """
    path = Path(path)
    name = name or str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{name}: cannot read the model file ({error.strerror})") from None
    if len(raw) > MAX_BYTES:
        raise SpecError(f"{name}: the file is over 1 MB; a model specification is a page or two")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SpecError(f"{name}:{line}: not UTF-8 text; save the file as UTF-8") from None
    return parse_source(text, name)


def parse_source(text: str, name: str) -> Source:
    """Parse YAML text that must hold one mapping."""
    try:
        _check_events(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(name) if mark is None else Place(name, mark.line + 1, mark.column + 1)
        raise SpecError(f"{place}: not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"{name}: not valid YAML: {error}") from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{name}:1:1: expected a mapping with keys such as name, parameters and blocks")
    walker = _Walker(name)
    data = walker.build(node, (), 0)
    walker.places.setdefault((), Place(name, 1, 1))
    return Source(name, data, walker.places)


def parse_scalar(text: str, name: str) -> Any:
    """Parse the value of a ``name=value`` option as YAML, with the limits of files."""
    return parse_source(f"value: {text}" if text else "value: ''", name).data["value"]


def _check_events(text: str, name: str) -> None:
    """Refuse tags and deep nesting before anything recursive runs."""
    depth = 0
    documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        mark = event.start_mark
        place = Place(name) if mark is None else Place(name, mark.line + 1, mark.column + 1)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise SpecError(f"{place}: YAML tags such as {tag!r} are not allowed; write a plain value")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise SpecError(f"{place}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise SpecError(f"{place}: a second YAML document; a file holds one model")


class _Walker:
    """Builds plain data from nodes, counting them: aliases are expanded, but not without bound."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[KeyPath, Place] = {}
        self.count = 0
        self.scalars = _Loader("")

    def build(self, node: yaml.Node, path: KeyPath, depth: int) -> Any:
        self.count += 1
        place = self.place(node)
        if self.count > MAX_NODES or depth > MAX_DEPTH:
            raise SpecError(f"{place}: aliases expand this file beyond {MAX_NODES:,} values; write them out")
        self.places.setdefault(path, place)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        return self.scalars.construct_object(node)

    def mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = self.place(key_node)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise SpecError(f"{place}: merge keys (<<) are not supported; use `extends` or $parameters")
            key = self.scalars.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise SpecError(f"{place}: keys must be words, got {key_node.value!r}; quote it if it is meant")
            if key in result:
                raise SpecError(f"{place}: the key {key!r} stands twice; keep one")
            self.places[(*path, key)] = place
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def place(self, node: yaml.Node) -> Place:
        return Place(self.name, node.start_mark.line + 1, node.start_mark.column + 1)


def source_of(data: Mapping[str, Any], name: str) -> Source:
    """Wrap data that was given as a Python mapping."""
    return Source(name, dict(data))
