"""Texts in a Dask series or bag: their topics as a Dask array, computed by partition when it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.errors import CorpusError
from ppl_topics.prediction.documents import new_corpus
from ppl_topics.prediction.options import Options
from ppl_topics.prediction.predictor import transform_corpus
from ppl_topics.prediction.trained import TrainedTopics

__all__ = ["is_dask", "transform_partitions"]

ONE_AT_A_TIME = threading.Lock()
"""Dask may call from several threads, and numba's own must not be: each call uses all that there are."""


def is_dask(new: Any) -> bool:
    """Tell whether something is a collection of Dask's, in partitions."""
    return hasattr(new, "npartitions") and hasattr(new, "to_delayed")


def transform_partitions(trained: TrainedTopics, texts: Any, options: Options, chain: int, response: str | None) -> Any:
    """Return a Dask array of shape (D, K) with the rows of `transform_corpus`, whatever the partitions.

    Texts are counted at once, since random streams are named by the numbers of documents.
    """
    from dask import array
    from dask.base import compute
    from dask.delayed import delayed

    if getattr(texts, "ndim", 1) != 1:
        raise CorpusError("expected a Dask series or bag of texts, got a data frame; give one of its columns")
    partitions = list(texts.to_delayed())
    lengths = compute(*map(delayed(_length), partitions))
    held, transform = delayed(trained.detached(options.phi)), delayed(_transform)
    arrays: Any = array
    blocks = []
    for part, first, length in zip(partitions, np.cumsum([0, *lengths]).tolist(), lengths, strict=False):
        theta = transform(held, part, replace(options, first=first), chain, response)
        blocks.append(arrays.from_delayed(theta, (length, trained.topics), dtype=np.float64))
    return arrays.concatenate(blocks)


def _length(texts: Iterable[Any]) -> int:
    return sum(1 for _ in texts)


def _transform(
    trained: TrainedTopics, texts: Iterable[Any], options: Options, chain: int, response: str | None
) -> FloatArray:
    texts = list(texts)
    if not texts:
        return np.zeros((0, trained.topics))
    if options.threads is None:
        options = replace(options, threads=_threads())
    corpus = new_corpus(texts, trained, with_labels=False, partial=True)
    with ONE_AT_A_TIME:
        return transform_corpus(trained, corpus, options, chain, response)


def _threads() -> int | None:
    """Return how many threads a worker of Dask may use; all, if this is none."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return None
