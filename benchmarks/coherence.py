"""Time coherences of topics against gensim's CoherenceModel, on the same lists of words, and compare the values.

Example: ``python benchmarks/coherence.py --texts 20news-bydate.jsonl.gz --documents 11314 --topics 100``.
Without --texts it takes the docstrings of installed packages. The clock of ours includes putting the lists of words
into numbers, as that of gensim does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import Results, parser
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

import ppl_topics as pt
from ppl_topics.corpus.datasets.docstring_extraction import extract_docstrings
from ppl_topics.corpus.datasets.docstrings import DOCSTRING_PACKAGES
from ppl_topics.corpus.datasets.prose import prose
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.text_options import TextOptions
from ppl_topics.diagnostics.quality import (
    Reference,
    cv_coherence,
    jensen_shannon,
    npmi_coherence,
    topic_map,
    umass_coherence,
)
from ppl_topics.results.best_words import best_words

MEASURES: dict[str, Callable[..., Any]] = {"u_mass": umass_coherence, "c_npmi": npmi_coherence, "c_v": cv_coherence}


def read(path: str | None, documents: int) -> list[list[str]]:
    """Return texts as lists of words, stop words left out, in order."""
    analyze = TextOptions(stop_words="english").analyzer()
    raw: Iterator[str]
    if path is None:
        raw = (prose(docstring.text) for package in DOCSTRING_PACKAGES for docstring in extract_docstrings(package))
    else:
        raw = (record.text for record in read_jsonl(Path(path), Columns("text"), "utf-8"))
    texts = []
    for text in raw:
        if len(texts) == documents:
            break
        texts.append(analyze(text))
    return texts


def median(work: Callable[[], Any], rounds: int) -> tuple[list[float], Any]:
    """Return the seconds of several runs, sorted, and what the last one returned."""
    seconds, result = [], None
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds), result


def shown(seconds: list[float]) -> str:
    return f"{np.median(seconds):.3f} [{seconds[0]:.3f} to {seconds[-1]:.3f}]"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--texts", help="JSON Lines with the member text; docstrings without it")
    arguments.add_argument("--documents", type=int, default=1000, help="the first ones")
    arguments.add_argument("--topics", type=int, default=20, metavar="K")
    arguments.add_argument("--words", type=int, default=10)
    arguments.add_argument("--min-count", type=int, default=5)
    arguments.add_argument("--sweeps", type=int, default=20, help="of the LDA that the topics come from")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--processes", type=int, default=1, help="of gensim")
    arguments.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    options = arguments.parse_args()
    texts = read(options.texts, options.documents)
    corpus = pt.Corpus.from_tokens(texts, min_count=options.min_count)
    fit = pt.sample(
        "lda", corpus, topics=options.topics, warmup=options.sweeps, draws=1, chains=1, seed=1, progress=False
    )
    phi = fit.groups["constant_data"]["phi_mean"].values[0]
    words = best_words(phi, options.words)
    vocabulary = corpus.vocabulary.tolist()
    lists = [[vocabulary[i] for i in topic if i >= 0] for topic in words]
    dictionary = Dictionary([vocabulary])
    print(f"{len(texts):,} texts of {sum(map(len, texts)):,} words; {corpus}")
    print(f"{options.topics} topics of {options.words} words, {len(np.unique(words)):,} of them distinct")
    corpus_name = f"{'docstrings' if options.texts is None else Path(options.texts).name}, {len(texts):,} texts"
    results = Results(options.results, "coherence", "How fast are coherences?", corpus=corpus_name, K=options.topics)
    for name in options.measures:

        def ours(measure: Callable[..., Any] = MEASURES[name]) -> Any:
            return measure(words, Reference.from_texts(texts, vocabulary), convention="gensim")

        def theirs(name: str = name) -> Any:
            # Of u_mass gensim takes bags of words; making them is part of its work, as it is of ours.
            model = CoherenceModel(
                topics=lists,
                texts=texts,
                dictionary=dictionary,
                coherence=name,
                processes=options.processes,
                topn=options.words,
            )
            return np.array(model.get_coherence_per_topic())

        ours()
        mine, values = median(ours, options.rounds)
        others, expected = median(theirs, options.rounds)
        ratio = np.median(others) / np.median(mine)
        worst = np.abs(values - expected).max()
        results.add(name, "seconds", mine, {"gensim": ratio})
        print(
            f"{name}: ours {shown(mine)} s, gensim {shown(others)} s, gensim / ours {ratio:.1f}; "
            f"largest difference of a topic {worst:.1e}",
            flush=True,
        )
    topic_map(phi)
    seconds, _ = median(lambda: topic_map(phi), options.rounds)
    results.add("topic_map", "seconds", seconds)
    print(f"topic_map of {phi.shape[0]} topics and {phi.shape[1]:,} words: {shown(seconds)} s")
    assert np.isfinite(jensen_shannon(phi)).all()


if __name__ == "__main__":
    main()
