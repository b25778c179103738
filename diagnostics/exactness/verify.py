"""``verify``: certify or refuse the kernels of a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, check_whole
from ppl_topics._util.nearest import nearest
from ppl_topics._util.threads import using_threads
from ppl_topics.core.kernel import KernelSpec
from ppl_topics.core.registry import kernels
from ppl_topics.diagnostics.exactness.alone import AloneTest, ExactStarts, Starts
from ppl_topics.diagnostics.exactness.certificate import Certificate, Verification
from ppl_topics.diagnostics.exactness.geweke import GewekeTest
from ppl_topics.diagnostics.exactness.sequential import Verdict, sequential_test
from ppl_topics.diagnostics.exactness.sizes import size_tests
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec, with_a_distribution, with_heavy_topics
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.placing import Device, check_device, present_device, using_device
from ppl_topics.engine.simulation import check_simulates
from ppl_topics.errors import DeclarationError, PplTopicsError, ScheduleError, SpecError
from ppl_topics.schedule import Plan
from ppl_topics.schedule.assign import assign
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, Step, steps
from ppl_topics.spec import Model, Spec, load_spec

__all__ = ["verify"]

REPLICATES = 1_000
SWEEPS = 5
"""Errors from values that are a sweep old only show from the third sweep on."""
WITH_MEMORY = 4
"""Factor by which the short chains of a schedule are more and longer, for a kernel that has a memory.

