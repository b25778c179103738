"""A verdict on convergence in words, with the numbers behind it and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import argument, set_parameter, spelled
from ppl_topics._util.notebook import fragment, line, listing
from ppl_topics.core.response import starts_by_label
from ppl_topics.diagnostics.alignment import Alignment, align
from ppl_topics.diagnostics.alignment.agreement import top_words_of
from ppl_topics.diagnostics.alignment.recurrence import recurrence
from ppl_topics.diagnostics.convergence import ESS_WANTED, Quantity, Walk, density_walks, quantities
from ppl_topics.diagnostics.draws import check_sampled
from ppl_topics.errors import TraceError
from ppl_topics.results.topic_names import topic_names

__all__ = ["Finding", "Verdict", "verdict"]

BAD, UNSURE, NOTE = "bad", "unsure", "note"

RHAT_BAD, RHAT_GOOD = 1.05, 1.01
"""R-hat above the first means that chains differ, unless it can be due to few effective draws; up to the second it
counts as 1 (Vehtari et al. 2021, section 4)."""

FEW_DRAWS = 20
"""With fewer draws per chain, R-hat and effective sample size mean little."""

LOW_ACCEPTANCE = 0.05
"""Below this mean acceptance rate, a step hardly moves."""

MOST_NAMED = 8
"""Topics that a sentence names; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """A reason not to trust the draws as they are, or something that their reader should know.

    Attributes
    ----------
    level : {"bad", "unsure", "note"}
        "bad" shows that the run has not converged, "unsure" leaves it open, and "note" is only good to know.
    what : str
        What was found, with its numbers.
    remedy : str
        What to do; may be empty.
    """

    level: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return what was found and what to do."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


@dataclass(frozen=True)
class Verdict:
    """The verdict on the convergence of a run.

    Attributes
    ----------
    level : {"converged", "not converged", "cannot tell"}
    summary : str
        One sentence with the numbers behind the verdict.
    findings : tuple of Finding
        The most serious first.
    more_draws : int, optional
        About how many more draws per chain give enough effective draws; 0 if there are enough, None if unknown.
    alignment : Alignment, optional
        Alignment of the chains' topics; None if there is nothing to align.
    """

    level: str
    summary: str
    findings: tuple[Finding, ...]
    more_draws: int | None
    alignment: Alignment | None = field(repr=False)

    def __str__(self) -> str:
        """Return the summary, and a line for each finding."""
        return "\n".join([f"{self.level}: {self.summary}", *(f"- {finding}" for finding in self.findings)])

    def _repr_html_(self) -> str:
        return fragment(self.level, line(self.summary), listing(map(str, self.findings)))


