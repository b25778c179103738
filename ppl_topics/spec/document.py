"""The specification of a model: read, extended, its parameters set, each block validated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from ppl_topics._util.nearest import choices, nearest
from ppl_topics.core.block import Block
from ppl_topics.core.registry import NAME, blocks
from ppl_topics.core.tokens import MAX_TOPICS
from ppl_topics.errors import SpecError
from ppl_topics.spec.merge import merged
from ppl_topics.spec.parameters import overridden, parameters_of, substituted
from ppl_topics.spec.shipped import shipped
from ppl_topics.spec.source import KeyPath, Place, Source, dump_yaml, parse_source, plain, read_source, source_of, spell
from ppl_topics.spec.validation import validated

__all__ = ["Docs", "Document", "RecordRule", "Spec", "TopWords", "load_spec"]

MAX_EXTENDS = 10
RESERVED = frozenset({"cycle", "mixture", "repeat", "every", "weight", "kernel"})

_strict = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class TopWords(pydantic.BaseModel):
    """Record phi for the most frequent words of the corpus.

    Attributes
    ----------
    top_words : int
        How many.
    """

    model_config = _strict
    top_words: Annotated[int, pydantic.Field(ge=1)]


class Docs(pydantic.BaseModel):
    """Record theta for the first documents.

    Attributes
    ----------
    docs : int
        How many.
    """

    model_config = _strict
    docs: Annotated[int, pydantic.Field(ge=1)]


RecordRule = Literal["all", "none"] | TopWords | Docs


class Document(pydantic.BaseModel):
    """The top level of a model file, after `extends` and the parameters were worked in.

    Attributes
    ----------
    name, doc : str
        Name of the model; what it is, in a sentence.
    extends : str, optional
        A shipped model or a file whose parts this model takes over.
    parameters : dict
        Named values; `topics` sets the number of topics.
    blocks : dict
        Blocks by variable name.
    schedule : object, optional
        Tree of kernels; chosen by the scheduler where it is absent.
    record : dict
        What to keep of each variable: all, none, {top_words: n} or {docs: n}.
    """

    model_config = _strict
    name: str
    doc: str = ""
    extends: str | None = None
    parameters: dict[str, Any] = pydantic.Field(default_factory=dict)
    blocks: Annotated[dict[str, dict[str, Any]], pydantic.Field(min_length=1)]
    schedule: dict[str, Any] | list[Any] | None = None
    record: dict[str, RecordRule] = pydantic.Field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """A validated model specification.

    Attributes
    ----------
    name, doc : str
    parameters : dict
        Values after overriding.
    blocks : dict of str to Block
        Blocks by variable name.
    schedule : dict, list or None
        The schedule as written, its parameters put in.
    record : dict
        What to keep of each variable.
    topics : int
        Number of topics.
    source : Source
        The data, parameters put in, and their places, for messages of later stages.
    written : Source
        The data as written, `extends` worked in, the parameters by name.
    """

    name: str
    doc: str
    parameters: Mapping[str, Any]
    blocks: Mapping[str, Block]
    schedule: Any
    record: Mapping[str, RecordRule]
    topics: int
    source: Source = field(repr=False)
    written: Source = field(repr=False)

    def place(self, *path: str | int) -> Place:
        """Return where a key path was written."""
        return self.source.place(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain data that stand alone; loading them gives the same model."""
        return self.written.data

    def to_yaml(self) -> str:
        """Return the resolved specification as YAML."""
        return dump_yaml(self.to_dict())

    def with_schedule(self, schedule: Any, name: str) -> Spec:
        """Return the same model under another schedule, called ``name`` in messages.

        A Source, whose data hold the schedule under the key ``schedule``, brings its own places.
        """
        if isinstance(schedule, Source):
            new = {path: place for path, place in schedule.places.items() if path[:1] == ("schedule",)}
            schedule = schedule.data["schedule"]
        else:
            schedule = plain(schedule, name)
            new = _subscripts(schedule, ("schedule",), name)

        def put(source: Source) -> Source:
            places = {path: place for path, place in source.places.items() if path[:1] != ("schedule",)}
            places |= new
            return replace(source, data={**source.data, "schedule": schedule}, places=places)

        return replace(self, schedule=schedule, source=put(self.source), written=put(self.written))


def load_spec(
    model: str | Path | Mapping[str, Any] | Spec,
    parameters: Mapping[str, Any] | None = None,
    *,
    record: Mapping[str, Any] | Source | None = None,
    call: str = "parameter {name}",
) -> Spec:
    """Load and validate a model.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        Name of a shipped model, a YAML file, its content as a mapping, or a Spec to set parameters of.
    parameters : mapping of str to object, optional
        Parameters to set.
    record : mapping or Source, optional
        What to record, laid over the model's own ``record``; a Source, with it under that key, knows its places.
    call : str
        How messages call a set parameter.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        With file, line and column, and the nearest valid word.
    """
    source = model.written if isinstance(model, Spec) else _extended(model, Path(), ())
    if parameters:
        source = overridden(source, parameters, call)
    if record is not None:
        source = _with_record(source, record)
    written = source
    source, used = substituted(written)
    document = validated(Document, source.data, "model", source.place)
    topics = _topics(document, source)
    _check_unused(document, source, used)
    for name in parameters or {}:
        if (head := name.split(".")[0]) not in used and head != "topics":
            raise SpecError(f"{call.format(name=name)}: nothing in model {document.name!r} uses this parameter")
    parts = {name: _block(name, data, source) for name, data in document.blocks.items()}
    return Spec(
        document.name,
        document.doc,
        document.parameters,
        parts,
        document.schedule,
        document.record,
        topics,
        source,
        _only_used(written, used),
    )


