"""Covariates: real and categorical columns that describe documents, as a numerical matrix."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.corpus.frames import is_frame, to_pandas
from ppl_topics.corpus.names import (
    DocIds,
    DocumentError,
    StrArray,
    as_names,
    document_name,
    is_finite,
    listed,
    number_names,
)
from ppl_topics.errors import CorpusError

__all__ = [
    "CovariateColumn",
    "CovariateMatrix",
    "CovariateWarning",
    "Covariates",
    "as_covariates",
    "columns_from_json",
    "columns_to_json",
    "level_name",
]

CovariateMatrix: TypeAlias = "FloatArray | sparse.csr_array"

SPARSE_FROM = 128
"""A matrix made from a data frame is sparse if it has at least this number of columns."""


class CovariateWarning(UserWarning):
    """Covariates carry less information than it seems.

    They are not used by the model, a column is constant, or a category is unknown in training.
    """


@dataclass(frozen=True)
class CovariateColumn:
    """How one column of the user's data frame is encoded."""

    name: str
    levels: tuple[str, ...] | None = None  # categories, in order; None for a column of real numbers
    reference: str | None = None  # the category without its own column

    @property
    def names(self) -> list[str]:
        """Names of the columns of the matrix that it becomes."""
        if self.levels is None:
            return [self.name]
        return [f"{self.name}[{level}]" for level in self.levels if level != self.reference]


def columns_to_json(columns: Sequence[CovariateColumn]) -> str:
    """Write columns with their categories as JSON."""
    return json.dumps([[column.name, column.levels, column.reference] for column in columns])


def columns_from_json(text: str) -> tuple[CovariateColumn, ...]:
    """Read the output of `columns_to_json`.

    Examples
    --------
    >>> columns_from_json('[["year", null, null], ["source", ["AP", "BBC"], "AP"]]')[1].names
    ['source[BBC]']
    """
    return tuple(
        CovariateColumn(name, None if levels is None else tuple(levels), reference)
        for name, levels, reference in json.loads(text)
    )