def verdict(groups: Mapping[str, xr.Dataset], *, alignment: Alignment | None = None) -> Verdict:
    """Judge if a run has converged, with the numbers behind the verdict and what to do.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, not aligned.
    alignment : Alignment, optional
        From :func:`ppl_topics.diagnostics.alignment.align`; by default it is computed with its defaults.

    Returns
    -------
    Verdict
        "not converged" if chains are in different modes, the log posterior still drifts, chains do not agree on topics,
        or R-hat is above 1.05 and above the value that chains of one distribution with so few effective draws exceed
        once in a thousand. Otherwise "cannot tell" if there is only one chain, every chain started from topics that
        follow the labels, a kernel is not exact, there are too few draws or effective draws, or R-hat is above 1.01.
        Otherwise "converged".

    Raises
    ------
    TraceError
        If the group `posterior` does not hold draws of a sampler, or the alignment belongs to another trace.

    Notes
    -----
    Two chains are in different modes if the means of their log posteriors over the second half of the draws, sorted
    over chains, are neighbours that differ by more than three standard deviations within chains. The log posterior
    drifts if the halves of a chain differ by more than one. With 20 effective draws per half, a converged chain seems
    to drift less than once in 500 times, and practically never seems to be in another mode, which would take nine
    standard errors.

    Topics are aligned first. R-hat of phi covers the top words of the topics that the chains agree on; if there are
    several modes, it compares only the chains of the largest one, so that the effects of one bad chain are reported
    once. A variable passes if 95% of its scalars do. Effective draws are added up over chains, so they measure how well
    the kernels mix even if the chains disagree; 400 are needed, 100 for each of four chains (Vehtari et al. 2021).

    Where the chains do not agree on all topics, a note says how many recur in all chains, in some and in one only; see
    :func:`ppl_topics.diagnostics.alignment.topic_agreement`.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021). Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2).

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"] * 5)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=10, warmup=5, chains=1, seed=1, progress=False)
    >>> fit.verdict().level
    'cannot tell'
    """
    posterior = check_sampled(groups)
    draws = posterior.sizes["draw"]
    longer = "warm up longer"
    if "warmup" in posterior.attrs:
        longer += f" ({argument('warmup')} was {int(posterior.attrs['warmup']):,})"
    walks = density_walks(groups)
    kept = _in_one_mode(walks)
    findings = [*_of_the_run(groups), *_modes(walks, longer)]
    drifts = list(_drifts(walks, longer)) if draws >= FEW_DRAWS else []
    findings += drifts
    if alignment is None:
        try:
            alignment = align(groups)
        except TraceError as error:
            if "topic" in posterior.dims:
                findings.append(Finding(UNSURE if posterior.sizes["chain"] > 1 else NOTE, str(error)))
    if alignment is not None:
        findings += [*_topics(groups, alignment, kept), *_switches(alignment)]
        if not alignment.agrees.all():
            findings.append(_recurring(alignment, settled=draws >= FEW_DRAWS and not drifts))
    numbers = quantities(groups, alignment, kept)
    if draws >= FEW_DRAWS:
        findings += _rhats(numbers)
    more, worst = None, _worst_ess(numbers)
    if worst is not None:
        more = 0 if worst.ess >= ESS_WANTED else _round(draws * (ESS_WANTED / max(worst.ess, 1.0) - 1.0))
        findings += [_effective(worst, more)] if more else []
    findings += _acceptance(groups)
    findings.sort(key=lambda finding: (BAD, UNSURE, NOTE).index(finding.level))
    worst_level = findings[0].level if findings else NOTE
    level = {BAD: "not converged", UNSURE: "cannot tell", NOTE: "converged"}[worst_level]
    return Verdict(level, _summary(posterior, numbers, alignment, kept), tuple(findings), more, alignment)


def _of_the_run(groups: Mapping[str, xr.Dataset]) -> Iterator[Finding]:
    """Yield findings on the run as a whole."""
    posterior = groups["posterior"]
    draws = posterior.sizes["draw"]
    if not bool(posterior.attrs.get("exact", 1)):
        what = "a kernel of this run is not exact, so its draws are approximate, however many there are"
        names = spelled("pt.plan", "`ppl-topics plan`")
        yield Finding(UNSURE, what, f"compare with a run of exact kernels ({names} names them)")
    if "warmup_schedule" in posterior.attrs:
        inexact = posterior.attrs.get("warmup_inexact") or "exact kernels only"
        what = f"before the first kept draw, a schedule of its own was run ({inexact})"
        yield Finding(NOTE, f"{what}; all kept draws are of the schedule")
    if draws < FEW_DRAWS:
        what = f"{_count(draws, 'draw')} per chain {'says' if draws == 1 else 'say'} little about ESS, IF and R-hat"
        yield Finding(UNSURE, what, f"draw {FEW_DRAWS} or more")
    if posterior.sizes["chain"] == 1:
        what = "one chain: R-hat only compares its halves, and another mode would go unnoticed"
        yield Finding(UNSURE, what, f"run at least 2 chains ({argument('chains')})")
    start = posterior.attrs.get("start", "uniform")
    if all(starts_by_label(start, int(chain)) for chain in posterior["chain"].values):
        what = "every chain started from topics that follow the labels, which does not rule out other modes"
        both, uniform = set_parameter("start", "both"), set_parameter("start", "uniform")
        yield Finding(UNSURE, what, f"start every other chain from uniform topics ({both}), or all of them ({uniform})")
    if "lp" not in groups.get("sample_stats", xr.Dataset()):
        what = "the trace holds no log posterior `lp` in `sample_stats`, so modes and drift cannot be detected"
        yield Finding(UNSURE, what)


