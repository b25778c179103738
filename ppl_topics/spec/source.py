"""YAML text, or Python data, to plain data, with the place of every key, and nothing that could harm us.

Only the safe loader's scalars are built. Tags, duplicate keys, keys that are no strings, files over a
megabyte, deep nesting and aliases that expand without bound are refused with file, line and column.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ppl_topics.errors import SpecError

__all__ = [
    "KeyPath",
    "Place",
    "Source",
    "dump_yaml",
    "parse_scalar",
    "parse_source",
    "plain",
    "read_source",
    "source_of",
    "spell",
]

KeyPath = tuple[str | int, ...]

A_MODEL = "a mapping with keys such as name, parameters and blocks"
MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 200_000
LARGE = 10**18
"""Numbers of more digits are decimal ones."""

SURROGATE = re.compile("[\ud800-\udfff]")


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


class _Dumper(yaml.SafeDumper):
    """Quotes what either version of YAML would read as other than a string."""


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Read ``010`` as ten: YAML 1.2 has no such octals."""
    return int(node.value)


def _construct_word(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(node.value)


_Loader.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
# As a key it is refused with its place; as a value it is a word.
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
    """Read a YAML file.

    Parameters
    ----------
    path : path-like
        A UTF-8 file of at most 1 MB.
    name : str, optional
        How messages call the file; its path by default.
    wanted : str
        What the file should hold, for messages.

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
        before = raw[: error.start].decode("utf-8-sig")
        raise SpecError(f"{_place(name, before)}: not UTF-8 text; save the file as UTF-8") from None
    return parse_source(text, name, wanted=wanted)


def parse_source(text: str, name: str, *, wanted: str = A_MODEL) -> Source:
    """Parse YAML text that must hold one mapping."""
    text = text.removeprefix("\ufeff")
    try:
        _check_events(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(name) if mark is None else Place(name, mark.line + 1, mark.column + 1)
        raise SpecError(f"{place}: not valid YAML: {error.problem or error.context}") from None
    except SpecError:
        raise
    except yaml.reader.ReaderError as error:
        place = _place(name, text[: error.position])
        raise SpecError(f"{place}: the character {chr(error.character)!r} cannot stand in YAML; remove it") from None
    except (ValueError, OverflowError) as error:
        # PyYAML lets through what it cannot convert, such as the character "\\UFFFFFFFF".
        raise SpecError(f"{name}: not valid YAML: it holds what cannot be converted ({error})") from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{name}:1:1: expected {wanted}")
    walker = _Walker(name)
    data = walker.build(node, (), 0)
    walker.places.setdefault((), Place(name, 1, 1))
    return Source(name, data, walker.places)


def parse_scalar(text: str, name: str) -> Any:
    """Parse the value of a ``name=value`` option as YAML, with the limits of files."""
    data = parse_source(f"value: {text}" if text else "value: ''", name).data
    if len(data) > 1:
        raise SpecError(f"{name}: expected one value, got {spell(text)}")
    return data["value"]


def _place(name: str, before: str) -> Place:
    """Return the place that follows the text ``before``."""
    return Place(name, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _check_events(text: str, name: str) -> None:
    """Refuse tags, deep nesting and long files before anything recursive runs."""
    depth = documents = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        mark = event.start_mark
        place = Place(name) if mark is None else Place(name, mark.line + 1, mark.column + 1)
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise SpecError(f"{place}: YAML tags such as {spell(tag)} are not allowed; write a plain value")
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise SpecError(f"{place}: more than {MAX_NODES:,} values; a model specification is a page or two")
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
        if depth > MAX_DEPTH:
            raise SpecError(f"{place}: aliases nest deeper than {MAX_DEPTH} levels; write the value out")
        if self.count > MAX_NODES:
            raise SpecError(f"{place}: aliases expand this file beyond {MAX_NODES:,} values; write them out")
        self.places.setdefault(path, place)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        value = self.scalars.construct_object(node)
        if isinstance(value, str) and SURROGATE.search(value):
            raise SpecError(f"{place}: \\u escapes that stand for half a character; write the character itself")
        return value

    def mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = self.place(key_node)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise SpecError(f"{place}: merge keys (<<) are not supported; use `extends` or $parameters")
            key = self.scalars.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key_node, yaml.ScalarNode):
                raise SpecError(f"{place}: keys must be words, got a list or a mapping; write one word")
            if not isinstance(key, str):
                raise SpecError(f"{place}: keys must be words, got {spell(key_node.value)}; quote it if it is meant")
            if key in result:
                raise SpecError(f"{place}: the key {spell(key)} stands twice; keep one")
            self.places[(*path, key)] = place
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def place(self, node: yaml.Node) -> Place:
        return Place(self.name, node.start_mark.line + 1, node.start_mark.column + 1)


def source_of(data: Mapping[str, Any], name: str) -> Source:
    """Wrap data that was given as a Python mapping."""
    return Source(name, plain(data, name))


def plain(value: Any, name: str) -> Any:
    """Return Python data as YAML would give it: tuples and arrays as lists, NumPy's numbers as Python's.

    Raises
    ------
    SpecError
        If a key is no string, a value is of another type, or the data nest without end.
    """

    def build(value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise SpecError(f"{name}: nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise SpecError(f"{name}: keys must be words, got {spell(key)}; quote it if it is meant")
            return {str(key): build(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [build(item, depth + 1) for item in value]
        if type(value) is int and abs(value) >= LARGE:
            # YAML has it as a decimal number.
            if abs(value) > sys.float_info.max:
                raise SpecError(f"{name}: the number {spell(value)} is too large")
            return float(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise SpecError(f"{name}: expected numbers, words, lists and mappings, got {spell(value)}")

    return build(value, 0)


def dump_yaml(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML that :func:`parse_source` reads as the same data."""
    text: str = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def spell(value: Any) -> str:
    """Return a short form of a value for messages."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to spell thousands of digits.
        return f"a number of {math.log10(abs(value)):,.0f} digits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
