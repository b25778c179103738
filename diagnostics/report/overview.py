"""The first section, with the facts of the run and the verdict, and the last, on how to run it again."""

from __future__ import annotations

import shlex
from typing import Any

import xarray as xr

from ppl_topics.diagnostics.alignment import Alignment
from ppl_topics.diagnostics.report.formats import count, seconds
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Section, Table, sentence
from ppl_topics.diagnostics.verdict import verdict
from ppl_topics.errors import TraceError

__all__ = ["reproduction", "run_facts", "title_of", "verdict_section"]

SIGNS = {"converged": "✓", "not converged": "✗", "cannot tell": "?"}
"""Shown beside the verdict, so that it does not rely on colour alone."""


def title_of(groups: Groups) -> str:
    """Return the model and the corpus in a few words."""
    attributes = groups["posterior"].attrs
    model, corpus = (str(attributes.get(name) or "") for name in ("model_name", "corpus_name"))
    return f"{model} on {corpus}" if model and corpus else model or "Posterior draws"


def run_facts(groups: Groups) -> list[tuple[str, str]]:
    """Return names and values of what was run, as far as the trace holds them."""
    posterior, constants = groups["posterior"], groups.get("constant_data", xr.Dataset())
    attributes = posterior.attrs
    facts: list[tuple[str, str]] = []

    def add(name: str, value: Any, text: str) -> None:
        if value is not None:
            facts.append((name, text))

    topics = next((d.sizes["topic"] for d in (constants, posterior) if "topic" in d.sizes), None)
    docs = next((d.sizes["doc"] for d in (constants, posterior) if "doc" in d.sizes), None)
    words = next((d.sizes["word"] for d in (constants, posterior) if "word" in d.sizes), None)
    tokens = int(constants["doc_length"].sum()) if "doc_length" in constants else None
    responses = posterior.sizes.get("response")
    chains, draws = posterior.sizes.get("chain"), posterior.sizes.get("draw")
    add("Topics", topics, count(topics or 0))
    add("Documents", docs, count(docs or 0))
    add("Words", words, count(words or 0))
    add("Tokens", tokens, count(tokens or 0))
    add("Responses", responses, count(responses or 0))
    add("Draws", draws, f"{count(chains or 1, 'chain')} of {count(draws or 0)}")
    if "warmup" in attributes:
        add("Warm-up", True, count(int(attributes["warmup"]), "sweep"))
    time = _total_seconds(groups)
    add("Sampling time, all chains", time, seconds(time or 0.0))
    return facts


def _total_seconds(groups: Groups) -> float | None:
    """Return the seconds of all sweeps of all chains; sweeps that were thinned out count like the kept ones."""
    thin = int(groups["posterior"].attrs.get("thin", 1))
    totals = [
        weight * float(groups[name]["step_seconds"].sum())
        for name, weight in (("warmup_sample_stats", 1), ("sample_stats", thin))
        if "step_seconds" in groups.get(name, xr.Dataset())
    ]
    return sum(totals) if totals else None


def verdict_section(groups: Groups, alignment: Alignment | None) -> Section:
    """Return the verdict on convergence and its findings, after warnings on the whole run."""
    section = Section("summary", "Summary", parts={"facts": run_facts(groups), "warnings": _warnings(groups)})

    def made() -> dict[str, Any]:
        found = verdict(groups, alignment=alignment)
        findings = [
            {"level": each.level, "what": sentence(each.what), "remedy": sentence(each.remedy) if each.remedy else ""}
            for each in found.findings
        ]
        return {
            "level": found.level,
            "sign": SIGNS.get(found.level, "?"),
            "summary": sentence(found.summary),
            "findings": findings,
        }

    section.add("verdict", made, without="The verdict on convergence is not available")
    return section


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
    for name in ("model_yaml", "schedule"):
        if name in attributes:
            section.parts[name] = str(attributes[name])
        else:
            what = "resolved YAML of the model" if name == "model_yaml" else "schedule"
            section.notes.append(f"The trace does not hold the {what}.")
    rows = [[Cell(name), Cell(value)] for name, value in _versions(attributes)]
    if rows:
        columns = [Column("what", text=True), Column("value", text=True)]
        section.parts["versions"] = Table("Software, seed and corpus of the run", columns, rows)
    else:
        section.notes.append("The trace does not hold the versions of the software.")
    return section


def _commands(posterior: xr.Dataset, source: str) -> dict[str, str]:
    attributes, chains = posterior.attrs, posterior.sizes.get("chain", 1)
    needed = ("model_yaml", "warmup", "draws", "thin", "seed")
    missing = [name for name in needed if name not in attributes]
    if missing:
        raise TraceError(f"the trace does not hold {', '.join(missing)}")
    given = {name: int(attributes[name]) for name in ("warmup", "draws", "thin", "seed")}
    out = source if source.endswith(".nc") else "run.nc"
    settings = f"--warmup {given['warmup']} --draws {given['draws']} --chains {chains} --thin {given['thin']}"
    shell = (
        "ppl-topics run model.yaml --data FILE \\\n"
        f"  {settings} --seed {given['seed']} \\\n"
        f"  --out {shlex.quote(out)}\n"
        f"ppl-topics report {shlex.quote(out)}"
    )
    python = (
        "import ppl_topics as pt\n\n"
        'corpus = pt.read_corpus("FILE")\n'
        f'fit = pt.sample("model.yaml", corpus, warmup={given["warmup"]}, draws={given["draws"]}, chains={chains},\n'
        f"                thin={given['thin']}, seed={given['seed']})\n"
        'fit.report("report.html")'
    )
    return {"shell": shell, "python": python}


def _versions(attributes: Any) -> list[tuple[str, str]]:
    names = {
        "inference_library": "sampled by",
        "inference_library_version": "its version",
        "created_at": "sampled at",
        "seed": "seed",
        "threads": "threads",
        "corpus_name": "corpus",
        "corpus_fingerprint": "fingerprint of the corpus",
    }
    found = [(text, str(attributes[name])) for name, text in names.items() if str(attributes.get(name, ""))]
    versions = sorted(str(name) for name in attributes if str(name).endswith("_version") and name not in names)
    return found + [(name.removesuffix("_version"), str(attributes[name])) for name in versions]