@dataclass(frozen=True, eq=False, repr=False)
class Covariates:
    """The covariates of the documents, and how to encode new documents in the same way.

    Make them with `from_frame` or `from_matrix`.

    Parameters
    ----------
    matrix : ndarray or scipy.sparse.csr_array of shape (D, P), dtype float64
        The values, not standardised.
    columns : tuple of CovariateColumn
        The columns of the data frame that it came from.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"year": [1999, 2004, 2004], "source": ["BBC", "AP", "BBC"]})
    >>> covariates = Covariates.from_frame(frame, drop="first")
    >>> covariates
    Covariates: 3 documents, 2 columns: year, source[BBC]
    >>> covariates.encode(pd.DataFrame({"source": ["AP"], "year": [2010]})).matrix
    array([[2010.,    0.]])
    """

    matrix: CovariateMatrix
    columns: tuple[CovariateColumn, ...]

    def __post_init__(self) -> None:
        if sparse.issparse(self.matrix):
            matrix: Any = sparse.csr_array(self.matrix).astype(np.float64, copy=False)
            parts = [matrix.data, matrix.indices, matrix.indptr]
            matrix.data, matrix.indices, matrix.indptr = (_read_only(part) for part in parts)
        else:
            matrix = _read_only(np.asarray(self.matrix, dtype=np.float64))
        if matrix.ndim != 2:
            raise CorpusError(f"the covariates have {matrix.ndim} dimensions; expected documents by columns")
        object.__setattr__(self, "matrix", matrix)
        if matrix.shape[1] != len(self.names):
            raise CorpusError(
                f"the covariates have {matrix.shape[1]} columns, but {len(self.names)} names; they must agree"
            )

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:6]) + (", ..." if self.n_columns > 6 else "")
        return f"Covariates: {len(self):,} documents, {self.n_columns:,} columns: {shown}"

    @property
    def n_columns(self) -> int:
        """Number of columns P of the matrix."""
        return int(self.matrix.shape[1])

    @cached_property
    def names(self) -> StrArray:
        """Names of the columns of the matrix, shape (P,), such as ``"year"`` and ``"source[BBC]"``."""
        return as_names([name for column in self.columns for name in column.names], "covariate")

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is a sparse one."""
        return bool(sparse.issparse(self.matrix))

    def toarray(self) -> FloatArray:
        """Return the matrix as an ndarray of shape (D, P)."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix
        dense: FloatArray = self.matrix.toarray()
        return dense

    @classmethod
    def from_matrix(cls, matrix: Any, names: Iterable[str] | None = None, *, doc_ids: DocIds = None) -> Covariates:
        """Take a matrix of real numbers.

        Parameters
        ----------
        matrix : array-like or SciPy sparse matrix of shape (D, P)
        names : iterable of P str, optional
            Names of the columns; by default "0", "1", ....
        doc_ids : array of str, optional
            Ids, to name documents in messages.

        Raises
        ------
        CorpusError
            If a value is missing, infinite or not a number, or the lengths disagree.
        """
        is_sparse = bool(sparse.issparse(matrix))
        try:
            values: Any = sparse.csr_array(matrix, copy=True) if is_sparse else np.array(matrix)
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise CorpusError(f"the covariates are not a matrix of numbers: {error}") from None
        if values.ndim != 2:
            raise CorpusError(f"the covariates have {values.ndim} dimensions; expected documents by columns")
        given = number_names(values.shape[1]) if names is None else as_names(names, "covariate")
        made = cls(values, tuple(CovariateColumn(name) for name in given))
        if not np.isfinite(values.data if is_sparse else values).all():
            entries = sparse.coo_array(values)
            at = int(np.argmin(np.isfinite(entries.data)))
            raise _not_a_number(given[entries.col[at]], int(entries.row[at]), entries.data[at], doc_ids)
        return made

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        drop: Literal["first"] | None = None,
        categorical: Iterable[str] = (),
        doc_ids: DocIds = None,
    ) -> Covariates:
        """Encode a data frame: numbers as they are, each category as a column of 0 and 1.

        Parameters
        ----------
        frame : pandas.DataFrame, or a table that speaks Arrow
            A document a row; the index is ignored. Booleans count as the numbers 0 and 1; text and pandas
            categories as categories.
        drop : {"first"}, optional
            Leave out the first category of each column, as the one to compare with.
        categorical : iterable of str
            Columns of numbers to read as categories.
        doc_ids : array of str, optional
            Ids, to name documents in messages.

        Returns
        -------
        Covariates

        Raises
        ------
        CorpusError
            If a value is missing or infinite, a column has dates or other objects, or a name occurs twice.
        """
        if drop not in (None, "first"):
            raise CorpusError(f"drop is {drop!r}; expected 'first' or None")
        frame = to_pandas(frame)
        names = as_names([str(column) for column in frame.columns], "covariate")
        forced = {str(column) for column in categorical}
        if not forced <= set(names):
            raise CorpusError(f"there is no column {min(forced - set(names))!r} among the covariates")
        columns = []
        for position, name in enumerate(names):
            series = frame.iloc[:, position]
            if name in forced or _is_categorical(name, series):
                levels = _levels(name, series, doc_ids)
                columns.append(CovariateColumn(name, levels, levels[0] if drop and levels else None))
            else:
                columns.append(CovariateColumn(name))
        return _encode(tuple(columns), frame.set_axis(list(names), axis=1), allow_unknown=False, doc_ids=doc_ids)

    def encode(self, frame: pd.DataFrame, *, allow_unknown: bool = False, doc_ids: DocIds = None) -> Covariates:
        """Encode new documents with the same columns.

        Parameters
        ----------
        frame : pandas.DataFrame
            A document a row, with the same columns, in any order; others are ignored.
        allow_unknown : bool
            Encode a category that was not seen before as zeros, instead of refusing it.
        doc_ids : array of str, optional
            Ids, to name documents in messages.

        Returns
        -------
        Covariates
            Its matrix has shape (D of the frame, P).

        Raises
        ------
        CorpusError
            If a column is missing, a value is missing or not a number, or a category is unknown.
        """
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        return _encode(self.columns, frame, allow_unknown=allow_unknown, doc_ids=doc_ids)

    def select(self, index: IntArray) -> Covariates:
        """Return the covariates of the documents at these positions."""
        return Covariates(self.matrix[index], self.columns)


def as_covariates(value: Any, *, doc_ids: DocIds = None) -> Covariates | None:
    """Return covariates from `Covariates`, a data frame, columns by name, mappings, or a matrix; None from None."""
    if value is None or isinstance(value, Covariates):
        return value
    if isinstance(value, Mapping):
        try:
            value = pd.DataFrame(dict(value))
        except ValueError as error:
            raise CorpusError(f"the covariates are not columns by name: {error}") from None
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        value = pd.DataFrame.from_records([dict(row) for row in value])
    if is_frame(value):
        return Covariates.from_frame(value, doc_ids=doc_ids)
    return Covariates.from_matrix(value, doc_ids=doc_ids)


