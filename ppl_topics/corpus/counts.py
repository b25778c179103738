"""Word ids and counts in CSR form: checked, and expanded into tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import IntArray, UInt32Array
from ppl_topics.corpus.token_arrays import sort_within_documents
from ppl_topics.errors import CorpusError

__all__ = ["check_csr", "expand_counts"]

MAX_WORDS = 2**32
MAX_COUNT = 2**31 - 1


def expand_counts(
    doc_ptr: npt.ArrayLike,
    word_ids: npt.ArrayLike,
    counts: npt.ArrayLike | None,
    *,
    n_words: int | None,
    name: Callable[[int], str],
) -> tuple[IntArray, UInt32Array]:
    """Turn counts in CSR form into tokens in CSR form, sorted: doc_ptr of shape (D + 1,), words of shape (N,).

    Word ids must be below `n_words`, if that is given; `name` names document d in messages. Counts of None are 1.
    """
    ptr, ids, values = check_csr(doc_ptr, word_ids, counts)
    limit = MAX_WORDS if n_words is None else n_words

    def document(entry: int) -> str:
        return name(int(np.searchsorted(ptr, entry, side="right")) - 1)

    bad = (ids < 0) | (ids >= limit)
    if bad.any():
        entry = int(np.argmax(bad))
        raise CorpusError(
            f"{document(entry)} has word id {ids[entry]}; "
            f"expected ids from 0 to {limit - 1}, positions in the vocabulary"
        )
    if values is None:
        words = ids.astype(np.uint32)
    else:
        repeats = _whole_counts(values, ids, document)
        words = np.repeat(ids.astype(np.uint32), repeats)
        ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(repeats)])[ptr]
    sort_within_documents(ptr, words)
    return ptr, words


def check_csr(
    doc_ptr: npt.ArrayLike, word_ids: npt.ArrayLike, counts: npt.ArrayLike | None
) -> tuple[IntArray, npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return the arrays of counts in CSR form; raise a `CorpusError` if their types or lengths are wrong.

    The values of word ids and counts are not checked.
    """
    pointer, ids = np.asarray(doc_ptr), np.asarray(word_ids)
    if pointer.ndim != 1 or pointer.dtype.kind not in "iu" or not len(pointer) or pointer[0] != 0:
        raise CorpusError("doc_ptr must be a one-dimensional array of integers that starts with 0")
    ptr = pointer.astype(np.int64)
    if np.any(ptr[1:] < ptr[:-1]):
        raise CorpusError(f"doc_ptr decreases after document {int(np.argmax(ptr[1:] < ptr[:-1]))}")
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise CorpusError("word ids must be a one-dimensional array of integers")
    if ptr[-1] != len(ids):
        raise CorpusError(f"doc_ptr ends at {ptr[-1]}, but there are {len(ids)} word ids; the two must agree")
    if counts is None:
        return ptr, ids, None
    values = np.asarray(counts)
    if values.shape != ids.shape:
        raise CorpusError(f"there are {values.size} counts for {ids.size} word ids; give one count per word id")
    if values.size and values.dtype.kind not in "biuf":
        raise CorpusError(f"counts are of type {values.dtype}; expected whole numbers")
    return ptr, ids, values


def _whole_counts(counts: npt.NDArray[Any], ids: npt.NDArray[Any], document: Callable[[int], str]) -> IntArray:
    values = counts.astype(np.float64) if counts.dtype.kind == "f" else counts.astype(np.int64)
    with np.errstate(invalid="ignore"):
        fine = (values >= 0) & (values <= MAX_COUNT) & (values == np.floor(values))
    if not fine.all():
        entry = int(np.argmin(fine))
        raise CorpusError(
            f"{document(entry)} has count {counts[entry]} for word id {ids[entry]}; "
            "counts must be whole numbers, zero or more (weights such as tf-idf are not counts)"
        )
    return values.astype(np.int64)
