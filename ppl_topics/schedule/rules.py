"""The four rules that a schedule must keep so that the posterior stays invariant.

1. Every latent variable, every token of it, is updated with positive probability.
2. Each kernel handles every factor that touches what it updates or integrates out.
3. No kernel reads, and nothing records, a variable left stale by a kernel that integrated it out, until a
   kernel has redrawn it from its full conditional (van Dyk, Park 2008, Partially collapsed Gibbs samplers);
   all branches of a mixture leave the same variables stale.
4. Weights are positive, repetitions and sweeps at least 1 (refused while parsing).
"""

from __future__ import annotations

from collections.abc import Mapping

from ppl_topics.errors import ScheduleError
from ppl_topics.registry import KernelSpec, WordSelection, kernels
from ppl_topics.schedule.tree import Cycle, Every, Mixture, Node, Repeat, Step, steps
from ppl_topics.spec.model import Factor, Model, Variable
from ppl_topics.spec.source import KeyPath

__all__ = ["check"]

Stale = Mapping[str, Step]
"""Stale variables, each with the kernel that left it so."""


def check(node: Node, model: Model, *, partial: bool = False) -> None:
    """Refuse a schedule that breaks a rule.

    Parameters
    ----------
    node : Node
    model : Model
    partial : bool
        Whether variables may stay as they are: then the target is the posterior given those (rule 1 is
        not asked for, and nothing is recorded).

    Raises
    ------
    ScheduleError
        With place, rule, kernel, variable, and the smallest change that mends it.
    """
    for step in steps(node):
        _check_target(step, model)
        _check_factors(step, model)
        _check_integrated(step, model)
    if not partial:
        _check_coverage(node, model)
    # Twice round: what one sweep leaves stale, the next may read.
    stale = _flow(node, {}, model)
    stale = _flow(node, stale, model)
    if not partial:
        _check_recorded(stale, model)


def _error(model: Model, path: KeyPath, rule: int, message: str, mend: str) -> ScheduleError:
    return ScheduleError(f"{model.spec.source.place(path)}: schedule breaks rule {rule}: {message}; {mend}")


def _variables(roles: tuple[str, ...], model: Model) -> dict[str, Variable]:
    """Return the model's variables in the given roles; a role that the model fixes has none."""
    named = {model.names[role] for role in roles if role in model.names}
    return {name: v for name, v in model.variables.items() if name in named}


def _check_target(step: Step, model: Model) -> None:
    if model.variables[step.variable].integrated_out:
        raise _error(
            model,
            step.path,
            3,
            f"kernel {step.kernel.name!r} updates {step.variable}, which the model integrates out",
            f"drop this entry, or remove `integrate_out: true` from {step.variable}",
        )


def _check_factors(step: Step, model: Model) -> None:
    """Rule 2: the Markov blanket of what the kernel updates and marginalises."""
    kernel = step.kernel
    touched = set(_variables(kernel.updates + kernel.integrates_out, model))
    known = touched | set(_variables(kernel.reads, model))
    for factor in model.factors:
        if not factor.touches & touched:
            continue
        if not _handles(kernel, factor):
            variable = sorted(factor.touches & touched)[0]
            role = model.variables[step.variable].role
            able = [k for k, other in kernels().items() if role in other.updates and _handles(other, factor)]
            raise _error(
                model,
                step.path,
                2,
                f"kernel {kernel.name!r} does not handle the factor {factor.name!r} ({factor.kind}) "
                f"that touches {variable}",
                f"use {' or '.join(able)}" if able else "no registered kernel handles it; register one that does",
            )
        for name in sorted(factor.touches - known):
            raise _error(
                model,
                step.path,
                2,
                f"kernel {kernel.name!r} handles the factor {factor.name!r} ({factor.kind}), but does not say what it "
                f"does with {name}, which that factor touches",
                f"declare {model.variables[name].role!r} under `reads` or `integrates_out` of the kernel",
            )


def _handles(kernel: KernelSpec, factor: Factor) -> bool:
    return bool({factor.kind, *factor.seams} & set(kernel.handles))


def _check_integrated(step: Step, model: Model) -> None:
    """Rule 3 for variables that the model never holds: a kernel must marginalise what it would touch."""
    kernel = step.kernel
    for name, variable in _variables(kernel.reads, model).items():
        if variable.integrated_out:
            able = [
                other.name
                for other in kernels().values()
                if set(other.updates) & set(kernel.updates) and variable.role not in other.reads
            ]
            raise _error(
                model,
                step.path,
                3,
                f"kernel {kernel.name!r} reads {name}, which the model integrates out",
                f"remove `integrate_out: true` from {name}" + (f", or use {' or '.join(able)}" if able else ""),
            )


