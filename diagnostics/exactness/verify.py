"""``verify``: certify or refuse the kernels of a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ppl_topics._util.arguments import MAX_SEED, check_whole
from ppl_topics._util.nearest import nearest
from ppl_topics._util.threads import using_threads
from ppl_topics.core.kernel import KernelSpec
from ppl_topics.core.registry import kernels
from ppl_topics.diagnostics.exactness.geweke import GewekeTest
from ppl_topics.diagnostics.exactness.goodness import expected_total_variation, total_variation
from ppl_topics.diagnostics.exactness.sequential import Verdict, sequential_test
from ppl_topics.diagnostics.exactness.sizes import size_tests
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec, with_a_distribution, with_heavy_topics
from ppl_topics.errors import PplTopicsError, ScheduleError
from ppl_topics.schedule import Plan
from ppl_topics.schedule.assign import assign
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, Step, steps
from ppl_topics.spec import Model, Spec, load_spec

__all__ = ["Certificate", "Verification", "verify"]

REPLICATES = 1_000
SWEEPS = 5
"""Errors from values that are a sweep old only show from the third sweep on."""
LONG_RUN = 20_000
FALSE_ALARM = 1e-5


@dataclass(frozen=True)
class Certificate:
    """The outcome of the tests of one schedule.

    Attributes
    ----------
    kernel : str
        The kernel in question, or ``schedule`` for the model's own.
    variable : str
        What it updates.
    certified : bool
    declared_exact : bool
    p_value : float
        The smallest of both tests, multiplied by the number of statistics.
    statistic : str
        The statistic that it belongs to.
    total_variation : float
        Distance of a long chain's frequencies from the enumerated posterior.
    noise : float
        About what that distance would be for as many independent exact draws.
    never_reached : int
        States expected 100 times or more that the long chain never visited.
    stuck : tuple of str
        Elements of continuous variables that missed a quarter of their distribution in the long chain.
    states, chains : int
        Enumerated states, and short chains run for the decision.
    seconds : float
    schedule : str
        The schedule that was run.
    """

    kernel: str
    variable: str
    certified: bool
    declared_exact: bool
    p_value: float
    statistic: str
    total_variation: float
    noise: float
    never_reached: int
    stuck: tuple[str, ...]
    states: int
    chains: int
    seconds: float
    schedule: str


@dataclass(frozen=True)
class Verification:
    """The certificates of a model's kernels.

    Attributes
    ----------
    model : str
    false_alarm : float
        Bound on the probability that a correct kernel is refused.
    certificates : tuple of Certificate
    not_admissible : dict of str to str
        Kernels that the model does not admit, with the reason.
    """

    model: str
    false_alarm: float
    certificates: tuple[Certificate, ...]
    not_admissible: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every kernel that declares itself exact is certified."""
        return all(c.certified for c in self.certificates if c.declared_exact)

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as plain data."""
        return {
            "model": self.model,
            "passed": self.passed,
            "false_alarm": self.false_alarm,
            "certificates": [asdict(c) for c in self.certificates],
            "not_admissible": dict(self.not_admissible),
        }

    def __str__(self) -> str:
        """Return a line for each kernel."""
        lines = [
            f"verify {self.model} (false alarms: at most {self.false_alarm:g} a kernel; "
            "noise: the total variation that as many independent exact draws would show)"
        ]
        for c in self.certificates:
            word = "certified" if c.certified else "REFUSED" if c.declared_exact else "inexact, as declared"
            lines.append(
                f"  {c.variable + ': ' + c.kernel:<32} {word:<10} p = {c.p_value:.2g} ({c.statistic}), "
                f"total variation {c.total_variation:.4f} (noise {c.noise:.4f})"
            )
            if c.never_reached:
                lines.append(f"    {c.never_reached} states expected 100 times or more were never reached")
            if c.stuck:
                lines.append(f"    {', '.join(c.stuck)} never left a part of the distribution")
        lines += [f"  {name}: not admissible: {reason}" for name, reason in self.not_admissible.items()]
        return "\n".join(lines)


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
    **parameters: Any,
) -> Verification:
    """Test whether kernels leave the posterior of a model invariant, and reach all of it.

    Each kernel runs in the model's default schedule, in place of the kernel for the same variable, on a corpus of six
    tokens. Two tests decide: the enumerated posterior of z against the last states of short chains that start in exact
    draws, and Geweke's joint-distribution test, with small concentrations of phi and with large ones. In a model with a
    response, the first runs with three responses and with one, and sums over the coefficients and the scales of their
    prior by quadrature; the second runs if the response is a distribution of its targets (a hinge loss is not, so none
    can be drawn). Each test follows Gandy and Scott's sequential rule at its share of ``false_alarm``. A long chain
    must also reach all of the posterior, so a schedule that is exact but moves only once in hundreds of sweeps is
    refused too, unless ``long_run`` is longer.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    kernel : str or iterable of str, optional
        Kernels to test; by default all that are registered for the model's variables, and the model's own schedule if
        it has one.
    schedule : mapping or list, optional
        A schedule to test instead. Variables that it does not update are taken as given.
    seed : int
    replicates : int
        Short chains of the first look.
    sweeps : int
        Sweeps of each short chain.
    long_run : int
        Sweeps of the long chain.
    false_alarm : float
        Bound on the probability that the tests refuse a correct kernel.
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
        If a kernel fails, changes what it does not declare, or leaves counts that are not those of z.

    Examples
    --------
    >>> result = verify("lda", kernel="collapsed_gibbs", replicates=1000, long_run=2000)
    >>> result.passed
    True
    """
    settings = _Settings(seed, replicates, sweeps, long_run, false_alarm).check()
    asked = None if kernel is None else _named(kernel)
    spec = tiny_spec(load_spec(model, parameters, call="argument {name}"))
    # The tiny corpus has no work for a second thread; draws do not depend on the number of threads.
    with using_threads(1):
        if schedule is not None:
            plan = make_plan(spec.with_schedule(schedule, "argument schedule"), partial=True)
            return Verification(spec.name, false_alarm, (_certify(plan, settings),), {})
        return _verify_kernels(spec, asked, settings)


@dataclass(frozen=True)
class _Settings:
    seed: int
    replicates: int
    sweeps: int
    long_run: int
    false_alarm: float

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
    """Certify kernels, each in the default schedule, and the model's own schedule if there is one."""
    model = Model.of(spec)
    roles = {variable.role for variable in model.latent.values()}
    candidates = [k for k in kernels().values() if set(k.updates) & roles] if asked is None else asked
    certificates: list[Certificate] = []
    by_schedule: dict[str, Certificate] = {}
    refused: dict[str, str] = {}
    for candidate in candidates:
        try:
            plan = _plan_with(model, candidate)
        except ScheduleError as error:
            if asked is not None:
                raise
            refused[candidate.name] = str(error)
            continue
        # The default schedule is the same for all of its kernels: test it once.
        text = str(plan)
        if text not in by_schedule:
            by_schedule[text] = _certify(plan, settings)
        variable = next(s.variable for s in steps(plan.schedule) if s.kernel is candidate)
        certificates.append(
            replace(by_schedule[text], kernel=candidate.name, variable=variable, declared_exact=candidate.exact)
        )
    if asked is None and spec.schedule is not None:
        certificates.append(_certify(make_plan(spec), settings))
    return Verification(spec.name, settings.false_alarm, tuple(certificates), refused)


