"""Labels of a corpus as numbers, one column for each response."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.argument_names import setting
from ppl_topics._util.arrays import FloatArray
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import CorpusError

__all__ = ["encode_counts", "encode_numbers", "encode_signs"]


LARGEST = 1e100
"""Beyond it, squares of targets overflow."""


def encode_signs(labels: Labels) -> tuple[FloatArray, list[str]]:
    """Return +1 where a class is the document's, or a label holds, and -1 elsewhere, for `Response.encode`.

    Two classes make one response, named after the second; more make one each, which share the topics.

    Parameters
    ----------
    labels : Labels

    Returns
    -------
    targets : ndarray of float64, shape (D, C)
        NaN where missing.
    names : list of str
        Of the C responses.

    Raises
    ------
    CorpusError
        If the labels are numbers, or there are fewer than two classes.
    """
    names = [str(name) for name in labels.classes]
    if labels.kind == "multi_label":
        targets = np.where(labels.values > 0, 1.0, -1.0)
        targets[labels.missing] = np.nan
        return targets, names
    if labels.kind != "class":
        raise CorpusError(
            f"it needs classes, but these labels are of kind {labels.kind!r}; "
            f"give {setting('label_kind', 'class')}, or use a model of numbers"
        )
    if len(names) < 2:
        found = f"all labels are {names[0]!r}" if names else "all labels are missing"
        raise CorpusError(f"it needs at least two classes, but {found}")
    targets = np.where(labels.values[:, None] == np.arange(len(names)), 1.0, -1.0)
    targets[labels.missing] = np.nan
    return (targets[:, 1:], names[1:]) if len(names) == 2 else (targets, names)


def encode_numbers(labels: Labels) -> tuple[FloatArray, list[str]]:
    """Return real targets as they are, for `Response.encode`.

    Parameters
    ----------
    labels : Labels

    Returns
    -------
    targets : ndarray of float64, shape (D, R)
        NaN where missing.
    names : list of str
        Of the R responses.

    Raises
    ------
    CorpusError
        If the labels are no numbers, or one is beyond 1e100.
    """
    if labels.kind not in ("real", "count"):
        raise CorpusError(_no_numbers(labels.kind, "real"))
    targets = _columns(labels)
    if targets.size and np.nanmax(np.abs(np.where(np.isnan(targets), 0.0, targets))) > LARGEST:
        raise CorpusError(f"a target is larger than {LARGEST:g}; scale the targets down")
    return targets, _names(labels, targets.shape[1])


def encode_counts(labels: Labels) -> tuple[FloatArray, list[str]]:
    """Return counts as they are, for `Response.encode`.

    Parameters
    ----------
    labels : Labels

    Returns
    -------
    targets : ndarray of float64, shape (D, R)
        NaN where missing.
    names : list of str
        Of the R responses.

    Raises
    ------
    CorpusError
        If the labels are no counts.
    """
    if labels.kind != "count":
        raise CorpusError(_no_numbers(labels.kind, "count"))
    targets = _columns(labels)
    return targets, _names(labels, targets.shape[1])


def _columns(labels: Labels) -> FloatArray:
    targets = np.where(labels.missing, np.nan, labels.values.astype(np.float64))
    return targets if targets.ndim == 2 else targets[:, None]


def _names(labels: Labels, size: int) -> list[str]:
    return [str(name) for name in labels.classes] if len(labels.classes) else ["y"] * size


def _no_numbers(kind: str, expected: str) -> str:
    return (
        f"it needs numbers, but these labels are of kind {kind!r}; "
        f"if they are numbers, give {setting('label_kind', expected)}"
    )
