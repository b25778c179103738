"""Cholesky factorisation of matrices of which the upper triangle is filled, and solutions by the factor.

What is below the diagonal is never read. Rows and columns are scaled first so that the diagonal is one: nothing is lost
where coefficients are of very different scales.
"""

from __future__ import annotations

import math

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, tight

__all__ = ["FINE", "NOT_FINITE", "factorise", "scale_to_unit", "solve", "solve_transposed"]


SMALLEST_PIVOT = 1e-12
"""Of a matrix with a diagonal of ones: below it, the pivot is mostly the rounding errors of the Gram matrix."""

PANEL = 32
"""Rows that the factorisation applies to those below them at a time, so that they stay in the cache."""

FINE, NOT_FINITE = -1, -2
"""What functions return in place of the number of a row that fails."""


@compiled
def factorise(upper: FloatArray) -> int:
    """Replace the upper triangle of A by the U of A = U'U; return -1, or the first row whose pivot is too small."""
    size = upper.shape[0]
    for first in range(0, size, PANEL):
        last = min(first + PANEL, size)
        for row in range(first, last):
            subtract_rows(upper, first, row, row)
            pivot = upper[row, row]
            if not SMALLEST_PIVOT < pivot < math.inf:
                return row
            inverse = 1.0 / math.sqrt(pivot)
            for column in range(row, size):
                upper[row, column] *= inverse
        for row in range(last, size):
            subtract_rows(upper, first, last, row)
    return FINE


@tight
def subtract_rows(upper: FloatArray, first: int, last: int, target: int) -> None:
    """Subtract from a row, right of the diagonal, the rows `first` to `last` - 1, each times its entry above it."""
    row = upper[target, target:]
    k = first
    while k + 4 <= last:
        a, b, c, d = upper[k, target], upper[k + 1, target], upper[k + 2, target], upper[k + 3, target]
        row_a, row_b, row_c, row_d = (
            upper[k, target:],
            upper[k + 1, target:],
            upper[k + 2, target:],
            upper[k + 3, target:],
        )
        for column in range(row.size):
            row[column] -= a * row_a[column] + b * row_b[column] + c * row_c[column] + d * row_d[column]
        k += 4
    while k < last:
        a, row_a = upper[k, target], upper[k, target:]
        for column in range(row.size):
            row[column] -= a * row_a[column]
        k += 1


@tight
def solve_transposed(upper: FloatArray, values: FloatArray) -> None:
    """Replace `values` by the solution x of U'x = values."""
    for k in range(values.size):
        values[k] /= upper[k, k]
        for j in range(k + 1, values.size):
            values[j] -= upper[k, j] * values[k]


@tight
def solve(upper: FloatArray, values: FloatArray) -> None:
    """Replace `values` by the solution x of Ux = values."""
    for k in range(values.size - 1, -1, -1):
        total = values[k]
        for j in range(k + 1, values.size):
            total -= upper[k, j] * values[j]
        values[k] = total / upper[k, k]


@tight
def scale_to_unit(upper: FloatArray, unit: FloatArray) -> int:
    """Scale rows and columns by `unit`, which is set so that the diagonal is one; return `FINE` or `NOT_FINITE`."""
    for row in range(unit.size):
        if not 0.0 < upper[row, row] < math.inf:
            return NOT_FINITE
        unit[row] = 1.0 / math.sqrt(upper[row, row])
    for row in range(unit.size):
        upper[row, row] = 1.0
        for other in range(row + 1, unit.size):
            upper[row, other] *= unit[row] * unit[other]
    return FINE