def _modes(walks: Sequence[Walk], longer: str) -> Iterator[Finding]:
    """Yield findings on chains in other modes than the highest."""
    for walk in walks:
        best, *lower = walk.modes()
        others = sorted(chain for mode in lower for chain in mode)
        if others:
            low = ", ".join(_number(walk.mean[best].max() - walk.mean[c]) for c in others)
            sits = "is in another mode" if len(others) == 1 else "are in other modes"
            than = "" if len(best) > 1 else f" than {_chains(walk, best)}"
            what = (
                f"{_chains(walk, others)} {sits}{than}{walk.where}: log posterior lower by {low} "
                f"(sd within chains {_number(walk.sd)})"
            )
            remedy = f"{longer}; if it persists, the posterior has several modes: run more chains and use the highest"
            yield Finding(BAD, what, remedy)


def _in_one_mode(walks: Sequence[Walk]) -> list[int]:
    """Return the positions of the chains of the largest mode, of every response that has its own chains."""
    largest = [max(walk.modes(), key=len) for walk in walks]
    return sorted(set(largest[0]).intersection(*largest)) if largest else []


def _drifts(walks: Sequence[Walk], longer: str) -> Iterator[Finding]:
    """Yield findings on chains whose log posterior still rises or falls."""
    for walk in walks:
        for rises, verb, compared in ((True, "rises", "higher"), (False, "falls", "lower")):
            moving = [c for c in walk.drifting() if (walk.shift[c] > 0) == rises]
            if moving:
                by = ", ".join(_number(abs(walk.shift[c])) for c in moving)
                sd = ", ".join(_number(walk.half_sd[c]) for c in moving)
                what = (
                    f"the log posterior of {_chains(walk, moving)}{walk.where} still {verb}: "
                    f"the second half of the draws is {compared} by {by} (sd within halves {sd})"
                )
                yield Finding(BAD, what, longer)


def _topics(groups: Mapping[str, xr.Dataset], alignment: Alignment, kept: Sequence[int]) -> Iterator[Finding]:
    """Yield findings on the topics that the chains of the largest mode do not agree on."""
    chains = alignment.chains
    if len(chains) < 2:
        return
    reference = chains.index(alignment.reference)
    compared = list(kept) if reference in kept and len(kept) > 1 else list(range(len(chains)))
    who = "chains" if len(compared) == len(chains) else f"chains {_listed(chains[c] for c in compared)}"
    agrees_in = alignment.by_response(alignment.agrees_in)
    topics = _count(agrees_in.shape[2], "topic")
    names = topic_names(groups) or [""] * agrees_in.shape[2]
    for s, response in enumerate(alignment.responses or [None]):
        where = f" for response {response!r}" if response is not None else ""
        differ = np.flatnonzero(~agrees_in[compared, s].all(axis=0))
        if differ.size:
            words = top_words_of(groups, alignment.reference, s, 3)
            named = ", ".join(f"{k} ({names[k] or ' '.join(words[k])})" for k in differ[:MOST_NAMED])
            more = f" and {len(differ) - MOST_NAMED} more" if len(differ) > MOST_NAMED else ""
            what = (
                f"{who} do not agree on {len(differ)} of {topics}{where}, numbered as in chain {alignment.reference}: "
                f"{named}{more}"
            )
            remedy = "interpret these in one chain only; a longer warm-up or fewer topics may help"
            yield Finding(UNSURE if groups["posterior"].sizes["draw"] < FEW_DRAWS else BAD, what, remedy)
        for c in sorted(set(range(len(chains))) - set(compared)):
            has = int(agrees_in[c, s].sum())
            yield Finding(NOTE, f"chain {chains[c]} has {has} of the {topics} of chain {alignment.reference}{where}")


def _recurring(alignment: Alignment, settled: bool) -> Finding:
    """Return a note on the topics that recur where not all agree, and on what may be read in that case."""
    if not settled:
        return Finding(NOTE, recurrence(alignment), "read this again once the chains are warmed up and long enough")
    which = spelled("fit.topic_agreement()", "`ppl-topics diagnose --align`")
    remedy = (
        "if a longer warm-up does not change that, the posterior has several modes; what may be read then: topics that "
        f'recur ({which}), predictions averaged over chains, effects of one sign in all chains (see "What may I '
        'report?" in the documentation)'
    )
    return Finding(NOTE, recurrence(alignment), remedy)


def _switches(alignment: Alignment) -> Iterator[Finding]:
    """Yield a note on each switch of topic numbers within a chain."""
    for switch in alignment.switches:
        topics = _listed(sorted(switch.topics))
        where = "" if switch.response is None else f" of response {switch.response!r}"
        what = f"topics {topics}{where} swap numbers in chain {switch.chain} at draw {switch.draw}"
        yield Finding(NOTE, what, "fit.aligned() undoes it")


