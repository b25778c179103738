"""Documents are independent given a fit: what is computed for each can be shared among the workers of a cluster.

Random streams are named by the number of a document among all of them, so the numbers are those of one process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.threads import enough_threads
from ppl_topics.corpus import Corpus
from ppl_topics.engine.cluster.connection import connected
from ppl_topics.engine.cluster.tasks import Here, run_tasks
from ppl_topics.prediction.trained import TrainedLabels, TrainedTopics

__all__ = ["by_documents", "threads_of"]

Result = TypeVar("Result")

TASKS = 4
"""For each worker, so that all are done at about the same time, unless these are too small or too large."""
FEWEST_TOKENS, MOST_TOKENS = 2**14, 2**20


TOKEN_SECONDS, TOPIC_SECONDS = 5e-8, 1.5e-9
"""Of a token in a sweep over new documents, and of each of its topics, about."""


def threads_of(options: Any, corpus: Corpus, topics: int) -> int:
    """Return how many threads a sweep over new documents has work for, unless the options say how many there are."""
    return enough_threads(options.threads, corpus.n_tokens * (TOKEN_SECONDS + TOPIC_SECONDS * topics))


@dataclass(frozen=True)
class _Shared:
    """What all tasks share."""

    function: Callable[..., Any]
    fitted: TrainedTopics | TrainedLabels
    options: Any
    more: tuple[Any, ...]


def by_documents(
    function: Callable[..., Result],
    fitted: TrainedTopics | TrainedLabels,
    corpus: Corpus,
    options: Any,
    *more: Any,
    of_documents: FloatArray | None = None,
) -> list[Result]:
    """Call ``function(fitted, corpus, options, *more, of_documents)``; on a cluster, for runs of documents in order.

    `of_documents` has a row for each document; it is left out if it is None.
    """
    if options.cluster is None:
        return [function(fitted, corpus, options, *more, *([] if of_documents is None else [of_documents]))]
    items = []
    with connected(options.cluster) as cluster:
        assert cluster is not None
        for first, last in pairwise(_cuts(corpus.doc_ptr, TASKS * cluster.workers).tolist()):
            rows = slice(first, last)
            items.append((corpus.select(rows), first, [] if of_documents is None else [of_documents[rows]]))
        shared = _Shared(function, fitted.detached(options.phi), replace(options, cluster=None), more)
        return run_tasks(cluster, _task, shared, items, threads=options.threads)


def _task(shared: _Shared, item: tuple[Corpus, int, list[FloatArray]], here: Here) -> Any:
    """Do some documents on a worker."""
    corpus, first, rows = item
    options = replace(shared.options, first=first, threads=here.threads)
    return shared.function(shared.fitted, corpus, options, *shared.more, *rows)


def _cuts(doc_ptr: IntArray, wanted: int) -> IntArray:
    """Return where to cut the documents into about as many runs as are wanted, of about as many tokens each."""
    tokens = int(doc_ptr[-1])
    parts = max(min(wanted, tokens // FEWEST_TOKENS), -(-tokens // MOST_TOKENS), 1)
    cuts = np.searchsorted(doc_ptr, np.linspace(0, tokens, parts + 1)[1:-1])
    return np.unique([0, *cuts, len(doc_ptr) - 1])
