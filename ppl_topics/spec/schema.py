"""The JSON Schema of model files, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic

from ppl_topics.core.block import Block
from ppl_topics.core.kernel import KernelSpec
from ppl_topics.core.registry import blocks, kernels
from ppl_topics.spec.model_file import MAX_TEMPERATURE, ModelFile

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the YAML format, with all registered blocks and kernels.

    A number or a choice may be ``$name`` of a parameter.

    Examples
    --------
    >>> json_schema()["title"]
    'ppl-topics model'
    """
    # pydantic describes blocks and options; schedules and $parameters, which it does not know, are added here.
    models = [(cls, "validation") for cls in [*blocks().values(), *(k.options for k in kernels().values()), ModelFile]]
    names, shared = pydantic.json_schema.models_json_schema(models, ref_template="#/$defs/{model}")  # type: ignore[arg-type]
    definitions = dict(shared.get("$defs", {}))
    properties = definitions.pop(ModelFile.__name__)["properties"]
    for cls in blocks().values():
        _allow_inline(definitions[cls.__name__]["properties"], cls, names)
    definitions = {name: _with_parameters(schema) for name, schema in definitions.items()}
    definitions["parameter"] = {
        "type": "string",
        "pattern": r"^\$[A-Za-z_]\w*$",
        "description": "Value of a parameter.",
    }
    for cls in blocks().values():
        definitions[cls.__name__]["required"] = ["block", *definitions[cls.__name__].get("required", [])]
    definitions["chosen"] = {
        "type": "object",
        "description": "A block that a parameter chooses.",
        "properties": {"block": {"$ref": "#/$defs/parameter"}},
        "required": ["block"],
    }
    block_refs = [*(names[(cls, "validation")] for cls in blocks().values()), {"$ref": "#/$defs/chosen"}]
    record = properties["record"]["additionalProperties"]
    record["anyOf"] += [{"$ref": "#/$defs/parameter"}, {"type": "null"}]
    properties["blocks"] = {"type": "object", "minProperties": 1}
    properties["schedule"] = {"anyOf": [{"$ref": "#/$defs/node"}, _list_of_nodes()], "description": "Tree of kernels."}
    properties["warmup"] = {
        "anyOf": [{"$ref": "#/$defs/warmup"}, _list_of_nodes()],
        "description": "Tree of kernels that run before the first kept draw; by default the schedule.",
    }
    definitions["override"] = {
        "type": ["object", "null"],
        "description": "Keys that replace those of the model named under `extends`; null removes one.",
    }
    definitions["node"] = _with_parameters(_node())
    definitions["warmup"] = _with_parameters(_warmup())
    definitions["kernel"] = _with_parameters(_kernel())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ppl-topics model",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        # A file that extends another may give some of a block's keys, so none is required there.
        "if": {"required": ["extends"]},
        "then": _blocks([*block_refs, {"$ref": "#/$defs/override"}]),
        "else": {"required": ["name", "blocks"], **_blocks(block_refs)},
        "$defs": definitions,
    }


def _allow_inline(properties: dict[str, Any], cls: type[Block], names: Mapping[Any, Any]) -> None:
    """Allow a block in the place of its name, of the kinds that serve there."""
    for key, seam in cls.references.items():
        able = [names[(other, "validation")] for other in blocks().values() if seam in other.seams]
        if properties[key].get("type") != "array":
            properties[key] = {"anyOf": [properties[key], *able]}


def _with_parameters(schema: Any) -> Any:
    """Allow ``$name`` wherever a plain value is expected."""
    if isinstance(schema, list):
        return [_with_parameters(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        properties = {
            key: {"anyOf": [_with_parameters(value), {"$ref": "#/$defs/parameter"}]} if key != "block" else value
            for key, value in schema["properties"].items()
        }
        return {**schema, "properties": properties}
    return {key: _with_parameters(value) for key, value in schema.items()}


def _blocks(kinds: list[Any]) -> dict[str, Any]:
    return {"properties": {"blocks": {"additionalProperties": {"anyOf": kinds}}}}


def _list_of_nodes() -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/node"}}


def _node() -> dict[str, Any]:
    count = {"type": "integer", "minimum": 1}
    return {
        "type": "object",
        "description": "One of cycle, mixture, or a variable with its kernel; with modifiers.",
        "properties": {
            "cycle": _list_of_nodes(),
            "mixture": _list_of_nodes(),
            "weight": {"type": "number", "exclusiveMinimum": 0, "description": "Inside a mixture."},
            "repeat": {**count, "description": "Number of times to run the entry in each sweep."},
            "every": {**count, "description": "Run the entry in every n-th sweep."},
        },
        "additionalProperties": {"$ref": "#/$defs/kernel"},
    }


def _warmup() -> dict[str, Any]:
    node = _node()
    temperature = {
        "type": "number",
        "minimum": 1,
        "maximum": MAX_TEMPERATURE,
        "description": "Where the annealing starts: what multiplies concentrations, falling to 1.",
    }
    return {**node, "properties": {**node["properties"], "temperature": temperature}}


def _kernel() -> dict[str, Any]:
    def described(spec: KernelSpec) -> dict[str, Any]:
        options = spec.options.model_json_schema(ref_template="#/$defs/{model}").get("properties", {})
        return {
            "type": "object",
            "description": spec.doc.split("\n")[0],
            "properties": {"kernel": {"const": spec.name}, **options},
            "required": ["kernel"],
            "additionalProperties": False,
        }

    known = kernels()
    names = [{"enum": sorted(known)}, {"$ref": "#/$defs/parameter"}]
    return {"anyOf": [*names, *(described(spec) for spec in known.values())]}