def _plan_with(model: Model, kernel: KernelSpec) -> Plan:
    """Return the default schedule, with ``kernel`` in place of the one for the same variable."""
    targets = [name for role in kernel.updates if (name := model.names.get(role)) in model.variables]
    if not targets:
        raise ScheduleError(
            f"kernel {kernel.name!r} updates {', '.join(kernel.updates)}; "
            f"model {model.spec.name!r} has no such variable"
        )
    default = assign(model)
    options = kernel.options()
    entries = tuple(
        Step(s.variable, kernel, options, s.path) if s.variable == targets[0] else replace(s, reason="")
        for s in steps(default)
        if s.variable not in targets[1:]
    )
    node = Cycle(entries)
    check(node, model)
    return Plan(model, node)


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


def _certify(plan: Plan, settings: _Settings) -> Certificate:
    """Test a schedule as a whole."""
    started = time.perf_counter()
    stationary = StationaryTest(TinyModel(plan), settings.seed, settings.sweeps)
    stationary.check_declarations()
    looks = [stationary.short_chains]
    if stationary.response is not None:
        # One response is another case for the kernels than several.
        one = StationaryTest(TinyModel(plan, responses=1), settings.seed, settings.sweeps)
        looks.append(one.short_chains)
    if stationary.given_phi is None:
        looks += [GewekeTest(tiny, settings.seed, settings.sweeps).replicates for tiny in _tiny_distributions(plan)]
        looks += [test.replicates for test in size_tests(plan, settings.seed)]
    verdicts: list[Verdict] = []
    for look in looks:
        verdicts.append(sequential_test(look, settings.replicates, false_alarm=settings.false_alarm / len(looks)))
        # One refusal decides.
        if not verdicts[-1].passed:
            break
    # Of a schedule that is refused, the distance from the posterior is worth the whole chain.
    passed = all(v.passed for v in verdicts)
    long_run = stationary.long_chain(settings.long_run, whole=not passed)
    probability = stationary.exact.probability
    worst = min(verdicts, key=lambda v: v.p_value)
    return Certificate(
        kernel="schedule",
        variable="all",
        certified=passed and not long_run.never_reached and not long_run.stuck,
        declared_exact=plan.exact,
        p_value=worst.p_value,
        statistic=worst.worst,
        total_variation=total_variation(long_run.visits, probability),
        noise=expected_total_variation(long_run.sweeps, probability),
        never_reached=long_run.never_reached,
        stuck=long_run.stuck,
        states=len(probability),
        chains=sum(v.samples for v in verdicts),
        seconds=time.perf_counter() - started,
        schedule=str(plan),
    )
