"""Options that say what to run: parameters, the schedule, what to record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.errors import SpecError

if TYPE_CHECKING:
    from ppl_topics.spec import Spec
    from ppl_topics.spec.source import Source

__all__ = ["ModelName", "Record", "Schedule", "Set", "assignments", "load", "read_schedule"]

ModelName = Annotated[
    str, typer.Argument(metavar="MODEL", help="A shipped model (see `ppl-topics models`) or a YAML file.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a parameter of the model; may be given several times.", metavar="NAME=VALUE"),
]
Schedule = Annotated[
    str | None, typer.Option(help="YAML file with a schedule, instead of the model's own.", metavar="FILE")
]
Record = Annotated[
    list[str] | None,
    typer.Option(
        help="What to keep of a variable: all, none, '{top_words: 100}' or '{docs: 100}'.", metavar="NAME=RULE"
    ),
]

EXAMPLES = {
    "--set": ("NAME=VALUE", "--set topics=50"),
    "--record": ("NAME=RULE", "--record theta=none"),
    "--over": ("NAME=V1,V2,...", "--over topics=10,20,50"),
}
"""By option, how it is written."""

RUN_OPTIONS = ("--draws", "--warmup", "--chains", "--thin", "--seed", "--threads", "--processes", "--record")


def load(
    model: str,
    settings: Sequence[str] | None,
    *,
    record: Sequence[str] | None = None,
    schedule: str | None = None,
) -> Spec:
    """Load the model that the options of a command describe.

    Raises
    ------
    SpecError
    """
    from ppl_topics.api.sampling import resolve
    from ppl_topics.spec.source import Source

    parameters = assignments("--set", settings)
    rules = Source("--record", {"record": assignments("--record", record)}) if record else None
    tree = None if schedule is None else read_schedule(schedule)
    return resolve(model, parameters, record=rules, schedule=tree, call="--set {name}", options=RUN_OPTIONS)


def assignments(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` options, the values being YAML.

    Raises
    ------
    SpecError
        If one is malformed, or a name is given twice.
    """
    from ppl_topics.spec.source import parse_scalar

    form, example = EXAMPLES[option]
    result: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise SpecError(f"{f'{option} {text}'.strip()}: expected {form}, such as {example}")
        if name in result:
            raise SpecError(f"{option} {name}: given twice; give it once")
        if not value.strip():
            raise SpecError(f"{option} {text}: the value is missing; write it after the =, such as {example}")
        result[name] = parse_scalar(value.strip(), f"{option} {name}")
    return result


def read_schedule(path: str) -> Source:
    """Read a schedule from a YAML file, which holds it at its top or under the key ``schedule``.

    Raises
    ------
    SpecError
    """
    from ppl_topics.spec.source import Source, read_source

    if not os.path.isfile(path):
        problem = "a folder, expected a YAML file" if os.path.isdir(path) else "no such file"
        raise SpecError(f"--schedule {path}: {problem}")
    source = read_source(path, wanted="a mapping, such as `cycle: [...]`")
    if "schedule" in source.data:
        others: Mapping[str, Any] = {key: value for key, value in source.data.items() if key != "schedule"}
        if others:
            raise SpecError(f"{source.place((next(iter(others)),))}: a schedule file holds nothing beside `schedule`")
        return source
    places = {("schedule", *path): place for path, place in source.places.items()}
    return Source(source.name, {"schedule": source.data}, places)
