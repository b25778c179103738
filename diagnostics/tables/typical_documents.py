"""The documents with the largest share of each topic, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import (
    DocumentTopics,
    Estimate,
    document_lengths,
    document_topics,
    recorded,
)
from ppl_topics.results.topic_names import with_names
from ppl_topics.results.topics import top_words

__all__ = ["most_about", "typical_documents"]

NO_SHARE = 1e-9
"""Of a topic that a document may not have, as of labels that are not its own."""


def typical_documents(
    groups: Mapping[str, xr.Dataset],
    topics: int | Sequence[int] | None = None,
    n: int = 3,
    texts: Iterable[str] | Mapping[str, str] | None = None,
    *,
    response: str | None = None,
    chain: int = 0,
    estimate: Estimate = "auto",
    min_tokens: int = 1,
    probability: float = 0.9,
    n_words: int = 5,
    characters: int = 200,
) -> pd.DataFrame:
    """Return the training documents with the largest share of each topic, as R's stm does in ``findThoughts``.

    A share is the posterior mean of theta, or its expectation given the last state. Either is drawn towards the
    concentrations of the model, the more so the shorter the document: with 20 topics of concentration 0.1, a document
    of two words has at most a share of (2 + 0.1) / (2 + 2) = 0.53. So documents are ranked by their shares as they
    are. Documents without tokens, which say nothing, are left out, and of equal shares that of the longer document
    comes first. Where the concentrations are small, short documents may still come first: see `min_tokens`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    topics : int or sequence of int, optional
        Which topics, in this order; by default all.
    n : int
        Number of documents of each topic.
    texts : iterable of str, or mapping of str to str, optional
        The text of each training document, in the order of the corpus, or by its id. A corpus and a trace hold counts
        of words, not texts.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain : int
        Chains number their topics independently, so they are not combined.
    estimate : {"auto", "draws", "z_last"}
        Where shares are from, as for `ppl_topics.results.documents.document_topics`: ``draws``, the mean over recorded
        draws of theta, for the documents that have them; ``z_last``, E[theta | z, alpha] at the last state; ``auto``,
        draws if theta was recorded for all documents.
    min_tokens : int
        Leave out shorter documents.
    probability : float
        Probability of the equal-tailed intervals of the shares.
    n_words : int
        Words of each topic.
    characters : int
        Longest beginning of a text that is shown.

    Returns
    -------
    pandas.DataFrame
        A row for each topic and document, the largest share first: ``topic``, its ``name`` if topics have names, its
        most probable ``words``, ``doc`` (the id of the document), ``tokens`` (its length; missing if unknown),
        ``share``, ``low`` and ``high`` (the ends of the interval; NaN without draws of theta) and, if texts are given,
        ``text``, the beginning of the document's on one line. ``attrs`` holds ``chain``, ``estimate`` and
        ``probability``.

    Raises
    ------
    TraceError
        If there is no such topic, chain or response, the texts are not those of the documents, a number is out of
        range, or the trace lacks what the estimate needs.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=50, warmup=50, chains=1, seed=1, progress=False)
    >>> table = fit.typical_documents(n=1, texts=texts, n_words=2)
    >>> list(table.columns)
    ['topic', 'words', 'doc', 'tokens', 'share', 'low', 'high', 'text']
    >>> sorted(table["text"])
    ['goal match goal team', 'vote law vote']
    """
    level = check_probability(probability)
    for name, value in (("n", n), ("min_tokens", min_tokens), ("characters", characters)):
        if not is_whole(value) or value < 1:
            raise TraceError(f"{name}: must be a whole number of at least 1, got {value!r}")
    words = top_words(groups, n_words, chain)
    shares = document_topics(groups, chain, response, estimate)
    if response is not None:
        words = words[words["response"] == response]
    if min_tokens > 1 and (shares.lengths < 0).any():
        raise TraceError("min_tokens: the trace does not hold the lengths of its documents; leave min_tokens out")
    columns = _columns(shares, topics)
    best = [most_about(shares, column, n, min_tokens) for column in columns]
    docs, column = np.concatenate(best), np.repeat(columns, [len(each) for each in best])
    low, high = _intervals(groups, shares, docs, column, level)
    numbers = shares.topics[column]
    table = pd.DataFrame(
        {
            "topic": numbers,
            "words": words.set_index("topic")["words"].loc[numbers.tolist()].to_numpy(),
            "doc": [str(name) for name in shares.docs[docs]],
            "tokens": pd.array([length if length >= 0 else None for length in shares.lengths[docs]], dtype="Int64"),
            "share": shares.theta[docs, column],
            "low": low,
            "high": high,
        }
    )
    if texts is not None:
        table["text"] = _beginnings(groups, shares, docs, texts, characters)
    table = with_names(table, groups)
    table.attrs = {"chain": int(chain), "estimate": shares.estimate, "probability": level}
    return table


def most_about(shares: DocumentTopics, column: int, n: int, min_tokens: int = 1) -> IntArray:
    """Return the positions of the documents with the largest share of the topic in a column, at most n, largest first.

    Documents without tokens are left out, and those that may not have the topic. Of equal shares, that of the longer
    document comes first, then that of the earlier one.
    """
    share, lengths = shares.theta[:, column], shares.lengths
    possible = np.flatnonzero((share > NO_SHARE) & ((lengths >= min_tokens) | (lengths < 0)))
    if len(possible) > n:
        # Sort only the candidates, since documents may be many.
        least = np.partition(share[possible], len(possible) - n)[len(possible) - n]
        possible = possible[share[possible] >= least]
    order = np.lexsort((possible, -lengths[possible], -share[possible]))
    return possible[order][:n]


def _columns(shares: DocumentTopics, topics: Any) -> IntArray:
    """Return the columns of the topics that are asked for."""
    numbers = [int(number) for number in shares.topics]
    if topics is None:
        return np.arange(len(numbers))
    chosen: list[Any] = [topics] if isinstance(topics, str) or not isinstance(topics, Iterable) else list(topics)
    if not chosen:
        raise TraceError("topics: name at least one")
    for topic in chosen:
        if not is_whole(topic) or topic not in numbers:
            raise TraceError(f"topics: the trace has no topic {topic!r}; it has {numbers[0]} to {numbers[-1]}")
    return np.array([numbers.index(topic) for topic in chosen], dtype=np.int64)


def _intervals(
    groups: Mapping[str, xr.Dataset], shares: DocumentTopics, docs: IntArray, columns: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals of shares of topics in documents, NaN without draws of theta."""
    theta = recorded(groups, "theta") if shares.estimate == "draws" else None
    if theta is None:
        missing = np.full(len(docs), np.nan)
        return missing, missing
    # Of the documents that are shown only, since draws of all may be many.
    read, place = np.unique(docs, return_inverse=True)
    draws = shares.part.of(theta).isel(doc=read).transpose("draw", "doc", "topic").values
    return interval(draws[:, place, columns].astype(np.float64), level)


def _beginnings(
    groups: Mapping[str, xr.Dataset],
    shares: DocumentTopics,
    docs: IntArray,
    texts: Iterable[str] | Mapping[str, str],
    characters: int,
) -> list[str]:
    """Return the beginnings of the texts of documents, each on one line."""
    if isinstance(texts, Mapping):
        found = [texts.get(str(name)) for name in shares.docs[docs]]
    else:
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise TraceError(f"texts: expected a text for each document, got {type(texts).__name__}")
        given, n_docs = list(texts), len(document_lengths(groups))
        if len(given) != n_docs:
            raise TraceError(
                f"texts: expected one for each of {n_docs:,} training documents, in their order, got {len(given):,}; "
                "or give a mapping from ids"
            )
        found = [given[place] for place in docs.tolist()]
    lines = []
    for text, name in zip(found, shares.docs[docs], strict=True):
        if not isinstance(text, str):
            raise TraceError(f"texts: expected the text of document {str(name)!r}, got {text!r}")
        line = " ".join(text.split())
        lines.append(line if len(line) <= characters else f"{line[: characters - 1]}…")
    return lines