def _selection(step: Step) -> tuple[int, float]:
    """Return the corpus counts that a step covers, as a half-open interval."""
    words = getattr(step.options, "words", None)
    if not isinstance(words, WordSelection):
        return 1, float("inf")
    return words.min_count, float("inf") if words.max_count is None else words.max_count + 1


def _check_coverage(node: Node, model: Model) -> None:
    """Rule 1, for words of every corpus count."""
    for name, variable in model.latent.items():
        updating = [s for s in steps(node) if name in _variables(s.kernel.updates, model)]
        if not updating:
            able = [k for k, s in kernels().items() if variable.role in s.updates and s.exact]
            drop = f", or set `integrate_out: true` on {name}" if variable.role in ("phi", "theta") else ""
            mend = f"add `{name}: {able[0]}`{drop}" if able else "register a kernel that updates it"
            raise _error(model, ("schedule",), 1, f"no kernel updates {name}", mend)
        reached: float = 1
        for low, high in sorted(_selection(step) for step in updating):
            if low > reached:
                break
            reached = max(reached, high)
        if reached != float("inf"):
            following = [low for low, _ in map(_selection, updating) if low > reached]
            span = f"{reached} to {min(following) - 1} times" if following else f"{reached} times or more"
            raise _error(
                model,
                updating[0].path,
                1,
                f"tokens of words that occur {span} are never updated in {name}",
                f"add an entry for {name} with `words: {{min_count: {reached}}}`",
            )


def _flow(node: Node, stale: Stale, model: Model) -> Stale:
    """Return what is stale after ``node``, given what is stale before; refuse reads of stale values."""
    if isinstance(node, Step):
        return _flow_step(node, stale, model)
    if isinstance(node, Cycle):
        for child in node.children:
            stale = _flow(child, stale, model)
        return stale
    if isinstance(node, Repeat):
        after = _flow(node.child, stale, model)
        return after if node.times == 1 else _flow(node.child, after, model)
    if isinstance(node, Every):
        # Some sweeps run the child and some do not: stale in either is stale.
        return {**stale, **_flow(node.child, stale, model)}
    return _flow_mixture(node, stale, model)


def _flow_step(step: Step, stale: Stale, model: Model) -> Stale:
    kernel = step.kernel
    updated = _variables(kernel.updates, model)
    read = _variables(kernel.reads, model)
    if not kernel.full_conditional:
        read = {**read, **updated}
    marginal = _variables(kernel.integrates_out, model)
    for name in read:
        if name in stale and name not in marginal:
            culprit = stale[name]
            raise _error(
                model,
                step.path,
                3,
                f"kernel {kernel.name!r} reads {name}, left stale by {culprit.kernel.name!r}, which integrated it out",
                _redraw(name, model, "before this entry"),
            )
    after = {name: culprit for name, culprit in stale.items() if name not in updated}
    after.update({name: step for name, v in marginal.items() if not v.integrated_out})
    return after


def _flow_mixture(node: Mixture, stale: Stale, model: Model) -> Stale:
    branches = [_flow(child, stale, model) for child in node.children]
    union = {name: culprit for branch in branches for name, culprit in branch.items()}
    for name, culprit in union.items():
        if any(name not in branch for branch in branches):
            raise _error(
                model,
                culprit.path,
                3,
                f"this branch of the mixture leaves {name} stale (kernel {culprit.kernel.name!r} integrates it out) "
                "and another does not",
                _redraw(name, model, "at the end of this branch"),
            )
    return union


def _check_recorded(stale: Stale, model: Model) -> None:
    for name, culprit in stale.items():
        if model.spec.record.get(name) != "none":
            raise _error(
                model,
                culprit.path,
                3,
                f"{name} is recorded, but kernel {culprit.kernel.name!r} integrated it out and nothing redraws it "
                "before the sweep ends",
                _redraw(name, model, "after this entry") + f"; or set `record: {{{name}: none}}`",
            )


def _redraw(name: str, model: Model, where: str) -> str:
    role = model.variables[name].role
    able = [k for k, s in kernels().items() if role in s.updates and s.full_conditional]
    if not able:
        return f"no registered kernel redraws {name} from its full conditional; register one"
    return f"put `{name}: {able[0]}` {where}"
