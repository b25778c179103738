"""The schedule algebra: kernels composed by ``cycle``, ``mixture``, ``repeat`` and ``every``.

In YAML a node is a mapping with one body, which is ``cycle``, ``mixture`` or the name of a variable, and
any of the modifiers ``repeat: n``, ``every: n`` and, inside a mixture, ``weight: w``::

    cycle:
      - z: {kernel: partially_collapsed, words: {min_count: 10}}
      - mixture:
          - {weight: 3, z: collapsed_gibbs}
          - {weight: 1, z: partially_collapsed}
      - {every: 5, alpha: slice_alpha}
      - {repeat: 2, phi: dirichlet_rows}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic

from ppl_topics._util.nearest import nearest
from ppl_topics.core.kernel import KernelSpec
from ppl_topics.core.registry import kernels
from ppl_topics.errors import ScheduleError
from ppl_topics.spec.model import Model
from ppl_topics.spec.source import KeyPath, short_repr
from ppl_topics.spec.validation import validated

__all__ = [
    "Cycle",
    "Every",
    "Mixture",
    "Node",
    "Repeat",
    "Step",
    "cycle",
    "every",
    "mixture",
    "parse",
    "repeat",
    "step",
]


@dataclass(frozen=True)
class Step:
    """One execution of a kernel on a variable; it may update others too. `reason` is why the scheduler chose it."""

    variable: str
    kernel: KernelSpec
    options: pydantic.BaseModel
    path: KeyPath = field(default=("schedule",), compare=False)
    reason: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """``variable:kernel``, as statistics call it."""
        return f"{self.variable}:{self.kernel.name}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The options by name, as the builder of the kernel takes them."""
        return {name: getattr(self.options, name) for name in type(self.options).model_fields}


@dataclass(frozen=True)
class Cycle:
    """All children, one after another."""

    children: tuple[Node, ...]
    path: KeyPath = field(default=("schedule",), compare=False)


@dataclass(frozen=True)
class Mixture:
    """One child, drawn with probability proportional to its weight."""

    children: tuple[Node, ...]
    weights: tuple[float, ...]
    path: KeyPath = field(default=("schedule",), compare=False)


@dataclass(frozen=True)
class Repeat:
    """The child, several times."""

    times: int
    child: Node
    path: KeyPath = field(default=("schedule",), compare=False)


@dataclass(frozen=True)
class Every:
    """The child in every ``n``-th sweep, the first among them."""

    n: int
    child: Node
    path: KeyPath = field(default=("schedule",), compare=False)


Node = Step | Cycle | Mixture | Repeat | Every


def step(variable: str, kernel: str, **options: Any) -> dict[str, Any]:
    """Return the schedule entry that runs ``kernel`` on ``variable``.

    Examples
    --------
    >>> cycle(step("z", "partially_collapsed"), step("phi", "dirichlet_rows"))
    {'cycle': [{'z': {'kernel': 'partially_collapsed'}}, {'phi': {'kernel': 'dirichlet_rows'}}]}
    """
    return {variable: {"kernel": kernel, **options}}