What it remembers is wrong by what the others did since, so little, and only after some sweeps.
"""
LONG_RUN = 20_000
FALSE_ALARM = 1e-5

Look = Callable[[int, int], Mapping[str, float]]
"""A test of `sequential_test`."""


def verify(
    model: str | Path | Mapping[str, Any] | Spec,
    *,
    kernel: str | Iterable[str] | None = None,
    schedule: Any = None,
    seed: int = 20261121,
    replicates: int = REPLICATES,
    sweeps: int = SWEEPS,
    long_run: int = LONG_RUN,
    false_alarm: float = FALSE_ALARM,
    device: Device = "cpu",
    **parameters: Any,
) -> Verification:
    """Test whether kernels leave the posterior of a model invariant, and reach all of it.

    Four parts decide on a kernel, and the first refusal counts:

    - *declaration*: each step changes only what the kernel updates, and draws the same bits when it is run again from
      the same state with the same key, whatever the variables hold that it does not declare to read, or integrates out.
      If it declares that it distributes, it draws the same bits with the documents in one place and in two;
    - *alone*: chains that run nothing else, from exact draws of everything, keep the joint distribution of all that the
      kernel does not integrate out. The draws come from the enumerated posterior of six tokens, and from the model
      itself, words and targets included, on that corpus and on larger ones (Geweke's test);
    - *schedule*, for kernels with a memory: the same for the default schedule, with the kernel in place of the one for
      the same variable. Without a memory, kernels that pass alone are exact in every schedule that the rules admit;
    - *long chain*: in that schedule, a chain reaches all of the posterior, so a kernel that moves only once in hundreds
      of sweeps is refused unless ``long_run`` is longer.

    A whole schedule is tested by the first, third and fourth; a kernel that declares itself inexact by the
    first, and by the others if it is asked for by name. What a model runs in its ``warmup`` is not tested: only kept
    draws must be exact. Each test follows Gandy and Scott's sequential rule at
    its share of ``false_alarm``. By default, a concentration of LDA that is 10% too large is refused.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    kernel : str or iterable of str, optional
        Kernels to test; by default all that are registered for the model's variables, and the model's schedule.
    schedule : mapping or list, optional
        A schedule to test instead, as a whole. Variables that it does not update are taken as given.
    seed : int
    replicates : int
        Short chains of the first look on the tiny corpus; those on larger corpora are fewer. A look that does not
        decide is followed by one with four times as many.
    sweeps : int
        Sweeps of each short chain.
    long_run : int
        Sweeps of the long chain.
    false_alarm : float
        Bound on the probability that the tests refuse a correct kernel.
    device : {'cpu', 'cuda'}
        Where kernels run; only those that can run on a GPU are tested there, and no declarations, which are those of
        the same kernels on the CPU.
    **parameters
        Model parameters to set. The number of topics and the parameters of priors are replaced by those of the tiny
        corpus.

    Returns
    -------
    Verification

    Raises
    ------
    PplTopicsError
        If an argument has a wrong type or is out of range.
    SpecError, ScheduleError
        If the model is wrong, or a requested kernel cannot be used in it.
    RunError
        If a kernel raises an error.

    Examples
    --------
    >>> result = verify("lda", kernel="collapsed_gibbs", replicates=1000, long_run=2000)
    >>> result.passed
    True
    """
    settings = _Settings(seed, replicates, sweeps, long_run, false_alarm).check()
    asked = None if kernel is None else _named(kernel)
    written = load_spec(model, parameters, call="argument {name}")
    if written.given:
        raise SpecError(
            f"{written.locate('given')}: verify draws {written.given[0]} too; leave `given` out: variables that "
            f"{argument('schedule')} does not update are taken as given"
        )
    # Only kept draws must be exact.
    spec, untested = tiny_spec(written.without_warmup()), written.warmup is not None
    check_simulates(Model.of(spec))
    check_device(device)
    # The tiny corpus has no work for a second thread; draws do not depend on the number of threads.
    with using_threads(1), using_device(device):
        if schedule is not None:
            plan = make_plan(spec.with_schedule(schedule, "argument schedule"), partial=True)
            whole = _certify_whole(plan, settings, _exact_tests(plan, settings))
            return Verification(spec.name, false_alarm, (whole,), {}, untested)
        return replace(_verify_kernels(spec, asked, settings), warmup_untested=untested)


@dataclass(frozen=True)
class _Settings:
    seed: int
    replicates: int
    sweeps: int
    long_run: int
    false_alarm: float

    def times(self, factor: int) -> _Settings:
        """Return settings with more and longer short chains."""
        return replace(self, replicates=factor * self.replicates, sweeps=factor * self.sweeps)

    def check(self) -> _Settings:
        """Return the settings, and refuse one that is not a number in its range."""
        check_whole("argument seed", self.seed, 0, MAX_SEED)
        for name, least in (("replicates", 2), ("sweeps", 1), ("long_run", 1)):
            check_whole(f"argument {name}", getattr(self, name), least)
        number = isinstance(self.false_alarm, float | int | np.floating) and not isinstance(self.false_alarm, bool)
        if not number or not 0.0 < self.false_alarm < 1.0:
            raise PplTopicsError(
                f"argument false_alarm: must be a number between 0 and 1, such as 1e-5, got {self.false_alarm!r}"
            )
        return self


def _named(kernel: Any) -> list[KernelSpec]:
    """Return the kernels of one or several names."""
    names = [kernel] if isinstance(kernel, str) else list(kernel) if isinstance(kernel, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise PplTopicsError(
            f"argument kernel: must be the name of a kernel, or a list of such names, got {kernel!r}; "
            "leave it out to test all kernels"
        )
    known = kernels()
    for name in names:
        if name not in known:
            raise ScheduleError(f"kernel {name!r}: no kernel has this name{nearest(name, known)}")
    return [known[name] for name in names]


def _verify_kernels(spec: Spec, asked: list[KernelSpec] | None, settings: _Settings) -> Verification:
    """Certify kernels, each alone and in the default schedule, and the model's own schedule if there is one."""
    model = Model.of(spec)
    roles = {variable.role for variable in model.latent.values()}
    candidates = [k for k in kernels().values() if set(k.updates) & roles] if asked is None else asked
    device = present_device()
    if device != "cpu":
        elsewhere = [k.name for k in asked or () if device not in k.devices]
        if elsewhere:
            able = ", ".join(k.name for k in kernels().values() if device in k.devices)
            raise ScheduleError(f"kernel {elsewhere[0]!r} does not run on {device}; {able} do")
        candidates = [k for k in candidates if device in k.devices]
    certificates: list[Certificate] = []
    refused: dict[str, str] = {}
    alone = _Alone(model, settings)
    for candidate in candidates:
        try:
            plans = _plans_with(model, candidate)
        except ScheduleError as error:
            if asked is not None:
                raise
            refused[candidate.name] = str(error)
            continue
        # To find and measure what is wrong with a kernel that says so itself takes long: only if it is asked for.
        tested = candidate.exact or asked is not None
        for target, plan in plans.items():
            step = next(s for s in steps(plan.schedule) if s.kernel is candidate and s.variable == target)
            certificate = alone.certify(step, tested)
            if tested and not certificate.failed:
                remembers = not certificate.refused_by and _remembers(model, step)
                at_length = settings.times(WITH_MEMORY) if remembers else settings
                exact = [test.of(plan, at_length.sweeps) for test in (alone.exact if remembers else alone.exact[:1])]
                looks = _looks(plan, exact, at_length) if remembers else []
                certificate = _certify(certificate, at_length, exact[0], looks)
            certificates.append(certificate)
    if asked is None:
        plan = make_plan(spec, device=device)
        exact = [test.of(plan, settings.sweeps) for test in alone.exact]
        certificates.append(_certify_whole(plan, settings, exact, larger=not alone.certifies(plan)))
    return Verification(spec.name, settings.false_alarm, tuple(certificates), refused)


def _plans_with(model: Model, kernel: KernelSpec) -> dict[str, Plan]:
    """Return the default schedule with ``kernel`` in place of the one for the same variable, by that variable.

    Several responses may have one each.
    """
    plans: dict[str, Plan] = {}
    error = None
    for each in model.by_response.values():
        drawn = {role: each.whole_name(name) for role, name in each.model.names.items()}
        targets = [drawn[role] for role in kernel.updates if drawn.get(role) in model.held]
        if targets and targets[0] not in plans:
            try:
                plans[targets[0]] = _plan_with(model, kernel, targets)
            except ScheduleError as refusal:
                error = refusal
    if error is not None and not plans:
        raise error
    if not plans:
        raise ScheduleError(
            f"kernel {kernel.name!r} updates {', '.join(kernel.updates)}; "
            f"model {model.spec.name!r} has no such variable to draw"
        )
    return plans


def _plan_with(model: Model, kernel: KernelSpec, targets: Sequence[str]) -> Plan:
    """Return the default schedule, with ``kernel`` in place of those for variables that it updates."""
    default = assign(model, device=present_device())
    options = kernel.options()
    entries = tuple(
        Step(s.variable, kernel, options, s.path) if s.variable == targets[0] else replace(s, reason="")
        for s in steps(default)
        if s.variable not in targets[1:]
    )
    node = Cycle(entries)
    check(node, model)
    return Plan(model, node)


def _remembers(model: Model, step: Step) -> bool:
    """Tell whether a kernel carries something from one step to the next."""
    (functions,) = Executor(TinyModel(Plan(model, step)).bound).functions
    return functions.has_memory and not functions.scratch


class _Alone:
    """Tests kernels of a model alone."""

    def __init__(self, model: Model, settings: _Settings) -> None:
        self.model, self.settings = model, settings
        self._certified: list[tuple[str, KernelSpec, Any]] = []

    @cached_property
    def exact(self) -> list[StationaryTest]:
        """The exact distribution of all that the model holds: with three responses and, if it has some, with one."""
        return _exact_tests(Plan(self.model, assign(self.model, device=present_device())), self.settings)

    def certify(self, step: Step, tested: bool) -> Certificate:
        """Hold a kernel against its declaration and, if it is to be ``tested``, test what it draws by itself."""
        started = time.perf_counter()
        certificate = Certificate(step.kernel.name, step.variable, step.kernel.exact, str(Plan(self.model, step)))
        tests = self.tests(Plan(self.model, step))
        try:
            tests[0].check_declaration()
            for test in tests:
                test.check_distribution()
            verdicts = _verdicts([test.replicates for test in tests], self.settings) if tested else []
        except DeclarationError as error:
            certificate = certificate.refused("declaration", error.breach)
            # What it broke may be part of the state that others would start from.
            self.__dict__.pop("exact", None)
        else:
            certificate = certificate.judged("alone", verdicts) if tested else certificate
        if certificate.certified and not _remembers(self.model, step):
            self._certified.append((step.variable, step.kernel, step.options))
        return replace(certificate, seconds=time.perf_counter() - started)

    def certifies(self, plan: Plan) -> bool:
        """Tell whether each step of a schedule has passed by itself, and has no memory that another could spoil."""
        return all((step.variable, step.kernel, step.options) in self._certified for step in steps(plan.schedule))

    def tests(self, plan: Plan) -> list[AloneTest]:
        """Return the tests of the plan's only kernel: from the enumerated posterior, and with data drawn as well.

        Scales of coefficients have heavy tails, which their quadrature sees with an error of one or two in a hundred,
        and numbers that have priors are summed over by few values: draws of all these come from the model then, where
        it is one to draw from.
        """
        seed, sweeps = self.settings.seed, self.settings.sweeps
        drawn = _tiny_distributions(plan)
        response = self.exact[0].response
        scales = set() if response is None else response.summed_roughly
        scales = {"eta", *scales} if scales else set()
        if "prevalence_tau" in plan.model.names:
            scales |= {"alpha", "prevalence_lambda", "prevalence_tau"}
        rough = any(scales & set(step.kernel.updates) for step in steps(plan.schedule))
        enumerated = [] if drawn and rough else self.exact
        starts: list[Starts] = [ExactStarts(plan, exact) for exact in enumerated]
        starts += [GewekeTest(tiny, seed, sweeps) for tiny in (drawn[1:] if enumerated else drawn)]
        return [AloneTest(start, seed) for start in [*starts, *size_tests(plan, seed)]]


def _verdicts(looks: Sequence[Look], settings: _Settings) -> list[Verdict]:
    """Return the verdicts of tests that each take their share of half the false alarms."""
    verdicts: list[Verdict] = []
    for look in looks:
        share = settings.false_alarm / 2 / len(looks)
        verdicts.append(sequential_test(look, settings.replicates, false_alarm=share))
        # One refusal decides.
        if not verdicts[-1].passed:
            break
    return verdicts


def _tiny_distributions(plan: Plan) -> list[TinyModel]:
    """Return the models that Geweke's test draws from.

    Two if the schedule updates phi and its concentrations are fixed. One for a model with a response, or none if that
    is a pseudo-likelihood, from which no targets can be drawn.
    """
    if plan.model.supervised:
        distribution = with_a_distribution(plan)
        # Where each response has its own model, a chain sees one.
        return [] if distribution is None else [TinyModel(distribution, responses=1 if plan.model.apart else 3)]
    updates_phi = any("phi" in step.kernel.updates for step in steps(plan.schedule))
    heavy = with_heavy_topics(plan) if updates_phi else None
    return [TinyModel(p) for p in (plan, heavy) if p is not None]


def _certify(
    certificate: Certificate,
    settings: _Settings,
    stationary: StationaryTest,
    looks: Sequence[Look],
) -> Certificate:
    """Test a schedule: what it draws, if there are tests of that, and whether it reaches all."""
    started = time.perf_counter()
    certificate = replace(certificate, schedule=str(stationary.tiny.plan))
    if looks:
        try:
            stationary.check_declarations()
        except DeclarationError as error:
            whose = "" if error.kernel == certificate.kernel else f"{error.kernel} "
            certificate = certificate.refused("declaration", whose + error.breach)
        else:
            certificate = certificate.judged("schedule", _verdicts(looks, settings))
    if not certificate.failed:
        # Of what is inexact, the distance from the posterior is worth the whole chain.
        long_run = stationary.long_chain(settings.long_run, whole=not certificate.certified)
        certificate = certificate.reached(long_run, stationary.exact.probability)
    return replace(certificate, seconds=certificate.seconds + time.perf_counter() - started)


def _certify_whole(
    plan: Plan, settings: _Settings, exact: Sequence[StationaryTest], larger: bool = True
) -> Certificate:
    """Test a schedule on the tiny corpus, and on ``larger`` ones unless its kernels have passed there by themselves."""
    looks = _looks(plan, exact, settings)
    if larger and exact[0].given_phi is None:
        looks += [test.replicates for test in size_tests(plan, settings.seed)]
    return _certify(Certificate("schedule", "all", plan.exact, str(plan)), settings, exact[0], looks)


def _exact_tests(plan: Plan, settings: _Settings) -> list[StationaryTest]:
    """Return tests on the tiny corpus: with three responses and, of a model with a response, with one as well."""
    # One response is another case for the kernels than several.
    numbers = (3, 1) if plan.model.supervised else (3,)
    return [StationaryTest(TinyModel(plan, responses=n), settings.seed, settings.sweeps) for n in numbers]


def _looks(plan: Plan, exact: Sequence[StationaryTest], settings: _Settings) -> list[Look]:
    """Return the tests of a schedule on the tiny corpus."""
    looks: list[Look] = [test.short_chains for test in exact]
    if exact[0].given_phi is None:
        drawn = [GewekeTest(tiny, settings.seed, settings.sweeps) for tiny in _tiny_distributions(plan)]
        looks += [test.replicates for test in drawn]
    return looks
