"""The schedule of a model, ready to run and to print."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ppl_topics._util.notebook import fragment, preformatted
from ppl_topics.errors import on_one_line
from ppl_topics.schedule.assign import assign
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.forecast import Forecast
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, Every, Mixture, Node, Repeat, Step, parse, steps
from ppl_topics.schedule.warmup import Annealing, Warmup, make_warmup
from ppl_topics.spec.model import Model
from ppl_topics.spec.specification import Spec

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """A model with a schedule that keeps the rules.

    Attributes
    ----------
    model : Model
    schedule : Node
    warmup : Warmup, optional
        What runs before the first kept draw, if it is not the schedule.
    annealing : Annealing, optional
        Of the schedule, if this is the plan of a warmup that is annealed.
    forecast : Forecast, optional
        What a run would take, if `ppl_topics.plan` was given a corpus.
    notes : tuple of str
        What to think of before a run with the labels of that corpus.
    """

    model: Model
    schedule: Node
    warmup: Warmup | None = None
    annealing: Annealing | None = None
    forecast: Forecast | None = field(default=None, compare=False, repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def _repr_html_(self) -> str:
        lines = str(self) if self.forecast is None else f"{self}\n\n{self.forecast}"
        return fragment(f"Plan of {self.model.spec.name}", preformatted(lines))

    @property
    def first_schedule(self) -> Node:
        """What the sweeps before the first kept draw run."""
        return self.schedule if self.warmup is None else self.warmup.schedule

    def before(self, sweeps: int) -> Plan:
        """Return the plan of the sweeps before the first kept draw, of which there are so many."""
        if self.warmup is None:
            return self
        temperature = self.warmup.temperature
        annealing = Annealing(temperature, sweeps) if temperature != 1.0 else None
        return replace(self, schedule=self.warmup.schedule, warmup=None, annealing=annealing)

    @property
    def exact(self) -> bool:
        """Whether every kernel of the schedule, and so every kept draw, leaves the posterior invariant."""
        return all(step.kernel.exact for step in steps(self.schedule))

    @property
    def inexact_kernels(self) -> list[str]:
        """Names of the kernels that do not."""
        return sorted({step.kernel.name for step in steps(self.schedule) if not step.kernel.exact})

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        variables = {
            name: {"role": v.role, "dims": list(v.dims), "integrated_out": v.integrated_out}
            for name, v in self.model.variables.items()
        }
        return {
            "model": self.model.spec.name,
            "exact": self.exact,
            "variables": variables,
            "schedule": to_data(self.schedule, reasons=True),
            "warmup": None
            if self.warmup is None
            else {
                "schedule": to_data(self.warmup.schedule, reasons=True),
                "temperature": self.warmup.temperature,
                "inexact": list(self.warmup.inexact),
                "waiting": list(self.warmup.waiting),
            },
            "notes": list(self.notes),
        } | ({"forecast": self.forecast.to_dict()} if self.forecast else {})

    def __str__(self) -> str:
        """Return the tree, one entry a line, with reasons."""
        lines = [f"model {on_one_line(self.model.spec.name)} (topics: {self.model.spec.topics})"]
        for name, variable in self.model.variables.items():
            if variable.integrated_out:
                lines.append(f"  {name} is integrated out by the model")
            elif variable.given:
                lines.append(f"  {name} is given")
        lines += _lines(self.schedule, "")
        lines.append("exact" if self.exact else f"NOT exact: {', '.join(self.inexact_kernels)}")
        if self.warmup is not None:
            lines += ["warmup, before the first kept draw only", *self.warmup_lines("  ")]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def warmup_lines(self, indent: str = "") -> list[str]:
        """Return what runs before the first kept draw, one entry a line; nothing if that is the schedule."""
        if self.warmup is None:
            return []
        same = self.warmup.schedule is self.schedule
        tree = [f"{indent}the kernels of the schedule"] if same else _lines(self.warmup.schedule, indent)
        return [*tree, *(f"{indent}{remark}" for remark in self.warmup.remarks)]


def make_plan(
    spec: Spec,
    corpus_sizes: CorpusSizes | None = None,
    *,
    partial: bool = False,
    distributed: bool = False,
    device: str = "cpu",
) -> Plan:
    """Parse or choose the schedule of a model, and check it; see `assign` for `distributed` and `device`."""
    model = Model.of(spec)
    if spec.schedule is None:
        node = assign(model, corpus_sizes, distributed=distributed, device=device)
    else:
        node = parse(spec.schedule, model)
        check(node, model, partial=partial)
    # A part of a schedule has nothing to prepare.
    return Plan(model, node, None if partial else make_warmup(model, node))


def to_data(node: Node, reasons: bool = False) -> dict[str, Any]:
    """Return the schedule as it would stand in YAML, optionally with the reasons of choices."""
    if isinstance(node, Step):
        options = node.options.model_dump(exclude_defaults=True)
        entry: Any = {"kernel": node.kernel.name, **options} if options or reasons else node.kernel.name
        if reasons:
            entry |= {"exact": node.kernel.exact, "reason": node.reason or "named by the model"}
        return {node.variable: entry}
    if isinstance(node, Cycle):
        return {"cycle": [to_data(child, reasons) for child in node.children]}
    if isinstance(node, Mixture):
        pairs = zip(node.weights, node.children, strict=True)
        return {"mixture": [{"weight": weight, **to_data(child, reasons)} for weight, child in pairs]}
    inner = to_data(node.child, reasons)
    key, count = ("repeat", node.times) if isinstance(node, Repeat) else ("every", node.n)
    if key in inner or (key == "repeat" and "every" in inner):
        inner = {"cycle": [inner]}
    return {key: count, **inner}


def _lines(node: Node, indent: str) -> list[str]:
    if isinstance(node, Step):
        options = node.options.model_dump(exclude_defaults=True)
        text = f"{indent}{node.variable}: {node.kernel.name}" + (f" {options}" if options else "")
        return [text, f"{indent}    {node.reason}"] if node.reason else [text]
    if isinstance(node, Every | Repeat):
        word = f"every {node.n} sweeps" if isinstance(node, Every) else f"repeat {node.times} times"
        return [f"{indent}{word}", *_lines(node.child, indent + "  ")]
    lines = [f"{indent}{'cycle' if isinstance(node, Cycle) else 'mixture'}"]
    for i, child in enumerate(node.children):
        inner = indent + "  "
        if isinstance(node, Mixture):
            lines.append(f"{inner}weight {node.weights[i]:g}")
            inner += "  "
        lines += _lines(child, inner)
    return lines
