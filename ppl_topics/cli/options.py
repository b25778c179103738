"""Options that several commands share stand once: as the fields of a dataclass, or as an annotated type."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "AsJson",
    "ChainOption",
    "NoProgress",
    "OnCluster",
    "OnDevice",
    "Overwrite",
    "Probability",
    "SplitOver",
    "Threads",
    "with_groups",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress.")]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Run on the workers of a Dask cluster: the address of its scheduler, or local:2 for two workers here.",
        metavar="ADDRESS",
    ),
]
OnDevice = Annotated[
    Literal["cpu", "cuda"], typer.Option("--device", help="Run the kernels that can on an NVIDIA GPU: cuda.")
]
SplitOver = Annotated[
    Literal["chains", "documents"],
    typer.Option("--split", help="What the workers share: the chains, or the documents of every chain."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file or run.")]
ChainOption = Annotated[int, typer.Option("--chain", help="Show this chain; each numbers its topics in its own way.")]
Probability = Annotated[float, typer.Option(help="Probability of the equal-tailed intervals.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter of a command whose type is a dataclass into an option for each of its fields."""
    signature = inspect.signature(command, eval_str=True)
    kinds: dict[str, Any] = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    groups = {name: kind for name, kind in kinds.items() if isinstance(kind, type) and is_dataclass(kind)}
    if not groups:
        return command
    fields = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += fields.get(parameter.name, {parameter.name: parameter}).values()

    @functools.wraps(command)
    def expanded(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields[name]})
        command(**given)

    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    expanded.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded
