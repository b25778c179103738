"""YAML text to plain data with the location of every key, safely.

Only plain scalars, lists and mappings are built. Tags, duplicate keys, keys that are not strings, files over a
megabyte, deep nesting and aliases that expand without bound are refused with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ppl_topics.errors import SpecError
from ppl_topics.spec.source import MAX_DEPTH, KeyPath, Location, Source, short_repr

__all__ = ["dump_yaml", "parse_scalar", "parse_source", "read_source"]

A_MODEL = "a mapping with keys such as name, parameters and blocks"
MAX_BYTES = 1_000_000
MAX_NODES = 200_000

SURROGATE = re.compile("[\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2's scalars: ``1e-3`` is a number, ``no`` and ``1:30`` are strings."""


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes strings which YAML 1.1 or 1.2 would read as something else."""


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Read ``010`` as ten: YAML 1.2 has no such octals."""
    return int(node.value)


def _construct_word(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(node.value)


_Loader.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
# As a key it is refused with its location; as a value it is a string.
_Loader.add_constructor("tag:yaml.org,2002:merge", _construct_word)
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]{1,18}$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("merge", r"^<<$", "<"),
):
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read_source(path: str | Path, name: str | None = None, *, wanted: str = A_MODEL) -> Source:
    """Read a YAML file of at most 1 MB; raise a `SpecError` if it cannot be read or breaks a limit.

    Messages call the file ``name``, by default its path, and say that it should hold what is ``wanted``.
    """
    path = Path(path)
    name = name or str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{name}: cannot read the file ({error.strerror})") from None
    if len(raw) > MAX_BYTES:
        raise SpecError(f"{name}: the file is over 1 MB; a model specification is a page or two")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        raise SpecError(f"{_location_after(name, before)}: not UTF-8 text; save the file as UTF-8") from None
    return parse_source(text, name, wanted=wanted)


def parse_source(text: str, name: str, *, wanted: str = A_MODEL) -> Source:
    """Parse YAML text that must hold one mapping."""
    text = text.removeprefix("\ufeff")
    try:
        _check_events(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        location = Location(name) if mark is None else Location(name, mark.line + 1, mark.column + 1)
        raise SpecError(f"{location}: not valid YAML: {error.problem or error.context}") from None
    except SpecError:
        raise
    except yaml.reader.ReaderError as error:
        location = _location_after(name, text[: error.position])
        raise SpecError(
            f"{location}: the character {chr(error.character)!r} is not allowed in YAML; remove it"
        ) from None
    except (ValueError, OverflowError) as error:
        # PyYAML fails to convert some values, such as the character "\\UFFFFFFFF".
        raise SpecError(f"{name}: not valid YAML: a value cannot be converted ({error})") from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{name}:1:1: expected {wanted}")
    walker = _Walker(name)
    data = walker.build(node, (), 0)
    walker.locations.setdefault((), Location(name, 1, 1))
    return Source(name, data, walker.locations)


def parse_scalar(text: str, name: str) -> Any:
    """Parse the value of a ``name=value`` option as YAML, with the limits of files."""
    data = parse_source(f"value: {text}" if text else "value: ''", name).data
    if len(data) > 1:
        raise SpecError(f"{name}: expected one value, got {short_repr(text)}")
    return data["value"]


def _location_after(name: str, before: str) -> Location:
    """Return the location after the text ``before``."""
    return Location(name, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _check_events(text: str, name: str) -> None:
    """Refuse tags, deep nesting and long files before anything recursive runs."""
    depth = documents = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        mark = event.start_mark
        location = Location(name) if mark is None else Location(name, mark.line + 1, mark.column + 1)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise SpecError(f"{location}: YAML tags such as {short_repr(tag)} are not allowed; write a plain value")
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise SpecError(f"{location}: more than {MAX_NODES:,} values; a model specification is a page or two")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise SpecError(f"{location}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise SpecError(f"{location}: a second YAML document; a file holds one model")


class _Walker:
    """Builds plain data from nodes and counts them, so that aliases cannot expand without bound."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.locations: dict[KeyPath, Location] = {}
        self.count = 0
        self.scalars = _Loader("")

    def build(self, node: yaml.Node, path: KeyPath, depth: int) -> Any:
        self.count += 1
        location = self.locate(node)
        if depth > MAX_DEPTH:
            raise SpecError(f"{location}: aliases nest deeper than {MAX_DEPTH} levels; write the value out")
        if self.count > MAX_NODES:
            raise SpecError(f"{location}: aliases expand this file beyond {MAX_NODES:,} values; write them out")
        self.locations.setdefault(path, location)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        value = self.scalars.construct_object(node)
        if isinstance(value, str) and SURROGATE.search(value):
            raise SpecError(f"{location}: a \\u escape is only half of a character; write the character itself")
        return value

    def mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            location = self.locate(key_node)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise SpecError(f"{location}: merge keys (<<) are not supported; use `extends` or $parameters")
            key = self.scalars.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key_node, yaml.ScalarNode):
                raise SpecError(f"{location}: keys must be words, got a list or a mapping")
            if not isinstance(key, str):
                raise SpecError(f"{location}: keys must be words, got {short_repr(key_node.value)}; put it in quotes")
            if key in result:
                raise SpecError(f"{location}: the key {short_repr(key)} occurs twice; keep one")
            self.locations[(*path, key)] = location
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def locate(self, node: yaml.Node) -> Location:
        return Location(self.name, node.start_mark.line + 1, node.start_mark.column + 1)


def dump_yaml(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML that :func:`parse_source` reads as the same data."""
    text: str = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text
