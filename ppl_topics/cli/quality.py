"""How ``ppl-topics topics --quality`` shows the quality of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ppl_topics.cli.output import print_frame, print_json, records, say, working

if TYPE_CHECKING:
    import pandas as pd

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
        what = {name: about[name] for name in ("chain", "reference", "windows", "absent", "left_out")}
        print_json({**what, "topic_diversity": diversity, "topics": records(table)})
        return
    windows = [
        f"{HEADINGS[name]}: {'whole documents' if size == 'document' else f'windows of {size} words'}"
        for name, size in about["windows"].items()
    ]
    print(f"chain {chain}, coherence on {about['reference']}{'; ' if windows else ''}{', '.join(windows)}")
    print(f"topic diversity {diversity:.3f}: distinct words among the {DIVERSITY_WORDS} top words of all topics")
    print()
    _print(table)


def _print(table: pd.DataFrame) -> None:
    measures = {heading: name for name, heading in HEADINGS.items() if name in table}
    response = {"response": "response"} if "response" in table else {}
    name = {"name": "name"} if "name" in table else {}
    columns = {**response, "topic": "topic", **name, "share": "share", **measures, "words": "words"}
    print_frame(table.assign(share=table["share"].map("{:.1%}".format)), columns, text=["response", "name", "words"])
