"""The five rules that a schedule must keep so that the posterior stays invariant.

1. Every latent variable, every token of it, is updated with positive probability.
2. Each kernel handles every factor that touches what it updates or integrates out.
3. No kernel reads, and nothing records, a variable left stale by a kernel that integrated it out, until a
   kernel has redrawn it from its full conditional (van Dyk, Park 2008, Partially collapsed Gibbs samplers);
   all branches of a mixture leave the same variables stale.
4. Weights are positive, repetitions and sweeps at least 1 (refused while parsing).
5. No kernel updates or integrates out a variable that is given.

A warmup need not leave the posterior invariant: its kernels may be inexact, and rule 1 does not bind it. By the others,
each of its kernels has what it reads, and the schedule that follows finds no variable stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

from ppl_topics.core.kernel import KernelSpec, WordSelection
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule.suggestions import Suggestion, additions, exchanged, redraws, replacements
from ppl_topics.schedule.tree import Cycle, Every, Mixture, Node, Repeat, Step, steps
from ppl_topics.spec.model import Factor, Marginal, Model, Variable
from ppl_topics.spec.source import KeyPath

__all__ = [
    "UNRECORDED",
    "check",
    "check_warmup",
    "read_by",
    "reads_old_values",
    "steps_of",
    "variables_in",
    "variables_of",
    "variables_read",
]

Stale = Mapping[str, Step]
"""Stale variables, each with the kernel that left it so."""

Rules: TypeAlias = Callable[[Node], None]
"""Raises a `_Violation` if a tree breaks one."""

UNRECORDED = ("theta", "phi")
"""Roles that ``record`` may leave out altogether; the log posterior of every sweep reads all others."""


def check(node: Node, model: Model, *, partial: bool = False) -> None:
    """Refuse a schedule that breaks a rule, of several responses with any of them."""
    for name, marginal in model.marginals.items():
        with _of_response(name):
            check(steps_of(node, marginal), marginal.model, partial=partial)
    if not model.marginals:
        _refuse(node, model, "schedule", lambda tree: _check_rules(tree, model, partial))


def check_warmup(node: Node, model: Model, schedule: Node | None = None) -> None:
    """Refuse a warmup that breaks a rule, or from which a schedule cannot go on; see `check`."""
    for name, marginal in model.marginals.items():
        with _of_response(name):
            following = None if schedule is None else steps_of(schedule, marginal)
            check_warmup(steps_of(node, marginal), marginal.model, following)
    if not model.marginals:
        _refuse(node, model, "warmup", lambda tree: _check_warmup(tree, model, schedule))


def steps_of(node: Node, marginal: Marginal) -> Node:
    """Return a schedule without the steps that draw what only other responses have.

    No kernel of these leaves anything stale that this response, or the assignments, need: so the rules hold for a model
    of several responses if they hold for each of these.
    """
    if isinstance(node, Step):
        name = marginal.own_name(node.variable)
        return replace(node, variable=name) if name in marginal.model.variables else Cycle(())
    if isinstance(node, Cycle | Mixture):
        return replace(node, children=tuple(steps_of(child, marginal) for child in node.children))
    return replace(node, child=steps_of(node.child, marginal))


@contextmanager
def _of_response(name: str) -> Iterator[None]:
    """Say which response an error is about: variables have the names that they have in its model alone."""
    try:
        yield
    except ScheduleError as error:
        raise ScheduleError(f"{error} (as in the model of the response {name!r} alone)") from None


def _refuse(node: Node, model: Model, key: str, rules: Rules) -> None:
    """Raise an error with a fix if a tree breaks a rule."""
    try:
        rules(node)
    except _Violation as violation:
        place = model.spec.source.locate(violation.path)
        fix = _fix(violation, rules)
        raise ScheduleError(f"{place}: {key} breaks rule {violation.rule}: {violation.message}; {fix}") from None


@dataclass(eq=False)
class _Violation(Exception):  # noqa: N818
    """A broken rule, with changes that might fix it, and what to say if none does."""

    path: KeyPath
    rule: int
    message: str
    suggestions: Iterable[Suggestion]
    otherwise: str
    also: str = ""


def _fix(violation: _Violation, rules: Rules) -> str:
    """Return the first suggestion that keeps all rules, or else the first that leaves other breaches only."""
    second = ""
    for text, node in violation.suggestions:
        try:
            rules(node)
        except _Violation as other:
            # Rule 2 comes first, so a suggestion that breaks it where it was kept, or again in this place, is none.
            worse = other.rule == 2 and (violation.rule != 2 or other.path in (violation.path, ("schedule",)))
            same = worse or (other.rule, other.message) == (violation.rule, violation.message)
            # Another kernel in this place that does not leave alone what is given either.
            same = same or (other.rule, other.path) == (5, violation.path)
            second = second or ("" if same else text)
        else:
            return text + violation.also
    return second + violation.also if second else violation.otherwise


def _check_rules(node: Node, model: Model, partial: bool) -> None:
    for step in steps(node):
        _check_integrated(step, node, model)
        _check_given(step, node, model)
        _check_factors(step, node, model)
    if not partial:
        _check_coverage(node, model)
    # Twice round: what one sweep leaves stale, the next may read.
    flow = _Flow(node, model)
    stale = flow.after(node, flow.after(node, {}))
    if not partial:
        _check_recorded(stale, node, model)


def _check_warmup(node: Node, model: Model, schedule: Node | None) -> None:
    for step in steps(node):
        _check_integrated(step, node, model)
        _check_given(step, node, model)
        _check_factors(step, node, model)
    flow = _Flow(node, model, "warmup")
    stale = flow.after(node, flow.after(node, {}))
    # What may go unrecorded is not recorded before the first kept draw.
    recorded = {name: step for name, step in stale.items() if model.variables[name].role not in UNRECORDED}
    _check_recorded(recorded, node, model, "warmup")
    if schedule is not None:
        _check_handover(stale, node, schedule, model)


def _check_handover(stale: Stale, node: Node, schedule: Node, model: Model) -> None:
    """Rule 3 where the schedule begins: what the warmup leaves stale, it draws before it is read or recorded."""
    for name, culprit in stale.items():
        try:
            _check_recorded(_Flow(schedule, model).after(schedule, {name: culprit}), schedule, model)
        except _Violation:
            raise _Violation(
                culprit.path,
                3,
                f"kernel {culprit.kernel.name!r} integrated {name} out, and the schedule, which follows, needs it",
                [(f"{put} at the end of the warmup", Cycle((node, step))) for put, step in redraws(name, model)],
                _no_redraw(name),
            ) from None


def variables_in(roles: tuple[str, ...], model: Model) -> dict[str, Variable]:
    """Return the model's variables in the given roles; a role that the model fixes has none.

    In the role ``scales`` are all that the prior of the coefficients brings along.
    """
    named = {model.names[role] for role in roles if role in model.names}
    if "scales" in roles and "eta" in model.names:
        named |= model.spec.blocks[model.names["eta"]].auxiliaries().keys()
    return {name: v for name, v in model.variables.items() if name in named}


def variables_read(kernel: KernelSpec, model: Model) -> dict[str, Variable]:
    """Return the variables that a kernel reads.

    Beside those in the roles that it declares, these are the numbers of factors that it updates something of and takes
    for one of their forms, not for their kind: what they make of their numbers is all that it knows of them.
    """
    read = variables_in(kernel.reads, model)
    changed = variables_in(kernel.updates + kernel.integrates_out, model).keys()
    for factor in model.factors:
        if factor.touches & changed and factor.kind not in kernel.handles and factor.forms & set(kernel.handles):
            read |= {name: model.variables[name] for name in factor.numbers - changed if name in model.variables}
    return read


def variables_of(target: str, roles: tuple[str, ...], model: Model) -> dict[str, Variable]:
    """Return the variables in roles of a kernel that draws one of them, with that response, or with each of several."""
    return _of_each(target, model, lambda alone: variables_in(roles, alone))


def read_by(step: Step, model: Model) -> dict[str, Variable]:
    """Return the variables that a step reads; see `variables_read`."""
    return _of_each(step.variable, model, lambda alone: variables_read(step.kernel, alone))


def _of_each(target: str, model: Model, of: Callable[[Model], dict[str, Variable]]) -> dict[str, Variable]:
    """Return variables that a kernel has in the model, or in those of the responses that it is about."""
    if not model.marginals:
        return of(model)
    names = [marginal.whole_name(name) for marginal in model.seen_by(target) for name in of(marginal.model)]
    return {name: model.variables[name] for name in names}


def _check_integrated(step: Step, node: Node, model: Model) -> None:
    """Rule 3 for variables that the model never holds: a kernel must marginalise what it would touch."""
    kernel = step.kernel
    for verb, variables in (("updates", variables_in(kernel.updates, model)), ("reads", variables_read(kernel, model))):
        for name, variable in variables.items():
            if not variable.integrated_out:
                continue
            own = name == step.variable
            hold = f"remove `integrate_out: true` from {name}" + ("" if own else " and add a kernel that updates it")
            raise _Violation(
                step.path,
                3,
                f"kernel {kernel.name!r} {verb} {name}, which the model integrates out",
                () if own else replacements(node, step, model),
                f"drop this entry, or {hold}" if own else hold,
                f", or {hold}",
            )


def _check_given(step: Step, node: Node, model: Model) -> None:
    """Rule 5: the posterior is that given the values of some variables."""
    kernel = step.kernel
    for verb, roles in (("updates", kernel.updates), ("integrates out", kernel.integrates_out)):
        for name, variable in variables_in(roles, model).items():
            if not variable.given:
                continue
            own = name == step.variable
            raise _Violation(
                step.path,
                5,
                f"kernel {kernel.name!r} {verb} {name}, which is given",
                () if own else replacements(node, step, model),
                "drop this entry" if own else f"no registered kernel does without that; do not give {name}",
            )


def _or_declare(step: Step, factor: Factor) -> str:
    """Return what the author of a kernel can do instead."""
    if step.kernel.build.__module__.startswith("ppl_topics."):
        return ""
    form = min(factor.forms)
    return f", or add {form!r} to the `handles` of {step.kernel.name!r} if it draws by that factor too"


def _check_factors(step: Step, node: Node, model: Model) -> None:
    """Rule 2: the Markov blanket of what the kernel updates and marginalises."""
    kernel = step.kernel
    touched = set(variables_in(kernel.updates + kernel.integrates_out, model))
    known = touched | set(variables_read(kernel, model))
    for factor in model.factors:
        if not factor.touches & touched:
            continue
        if not factor.forms & set(kernel.handles):
            name = min(factor.touches & touched)
            summed = ", which it integrates out" if name in variables_in(kernel.integrates_out, model) else ""
            raise _Violation(
                step.path,
                2,
                f"kernel {kernel.name!r} does not handle the factor {factor.name!r} ({factor.kind}) "
                f"that touches {name}{summed}",
                replacements(node, step, model),
                "no registered kernel handles it; register one that does",
                _or_declare(step, factor),
            )
        for name in sorted(factor.touches - known):
            raise _Violation(
                step.path,
                2,
                f"kernel {kernel.name!r} handles the factor {factor.name!r} ({factor.kind}), but does not say what it "
                f"does with {name}, which that factor touches",
                (),
                f"declare {model.variables[name].role!r} under `reads` or `integrates_out` of the kernel",
            )


def _selections(step: Step) -> dict[str, WordSelection]:
    return {key: value for key, value in step.options if isinstance(value, WordSelection)}


def _interval(step: Step) -> tuple[int, float]:
    """Return the corpus counts that a step covers, as a half-open interval."""
    low, high = 1, float("inf")
    for words in _selections(step).values():
        low = max(low, words.min_count)
        high = high if words.max_count is None else min(high, words.max_count + 1)
    return low, high


def reads_old_values(step: Step) -> bool:
    """Tell whether what a step leaves of its variables depends on what they were before."""
    # Tokens that a selection of words leaves out keep their old values.
    return not step.kernel.full_conditional or _interval(step) != (1, float("inf"))


def _check_coverage(node: Node, model: Model) -> None:
    """Rule 1, for words of every corpus count."""
    for name, variable in model.latent.items():
        updating = [s for s in steps(node) if name in variables_in(s.kernel.updates, model)]
        if not updating:
            readers = [s for s in steps(node) if name in variables_read(s.kernel, model)]
            drop = variable.role in ("phi", "theta") and not readers
            also = f", or set `integrate_out: true` on {name}" if drop else ""
            raise _Violation(
                ("schedule",),
                1,
                f"no kernel updates {name}",
                additions(node, name, model),
                f"register a kernel that updates it{also}",
                also,
            )
        reached: float = 1
        for low, high in sorted(_interval(step) for step in updating):
            if low > reached:
                break
            reached = max(reached, high)
        if reached != float("inf"):
            _fail_gap(name, int(reached), updating)


def _fail_gap(name: str, reached: int, updating: list[Step]) -> NoReturn:
    following = [low for low, _ in map(_interval, updating) if low > reached]
    span = f"{reached} to {min(following) - 1} times" if following else f"{reached} times or more"
    bounds = ([f"min_count: {reached}"] if reached > 1 else []) + (
        [f"max_count: {min(following) - 1}"] if following else []
    )
    # Another run of the same kernel reads nothing that this one left stale.
    step = updating[0]
    key = next(iter(_selections(step)))
    raise _Violation(
        step.path,
        1,
        f"tokens of words that occur {span} are never updated in {name}",
        (),
        f"add `{step.variable}: {{kernel: {step.kernel.name}, {key}: {{{', '.join(bounds)}}}}}` after this entry",
    )


class _Flow:
    """Follows a sweep and what it leaves stale; refuses reads of stale values."""

    def __init__(self, root: Node, model: Model, key: str = "schedule") -> None:
        self.root = root
        self.model = model
        self.key = key

    def after(self, node: Node, stale: Stale) -> Stale:
        """Return what is stale after ``node``, given what is stale before."""
        if isinstance(node, Step):
            return self.step(node, stale)
        if isinstance(node, Cycle):
            for child in node.children:
                stale = self.after(child, stale)
            return stale
        if isinstance(node, Repeat):
            once = self.after(node.child, stale)
            return once if node.times == 1 else self.after(node.child, once)
        if isinstance(node, Every):
            # Some sweeps run the child and some do not: stale in either is stale.
            return {**stale, **self.after(node.child, stale)}
        return self.mixture(node, stale)

    def step(self, step: Step, stale: Stale) -> Stale:
        kernel, model = step.kernel, self.model
        updated = variables_in(kernel.updates, model)
        read = variables_read(kernel, model)
        if reads_old_values(step):
            read = {**read, **updated}
        for name in read:
            if name in stale:
                culprit = stale[name]
                raise _Violation(
                    step.path,
                    3,
                    f"kernel {kernel.name!r} reads {name}, left stale by {culprit.kernel.name!r}, "
                    "which integrated it out",
                    self.refreshed(name, step),
                    _no_redraw(name),
                )
        marginal = variables_in(kernel.integrates_out, model)
        after = {name: culprit for name, culprit in stale.items() if name not in updated}
        after.update({name: step for name, v in marginal.items() if not v.integrated_out})
        return after

    def refreshed(self, name: str, reader: Step) -> Iterator[Suggestion]:
        """Yield the schedules that redraw ``name`` before ``reader``, or with a reader that does without it."""
        for put, step in redraws(name, self.model):
            yield f"{put} before this entry", exchanged(self.root, reader, Cycle((step, reader)))
            yield f"{put} at the end of the {self.key}", Cycle((self.root, step))
        yield from replacements(self.root, reader, self.model)

    def mixture(self, node: Mixture, stale: Stale) -> Stale:
        branches = [self.after(child, stale) for child in node.children]
        union = {name: culprit for branch in branches for name, culprit in branch.items()}
        for name, culprit in union.items():
            leaving = [child for child, left in zip(node.children, branches, strict=True) if name in left]
            if len(leaving) < len(branches):
                raise _Violation(
                    leaving[0].path,
                    3,
                    f"this branch of the mixture leaves {name} stale (kernel {culprit.kernel.name!r} integrated it "
                    "out) and another does not",
                    self.ends(name, node, leaving),
                    _no_redraw(name),
                )
        return union

    def ends(self, name: str, node: Mixture, leaving: list[Node]) -> Iterator[Suggestion]:
        """Yield the schedules that redraw ``name`` at the end of the branches that leave it stale."""
        where = "this branch" if len(leaving) == 1 else "each branch that leaves it stale"
        for put, step in redraws(name, self.model):
            tree: Node = self.root
            for child in leaving:
                tree = exchanged(tree, child, Cycle((child, step)))
            yield f"{put} at the end of {where}", tree


def _no_redraw(name: str) -> str:
    return f"no registered kernel redraws {name} from its full conditional; register one"


def _check_recorded(stale: Stale, node: Node, model: Model, key: str = "schedule") -> None:
    for name, culprit in stale.items():
        optional = model.variables[name].role in UNRECORDED
        if optional and model.spec.record.get(name) == "none":
            continue
        also = f", or set `record: {{{name}: none}}`" if optional else ""
        raise _Violation(
            culprit.path,
            3,
            f"{name} is recorded, but kernel {culprit.kernel.name!r} integrated it out and nothing redraws it "
            "before the sweep ends",
            [(f"{put} at the end of the {key}", Cycle((node, step))) for put, step in redraws(name, model)],
            _no_redraw(name) + also,
            also,
        )
