"""Options that say what to run and how: the model, its parameters and schedule, what to record, draws and threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.errors import SpecError

if TYPE_CHECKING:
    from ppl_topics.spec.source import Source

__all__ = ["Model", "RecordedModel", "Run", "SampledModel", "Seed", "assignments", "read_schedule"]

EXAMPLES = {
    "--set": ("NAME=VALUE", "--set topics=50"),
    "--record": ("NAME=RULE", "--record theta=none"),
    "--given": ("NAME=FIT", "--given phi=old.nc"),
    "--over": ("NAME=V1,V2,...", "--over topics=10,20,50"),
}
"""By option, how it is written."""

Seed = Annotated[int | None, typer.Option(help="Same seed, same draws, at any number of threads.")]


@dataclass(frozen=True, kw_only=True)
class Model:
    """The model, as a user asks for it."""

    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A shipped model (see `ppl-topics models`) or a YAML file.")
    ]
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a parameter of the model; may be given several times.", metavar="NAME=VALUE"),
    ] = None
    keywords: Annotated[
        str | None,
        typer.Option(help="Keywords of topics: a CSV file with columns topic,keyword, or YAML.", metavar="FILE"),
    ] = None
    schedule: Annotated[
        str | None, typer.Option(help="YAML file with a schedule that replaces the model's own.", metavar="FILE")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters, and the schedule that replaces the model's own."""
        schedule = None if self.schedule is None else read_schedule(self.schedule)
        parameters = assignments("--set", self.settings)
        if self.keywords is not None:
            from ppl_topics.spec.keywords_file import read_keywords

            if "keywords" in parameters:
                raise SpecError("--keywords: they are also given by --set keywords; leave one of the two out")
            parameters["keywords"] = read_keywords(self.keywords)
        return {"parameters": parameters, "schedule": schedule}


@dataclass(frozen=True, kw_only=True)
class SampledModel(Model):
    """The model, and what runs before the first kept draw."""

    warmup_schedule: Annotated[
        str | None,
        typer.Option(help="YAML file with what runs before the first kept draw, exact or not.", metavar="FILE"),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters, the schedule, and what runs before it."""
        path = self.warmup_schedule
        warmup = None if path is None else read_schedule(path, "--warmup-schedule", "warmup")
        return {**super().given(), "warmup_schedule": warmup}


@dataclass(frozen=True, kw_only=True)
class RecordedModel(SampledModel):
    """The model, and what to record of it."""

    record: Annotated[
        list[str] | None,
        typer.Option(
            help="What to keep of a variable: all, none, '{top_words: 100}' or '{docs: 100}'.", metavar="NAME=RULE"
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters, the schedules, and what to record."""
        from ppl_topics.spec.source import Source

        rules = Source("--record", {"record": assignments("--record", self.record)}) if self.record else None
        return {**super().given(), "record": rules}


@dataclass(frozen=True, kw_only=True)
class Run:
    """How many draws, and on how many threads."""

    draws: Annotated[int, typer.Option(help="Kept draws of each chain.")] = 200
    warmup: Annotated[int, typer.Option(help="Sweeps before the first kept draw.")] = 200
    chains: Annotated[int, typer.Option(help="Number of independent chains.")] = 2
    thin: Annotated[int, typer.Option(help="Sweeps for each kept draw.")] = 1
    threads: Annotated[
        int | None, typer.Option(help="Threads of each process; by default as many cores as a sweep has work for.")
    ] = None
    processes: Annotated[int, typer.Option(help="Processes that the chains are spread over.")] = 1


def assignments(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` options, the values being YAML."""
    from ppl_topics.spec.yaml_source import parse_scalar

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


def read_schedule(path: str, option: str = "--schedule", *keys: str) -> Source:
    """Read a tree of kernels from a YAML file, at its top level or under a key; of several keys there may be some."""
    from ppl_topics.spec.source import Source
    from ppl_topics.spec.yaml_source import read_source

    if not os.path.isfile(path):
        problem = "a folder, expected a YAML file" if os.path.isdir(path) else "no such file"
        raise SpecError(f"{option} {path}: {problem}")
    source = read_source(path, wanted="a mapping, such as `cycle: [...]`")
    keys = keys or ("schedule",)
    if source.data.keys() & set(keys):
        for other in source.data.keys() - set(keys):
            known = " and ".join(f"`{key}`" for key in keys)
            raise SpecError(f"{source.locate((other,))}: a schedule file may hold nothing but {known}")
        return source
    places = {(keys[0], *path): place for path, place in source.locations.items()}
    return Source(source.name, {keys[0]: source.data}, places)
