"""Dead steps: draws that nothing reads before they are redrawn. Only recorded sweeps need them, and no checkpoint does.

A kernel that sums over phi, followed by a draw of phi, is the example: the next sweep leaves that phi stale before it
is read, so only the trace needs it.
"""

from __future__ import annotations

from ppl_topics.core.block import Block
from ppl_topics.schedule.rules import UNRECORDED, reads_old_values, variables_of
from ppl_topics.schedule.tree import Cycle, Node, Step, steps
from ppl_topics.spec.model import Model

__all__ = ["dead_steps", "dead_variables", "dirichlet_step"]


def dead_steps(schedule: Node, model: Model) -> dict[int, frozenset[str]]:
    """Return the steps that only the trace needs, by their number in the schedule, with the variables they draw.

    Only entries of the outermost cycle are looked at, which run once in every sweep. A step counts if it
    redraws its variables whatever they were before, if the log posterior reads none of them, and if in what follows,
    into the next sweep, each is drawn again or left stale before any kernel reads it.
    """
    if not isinstance(schedule, Cycle):
        return {}
    result: dict[int, frozenset[str]] = {}
    number = 0
    for place, child in enumerate(schedule.children):
        if isinstance(child, Step):
            drawn = frozenset(variables_of(child.variable, child.kernel.updates, model))
            following = (*schedule.children[place + 1 :], *schedule.children[: place + 1])
            if not reads_old_values(child) and all(_only_recorded(name, following, model) for name in drawn):
                result[number] = drawn
        number += sum(1 for _ in steps(child))
    return result


def dirichlet_step(schedule: Node, model: Model) -> int | None:
    """Return the number of the step that draws topics for the trace alone, from their Dirichlet distribution given z.

    None if there is no such step: a kernel reads them, or they have another distribution.
    """
    phi, dead = model.names["phi"], dead_steps(schedule, model)
    if phi not in model.held or "included" in model.names or model.spec.blocks[phi].kind != "dirichlet":
        return None
    for number, step in enumerate(steps(schedule)):
        # Another kernel may be somebody's own, who wants it to run.
        if dead.get(number) == frozenset({phi}) and step.kernel.name == "dirichlet_rows":
            return number
    return None


def dead_variables(schedule: Node, model: Model) -> frozenset[str]:
    """Return the variables whose value between sweeps does not matter: each sweep draws them before they are read."""
    if not isinstance(schedule, Cycle):
        return frozenset()
    steps_of_all = [child for child in schedule.children if isinstance(child, Step) and not reads_old_values(child)]
    drawn = {name for step in steps_of_all for name in variables_of(step.variable, step.kernel.updates, model)}
    return frozenset(name for name in drawn if _only_recorded(name, schedule.children, model))


def _only_recorded(name: str, following: tuple[Node, ...], model: Model) -> bool:
    # The log posterior adds up the log densities of blocks. Ours have none for these roles; one from another package
    # may.
    silent = type(model.spec.blocks[model.variables[name].block]).log_density is Block.log_density
    if model.variables[name].role not in UNRECORDED or not silent:
        return False
    for node in following:
        for step in steps(node):
            drawn, read, summed = (
                name in variables_of(step.variable, roles, model)
                for roles in (step.kernel.updates, step.kernel.reads, step.kernel.integrates_out)
            )
            if read or (drawn and reads_old_values(step)):
                return False
            # Inside another node a step may not run, so only entries of the outermost cycle end the search.
            if node is step and (drawn or summed):
                return True
    return True
