"""Coefficients drawn by a QR factorisation, for where the Gram matrix loses their prior to rounding.

Where features are collinear and the prior of their coefficients is wide, as a horseshoe's may become in any sweep, the
precision of the coefficients is the Gram matrix but for less than its last bits. Reflections of the features themselves
see twice as many.

References
----------
G. H. Golub, C. F. Van Loan (2013). Matrix computations, 4th edition, algorithms 5.1.1 and 5.2.1, section 6.5.
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, tight
from ppl_topics.core.keys import Key
from ppl_topics.samplers.coefficients.conditional_normal import ResponseNormal
from ppl_topics.samplers.responses.features import Rows
from ppl_topics.samplers.variates.streams import new_stream, normal, start

__all__ = ["draw_by_reflections"]


SMALLEST_PIVOT = 1e-13
"""Of columns of length one: below it, the pivot is mostly the rounding errors of the features."""

BLOCK = 256
"""Documents whose features are in memory at a time."""


def draw_by_reflections(rows: Rows, distribution: ResponseNormal, key: Key, unit: int) -> tuple[FloatArray, int]:
    """Draw the coefficients of one response, b being 0 where omega is."""
    eta = np.empty(len(distribution.precision))
    return eta, draw(rows, distribution, key, unit, eta)


@compiled
def draw(rows: Rows, distribution: ResponseNormal, key: Key, unit: int, eta: FloatArray) -> int:
    """Draw into `eta` (see `draw_by_reflections`).

    With A the rows sqrt(omega_d) f_d and the roots of the prior's precision below them, Q = A'A = R'R and r = A'g,
    where g_d = b_d / sqrt(omega_d): reflections that make A triangular turn g into R^-T r.
    """
    ptr, columns, values = rows
    b, omega, precision = distribution
    size = precision.size
    scale = np.sqrt(precision)
    for doc in range(ptr.size - 1):
        for place in range(ptr[doc], ptr[doc + 1]):
            scale[columns[place]] = math.hypot(scale[columns[place]], math.sqrt(omega[doc]) * values[place])
    # The columns of A have length one, so that nothing is lost where coefficients are of very different scales.
    held, sums = np.zeros((size + max(BLOCK, size), size + 1)), np.empty(size + 1)
    filled = 0
    for doc in range(ptr.size - 1):
        if omega[doc] > 0.0:
            root = math.sqrt(omega[doc])
            for place in range(ptr[doc], ptr[doc + 1]):
                held[size + filled, columns[place]] = root * values[place] / scale[columns[place]]
            held[size + filled, size] = b[doc] / root
            filled += 1
        if filled == BLOCK or doc == ptr.size - 2:
            reflect(held, size, filled, sums)
            held[size:] = 0.0
            filled = 0
    for j in range(size):
        held[size + j, j] = math.sqrt(precision[j]) / scale[j]
    reflect(held, size, size, sums)
    stream = new_stream()
    start(stream, key, unit)
    for j in range(size):
        eta[j] = held[j, size] + normal(stream)
        if not SMALLEST_PIVOT < abs(held[j, j]) < math.inf:
            return j
    for j in range(size - 1, -1, -1):
        for other in range(j + 1, size):
            eta[j] -= held[j, other] * eta[other]
        eta[j] /= held[j, j]
    for j in range(size):
        eta[j] /= scale[j]
    return -1


@tight
def reflect(held: FloatArray, size: int, filled: int, sums: FloatArray) -> None:
    """Reflect (Householder) the `filled` rows from number `size` on into the triangle of the rows above them."""
    last = size + filled
    for k in range(size):
        length = abs(held[k, k])
        for row in range(size, last):
            length = math.hypot(length, held[row, k])
        if length == 0.0:
            continue
        target = -length if held[k, k] > 0.0 else length
        # The reflection is along (pivot - target, rest of the column).
        first = held[k, k] - target
        factor = -1.0 / (target * first)
        for column in range(k, size + 1):
            sums[column] = first * held[k, column]
        for row in range(size, last):
            along = held[row, k]
            for column in range(k, size + 1):
                sums[column] += along * held[row, column]
        for column in range(k, size + 1):
            held[k, column] -= factor * first * sums[column]
        for row in range(size, last):
            along = held[row, k]
            for column in range(k, size + 1):
                held[row, column] -= factor * along * sums[column]