def _encode(
    columns: tuple[CovariateColumn, ...], frame: pd.DataFrame, *, allow_unknown: bool, doc_ids: DocIds
) -> Covariates:
    wide = sum(len(column.names) for column in columns) >= SPARSE_FROM
    blocks: list[Any] = [sparse.csr_array((len(frame), 0)) if wide else np.zeros((len(frame), 0))]
    for column in columns:
        if column.name not in frame.columns:
            raise CorpusError(f"the covariates have no column {column.name!r}; give it for each document")
        series = frame[column.name]
        if series.ndim != 1:
            raise CorpusError(f"the covariates have several columns {column.name!r}; rename all but one")
        if column.levels is None:
            values = _real_values(column.name, series, doc_ids)[:, None]
            blocks.append(sparse.csr_array(values) if wide else values)
        else:
            codes = _codes(column, column.levels, series, allow_unknown, doc_ids)
            rows, shape = np.flatnonzero(codes >= 0), (len(codes), len(column.names))
            block = sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=shape)
            blocks.append(block if wide else block.toarray())
    return Covariates(sparse.csr_array(sparse.hstack(blocks)) if wide else np.hstack(blocks), columns)


def _is_categorical(name: str, series: pd.Series[Any]) -> bool:
    found = pd.api.types.infer_dtype(series, skipna=True)
    if isinstance(series.dtype, pd.CategoricalDtype) or found in ("string", "mixed-integer", "mixed", "categorical"):
        return True
    if found in ("integer", "floating", "boolean", "mixed-integer-float", "decimal", "empty"):
        return False
    raise CorpusError(f"covariate {name!r} has values of type {found!r}; convert them to numbers or strings first")


def _texts(name: str, series: pd.Series[Any], doc_ids: DocIds) -> list[str]:
    gone = series.isna().to_numpy()
    if gone.any():
        index = int(np.argmax(gone))
        raise DocumentError(
            f"covariate {name!r} of {document_name(index, doc_ids)} is missing; "
            "fill it in, for example with a category for missing values",
            index,
        )
    return [level_name(value) for value in series.tolist()]


def _levels(name: str, series: pd.Series[Any], doc_ids: DocIds) -> tuple[str, ...]:
    """Return the categories that occur, in the order of a pandas category, or else sorted."""
    values = set(_texts(name, series, doc_ids))
    if isinstance(series.dtype, pd.CategoricalDtype):
        names = [level_name(level) for level in series.cat.categories]
        return tuple(name for name in names if name in values)
    if pd.api.types.is_numeric_dtype(series.dtype):
        return tuple(level_name(value) for value in sorted(series.unique().tolist()))
    return tuple(sorted(values))


def level_name(value: Any) -> str:
    """Name a category; 9 and 9.0 are the same one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _codes(
    column: CovariateColumn,
    levels: tuple[str, ...],
    series: pd.Series[Any],
    allow_unknown: bool,
    doc_ids: DocIds,
) -> IntArray:
    """Return the position of each document's category among the matrix columns, -1 for none."""
    kept = [level for level in levels if level != column.reference]
    position: dict[str | None, int] = {column.reference: -1, **{level: i for i, level in enumerate(kept)}}
    texts = _texts(column.name, series, doc_ids)
    unknown = next((i for i, text in enumerate(texts) if text not in position), None)
    if unknown is not None and not allow_unknown:
        raise DocumentError(
            f"covariate {column.name!r} of {document_name(unknown, doc_ids)} is {texts[unknown]!r}, an unknown "
            f"category; the known ones are {listed(levels)} (allow_unknown=True encodes it as zeros)",
            unknown,
        )
    return np.array([position.get(text, -1) for text in texts], dtype=np.int64)


def _real_values(name: str, series: pd.Series[Any], doc_ids: DocIds) -> FloatArray:
    try:
        values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        # A whole number beyond the largest float.
        given = series.tolist()
        values = np.array([float(v) if isinstance(v, int | float) and is_finite(v) else np.inf for v in given])
    fine = np.isfinite(values)
    if not fine.all():
        index = int(np.argmin(fine))
        raise _not_a_number(name, index, series.iloc[index], doc_ids)
    return values


def _not_a_number(name: str, index: int, value: Any, doc_ids: DocIds) -> DocumentError:
    where = f"covariate {name!r} of {document_name(index, doc_ids)}"
    if pd.isna(value):
        return DocumentError(f"{where} is missing; fill it in, or leave out the document or the column", index)
    return DocumentError(f"{where} is {str(value)!r}; expected a finite number", index)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