def _with_record(source: Source, record: Mapping[str, Any] | Source) -> Source:
    name = "argument record"
    if not isinstance(record, Mapping | Source):
        raise SpecError(f"{name}: expected a mapping such as {{'z': 'all'}}, got {spell(record)}")
    result = merged(source, record if isinstance(record, Source) else source_of({"record": record}, name))
    return replace(result, name=source.name, places={**result.places, (): source.place(())})


def _only_used(source: Source, used: set[str]) -> Source:
    """Drop parameters that a base brought in and nothing uses any more."""
    parameters = {k: v for k, v in source.data["parameters"].items() if k in used or k == "topics"}
    return replace(source, data={**source.data, "parameters": parameters}, own_parameters=None)


def _subscripts(data: Any, path: KeyPath, name: str) -> dict[KeyPath, Place]:
    """Return places such as ``schedule['cycle'][0]`` for data that was made in Python."""
    places = {path: Place(name)}
    items = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        places |= _subscripts(value, (*path, key), f"{name}[{key!r}]")
    return places


def _read(model: str | Path | Mapping[str, Any], folder: Path, by: str) -> tuple[Source, Path, Path | None]:
    """Return the source of a model as named by a user, the folder that its own names start from, and its file."""
    if isinstance(model, Mapping):
        return source_of(model, str(model.get("name", "model"))), folder, None
    if not isinstance(model, str | os.PathLike):
        raise SpecError(f"the model is of type {type(model).__name__}; give a model's name, a file, a dict or a Spec")
    files = shipped()
    if isinstance(model, str) and model in files:
        return read_source(files[model], f"{model}.yaml"), files[model].parent, files[model].resolve()
    if isinstance(model, str) and "\n" in model:
        return parse_source(model, "<text>"), folder, None
    path = folder / model
    # Not is_file(), which raises where the name is too long for the file system.
    if not os.path.isfile(path):
        hint = f"; valid: {choices(files)}" if path.suffix in {".yaml", ".yml"} else nearest(str(model), files)
        raise SpecError(f"{by}{spell(str(model))} is neither a file nor a shipped model{hint}")
    return read_source(path, str(path)), path.parent, path.resolve()


def _extended(
    model: str | Path | Mapping[str, Any], folder: Path, chain: tuple[tuple[str, Path | None], ...], by: str = ""
) -> Source:
    """Return a model laid over those that it extends; ``chain`` holds the models, with files, that led here."""
    source, folder, file = _read(model, folder, by)
    base = source.data.get("extends")
    if base is None:
        return source
    place = source.place(("extends",))
    if not isinstance(base, str):
        raise SpecError(f"{place}: extends must name a model or a file, got {spell(base)}")
    if file is not None and file in [other for _, other in chain]:
        names = [*(name for name, _ in chain), source.name]
        raise SpecError(f"{place}: extends leads in a circle: {' -> '.join(names)}; let one stand alone")
    if len(chain) >= MAX_EXTENDS:
        raise SpecError(f"{place}: more than {MAX_EXTENDS} models extend one another; let this one stand alone")
    low = _extended(base, folder, (*chain, (source.name, file)), f"{place}: extends: ")
    own = set(parameters_of(source)) - set(parameters_of(low))
    result = merged(low, source)
    result.data.setdefault("name", source.name)
    return replace(result, own_parameters=frozenset(own))


def _topics(document: Document, source: Source) -> int:
    place = source.place(("parameters", "topics"))
    value = document.parameters.get("topics")
    if value is None:
        raise SpecError(f"{place}: the parameter `topics`, the number of topics, is missing")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_TOPICS:
        raise SpecError(f"{place}: topics must be a whole number from 1 to {MAX_TOPICS:,}, got {spell(value)}")
    return value


def _check_unused(document: Document, source: Source, used: set[str]) -> None:
    """A parameter that this very file brings in and nothing refers to is a slip of the pen."""
    own = document.parameters if source.own_parameters is None else source.own_parameters
    for name in own:
        if name not in used and name != "topics":
            place = source.place(("parameters", name))
            known = set(document.parameters) - {name}
            raise SpecError(
                f"{place}: the parameter {name!r} is used nowhere; write ${name} where it belongs, or remove it"
                + (nearest(name, known) if nearest(name, known).startswith("; did") else "")
            )


def _block(name: str, data: dict[str, Any], source: Source) -> Block:
    path: KeyPath = ("blocks", name)
    if not NAME.match(name) or name in RESERVED:
        words = f"; {choices(RESERVED)} are taken" if name in RESERVED else ""
        raise SpecError(
            f"{source.place(path)}: variable name {name!r}: use lower-case letters, digits and _, a letter first{words}"
        )
    known = blocks()
    kind = data.get("block")
    if kind is None:
        raise SpecError(f"{source.place(path)}: block {name!r}: the key 'block' is missing; valid: {choices(known)}")
    if not isinstance(kind, str) or kind not in known:
        place = source.place((*path, "block"))
        raise SpecError(f"{place}: block {name!r}: unknown block {spell(kind)}{nearest(str(kind), known)}")
    return validated(known[kind], data, f"block {name!r} ({kind})", lambda p: source.place((*path, *p)))
