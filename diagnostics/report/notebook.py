"""What a notebook shows of a fit: what was run, the verdict, and the largest topics."""

from __future__ import annotations

import xarray as xr

from ppl_topics._util.notebook import facts, fragment, line, listing, note, table
from ppl_topics.diagnostics.alignment import Alignment
from ppl_topics.diagnostics.alignment.recurrence import recurs
from ppl_topics.diagnostics.report.formats import percent
from ppl_topics.diagnostics.report.overview import run_facts, title_of
from ppl_topics.diagnostics.report.sections import Groups, attempt, sentence
from ppl_topics.diagnostics.verdict import Verdict, verdict
from ppl_topics.results.topic_names import called, topic_names
from ppl_topics.results.topics import largest_topics

__all__ = ["fit_html"]

TOPICS, WORDS = 20, 8
"""Topics, and words of each, that are shown."""

JUDGED = 2**25
"""Numbers of the trace up to which the verdict is computed."""

COMPARED = 2**34
"""Products of probabilities, of all topics of all chains with one another, up to which the verdict is computed."""


def fit_html(groups: Groups) -> str:
    """Return a fragment of HTML; computing it takes about a second at most."""
    if "posterior" not in groups:
        return fragment("Fit", line("The trace has no group posterior."))
    found, says = _verdict(groups)
    topics = _topics(groups, None if found is None else found.alignment)
    return fragment(title_of(groups), facts(run_facts(groups)), facts(_kernels(groups)), says, topics)


def _kernels(groups: Groups) -> list[tuple[str, object]]:
    """Return the kernels of the run, and whether they are exact, as far as the trace says."""
    statistics, attributes = groups.get("sample_stats", xr.Dataset()), groups["posterior"].attrs
    pairs: list[tuple[str, object]] = []
    if "kernel" in statistics:
        pairs.append(("Kernels", [str(kernel).replace(":", ": ", 1) for kernel in statistics["kernel"].values]))
    if "exact" in attributes:
        pairs.append(("Exact", "yes" if int(attributes["exact"]) else "no"))
    return pairs


def _verdict(groups: Groups) -> tuple[Verdict | None, str]:
    """Return the verdict and how it is shown, or None and what to call if it would take long, or why there is none."""
    if _numbers(groups) > JUDGED or _products(groups) > COMPARED:
        return None, note("The draws are many, so they are not judged here: fit.verdict() does.")
    found, why = attempt(lambda: verdict(groups))
    if found is None:
        return None, note(sentence(f"no verdict: {why}"))
    return found, line(sentence(f"{found.level}: {found.summary}")) + listing(map(str, found.findings))


def _numbers(groups: Groups) -> int:
    """Return how many numbers the verdict looks at."""
    return sum(array.size for array in groups["posterior"].data_vars.values() if "token" not in array.dims)


def _products(groups: Groups) -> int:
    """Return how many products it takes to compare all topics of all chains."""
    sizes = {**groups["posterior"].sizes, **groups.get("constant_data", xr.Dataset()).sizes}
    chains, topics, words = (int(sizes.get(dim, 1)) for dim in ("chain", "topic", "word"))
    return chains**2 * topics**2 * words * int(sizes.get("response", 1))


def _topics(groups: Groups, alignment: Alignment | None) -> str:
    """Return the largest topics of the reference chain, or of the first one, and in how many chains they recur."""
    posterior = groups["posterior"]
    if not posterior.sizes.get("chain"):
        return note("No topics: the trace has no chains.")
    chain = posterior["chain"].values.tolist()[0] if alignment is None else alignment.reference
    found, why = attempt(lambda: largest_topics(groups, WORDS, chain, TOPICS))
    if found is None:
        return note(sentence(f"no topics: {why}"))
    names, recur, rows = topic_names(groups), _recurring(alignment), []
    for row in found.head(TOPICS).to_dict("records"):
        response, topic = None if "response" not in row else str(row["response"]), int(row["topic"])
        in_chains = [] if recur is None else [f"{recur[response][topic]} of {posterior.sizes['chain']}"]
        own = [] if response is None else [response]
        rows.append([*own, called(names, topic), percent(row["share"]), *in_chains, row["words"].split(" ")])
    columns = ["response"] if "response" in found else []
    columns += ["topic", "share", *([] if recur is None else ["in chains"]), "words"]
    total = posterior.sizes.get("topic", len(found)) * (posterior.sizes["response"] if "response" in found else 1)
    more = f" {len(rows)} of {total:,} topics: fit.topics() has all." if len(rows) < total else ""
    about = note(f"The largest topics, with their numbers in chain {chain}.{more}")
    return about + table(columns, rows, text=("response", "words"))


def _recurring(alignment: Alignment | None) -> dict[str | None, list[int]] | None:
    """Return in how many chains each topic is, by response; None where there are no chains to compare."""
    if alignment is None or len(alignment.chains) < 2:
        return None
    responses: list[str | None] = [None] if alignment.responses is None else [*alignment.responses]
    counts = alignment.by_response(recurs(alignment)).sum(axis=0).tolist()
    return dict(zip(responses, counts, strict=True))
