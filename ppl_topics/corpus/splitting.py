"""The choice of test documents, the same on every machine and with every NumPy version."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, Int32Array
from ppl_topics.errors import CorpusError

__all__ = ["choose_test"]


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
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CorpusError(f"seed is {seed!r}; expected a non-negative integer")
    if classes is not None and stratify is not False:
        stratum = classes.astype(np.int64) + 1  # documents without a label form a stratum too
    else:
        stratum = np.zeros(n_docs, dtype=np.int64)
    sizes = np.bincount(stratum)
    exact = sizes * (n_test / n_docs)
    quotas = np.floor(exact).astype(np.int64)
    left = n_test - int(quotas.sum())
    quotas[np.argsort(quotas - exact, kind="stable")[:left]] += 1

    keys = np.random.PCG64(int(seed)).random_raw(n_docs)
    order = np.lexsort((keys, stratum))
    rank = np.empty(n_docs, dtype=np.int64)
    rank[order] = np.arange(n_docs)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    chosen: BoolArray = rank - first[stratum] < quotas[stratum]
    return chosen


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
