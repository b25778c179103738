"""The default schedule: one kernel for each latent variable, and why."""

from __future__ import annotations

from collections.abc import Mapping

from ppl_topics.declarations import KernelSpec
from ppl_topics.errors import ScheduleError
from ppl_topics.registry import kernels
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, Node, Step
from ppl_topics.spec.model import Model, Variable

__all__ = ["NOMINAL_SIZES", "assign", "cost_sizes"]

NOMINAL_SIZES: Mapping[str, float] = {"N": 1_000_000.0, "D": 10_000.0, "V": 20_000.0}
"""Sizes that costs are compared at where no corpus is given."""

ORDER = ("z", "alpha", "beta", "theta", "phi")
"""Variables that kernels of earlier ones integrate out come later, so that the sweep ends with none stale."""


def cost_sizes(topics: int, corpus: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the names that cost formulas use, with their values."""
    sizes = dict(corpus or NOMINAL_SIZES) | {"K": float(topics)}
    # Topics in use by a document: at most its length and K, and in fitted models far fewer than either.
    sizes["K_d"] = min(topics, max(1.0, (sizes["N"] / max(1.0, sizes["D"])) ** 0.5))
    return sizes


def assign(model: Model, corpus: Mapping[str, float] | None = None) -> Node:
    """Choose for each latent variable the cheapest exact kernel that the model admits.

    Raises
    ------
    ScheduleError
        If a variable has no such kernel.
    """
    sizes = cost_sizes(model.spec.topics, corpus)
    rank = {role: i for i, role in enumerate(ORDER)}
    ordered = sorted(model.latent.values(), key=lambda v: (rank.get(v.role, -1), v.name))
    node = Cycle(tuple(_choose(variable, model, sizes) for variable in ordered))
    check(node, model)
    return node


def _choose(variable: Variable, model: Model, sizes: Mapping[str, float]) -> Step:
    refused: dict[str, str] = {}
    admissible: list[tuple[float, KernelSpec]] = []
    for kernel in kernels().values():
        if variable.role not in kernel.updates or not (kernel.automatic and kernel.exact):
            continue
        step = Step(variable.name, kernel, kernel.options())
        try:
            check(step, model, partial=True)
        except ScheduleError as error:
            refused[kernel.name] = str(error).partition(": ")[2]
            continue
        admissible.append((kernel.seconds(sizes), kernel))
    if not admissible:
        place = model.spec.place("blocks", variable.name)
        why = "".join(f"; {name}: {reason}" for name, reason in refused.items())
        raise ScheduleError(
            f"{place}: no exact kernel can be chosen for {variable.name}{why or '; name one in a schedule'}"
        )
    admissible.sort(key=lambda pair: pair[0])
    cost, kernel = admissible[0]
    reason = f"the only exact kernel for {variable.name}"
    if len(admissible) > 1:
        others = ", ".join(f"{other.name} {value:.2g}" for value, other in admissible[1:])
        reason = f"the cheapest exact kernel for {variable.name}: cost {cost:.2g} ({kernel.cost}), against {others}"
    return Step(variable.name, kernel, kernel.options(), ("blocks", variable.name), reason)
