"""A verdict on convergence in words, with the numbers behind it and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics.diagnostics.alignment import Alignment, align
from ppl_topics.diagnostics.alignment.agreement import top_words_of
from ppl_topics.diagnostics.convergence import ESS_WANTED, Quantity, Walk, density_walks, quantities
from ppl_topics.errors import TraceError

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
    remedy: str

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
    alignment: Alignment | None

    def __str__(self) -> str:
        """Return the summary, and a line for each finding."""
        return "\n".join([f"{self.level}: {self.summary}", *(f"- {finding}" for finding in self.findings)])


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
        once in a thousand. Otherwise "cannot tell" if there is only one chain, a kernel is not exact, there are too few
        draws or effective draws, or R-hat is above 1.01. Otherwise "converged".

    Raises
    ------
    TraceError
        If the group `posterior` does not hold draws of a sampler, or the alignment belongs to another trace.

    Notes ----- Two chains are in different modes if the means of their log posteriors over the second half of the
    draws, sorted over chains, are neighbours that differ by more than three standard deviations within chains. The log
    posterior drifts if the halves of a chain differ by more than one. With 20 effective draws per half, a converged
    chain seems to drift less than once in 500 times, and practically never seems to be in another mode, which would
    take nine standard errors.

    Topics are aligned first. R-hat of phi covers the top words of the topics that the chains agree on; if there are
    several modes, it compares only the chains of the largest group, so that the effects of one bad chain are reported
    once. A variable passes if 95% of its scalars do. Effective draws are added up over chains, so they measure how well
    the kernels mix even if the chains disagree; 400 are needed, 100 for each of four chains (Vehtari et al. 2021).

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
    posterior = groups["posterior"]
    if not {"chain", "draw"} <= set(posterior.dims):
        raise TraceError(
            "the group `posterior` lacks the dimensions chain and draw, so it does not hold draws of a sampler"
        )
    if not posterior.sizes["chain"] or not posterior.sizes["draw"]:
        raise TraceError("the trace has no draws")
    findings = _of_the_run(groups)
    walks = density_walks(groups)
    found, kept = _modes(walks, _warmup(posterior))
    findings += found
    if posterior.sizes["draw"] >= FEW_DRAWS:
        findings += _drifts(walks, _warmup(posterior))
    if alignment is None:
        try:
            alignment = align(groups)
        except TraceError as error:
            if "topic" in posterior.dims:
                findings.append(Finding(UNSURE if posterior.sizes["chain"] > 1 else NOTE, str(error), ""))
    if alignment is not None:
        findings += _topics(groups, alignment, kept)
        findings += _switches(alignment)
    numbers = quantities(groups, alignment, kept)
    if posterior.sizes["draw"] >= FEW_DRAWS:
        findings += _rhats(numbers)
    more, found = _effective(numbers, posterior.sizes["draw"])
    findings += found
    findings += _acceptance(groups)
    order = {BAD: 0, UNSURE: 1, NOTE: 2}
    findings.sort(key=lambda finding: order[finding.level])
    levels = {finding.level for finding in findings}
    level = "not converged" if BAD in levels else "cannot tell" if UNSURE in levels else "converged"
    return Verdict(level, _summary(level, posterior, numbers, alignment, kept), tuple(findings), more, alignment)


def _of_the_run(groups: Mapping[str, xr.Dataset]) -> list[Finding]:
    posterior = groups["posterior"]
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    findings = []
    if not bool(posterior.attrs.get("exact", 1)):
        what = "a kernel of this run is not exact, so its draws are approximate, however many there are"
        findings.append(Finding(UNSURE, what, "compare with a run of exact kernels (`ppl-topics plan` names them)"))
    if draws < FEW_DRAWS:
        what = f"{_count(draws, 'draw')} per chain {'says' if draws == 1 else 'say'} little about ESS, IF and R-hat"
        findings.append(Finding(UNSURE, what, f"draw {FEW_DRAWS} or more"))
    if chains == 1:
        what = "one chain: R-hat only compares its halves, and another mode would go unnoticed"
        findings.append(Finding(UNSURE, what, "run at least 2 chains (--chains)"))
    if "lp" not in groups.get("sample_stats", xr.Dataset()):
        what = "the trace holds no log posterior `lp` in `sample_stats`, so modes and drift cannot be detected"
        findings.append(Finding(UNSURE, what, ""))
    return findings


def _warmup(posterior: xr.Dataset) -> str:
    """Return the advice for chains that have not reached the posterior yet."""
    now = posterior.attrs.get("warmup")
    return "warm up longer" if now is None else f"warm up longer (--warmup was {int(now):,})"


def _modes(walks: Sequence[Walk], longer: str) -> tuple[list[Finding], list[int]]:
    """Return findings on chains in other modes, and the positions of the chains of the largest group."""
    findings: list[Finding] = []
    kept: set[int] | None = None
    for walk in walks:
        groups = walk.modes()
        largest = max(groups, key=len)
        kept = set(largest) if kept is None else kept & set(largest)
        if len(groups) < 2:
            continue
        best = groups[0]
        others = sorted(c for group in groups[1:] for c in group)
        low = [walk.mean[best].max() - walk.mean[c] for c in others]
        sits = "is in another mode" if len(others) == 1 else "are in other modes"
        than = "" if len(best) > 1 else f" than {_chains(walk, best)}"
        what = (
            f"{_chains(walk, others)} {sits}{than}{walk.where}: log posterior lower by "
            f"{', '.join(_number(each) for each in low)} (sd within chains {_number(walk.sd)})"
        )
        remedy = f"{longer}; if it persists, the posterior has several modes: run more chains and use the highest"
        findings.append(Finding(BAD, what, remedy))
    return findings, sorted(kept) if kept else []


def _drifts(walks: Sequence[Walk], longer: str) -> list[Finding]:
    findings = []
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
                findings.append(Finding(BAD, what, longer))
    return findings


def _topics(groups: Mapping[str, xr.Dataset], alignment: Alignment, kept: Sequence[int]) -> list[Finding]:
    """Return findings on the topics that the chains of the largest group do not agree on."""
    chains, findings = alignment.chains, []
    if len(chains) < 2:
        return []
    reference = chains.index(alignment.reference)
    compared = list(kept) if reference in kept and len(kept) > 1 else list(range(len(chains)))
    apart = alignment.responses is not None
    for s, response in enumerate(alignment.responses or [None]):
        agrees_in = alignment.agrees_in[:, s] if apart else alignment.agrees_in
        differ = np.flatnonzero(~agrees_in[compared].all(axis=0))
        total, where = agrees_in.shape[1], f" for response {response!r}" if response is not None else ""
        if differ.size:
            words = top_words_of(groups, alignment.reference, s, 3)
            named = ", ".join(f"{k} ({' '.join(words[k])})" for k in differ[:MOST_NAMED])
            more = f" and {len(differ) - MOST_NAMED} more" if len(differ) > MOST_NAMED else ""
            who = "chains" if len(compared) == len(chains) else f"chains {_listed([chains[c] for c in compared])}"
            what = (
                f"{who} do not agree on {len(differ)} of {_count(total, 'topic')}{where}, numbered as in chain "
                f"{alignment.reference}: {named}{more}"
            )
            remedy = "interpret these in one chain only; a longer warm-up or fewer topics may help"
            few = groups["posterior"].sizes["draw"] < FEW_DRAWS
            findings.append(Finding(UNSURE if few else BAD, what, remedy))
        for c in sorted(set(range(len(chains))) - set(compared)):
            has = int(agrees_in[c].sum())
            what = f"chain {chains[c]} has {has} of the {_count(total, 'topic')} of chain {alignment.reference}{where}"
            findings.append(Finding(NOTE, what, ""))
    return findings


def _switches(alignment: Alignment) -> list[Finding]:
    findings = []
    for switch in alignment.switches:
        where = "" if switch.response is None else f" of response {switch.response!r}"
        what = (
            f"topics {_listed(sorted(switch.topics))}{where} swap numbers in chain {switch.chain} at draw {switch.draw}"
        )
        findings.append(Finding(NOTE, what, "undo it with fit.aligned() or `ppl-topics diagnose --align`"))
    return findings


def _rhats(numbers: Sequence[Quantity]) -> list[Finding]:
    bad = [each for each in numbers if each.rhat > max(RHAT_BAD, each.chance)]
    high = [each for each in numbers if each.rhat > RHAT_GOOD and each not in bad]
    findings = []
    for found, limit, level in ((bad, RHAT_BAD, BAD), (high, RHAT_GOOD, UNSURE)):
        if found:
            named = ", ".join(f"{each.title} {each.rhat:.2f}" if each.rhat < 10 else each.title for each in found)
            many = [each for each in found if each.scalars > 1]
            tail = f" (5% of {'its' if len(found) == 1 else 'their'} scalars have more)" if many else ""
            by_chance = level == UNSURE and any(each.rhat > RHAT_BAD for each in found)
            chance = ", which can happen by chance with so few effective draws" if by_chance else ""
            remedy = "warm up and draw longer" if level == BAD else "draw longer"
            findings.append(Finding(level, f"R-hat above {limit}: {named}{tail}{chance}", remedy))
    return findings


def _effective(numbers: Sequence[Quantity], draws: int) -> tuple[int | None, list[Finding]]:
    known = [each for each in numbers if np.isfinite(each.ess)]
    if not known:
        return None, []
    worst = min(known, key=lambda each: each.ess)
    if worst.ess >= ESS_WANTED:
        return 0, []
    more = _round(draws * (ESS_WANTED / max(worst.ess, 1.0) - 1.0))
    fewer = " (5% of its scalars have fewer)" if worst.scalars > 1 else ""
    what = f"{worst.title} has {_number(worst.ess)} effective draws in all chains{fewer}, and {ESS_WANTED} are needed"
    return more, [Finding(UNSURE, what, f"needs about {more:,} more draws per chain")]


def _acceptance(groups: Mapping[str, xr.Dataset]) -> list[Finding]:
    statistics = groups.get("sample_stats", xr.Dataset())
    if "acceptance_rate" not in statistics or "kernel" not in statistics["acceptance_rate"].dims:
        return []
    findings = []
    for kernel in statistics["kernel"].values:
        values = statistics["acceptance_rate"].sel(kernel=kernel).values
        known = values[np.isfinite(values)]
        if known.size and known.mean() < LOW_ACCEPTANCE:
            what = f"{kernel} accepts {known.mean():.1%} of its proposals"
            findings.append(Finding(NOTE, what, "see `ppl-topics plan` for alternatives"))
    return findings


def _summary(
    level: str,
    posterior: xr.Dataset,
    numbers: Sequence[Quantity],
    alignment: Alignment | None,
    kept: Sequence[int],
) -> str:
    """Return the numbers behind a verdict."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    parts = [f"{_count(chains, 'chain')} of {_count(draws, 'draw')}"]
    if kept and len(kept) < chains:
        parts.append(f"{len(kept)} of them in one mode")
    if alignment is not None and chains > 1:
        agreed = alignment.agrees
        parts.append(f"all chains have {int(agreed.sum()):,} of {_count(agreed.size, 'topic')}")
    rhats = [each for each in numbers if np.isfinite(each.rhat)]
    if rhats:
        worst = max(rhats, key=lambda each: each.rhat)
        # R-hat of chains that stand still in different places is huge.
        spelled = f"{worst.rhat:.3f}" if worst.rhat < 1e3 else f"{worst.rhat:.0e}"
        parts.append(f"R-hat at most {spelled} ({worst.title})")
    sizes = [each for each in numbers if np.isfinite(each.ess)]
    if sizes:
        worst = min(sizes, key=lambda each: each.ess)
        parts.append(f"at least {_number(worst.ess)} effective draws ({worst.title})")
    return ", ".join(parts)


def _chains(walk: Walk, positions: Sequence[int]) -> str:
    names = [walk.chains[c] for c in positions]
    return f"chain {names[0]}" if len(names) == 1 else f"chains {_listed(names)}"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _round(value: float) -> int:
    """Round up to two significant digits, since more are not known."""
    if value <= 0:
        return 0
    step = 10.0 ** max(0, int(np.floor(np.log10(value))) - 1)
    return int(np.ceil(value / step) * step)