def cycle(*entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule that runs all entries, one after another."""
    return {"cycle": [_entry(entry, "cycle") for entry in entries]}


def mixture(*entries: Mapping[str, Any], weights: Sequence[float] | None = None) -> dict[str, Any]:
    """Return a schedule that runs one of the entries, drawn with the given weights (equal by default)."""
    weights = [1.0] * len(entries) if weights is None else list(weights)
    if len(weights) != len(entries):
        raise ScheduleError(f"mixture: {len(entries)} entries but {len(weights)} weights; give one for each")
    return {"mixture": [{"weight": w, **_entry(e, "mixture")} for w, e in zip(weights, entries, strict=True)]}


def repeat(times: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule that runs the entry several times a sweep."""
    return {"repeat": times, **_body(entry, "repeat", {"repeat", "every", "weight"})}


def every(n: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule that runs the entry in every n-th sweep."""
    return {"every": n, **_body(entry, "every", {"every", "weight"})}


def _entry(entry: Mapping[str, Any], function: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ScheduleError(
            f"{function}: expected entries made by step, cycle, mixture, repeat or every, got {short_repr(entry)}"
        )
    return dict(entry)


def _body(entry: Mapping[str, Any], function: str, taken: set[str]) -> dict[str, Any]:
    """Return the entry, in its own cycle if a modifier of it would get in the way."""
    given = _entry(entry, function)
    return {"cycle": [given]} if given.keys() & taken else given


def steps(node: Node) -> Iterator[Step]:
    """Yield all kernel executions of a tree, in order."""
    if isinstance(node, Step):
        yield node
    elif isinstance(node, Cycle | Mixture):
        for child in node.children:
            yield from steps(child)
    else:
        yield from steps(node.child)


class _Parser:
    def __init__(self, model: Model, key: str) -> None:
        self.model = model
        self.spec = model.spec
        self.key = key

    def fail(self, path: KeyPath, message: str) -> ScheduleError:
        return ScheduleError(f"{self.spec.source.locate(path)}: {self.key}: {message}")

    def node(self, data: Any, path: KeyPath, in_mixture: bool = False) -> Node:
        if isinstance(data, list):
            return Cycle(self.children(data, path), path)
        if not isinstance(data, Mapping):
            raise self.fail(
                path,
                f"expected an entry such as `z: partially_collapsed` or `cycle: [...]`, got {short_repr(data)}",
            )
        modifiers = {"repeat", "every"} | ({"weight"} if in_mixture else set())
        bodies = [key for key in data if key not in modifiers]
        if len(bodies) != 1:
            if "weight" in bodies:
                raise self.fail((*path, "weight"), "`weight` belongs to the entries of a mixture; remove it")
            if "temperature" in bodies:
                raise self.fail((*path, "temperature"), "`temperature` stands at the top of `warmup`; move it there")
            found = ", ".join(map(repr, bodies)) or "none"
            raise self.fail(
                path,
                f"an entry has one of cycle, mixture or a variable, found {found}; write one entry a line",
            )
        body = bodies[0]
        node = self.body(body, data[body], (*path, body))
        if "repeat" in data:
            node = Repeat(self.count(data["repeat"], (*path, "repeat")), node, (*path, "repeat"))
        if "every" in data:
            node = Every(self.count(data["every"], (*path, "every")), node, (*path, "every"))
        return node

    def body(self, key: str, value: Any, path: KeyPath) -> Node:
        if key == "cycle":
            return Cycle(self.children(value, path), path)
        if key == "mixture":
            children = self.children(value, path, in_mixture=True)
            return Mixture(children, tuple(self.weight(v, (*path, i)) for i, v in enumerate(value)), path)
        return self.step(key, value, path)

    def children(self, value: Any, path: KeyPath, in_mixture: bool = False) -> tuple[Node, ...]:
        if not isinstance(value, list) or not value:
            raise self.fail(path, f"expected a list with at least one entry, got {short_repr(value)}")
        return tuple(self.node(item, (*path, i), in_mixture) for i, item in enumerate(value))

    def weight(self, entry: Mapping[str, Any] | Sequence[Any], path: KeyPath) -> float:
        # A cycle that is written as a list has nowhere to put one.
        value = entry.get("weight", 1.0) if isinstance(entry, Mapping) else 1.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise self.fail((*path, "weight"), f"weights are positive numbers (rule 4), got {short_repr(value)}")
        return float(value)

    def count(self, value: Any, path: KeyPath) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.fail(path, f"`{path[-1]}` is a whole number, at least 1 (rule 4), got {short_repr(value)}")
        return value

    def step(self, variable: str, value: Any, path: KeyPath) -> Step:
        known = self.model.variables
        if variable not in known:
            words = [*known, "cycle", "mixture", "repeat", "every", "weight"]
            raise self.fail(
                path, f"{variable!r} is not a variable of model {self.spec.name!r}{nearest(variable, words)}"
            )
        options = {"kernel": value} if isinstance(value, str) else value
        if not isinstance(options, Mapping) or not isinstance(options.get("kernel"), str):
            raise self.fail(
                path, f"{variable}: expected a kernel's name, or {{kernel: NAME, ...}}, got {short_repr(value)}"
            )
        return self.kernel(variable, options["kernel"], {k: v for k, v in options.items() if k != "kernel"}, path)

    def kernel(self, variable: str, name: str, options: dict[str, Any], path: KeyPath) -> Step:
        role = self.model.variables[variable].role
        fitting = [k for k, s in kernels().items() if role in s.updates]
        if name not in kernels():
            raise self.fail(path, f"{variable}: unknown kernel {name!r}{nearest(name, fitting)}")
        spec = kernels()[name]
        if role not in spec.updates:
            hint = nearest(name, fitting) if fitting else ""
            raise self.fail(
                path,
                f"kernel {name!r} does not update {variable} (it updates {', '.join(spec.updates)}){hint}",
            )
        what = f"{self.key}: kernel {name!r} of {variable}"
        valid = validated(
            spec.options, options, what, lambda p: self.spec.source.locate((*path, *p)), error=ScheduleError
        )
        return Step(variable, spec, valid, path)


def parse(data: Any, model: Model, key: str = "schedule") -> Node:
    """Read a schedule as written in YAML under some key, or made by functions such as :func:`cycle`."""
    return _Parser(model, key).node(data, (key,))
