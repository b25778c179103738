"""The default schedule: one kernel for each latent variable, and why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from ppl_topics._util.argument_names import argument
from ppl_topics.core.registry import kernels
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule.costs import NOMINAL_THREADS, CorpusSizes, nominal_sizes, sweep_seconds
from ppl_topics.schedule.rules import check, variables_of
from ppl_topics.schedule.tree import Cycle, Node, Step
from ppl_topics.spec.model import Model, Variable

MARGIN = 1.0
"""A sweep may cost this much more, as a share of the cheapest, if it integrates out more variables.

Kernels that hold phi need 1.7 to 2 times as many sweeps to the mode, on corpora of 120,000 to 2.7 million tokens with
20 to 1,000 topics (benchmarks/README.md, mode.py).
"""


__all__ = ["admissible", "assign", "sweep_order"]

PREFERRED = (
    *("lambda", "tau", "slab", "augmentation", "eta", "z", "prevalence_lambda", "prevalence_tau"),
    *("alpha", "beta", "theta", "pi", "included", "phi"),
)
"""The order of roles where the kernels leave it open; others come first. It never changes: draws depend on it."""


def assign(
    model: Model,
    corpus: CorpusSizes | None = None,
    *,
    distributed: bool = False,
    rotating: bool = True,
    device: str = "cpu",
) -> Node:
    """Choose for each latent variable an exact kernel that the model admits, so that the whole sweep is cheapest.

    Whole sweeps are compared, over all combinations that keep the rules. Among those that cost at most `MARGIN` more
    than the cheapest, the one that integrates out most variables is chosen: where it was measured, it reached the mode
    soonest. Seconds are those of the nominal machine at `NOMINAL_THREADS` threads, so that the same seed gives the same
    draws anywhere. If `distributed`, only kernels are chosen that can run on documents spread over machines; the choice
    does not depend on how many these are. Those that rotate blocks of words can be left out. Of kernels that draw the
    assignments, one is chosen that runs on the `device`.
    """
    ordered = sweep_order(list(model.latent.values()))
    sizes = (corpus or nominal_sizes()).for_model(model)
    sweeps = []
    for chosen in itertools.product(
        *(_choices(variable, model, distributed, rotating, device) for variable in ordered)
    ):
        seconds = sweep_seconds(_cycle(chosen, model), sizes, model.spec.topics, NOMINAL_THREADS, device)
        sweeps.append((seconds, chosen))
    sweeps.sort(key=lambda pair: pair[0])
    valid = [(seconds, chosen) for seconds, chosen in sweeps if not _problem(_cycle(chosen, model), model)]
    if not valid:
        check(_cycle(sweeps[0][1], model), model)
    where = f"{NOMINAL_THREADS} threads of the nominal machine" + ("" if device == "cpu" else " and its GPU")
    where += "" if corpus else ", nominal corpus"
    near = [(seconds, chosen) for seconds, chosen in valid if seconds <= (1 + MARGIN) * valid[0][0]]
    # The more is integrated out, the sooner a chain from a random start is in the mode.
    _, best = min(near, key=lambda pair: (-sum(len(step.kernel.integrates_out) for step in pair[1]), pair[0]))
    return _cycle([replace(s, reason=_reason(i, s, valid, where)) for i, s in enumerate(best)], model)


def _cycle(chosen: Sequence[Step], model: Model) -> Cycle:
    """Return a cycle of steps, without those whose variable the same kernel draws again, with another, later on."""
    drawn = [(step.kernel, variables_of(step.variable, step.kernel.updates, model)) for step in chosen]
    later = (drawn[i + 1 :] for i in range(len(chosen)))
    pairs = zip(chosen, later, strict=True)
    return Cycle(tuple(s for s, rest in pairs if not any(k is s.kernel and s.variable in names for k, names in rest)))


def sweep_order(variables: Sequence[Variable]) -> list[Variable]:
    """Return variables so that what kernels of some integrate out comes after these: the sweep ends with none stale."""
    rank = {role: i for i, role in enumerate(PREFERRED)}
    known = [kernel for kernel in kernels().values() if kernel.exact and kernel.automatic]
    left = sorted(variables, key=lambda v: (rank.get(v.role, -1), v.name))

    def leaves_stale(first: Variable, second: Variable) -> bool:
        return any(first.role in k.updates and second.role in k.integrates_out for k in known)

    ordered: list[Variable] = []
    while left:
        free = (v for v in left if not any(leaves_stale(other, v) for other in left if other is not v))
        ordered.append(next(free, left[0]))
        left.remove(ordered[-1])
    return ordered


def admissible(variable: Variable, model: Model) -> tuple[list[Step], dict[str, str]]:
    """Return a step for each kernel that may update a variable of the model, with its default options."""
    steps, refused = [], {}
    for kernel in kernels().values():
        if variable.role in kernel.updates:
            step = Step(variable.name, kernel, kernel.options(), ("blocks", variable.name))
            problem = _problem(step, model, partial=True)
            if problem:
                refused[kernel.name] = problem.partition(": ")[2]
            else:
                steps.append(step)
    return steps, refused


def _choices(variable: Variable, model: Model, distributed: bool, rotating: bool, device: str) -> list[Step]:
    steps, refused = admissible(variable, model)
    steps = [step for step in steps if step.kernel.automatic and step.kernel.exact]
    steps = [step for step in steps if rotating or step.kernel.distributes != "rotate"]
    if steps and device != "cpu" and variable.role == "z":
        names = ", ".join(step.kernel.name for step in steps) + (" runs" if len(steps) == 1 else " run")
        steps = [step for step in steps if device in step.kernel.devices]
        if not steps:
            raise ScheduleError(
                f"{model.spec.locate('blocks', variable.name)}: {names} on the CPU only, and no other kernel draws "
                f"{variable.name}; leave out {argument('device')}"
            )
    if steps and distributed:
        names = ", ".join(step.kernel.name for step in steps) + (" needs" if len(steps) == 1 else " need")
        steps = [step for step in steps if step.kernel.distributes]
        if not steps:
            raise ScheduleError(
                f"{model.spec.locate('blocks', variable.name)}: {names} all documents in one place, and no other "
                f"kernel draws {variable.name}; split the chains over the workers, not the documents"
            )
    if not steps:
        known = kernels()
        reasons = [(name, why) for name, why in refused.items() if known[name].automatic and known[name].exact]
        place = model.spec.locate("blocks", variable.name)
        why = "".join(f"; {name}: {reason}" for name, reason in reasons)
        raise ScheduleError(
            f"{place}: no exact kernel can be chosen for {variable.name}{why or '; name one in a schedule'}"
        )
    return steps


def _problem(node: Node, model: Model, partial: bool = False) -> str:
    try:
        check(node, model, partial=partial)
    except ScheduleError as error:
        return str(error)
    return ""


def _reason(index: int, step: Step, valid: Sequence[tuple[float, tuple[Step, ...]]], where: str) -> str:
    """Say how long the best sweep with each other kernel for the variable would take."""
    best: dict[str, float] = {}
    for seconds, chosen in valid:
        best.setdefault(chosen[index].kernel.name, seconds)
    if len(best) == 1:
        return f"the only exact kernel for {step.variable} that is chosen without being named"
    own = best.pop(step.kernel.name)
    others = ", ".join(f"{name} {seconds:.2g} s" for name, seconds in best.items())
    what = "with the cheapest sweep"
    if own > valid[0][0]:
        what = f"that integrates out most, its sweep being within {MARGIN:.0%} of the cheapest"
    return f"the exact kernel for {step.variable} {what}: {own:.2g} s ({where}), against {others}"
