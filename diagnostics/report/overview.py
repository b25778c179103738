"""The first section, with the facts of the run and the verdict, and the last, on how to run it again."""

from __future__ import annotations

import shlex

import xarray as xr

from ppl_topics.diagnostics.alignment import Alignment
from ppl_topics.diagnostics.report.columns import text_column
from ppl_topics.diagnostics.report.formats import count, seconds
from ppl_topics.diagnostics.report.sections import Groups, Section, Table
from ppl_topics.diagnostics.verdict import verdict
from ppl_topics.errors import TraceError

__all__ = ["reproduction", "run_facts", "title_of", "verdict_section"]

VERSIONS = {
    "inference_library": "sampled by",
    "inference_library_version": "its version",
    "created_at": "sampled at",
    "seed": "seed",
    "threads": "threads",
    "corpus_name": "corpus",
    "corpus_fingerprint": "fingerprint of the corpus",
}
"""Attributes of a trace, and their names in the table of versions."""


def title_of(groups: Groups) -> str:
    """Return the model and the corpus in a few words."""
    attributes = groups["posterior"].attrs
    model, corpus = (str(attributes.get(name) or "") for name in ("model_name", "corpus_name"))
    return f"{model} on {corpus}" if model and corpus else model or "Posterior draws"


def verdict_section(groups: Groups, alignment: Alignment | None) -> Section:
    """Return the verdict on convergence and its findings, after warnings on the whole run."""
    section = Section("summary", "Summary", parts={"facts": run_facts(groups), "warnings": _warnings(groups)})
    section.add(
        "verdict",
        lambda: verdict(groups, alignment=alignment),
        without="The verdict on convergence is not available",
    )
    return section


def run_facts(groups: Groups) -> list[tuple[str, str]]:
    """Return names and values of what was run, if the trace holds them."""
    posterior, constants = groups["posterior"], groups.get("constant_data", xr.Dataset())
    sizes = {**posterior.sizes, **constants.sizes}
    counts = {
        "Topics": sizes.get("topic"),
        "Documents": sizes.get("doc"),
        "Words": sizes.get("word"),
        "Tokens": int(constants["doc_length"].sum()) if "doc_length" in constants else None,
        "Responses": posterior.sizes.get("response"),
    }
    facts = [(name, count(number)) for name, number in counts.items() if number is not None]
    if "draw" in posterior.sizes:
        chains = count(posterior.sizes.get("chain", 1), "chain")
        facts.append(("Draws", f"{chains} of {count(posterior.sizes['draw'])}"))
    if "warmup" in posterior.attrs:
        own = ", by a schedule of its own" if "warmup_schedule" in posterior.attrs else ""
        inexact = posterior.attrs.get("warmup_inexact")
        own += f" ({inexact})" if inexact else ""
        facts.append(("Warm-up", count(int(posterior.attrs["warmup"]), "sweep") + own))
    # Sweeps that were thinned out count like the kept ones.
    thin = int(posterior.attrs.get("thin", 1))
    times = [
        weight * float(groups[name]["step_seconds"].sum())
        for name, weight in (("warmup_sample_stats", 1), ("sample_stats", thin))
        if "step_seconds" in groups.get(name, xr.Dataset())
    ]
    if times:
        facts.append(("Sampling time, all chains", seconds(sum(times))))
    return facts


def _warnings(groups: Groups) -> list[str]:
    attributes = groups["posterior"].attrs
    result = []
    if int(attributes.get("stopped", 0)):
        result.append("The run was stopped early; it holds the draws that all chains had by then.")
    if int(attributes.get("empty_documents", 0)):
        result.append(f"{count(int(attributes['empty_documents']), 'document')} had no token in the vocabulary.")
    if int(attributes.get("dropped_tokens", 0)):
        result.append(f"{count(int(attributes['dropped_tokens']), 'token')} outside the vocabulary were dropped.")
    return result


def reproduction(groups: Groups, source: str) -> Section:
    """Return the resolved YAML, the schedule, the versions, and the commands that repeat the run."""
    section = Section("reproduce", "How to reproduce")
    attributes = groups["posterior"].attrs
    section.add("commands", lambda: _commands(groups["posterior"], source), without="The commands are not available")
    for name, what in (("model_yaml", "resolved YAML of the model"), ("schedule", "schedule")):
        if name in attributes:
            section.parts[name] = str(attributes[name])
        else:
            section.notes.append(f"The trace does not hold the {what}.")
    others = sorted(name for name in map(str, attributes) if name.endswith("_version") and name not in VERSIONS)
    names = VERSIONS | {name: name.removesuffix("_version") for name in others}
    rows = [{"what": what, "value": attributes[name]} for name, what in names.items() if str(attributes.get(name, ""))]
    if rows:
        columns = [text_column("what"), text_column("value")]
        section.parts["versions"] = Table("Software, seed and corpus of the run", columns, rows)
    else:
        section.notes.append("The trace does not hold the versions of the software.")
    return section


def _commands(posterior: xr.Dataset, source: str) -> dict[str, str]:
    """Return the commands that repeat the run, for a shell and for Python."""
    missing = [name for name in ("model_yaml", "warmup", "draws", "thin", "seed") if name not in posterior.attrs]
    if missing:
        raise TraceError(f"the trace does not hold {', '.join(missing)}")
    warmup, draws, thin, seed = (int(posterior.attrs[name]) for name in ("warmup", "draws", "thin", "seed"))
    chains = posterior.sizes.get("chain", 1)
    out = shlex.quote(source if source.endswith(".nc") else "run.nc")
    shell = (
        "ppl-topics run model.yaml --data FILE \\\n"
        f"  --warmup {warmup} --draws {draws} --chains {chains} --thin {thin} --seed {seed} \\\n"
        f"  --out {out}\n"
        f"ppl-topics report {out}"
    )
    python = (
        "import ppl_topics as pt\n\n"
        'corpus = pt.read_corpus("FILE")\n'
        f'fit = pt.sample("model.yaml", corpus, warmup={warmup}, draws={draws}, chains={chains},\n'
        f"                thin={thin}, seed={seed})\n"
        'fit.report("report.html")'
    )
    return {"shell": shell, "python": python}
