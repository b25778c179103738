"""What `verify` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.notebook import preformatted
from ppl_topics.diagnostics.exactness.goodness import expected_total_variation, total_variation
from ppl_topics.diagnostics.exactness.sequential import Verdict
from ppl_topics.diagnostics.exactness.stationary import LongRun

__all__ = ["Certificate", "Verification"]


@dataclass(frozen=True)
class Certificate:
    """The outcome of the tests of one kernel, or of one schedule.

    Attributes
    ----------
    kernel : str
        The kernel in question, or ``schedule`` for a whole schedule.
    variable : str
        What it updates.
    declared_exact : bool
    schedule : str
        The last schedule that was run.
    refused_by : str
        The part that refused it: ``declaration``, ``alone``, ``schedule``, ``long chain``, or empty if it is certified.
    reason : str
        Why, in words.
    p_value : float
        The smallest of all tests, multiplied by the number of statistics; NaN if none was run.
    statistic : str
        The statistic that it belongs to.
    total_variation : float
        Distance of a long chain's frequencies from the enumerated posterior; NaN if none was run.
    noise : float
        About what that distance would be for as many independent exact draws.
    never_reached : int
        States expected 100 times or more that the long chain never visited.
    stuck : tuple of str
        Elements of continuous variables that missed a quarter of their distribution in the long chain.
    states, chains : int
        Enumerated states, and short chains run for the decision.
    seconds : float
    """

    kernel: str
    variable: str
    declared_exact: bool
    schedule: str
    refused_by: str = ""
    reason: str = ""
    p_value: float = float("nan")
    statistic: str = ""
    total_variation: float = float("nan")
    noise: float = float("nan")
    never_reached: int = 0
    stuck: tuple[str, ...] = ()
    states: int = 0
    chains: int = 0
    seconds: float = 0.0

    @property
    def certified(self) -> bool:
        """Whether it declares itself exact and no test refused it."""
        return self.declared_exact and not self.refused_by

    @property
    def failed(self) -> bool:
        """Whether it is refused: what declares itself inexact only for breaking the rest of its declaration."""
        return bool(self.refused_by) and (self.declared_exact or self.refused_by == "declaration")

    def refused(self, part: str, reason: str) -> Certificate:
        """Return the certificate with a refusal; the first one counts."""
        return self if self.refused_by else replace(self, refused_by=part, reason=reason)

    def judged(self, part: str, verdicts: Sequence[Verdict]) -> Certificate:
        """Return the certificate with the outcome of the tests of one part."""
        worst = min(verdicts, key=lambda v: v.p_value)
        chains = self.chains + sum(v.samples for v in verdicts)
        judged = replace(self, chains=chains)
        if not worst.p_value > self.p_value:
            judged = replace(judged, p_value=worst.p_value, statistic=worst.worst)
        what = (
            "run alone, it does not leave the distribution that it declares"
            if part == "alone"
            else "the schedule does not leave the posterior"
        )
        wrong = f"{what}: p = {worst.p_value:.2g} ({worst.worst})"
        return judged if all(v.passed for v in verdicts) else judged.refused(part, wrong)

    def reached(self, long_run: LongRun, probability: FloatArray) -> Certificate:
        """Return the certificate with the outcome of the long chain."""
        reached = replace(
            self,
            total_variation=total_variation(long_run.visits, probability),
            noise=expected_total_variation(long_run.sweeps, probability),
            never_reached=long_run.never_reached,
            stuck=long_run.stuck,
            states=len(probability),
        )
        if long_run.never_reached:
            what = f"{long_run.never_reached} states expected 100 times or more were never reached"
            return reached.refused("long chain", what)
        if long_run.stuck:
            return reached.refused("long chain", f"{', '.join(long_run.stuck)} never left a part of the distribution")
        return reached

    def __str__(self) -> str:
        """Return one line."""
        word = "REFUSED" if self.failed else "certified" if self.certified else "inexact, as declared,"
        outcome = f"p = {self.p_value:.2g} ({self.statistic})" if self.statistic else "not measured unless named"
        outcome = self.reason or outcome
        if self.states:
            outcome += f", total variation {self.total_variation:.4f} (noise {self.noise:.4f})"
        return f"{self.variable + ': ' + self.kernel:<32} {word:<10} {outcome}"


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
    warmup_untested : bool
        Whether the model runs something else before its schedule, which is not tested: only kept draws must be exact.
    """

    model: str
    false_alarm: float
    certificates: tuple[Certificate, ...]
    not_admissible: Mapping[str, str]
    warmup_untested: bool = False

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    @property
    def passed(self) -> bool:
        """Whether no kernel is refused: all are certified, or inexact as they declare."""
        return not self.refused

    @property
    def refused(self) -> tuple[Certificate, ...]:
        """The certificates that failed."""
        return tuple(c for c in self.certificates if c.failed)

    @property
    def summary(self) -> str:
        """What was certified and what refused, in one line.

        Examples
        --------
        >>> right = Certificate("yours", "z", True, "z: yours")
        >>> wrong = Certificate("mine", "z", True, "z: mine").refused("declaration", "reads phi, integrated out")
        >>> Verification("lda", 1e-5, (right, wrong), {}).summary
        'certified 1 kernel; refused 1: mine (reads phi, integrated out)'
        """
        certified = [c for c in self.certificates if c.certified]
        number = sum(c.kernel != "schedule" for c in certified)
        counted = [f"{number} kernel{'s' * (number != 1)}"] if number or not certified else []
        parts = [f"certified {' and '.join(counted + ['the schedule'] * (len(certified) > number))}"]
        if self.refused:
            named = ", ".join(f"{c.kernel} ({c.reason})" for c in self.refused)
            parts.append(f"refused {len(self.refused)}: {named}")
        inexact = [c.kernel for c in self.certificates if not c.declared_exact and not c.failed]
        if inexact:
            parts.append(f"{len(inexact)} inexact, as declared: {', '.join(inexact)}")
        if self.warmup_untested:
            parts.append("the warmup is not tested, for only kept draws must be exact")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as plain data."""
        return {
            "model": self.model,
            "passed": self.passed,
            "summary": self.summary,
            "false_alarm": self.false_alarm,
            "certificates": [asdict(c) | {"certified": c.certified} for c in self.certificates],
            "not_admissible": dict(self.not_admissible),
            "warmup_untested": self.warmup_untested,
        }

    def __str__(self) -> str:
        """Return a line for each kernel, and the summary."""
        return "\n".join(
            [
                f"verify {self.model} (false alarms: at most {self.false_alarm:g} a kernel; "
                "total variation: of one long chain, whose draws depend on each other; it does not decide; "
                "noise: that of as many independent exact draws)",
                *(f"  {certificate}" for certificate in self.certificates),
                *(f"  {name}: not admissible: {reason}" for name, reason in self.not_admissible.items()),
                self.summary,
            ]
        )
