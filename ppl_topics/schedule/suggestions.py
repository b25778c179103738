"""Changes that might fix a schedule; only those that keep the rules are suggested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ppl_topics.core.kernel import KernelSpec
from ppl_topics.core.registry import kernels
from ppl_topics.schedule.tree import Cycle, Mixture, Node, Step
from ppl_topics.spec.model import Model

__all__ = ["Suggestion", "additions", "exchanged", "redraws", "replacements"]

Suggestion = tuple[str, Node]
"""What to do, in words, and the schedule that results."""


def exchanged(node: Node, old: Node, new: Node) -> Node:
    """Return the tree with ``old``, the very object, exchanged for ``new``."""
    if node is old:
        return new
    if isinstance(node, Step):
        return node
    if isinstance(node, Cycle | Mixture):
        children = tuple(exchanged(child, old, new) for child in node.children)
        same = all(a is b for a, b in zip(children, node.children, strict=True))
        return node if same else replace(node, children=children)
    child = exchanged(node.child, old, new)
    return node if child is node.child else replace(node, child=child)


def replacements(node: Node, step: Step, model: Model) -> Iterator[Suggestion]:
    """Yield the schedules with another exact kernel in the place of a step."""
    role = model.variables[step.variable].role
    forms = {form for factor in model.factors for form in factor.forms}

    def distance(kernel: KernelSpec) -> tuple[int, bool, int]:
        """Put first what handles the same factors of the model, then what is automatic, then what handles the same."""
        others = {*kernel.handles} ^ {*step.kernel.handles}
        return len(others & forms), not kernel.automatic, len(others)

    ordered = sorted(kernels().values(), key=distance)
    for kernel in ordered:
        if kernel.exact and kernel is not step.kernel and role in kernel.updates:
            other = Step(step.variable, kernel, kernel.options(), step.path)
            yield f"use `{kernel.name}` here", exchanged(node, step, other)


def additions(node: Node, name: str, model: Model) -> Iterator[Suggestion]:
    """Yield the schedules with an exact kernel for ``name`` added at either end."""
    for step in _steps_on(name, model):
        yield f"add `{name}: {step.kernel.name}` at the end of the schedule", Cycle((node, step))
        yield f"add `{name}: {step.kernel.name}` at the start of the schedule", Cycle((step, node))


def redraws(name: str, model: Model) -> Iterator[tuple[str, Step]]:
    """Yield the kernels that draw ``name`` from its full conditional, with the instruction in words."""
    for step in _steps_on(name, model):
        if step.kernel.full_conditional:
            yield f"put `{name}: {step.kernel.name}`", step


def _steps_on(name: str, model: Model) -> Iterator[Step]:
    for kernel in kernels().values():
        if kernel.exact and model.variables[name].role in kernel.updates:
            yield Step(name, kernel, kernel.options())
