"""The choice of test documents, and of folds, the same on every machine and with every NumPy version."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, Int32Array, IntArray
from ppl_topics.errors import CorpusError

__all__ = ["choose_folds", "choose_test"]


def choose_test(
    n_docs: int, classes: Int32Array | None, test: float | int, *, seed: int, stratify: bool | None
) -> BoolArray:
    """Choose test documents at random, without replacement: a mask of shape (n_docs,).

    The raw output of a bit generator, which NumPy keeps fixed for ever, gives each document a key; the
    documents with the smallest keys are chosen, in each class if there are classes (codes, -1 where missing).
    """
    n_test = _test_size(test, n_docs)
    if stratify and classes is None:
        raise CorpusError("stratify=True needs class labels, but this corpus has none")
    stratum = _strata(n_docs, None if stratify is False else classes)
    order = _shuffled(stratum, seed)
    sizes = np.bincount(stratum)
    exact = sizes * (n_test / n_docs)
    quotas = np.floor(exact).astype(np.int64)
    left = n_test - int(quotas.sum())
    quotas[np.argsort(quotas - exact, kind="stable")[:left]] += 1

    rank = np.empty(n_docs, dtype=np.int64)
    rank[order] = np.arange(n_docs)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    chosen: BoolArray = rank - first[stratum] < quotas[stratum]
    return chosen


def choose_folds(n_docs: int, classes: Int32Array | None, folds: int, *, seed: int) -> IntArray:
    """Deal the documents out to folds at random: the fold of each, shape (n_docs,).

    Folds differ in size by one document at most, and so do the parts of each class in them.
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= n_docs:
        raise CorpusError(
            f"folds is {folds!r}; expected a whole number from 2 to {n_docs:,}, the number of documents, such as 5"
        )
    fold = np.empty(n_docs, dtype=np.int64)
    # Dealt out one class after another, each fold gets its share of all.
    fold[_shuffled(_strata(n_docs, classes), seed)] = np.arange(n_docs) % folds
    return fold


def _strata(n_docs: int, classes: Int32Array | None) -> IntArray:
    """Return the stratum of each document: its class, or one for all; documents without a label form one too."""
    return np.zeros(n_docs, dtype=np.int64) if classes is None else classes.astype(np.int64) + 1


def _shuffled(stratum: IntArray, seed: int) -> IntArray:
    """Return the documents one stratum after another, in each at random."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CorpusError(f"seed is {seed!r}; expected a non-negative integer")
    return np.lexsort((np.random.PCG64(int(seed)).random_raw(len(stratum)), stratum))


def _test_size(test: float | int, n_docs: int) -> int:
    if isinstance(test, bool) or not isinstance(test, int | float | np.integer | np.floating):
        raise CorpusError(f"test is {test!r}; expected a share in (0, 1) or a number of documents")
    if isinstance(test, int | np.integer):
        size = int(test)
    elif 0 < test < 1:
        size = min(max(round(float(test) * n_docs), 1), n_docs - 1)
    else:
        raise CorpusError(f"test is {test!r}; a share lies strictly between 0 and 1")
    if not 0 < size < n_docs:
        raise CorpusError(f"test={test!r} of {n_docs} documents leaves one part empty; both need at least one document")
    return size
