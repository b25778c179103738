"""What a notebook shows of a corpus: sizes, labels, covariates and frequent words."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.notebook import facts, fragment, note, table
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.parts import CorpusParts
from ppl_topics.corpus.token_arrays import count_words

__all__ = ["corpus_html"]

WORDS, NAMES = 20, 8
"""Frequent words that are shown, and names of classes or covariates."""

COUNTED = 2**24
"""Tokens that the frequent words are of, so that a large corpus on disk is not read through."""


def corpus_html(corpus: CorpusParts) -> str:
    """Return a fragment of HTML."""
    lengths = np.diff(corpus.doc_ptr)
    sizes = [("documents", corpus.n_docs), ("tokens", corpus.n_tokens), ("words", corpus.n_words)]
    rest = [("empty documents", int(np.count_nonzero(lengths == 0))), ("tokens dropped", corpus.dropped.tokens)]
    shown = facts((name, f"{number:,}") for name, number in [*sizes, *(each for each in rest if each[1])])
    labels = {} if corpus.labels is None else {"labels": corpus.labels}
    rows = [_labels(name, each) for name, each in {**labels, **corpus.more_labels}.items()]
    if corpus.covariates is not None:
        names = [str(name) for name in corpus.covariates.names]
        rows.append(["covariates", f"{len(names):,} columns", _some(names)])
    counted = corpus.words[:COUNTED]
    counts = count_words(counted, corpus.n_words)
    best = [v for v in np.argsort(-counts, kind="stable")[:WORDS].tolist() if counts[v]]
    rows.append(["frequent words", "", [str(corpus.vocabulary[v]) for v in best]])
    columns = ("part", "kind", "values")
    parts = [shown, table(columns, rows, text=columns)]
    if len(counted) < corpus.n_tokens:
        parts.append(note(f"The frequent words are those of the first {len(counted):,} tokens."))
    return fragment(f"Corpus {corpus.name}".rstrip(), *parts)


def _labels(name: str, labels: Labels) -> list[object]:
    """Return what labels are called, their kind, and the most frequent classes or the range of the numbers."""
    if labels.kind in ("class", "multi_label"):
        held = labels.values if labels.kind == "class" else np.nonzero(labels.values == 1)[1]
        counts = np.bincount(held[held >= 0], minlength=len(labels.classes))
        order = np.argsort(-counts, kind="stable").tolist()
        return [name, labels.summary, _some([f"{labels.classes[c]} ({counts[c]:,})" for c in order])]
    known = labels.values[~labels.missing]
    return [name, labels.summary, f"{known.min():g} to {known.max():g}" if known.size else ""]


def _some(names: list[str]) -> list[str]:
    """Return the first names, and how many there are besides."""
    return names if len(names) <= NAMES else [*names[:NAMES], f"and {len(names) - NAMES:,} more"]