def _rhats(numbers: Sequence[Quantity]) -> Iterator[Finding]:
    """Yield findings on variables with a large R-hat."""
    bad = [each for each in numbers if each.rhat > max(RHAT_BAD, each.chance)]
    high = [each for each in numbers if each.rhat > RHAT_GOOD and each not in bad]
    for found, limit, level in ((bad, RHAT_BAD, BAD), (high, RHAT_GOOD, UNSURE)):
        if found:
            named = ", ".join(f"{each.title} {each.rhat:.2f}" if each.rhat < 10 else each.title for each in found)
            several = any(each.scalars > 1 for each in found)
            tail = f" (5% of {'its' if len(found) == 1 else 'their'} scalars have more)" if several else ""
            by_chance = level == UNSURE and any(each.rhat > RHAT_BAD for each in found)
            chance = ", which can happen by chance with so few effective draws" if by_chance else ""
            remedy = "warm up and draw longer" if level == BAD else "draw longer"
            yield Finding(level, f"R-hat above {limit}: {named}{tail}{chance}", remedy)


def _worst_ess(numbers: Sequence[Quantity]) -> Quantity | None:
    """Return the variable with the fewest effective draws; None if they are undefined for all."""
    return min((each for each in numbers if np.isfinite(each.ess)), key=lambda each: each.ess, default=None)


def _effective(worst: Quantity, more: int) -> Finding:
    """Return the finding on a variable with too few effective draws."""
    # Its scalars are those that R-hat compares, of which there may be none.
    fewer = " (5% of its scalars have fewer)" if worst.scalars != 1 else ""
    what = (
        f"{worst.title} has {_number(worst.ess)} effective draws, those of each chain added up{fewer}, and "
        f"{ESS_WANTED} are needed"
    )
    return Finding(UNSURE, what, f"needs about {more:,} more draws per chain")


def _acceptance(groups: Mapping[str, xr.Dataset]) -> Iterator[Finding]:
    """Yield a note on each step that hardly ever accepts."""
    rates = groups.get("sample_stats", xr.Dataset()).get("acceptance_rate", xr.DataArray())
    if "kernel" in rates.dims:
        for kernel in rates["kernel"].values:
            values = rates.sel(kernel=kernel).values
            known = values[np.isfinite(values)]
            if known.size and known.mean() < LOW_ACCEPTANCE:
                what = f"{kernel} accepts {known.mean():.1%} of its proposals"
                yield Finding(NOTE, what, f"see {spelled('pt.plan', '`ppl-topics plan`')} for alternatives")


def _summary(
    posterior: xr.Dataset, numbers: Sequence[Quantity], alignment: Alignment | None, kept: Sequence[int]
) -> str:
    """Return the numbers behind a verdict."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    parts = [f"{_count(chains, 'chain')} of {_count(draws, 'draw')}"]
    if kept and len(kept) < chains:
        parts.append(f"{len(kept)} of them in one mode")
    if alignment is not None and chains > 1:
        agreed = alignment.agrees
        parts.append(f"all chains have {int(agreed.sum()):,} of {_count(agreed.size, 'topic')}")
    worst = max((each for each in numbers if np.isfinite(each.rhat)), key=lambda each: each.rhat, default=None)
    if worst is not None:
        # R-hat of chains that stand still in different places is huge.
        digits = f"{worst.rhat:.3f}" if worst.rhat < 1e3 else f"{worst.rhat:.0e}"
        parts.append(f"R-hat at most {digits} ({_share_of(worst)})")
    fewest = _worst_ess(numbers)
    if fewest is not None:
        parts.append(f"at least {_number(fewest.ess)} effective draws ({_share_of(fewest)})")
    return ", ".join(parts)


def _share_of(quantity: Quantity) -> str:
    """Return what a number of a quantity holds of: 95% of its scalars, or the only one."""
    return quantity.title if quantity.scalars == 1 else f"95% of {quantity.title}"


def _chains(walk: Walk, positions: Sequence[int]) -> str:
    return f"chain{'s' if len(positions) > 1 else ''} {_listed(walk.chains[c] for c in positions)}"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _round(value: float) -> int:
    """Round a positive number up to two significant digits, since more are not known."""
    step = 10.0 ** max(0, int(np.floor(np.log10(value))) - 1)
    return int(np.ceil(value / step) * step)
