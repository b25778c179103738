"""The training documents in groups: by a covariate or labels that a trace holds, or by a given value of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics._util.nearest import nearest
from ppl_topics.corpus.covariates import CovariateColumn, columns_from_json, level_name
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import document_lengths

__all__ = ["DocumentGroups", "document_groups", "stored_labels"]

LABELS = "labels"
"""The variable of ``observed_data`` with labels; that of one of several responses ends in its name."""

NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")
DATES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period")
"""What pandas calls values that are numbers, and dates."""


@dataclass(frozen=True)
class DocumentGroups:
    """Groups of the D training documents, each with at least one document. Documents without tokens are in none.

    Attributes
    ----------
    name : str
        What the documents are grouped by.
    values : ndarray, shape (G,)
        The value of each group: float64 or int64, in increasing order, or object for text.
    member : scipy.sparse.csr_array of float64, shape (G, D)
        1 where a document is in a group.
    """

    name: str
    values: NDArray[Any]
    member: sparse.csr_array

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers."""
        return self.values.dtype.kind in "if"

    @property
    def documents(self) -> IntArray:
        """Number of documents of each group, shape (G,)."""
        return np.diff(self.member.indptr).astype(np.int64)

    def codes(self) -> IntArray:
        """The position of each document's group, shape (D,), -1 for none.

        Raises
        ------
        TraceError
            If a document is in several groups, as it is of several labels.
        """
        entries = self.member.tocoo()
        if len(np.unique(entries.col)) < entries.nnz:
            raise TraceError(f"{self.name!r}: a document may have several of these; give one value for each document")
        codes = np.full(self.member.shape[1], -1, dtype=np.int64)
        codes[entries.col] = entries.row
        return codes


def document_groups(groups: Mapping[str, xr.Dataset], by: Any, bins: Any = None) -> DocumentGroups:
    """Return the training documents in groups.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    by : str or array_like, shape (D,)
        The name of a covariate of the corpus, ``labels``, or the name of one of several responses; or a value for each
        document, in the order of the corpus. Numbers are groups in increasing order; text, booleans and pandas
        categories are groups in the order of the categories. None, NaN and missing labels are in no group.
    bins : int or sequence of float, optional
        Of numbers: so many groups of about equally many documents, or the ends of intervals. An interval holds its
        lower end, the last one both. The value of a group is the mean of its documents'.

    Raises
    ------
    TraceError
        If the trace holds nothing of this name, the values are not one for each document, or no document has any.
    """
    lengths = document_lengths(groups)
    if isinstance(by, str):
        name, labels = by, _stored(groups, by)
    else:
        name, labels = _given(by, len(lengths))
    if bins is not None and labels.kind not in ("real", "count"):
        raise TraceError(f"bins: are of numbers, and {name!r} has categories; leave bins out")
    full = lengths > 0
    if labels.kind == "multi_label":
        values, (rows, docs) = np.asarray(labels.classes), np.nonzero((labels.values == 1).T)
    elif labels.kind == "class":
        values, docs = np.asarray(labels.classes), np.flatnonzero(labels.values >= 0)
        rows = labels.values[docs].astype(np.int64)
    else:
        values, rows, docs = _of_numbers(name, labels, full, bins)
    kept = full[docs]
    rows, docs = rows[kept], docs[kept]
    found, rows = np.unique(rows, return_inverse=True)
    if not len(found):
        raise TraceError(f"{name!r}: no document with tokens has a value")
    member = sparse.csr_array((np.ones(len(docs)), (rows, docs)), shape=(len(found), len(lengths)))
    return DocumentGroups(name, values[found], member)


def stored_labels(groups: Mapping[str, xr.Dataset], variable: str = LABELS) -> Labels | None:
    """Return labels that a trace holds, by the name of their variable; None unless it holds them and their kind."""
    observed = groups.get("observed_data", xr.Dataset())
    if variable not in observed or "kind" not in observed[variable].attrs:
        return None
    found = observed[variable]
    if found.ndim == 2:
        names = str(found.dims[1])
    else:
        names = "topic_label" if variable == "topic_labels" else f"class{variable.removeprefix(LABELS)}"
    classes = [str(each) for each in observed[names].values.tolist()] if names in observed.coords else []
    return Labels(found.attrs["kind"], found.values, np.array(classes, dtype=object))


