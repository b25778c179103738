"""The specification of a model: its parameters set, each block validated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ppl_topics._util.nearest import choices, did_you_mean, nearest
from ppl_topics._util.notebook import fragment, preformatted
from ppl_topics.core.block import Block
from ppl_topics.core.registry import blocks
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import MAX_TOPICS
from ppl_topics.corpus.names import NAME
from ppl_topics.errors import SpecError
from ppl_topics.spec.extends import merge, read_model
from ppl_topics.spec.inline_blocks import named_blocks
from ppl_topics.spec.model_file import ModelFile, RecordRule
from ppl_topics.spec.parameters import override_parameters, substitute_parameters
from ppl_topics.spec.source import KeyPath, Location, Source, plain, short_repr, source_of
from ppl_topics.spec.validation import validated
from ppl_topics.spec.yaml_source import dump_yaml

__all__ = ["RESERVED", "Spec", "load_spec"]

RESERVED = frozenset({"cycle", "mixture", "repeat", "every", "weight", "kernel", "temperature", "schedule", "warmup"})


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
        The schedule as written, with parameters substituted.
    warmup : dict, list or None
        What runs before the first kept draw, as written; None is the schedule.
    record : dict
        What to keep of each variable.
    given : tuple of str
        Variables that are held fixed at values which a run is given.
    topics : int
        Number of topics.
    source : Source
        The data with parameters substituted and their locations, for later messages.
    written : Source
        The data as written, with `extends` applied and parameters by name.
    """

    name: str
    doc: str
    parameters: Mapping[str, Any]
    blocks: Mapping[str, Block]
    schedule: Any
    warmup: Any
    record: Mapping[str, RecordRule]
    given: tuple[str, ...]
    topics: int
    source: Source = field(repr=False)
    written: Source = field(repr=False)

    @property
    def has_response(self) -> bool:
        """Whether a block is a response, whose predictions can be measured."""
        return any(isinstance(block, Response) for block in self.blocks.values())

    def _repr_html_(self) -> str:
        return fragment(f"Model {self.name}", preformatted(self.to_yaml()))

    def locate(self, *path: str | int) -> Location:
        """Return where a key path was written."""
        return self.source.locate(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain data without `extends`; loading it gives the same model."""
        return self.written.data

    def to_yaml(self) -> str:
        """Return the resolved specification as YAML."""
        return dump_yaml(self.to_dict())

    def with_schedule(self, schedule: Any, name: str) -> Spec:
        """Return the same model with another schedule, called ``name`` in messages.

        A Source has the schedule under the key ``schedule`` of its data, and brings its locations.
        """
        return self._with_tree("schedule", schedule, name)

    def with_warmup(self, warmup: Any, name: str) -> Spec:
        """Return the same model with something else to run before the first kept draw; see `with_schedule`."""
        return self._with_tree("warmup", warmup, name)

    def with_plain_warmup(self) -> Spec:
        """Return the same model, whose warmup is annealed only if the model says so."""
        return self.with_warmup({"temperature": 1}, "warmup") if self.warmup is None else self

    def without_warmup(self) -> Spec:
        """Return the same model, which runs its schedule from the first sweep on."""
        return self if self.warmup is None else self._with_tree("warmup", None, "warmup")

    def _with_tree(self, key: str, tree: Any, name: str) -> Spec:
        """Return the same model with another schedule or warmup."""
        if isinstance(tree, Source):
            new = {path: location for path, location in tree.locations.items() if path[:1] == (key,)}
            tree = tree.data[key]
        else:
            tree = plain(tree, name)
            new = _subscripts(tree, (key,), name)

        def put(source: Source) -> Source:
            locations = {path: location for path, location in source.locations.items() if path[:1] != (key,)}
            data = {each: value for each, value in {**source.data, key: tree}.items() if value is not None}
            return replace(source, data=data, locations=locations | new)

        # A parameter that only the old one uses goes with it.
        rest = {each: value for each, value in self.written.data.items() if each != key}
        made = replace(self.rewritten(put(self.written), replace(self.written, data=rest)), source=put(self.source))
        return replace(made, warmup=tree) if key == "warmup" else replace(made, schedule=tree)

    def rewritten(self, written: Source, using: Source | None = None) -> Spec:
        """Return the same model, written otherwise, without the parameters that it, or a part of it, does not use."""
        kept = _only_used(written, substitute_parameters(using or written)[1])
        parameters = {name: value for name, value in self.parameters.items() if name in kept.data["parameters"]}
        return replace(self, parameters=parameters, written=kept)

    def with_given(self, names: Iterable[str], call: str) -> Spec:
        """Return the same model with more variables held fixed; ``call`` is how messages name a variable."""
        more = [name for name in dict.fromkeys(names) if name not in self.given]
        if not more:
            return self
        given = [*self.given, *more]

        def put(source: Source) -> Source:
            new: dict[KeyPath, Location] = {
                ("given", given.index(name)): Location(call.format(name=name)) for name in more
            }
            return replace(source, data={**source.data, "given": given}, locations={**source.locations, **new})

        return replace(self, given=tuple(given), source=put(self.source), written=put(self.written))


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
        Name of a shipped model or one of another package, a YAML file, its content as a mapping, or a Spec to set
        parameters of.
    parameters : mapping of str to object, optional
        Parameters to set.
    record : mapping or Source, optional
        What to record, merged into the model's own ``record``; a Source has it under that key of its data.
    call : str
        How messages refer to a parameter that is set here.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        With file, line and column, and the nearest valid word.
    """
    source = model.written if isinstance(model, Spec) else read_model(model)
    if parameters:
        source = override_parameters(source, parameters, call)
    if record is not None:
        source = _with_record(source, record)
    written = source
    source, used = substitute_parameters(written)
    document = validated(ModelFile, source.data, "model", source.locate)
    topics = _topics(document, source)
    _check_unused(document, source, used)
    for name in parameters or {}:
        if (head := name.split(".")[0]) not in used and head != "topics":
            raise SpecError(f"{call.format(name=name)}: nothing in model {document.name!r} uses this parameter")
    source = named_blocks(source)
    parts = {name: _block(name, data, source) for name, data in source.data["blocks"].items()}
    return Spec(
        document.name,
        document.doc,
        document.parameters,
        parts,
        document.schedule,
        document.warmup,
        document.record,
        tuple(document.given),
        topics,
        source,
        _only_used(written, used),
    )


def _with_record(source: Source, record: Mapping[str, Any] | Source) -> Source:
    name = "argument record"
    if not isinstance(record, Mapping | Source):
        raise SpecError(f"{name}: expected a mapping such as {{'z': 'all'}}, got {short_repr(record)}")
    result = merge(source, record if isinstance(record, Source) else source_of({"record": record}, name))
    return replace(result, name=source.name, locations={**result.locations, (): source.locate(())})


def _only_used(source: Source, used: set[str]) -> Source:
    """Drop parameters of a base that nothing uses any more."""
    parameters = {k: v for k, v in source.data["parameters"].items() if k in used or k == "topics"}
    return replace(source, data={**source.data, "parameters": parameters}, own_parameters=None)


def _subscripts(data: Any, path: KeyPath, name: str) -> dict[KeyPath, Location]:
    """Return locations such as ``schedule['cycle'][0]`` for data made in Python."""
    locations = {path: Location(name)}
    items = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        locations |= _subscripts(value, (*path, key), f"{name}[{key!r}]")
    return locations


def _topics(document: ModelFile, source: Source) -> int:
    location = source.locate(("parameters", "topics"))
    value = document.parameters.get("topics")
    if value is None:
        raise SpecError(f"{location}: the parameter `topics`, the number of topics, is missing")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_TOPICS:
        raise SpecError(f"{location}: topics must be a whole number from 1 to {MAX_TOPICS:,}, got {short_repr(value)}")
    return value


def _check_unused(document: ModelFile, source: Source, used: set[str]) -> None:
    """Refuse a parameter that this file adds and nothing uses: probably a typing error."""
    own = document.parameters if source.own_parameters is None else source.own_parameters
    for name in own:
        if name not in used and name != "topics":
            location = source.locate(("parameters", name))
            known = set(document.parameters) - {name}
            raise SpecError(
                f"{location}: the parameter {name!r} is never used; write ${name} where it belongs, or remove it"
                + did_you_mean(name, known)
            )


def _block(name: str, data: dict[str, Any], source: Source) -> Block:
    path: KeyPath = ("blocks", name)
    location = source.locate(path)
    if not NAME.match(name) or name in RESERVED:
        words = f"; {choices(RESERVED)} are reserved" if name in RESERVED else ""
        raise SpecError(
            f"{location}: variable name {name!r}: use lower-case letters, digits and _, a letter first{words}"
        )
    known = blocks()
    kind = data.get("block")
    if kind is None:
        raise SpecError(f"{location}: block {name!r}: the key 'block' is missing; valid: {choices(known)}")
    if not isinstance(kind, str) or kind not in known:
        location = source.locate((*path, "block"))
        raise SpecError(f"{location}: block {name!r}: unknown block {short_repr(kind)}{nearest(str(kind), known)}")
    return validated(known[kind], data, f"block {name!r} ({kind})", lambda p: source.locate((*path, *p)))
