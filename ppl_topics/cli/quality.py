"""How ``ppl-topics topics --quality`` shows the quality of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ppl_topics.cli.output import number, print_json, print_table, say, working

if TYPE_CHECKING:
    from ppl_topics.fit import Fit

__all__ = ["print_quality"]

HEADINGS = {
    "umass": "UMass",
    "npmi": "NPMI",
    "c_v": "C_V",
    "entropy": "entropy",
    "exclusivity": "exclusivity",
    "effective_words": "effective\nwords",
}
"""Headings of the measures."""

DIVERSITY_WORDS = 25

MOST_NAMED = 10


def print_quality(fit: Fit, words: int, chain: int, reference: str | None, text_column: str, json: bool) -> None:
    """Print the topics of a chain with their measures."""
    from ppl_topics.diagnostics.quality import Reference, topic_diversity
    from ppl_topics.diagnostics.quality.topic_set import topic_sets
    from ppl_topics.errors import CorpusError

    documents = None
    if reference is not None:
        vocabulary = topic_sets(fit.groups, chain)[0].vocabulary
        with working(f"reading {reference}"):
            documents = Reference.from_file(reference, vocabulary, text_column)
        if not (documents.words >= 0).any():
            raise CorpusError(f"{reference}: none of its tokens is among the {len(vocabulary):,} words of the topics")
    table = fit.topic_quality(corpus=documents, n_words=words, chain=chain)
    diversity = topic_diversity(fit.groups, n_words=DIVERSITY_WORDS, chain=chain)
    about = table.attrs
    for measure, why in about["left_out"].items():
        say(f"note: no {measure}: {why}")
    if about["absent"]:
        named = ", ".join(about["absent"][:MOST_NAMED]) + (", ..." if len(about["absent"]) > MOST_NAMED else "")
        say(f"note: top words that occur in no document of the reference: {len(about['absent']):,} ({named})")
    if json:
        rows = [{**row, "words": str(row["words"]).split()} for row in table.to_dict("records")]
        what = {name: about[name] for name in ("chain", "reference", "windows", "absent", "left_out")}
        print_json({**what, "topic_diversity": diversity, "topics": rows})
        return
    windows = [f"{HEADINGS[name]}: {_window(size)}" for name, size in about["windows"].items()]
    print(f"chain {chain}, coherence on {about['reference']}{'; ' if windows else ''}{', '.join(windows)}")
    print(f"topic diversity {diversity:.3f}: distinct words among the {DIVERSITY_WORDS} top words of all topics")
    print()
    _print(table)


def _window(size: Any) -> str:
    return "whole documents" if size == "document" else f"windows of {size} words"


def _print(table: Any) -> None:
    measures = [name for name in HEADINGS if name in table]
    first = ["response", "topic"] if "response" in table else ["topic"]
    rows = []
    for row in table.to_dict("records"):
        numbers = [number(float(row[name])) for name in measures]
        rows.append([*(str(row[name]) for name in first), f"{row['share']:.1%}", *numbers, str(row["words"])])
    columns = [*first, "share", *(HEADINGS[name] for name in measures), "words"]
    print_table(columns, rows, text=["response", "words"])
