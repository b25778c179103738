"""Centring and scaling of covariates and targets, so that one prior fits the coefficients of all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ppl_topics._util.arrays import FloatArray
from ppl_topics.corpus.covariates import CovariateMatrix, Covariates
from ppl_topics.corpus.formulas import FittedFormula

__all__ = ["Scaling", "moments", "no_scaling", "scaling_of_formula", "standardising"]

DENSE_FROM = 0.5
"""A column of a sparse matrix is centred only if at least this share of its values is not zero."""


class Scaling(NamedTuple):
    """Means and scales of columns, shape (P,), to turn them into (x - mean) / scale; a scale of 0 gives zeros.

    With a formula, they are those of the features that it makes of the columns.
    """

    mean: FloatArray
    scale: FloatArray
    formula: FittedFormula | None = None

    def apply(self, matrix: CovariateMatrix) -> CovariateMatrix:
        """Return the columns of a matrix of shape (D, P) centred and scaled; a sparse matrix stays sparse.

        With a formula, its features are returned.
        """
        if self.formula is not None:
            matrix = self.formula.apply(matrix)
        inverse = self.inverse
        if isinstance(matrix, np.ndarray):
            return np.asarray((matrix - self.mean) * inverse)
        rows: Any = sparse.csr_array(matrix)
        scaled = rows.copy()
        scaled.data *= inverse[rows.indices]
        centred = np.flatnonzero((self.mean != 0.0) & (self.scale > 0.0))
        if centred.size:
            shift = np.broadcast_to(-self.mean[centred] * inverse[centred], (rows.shape[0], centred.size))
            places = (np.repeat(np.arange(rows.shape[0]), centred.size), np.tile(centred, rows.shape[0]))
            scaled = scaled + sparse.coo_array((shift.ravel(), places), shape=rows.shape)
        result: sparse.csr_array = sparse.csr_array(scaled)
        return result

    def undo(self, values: FloatArray) -> FloatArray:
        """Return columns, shape (..., P), that were centred and scaled in their own units again."""
        return np.asarray(self.mean + values * self.scale)

    @property
    def inverse(self) -> FloatArray:
        """1 / scale, and 0 where that is 0, shape (P,)."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0.0)


def scaling_of_formula(formula: FittedFormula, matrix: CovariateMatrix, standardise: bool) -> Scaling:
    """Return the scaling of the features of a formula; those of categories alone stay as they are."""
    mean, scale = np.zeros(len(formula.names)), np.ones(len(formula.names))
    if standardise and matrix.shape[0]:
        for j, values in enumerate(formula.apply(matrix).T):
            if formula.numbers[j]:
                mean[j], scale[j] = moments(values)
    return Scaling(mean, scale, formula)


def no_scaling(covariates: Covariates) -> Scaling:
    """Return the scaling that leaves all columns as they are."""
    return Scaling(np.zeros(covariates.n_columns), np.ones(covariates.n_columns))


def standardising(covariates: Covariates) -> Scaling:
    """Return the scaling of columns of numbers to mean 0 and standard deviation 1; columns of categories stay.

    In a sparse matrix a column with mostly zeros is scaled but not centred, so that it stays sparse. A constant
    column has scale 0.

    Examples
    --------
    >>> made = Covariates.from_matrix([[1.0, 5.0], [3.0, 5.0]])
    >>> standardising(made).apply(made.matrix)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    n_docs = len(covariates)
    if n_docs == 0:
        return no_scaling(covariates)
    scaling = no_scaling(covariates)
    real = np.repeat(
        [column.levels is None for column in covariates.columns],
        [len(column.names) for column in covariates.columns],
    )
    by_column: Any = covariates.matrix
    if not isinstance(by_column, np.ndarray):
        by_column = sparse.csc_array(by_column)
    for j in np.flatnonzero(real):
        if isinstance(by_column, np.ndarray):
            values, zeros = by_column[:, j], 0
        else:
            values = by_column.data[by_column.indptr[j] : by_column.indptr[j + 1]]
            zeros = n_docs - len(values)
        scaling.mean[j], scaling.scale[j] = moments(values, zeros)
        if zeros > (1.0 - DENSE_FROM) * n_docs:
            scaling.mean[j] = 0.0
    return scaling


def moments(values: FloatArray, zeros: int = 0) -> tuple[float, float]:
    """Return mean and standard deviation of the values and a number of zeros; (value, 0) if all are equal or none."""
    number = len(values) + zeros
    if not number:
        return 0.0, 0.0
    largest = float(np.abs(values).max(initial=0.0))
    least, most = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if zeros:
        least, most = min(least, 0.0), max(most, 0.0)
    # With rounding, the computed deviation of a constant column is small, but not zero.
    if least == most:
        return least, 0.0
    # Divide first, so that no square overflows.
    shares = values / largest
    mean = float(shares.sum()) / number
    variance = (float(((shares - mean) ** 2).sum()) + zeros * mean**2) / number
    return mean * largest, float(np.sqrt(variance)) * largest