def _stored(groups: Mapping[str, xr.Dataset], name: str) -> Labels:
    """Return a covariate or labels that a trace holds, in the form of labels."""
    constants, observed = groups["constant_data"], groups.get("observed_data", xr.Dataset())
    columns: tuple[CovariateColumn, ...] = ()
    if {"covariates", "covariate_columns"} <= set(constants.data_vars):
        columns = columns_from_json(str(constants["covariate_columns"].item()))
    first = 0
    for column in columns:
        if column.name == name:
            matrix = constants["covariates"].transpose("doc", "covariate")
            return _of_covariate(column, matrix[:, first : first + len(column.names)].values)
        first += len(column.names)
    variables = {
        str(variable).removeprefix(f"{LABELS}_"): str(variable)
        for variable in observed.data_vars
        if variable in (LABELS, "topic_labels") or str(variable).startswith(f"{LABELS}_")
    }
    labels = stored_labels(groups, variables[name]) if name in variables else None
    if labels is None:
        known = [*(column.name for column in columns), *variables]
        raise TraceError(
            f"the trace holds no covariate or labels {name!r}{nearest(name, known)}; or give a value for each document"
        )
    if labels.kind in ("real", "count") and labels.values.ndim == 2:
        if labels.values.shape[1] > 1:
            raise TraceError(f"{name!r} has several numbers for each document; give the values of one of them")
        return Labels(labels.kind, labels.values[:, 0])
    return labels


def _of_covariate(column: CovariateColumn, values: FloatArray) -> Labels:
    """Return the values of a covariate, of shape (D, 1) if they are numbers and else of 0 and 1."""
    if column.levels is None:
        return Labels("real", values[:, 0])
    places = [place for place, level in enumerate(column.levels) if level != column.reference]
    # Zeros are the category without a column, or one that training did not know.
    other = -1 if column.reference is None else column.levels.index(column.reference)
    codes = np.full(len(values), other, dtype=np.int32)
    if places:
        known = values.any(axis=1)
        codes[known] = np.array(places)[values[known].argmax(axis=1)]
    return Labels("class", codes, np.array(column.levels, dtype=object))


def _given(values: Any, n_docs: int) -> tuple[str, Labels]:
    """Return values that were given for each document, in the form of labels, and their name."""
    expected = f"expected a name, or a number or text for each of {n_docs:,} documents"
    try:
        if isinstance(values, Mapping | pd.DataFrame | set):
            raise TypeError
        series = pd.Series(values)
    except (TypeError, ValueError):
        raise TraceError(f"{expected}, got {type(values).__name__}") from None
    if len(series) != n_docs:
        raise TraceError(f"{expected}, got {len(series):,}")
    name = series.name if isinstance(series.name, str) and series.name else "group"
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind in DATES:
        raise TraceError(f"{name!r} has dates; give their years, such as dates.dt.year, or text")
    try:
        if kind in NUMBERS and not isinstance(series.dtype, pd.CategoricalDtype):
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            if np.isinf(numbers).any():
                raise OverflowError
            return name, Labels("real", numbers)
        # No name is a missing one, as of labels.
        found = pd.Categorical(series.mask(series.isin([""]))).remove_unused_categories()
    except OverflowError:
        raise TraceError(f"{name!r} has a number that is not finite; leave it out as NaN") from None
    except (TypeError, ValueError):
        raise TraceError(f"{name!r}: {expected}, got values of type {kind}") from None
    names = [level_name(level) for level in found.categories]
    if len(set(names)) < len(names):
        raise TraceError(f"{name!r}: two values are written alike; make all of them text")
    return name, Labels("class", found.codes.astype(np.int32), np.array(names, dtype=object))


def _of_numbers(name: str, labels: Labels, full: BoolArray, bins: Any) -> tuple[NDArray[Any], IntArray, IntArray]:
    """Return the values of groups of numbers, and the group of each document that is in one."""
    docs = np.flatnonzero(~labels.missing & full)
    numbers = labels.values[docs].astype(np.float64)
    if bins is None or not len(docs):
        values, rows = np.unique(numbers, return_inverse=True)
    else:
        edges = _edges(name, numbers, bins)
        last = max(0, len(edges) - 2)
        rows = np.searchsorted(edges, numbers, side="right") - 1
        rows[numbers == edges[-1]] = last
        inside = (rows >= 0) & (rows <= last)
        docs, numbers, rows = docs[inside], numbers[inside], rows[inside]
        sizes = np.bincount(rows, minlength=last + 1)
        values = np.bincount(rows, numbers, minlength=last + 1) / np.maximum(sizes, 1)
    whole = bool((values == np.round(values)).all()) and bool((np.abs(values) < 2**53).all())
    return values.astype(np.int64) if whole else values, rows.astype(np.int64), docs


def _edges(name: str, numbers: FloatArray, bins: Any) -> FloatArray:
    """Return the ends of the intervals, in increasing order."""
    if is_whole(bins):
        if bins < 1:
            raise TraceError(f"bins: must be at least 1, or the ends of intervals, got {bins!r}")
        return np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, int(bins) + 1)))
    wanted = "bins: expected a whole number, or at least two numbers in increasing order"
    if isinstance(bins, str) or not isinstance(bins, Sequence | np.ndarray):
        raise TraceError(f"{wanted}, got {bins!r}")
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        raise TraceError(f"{wanted}, got {bins!r}") from None
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise TraceError(f"{wanted}, got {bins!r}")
    return edges
