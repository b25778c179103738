"""Coefficients drawn one after another from their full conditionals, in parallel over responses.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD 2015, section 3.4.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray, IntArray, UInt32Array
from ppl_topics._util.compiled import parallel, signed, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal, conditional_normal
from ppl_topics.samplers.coefficients.gram import WIDTH, Columns, columns_of, padded, rows_of
from ppl_topics.samplers.responses.features import scores
from ppl_topics.samplers.variates.streams import integer, new_stream, normal, start

__all__ = ["coordinate_normal", "draw_by_coordinate"]


AtLeastOne = Annotated[int, pydantic.Field(ge=1)]


class Sweeps(NamedTuple):
    """What sweeps over the coefficients change, and what they need to.

    Attributes
    ----------
    values : ndarray of float64, shape (F, C')
        Coefficients, changed in place; C' is C rounded up to a multiple of `WIDTH`.
    prior : ndarray of float64, shape (F, C')
        Precision.
    order : ndarray of int64, shape (sweeps, F)
    noise : ndarray of float64, shape (sweeps, F, C')
        Standard normal, in the order of use.
    """

    values: FloatArray
    prior: FloatArray
    order: IntArray
    noise: FloatArray


def draw_by_coordinate(distribution: ConditionalNormal, eta: FloatArray, sweeps: int, key: Key) -> FloatArray:
    """Draw each coefficient given the others, in a random order that all responses share, in some sweeps over them.

    Given the others, coefficient j of response c is normal with precision q = precision_cj + sum_d omega_dc f_dj^2
    and mean (eta_cj sum_d omega_dc f_dj^2 + sum_d f_dj (b_dc - omega_dc s_dc)) / q. Response c has random stream c;
    the order of sweep t has C + t.
    """
    features, b, omega, precision = distribution
    n_classes, n_coefficients = precision.shape
    columns = columns_of(rows_of(features, n_coefficients), n_coefficients)
    order = np.empty((sweeps, n_coefficients), dtype=np.int64)
    shuffle_all(key, n_classes, order)
    normals = np.zeros((sweeps, n_coefficients, n_classes))
    draw_normals(key, normals)
    cells = cells_of(b, omega, scores(features, eta))
    values = padded(np.ascontiguousarray(eta.T))
    prior = padded(np.ascontiguousarray(precision.T), fill=1.0)
    noise = padded(normals.reshape(-1, n_classes)).reshape(sweeps, n_coefficients, -1)
    sweep_all(columns, Sweeps(values, prior, order, noise), cells)
    drawn = np.ascontiguousarray(values[:, :n_classes].T)
    if not np.isfinite(drawn).all():
        response = int(np.argmin(np.isfinite(drawn).all(axis=1)))
        raise RunError(
            f"response {response + 1} of {n_classes}, with {n_coefficients} coefficients: their distribution is not "
            "finite; scale targets and covariates to a moderate range"
        )
    return drawn


def cells_of(b: FloatArray, omega: FloatArray, fitted: FloatArray) -> FloatArray:
    """Return slope and curvature of the log likelihood at the linear predictors, shape (C' / `WIDTH`, D, 2, `WIDTH`).

    Both are side by side for the classes of a block: 64 bytes, what a processor brings into its cache at once.
    """
    n_docs, n_classes = b.shape
    cells = np.zeros((-(-n_classes // WIDTH), n_docs, 2, WIDTH))
    fill_cells(b, omega, fitted, cells)
    return cells


@parallel
def fill_cells(b: FloatArray, omega: FloatArray, fitted: FloatArray, cells: FloatArray) -> None:
    """Fill the cells of all documents; see `cells_of`."""
    for doc in numba.prange(b.shape[0]):
        for c in range(b.shape[1]):
            cells[c // WIDTH, doc, 0, c % WIDTH] = b[doc, c] - omega[doc, c] * fitted[doc, c]
            cells[c // WIDTH, doc, 1, c % WIDTH] = omega[doc, c]


@parallel
def draw_normals(key: Key, normals: FloatArray) -> None:
    """Draw the standard normal numbers of all sweeps and coefficients, from one stream for each class."""
    for c in numba.prange(normals.shape[2]):
        stream = new_stream()
        start(stream, key, c)
        for sweep in range(normals.shape[0]):
            for place in range(normals.shape[1]):
                normals[sweep, place, c] = normal(stream)


@parallel
def shuffle_all(key: Key, first_unit: int, order: IntArray) -> None:
    """Draw the order of each sweep, uniform over permutations."""
    for sweep in numba.prange(order.shape[0]):
        stream = new_stream()
        start(stream, key, first_unit + sweep)
        for place in range(order.shape[1]):
            other = integer(stream, place + 1)
            order[sweep, place] = order[sweep, other]
            order[sweep, other] = place


@parallel
def sweep_all(columns: Columns, sweeps: Sweeps, cells: FloatArray) -> None:
    """Sweep over the coefficients, in parallel over blocks of classes; slopes in `cells` are kept up to date."""
    for block in numba.prange(cells.shape[0]):
        curvature = np.full((columns.ptr.size - 1, WIDTH), -1.0)
        sweep_block(signed(block), columns, sweeps, cells, curvature)


@tight
def sweep_block(block: int, columns: Columns, sweeps: Sweeps, cells: FloatArray, curvature: FloatArray) -> None:
    """Sweep over the coefficients of one block of classes; `curvature` keeps sum_d omega_dc f_dj^2 once known."""
    ptr, docs, _, shares = columns
    values, prior, order, noise = sweeps
    first = block * WIDTH
    for sweep in range(order.shape[0]):
        for place in range(order.shape[1]):
            j = order[sweep, place]
            begin, end = ptr[j], ptr[j + 1]
            if curvature[j, 0] < 0.0:
                sum_curvature(block, begin, end, docs, shares, cells, curvature[j])
            s0, s1, s2, s3 = sum_slopes(block, begin, end, docs, shares, cells)
            d0 = move(first, j, s0, curvature[j, 0], prior, noise[sweep, place, first], values)
            d1 = move(first + 1, j, s1, curvature[j, 1], prior, noise[sweep, place, first + 1], values)
            d2 = move(first + 2, j, s2, curvature[j, 2], prior, noise[sweep, place, first + 2], values)
            d3 = move(first + 3, j, s3, curvature[j, 3], prior, noise[sweep, place, first + 3], values)
            for entry in range(begin, end):
                doc: Any = np.int64(docs[entry])
                share = shares[entry]
                cells[block, doc, 0, 0] -= cells[block, doc, 1, 0] * (share * d0)
                cells[block, doc, 0, 1] -= cells[block, doc, 1, 1] * (share * d1)
                cells[block, doc, 0, 2] -= cells[block, doc, 1, 2] * (share * d2)
                cells[block, doc, 0, 3] -= cells[block, doc, 1, 3] * (share * d3)


@tight
def move(c: int, j: int, slope: float, curvature: float, prior: FloatArray, noise: float, values: FloatArray) -> float:
    """Draw coefficient j of class c given the others, and return its change."""
    precision = prior[j, c] + curvature
    before = float(values[j, c])
    after: float = (before * curvature + slope) / precision + noise / math.sqrt(precision)
    values[j, c] = after
    return after - before


@tight
def sum_curvature(
    block: int, begin: int, end: int, docs: UInt32Array, shares: FloatArray, cells: FloatArray, total: FloatArray
) -> None:
    """Sum omega_dc f_dj^2 over the documents of a coefficient, for the classes of a block."""
    s0 = s1 = s2 = s3 = 0.0
    for entry in range(begin, end):
        doc: Any = np.int64(docs[entry])
        square = shares[entry] * shares[entry]
        s0 += cells[block, doc, 1, 0] * square
        s1 += cells[block, doc, 1, 1] * square
        s2 += cells[block, doc, 1, 2] * square
        s3 += cells[block, doc, 1, 3] * square
    total[0], total[1], total[2], total[3] = s0, s1, s2, s3


@tight
def sum_slopes(
    block: int, begin: int, end: int, docs: UInt32Array, shares: FloatArray, cells: FloatArray
) -> tuple[float, float, float, float]:
    """Sum f_dj (b_dc - omega_dc s_dc) over the documents of a coefficient, for the classes of a block."""
    s0 = s1 = s2 = s3 = 0.0
    for entry in range(begin, end):
        doc: Any = np.int64(docs[entry])
        share = shares[entry]
        s0 += cells[block, doc, 0, 0] * share
        s1 += cells[block, doc, 0, 1] * share
        s2 += cells[block, doc, 0, 2] * share
        s3 += cells[block, doc, 0, 3] * share
    return s0, s1, s2, s3


@kernel(
    "coordinate_normal",
    updates="eta",
    reads=("z", "augmentation", "scales"),
    handles=("quadratic_response", "conditional_normal"),
    exact=True,
    parallel_over="response",
    cost="3 * N + 6 * D * C + D * F_d * (10 + (C + 3) * (0.7 + 0.9 * sweeps))",
    tasks="max(1, C / 4)",
    memory="16 * (C + 3) * D + 30 * D * F_d + 24 * D * C",
    reference="Zheng et al. 2015, section 3.4",
)
def coordinate_normal(binding: Binding, *, sweeps: AtLeastOne = 2) -> KernelFunctions:
    """Draw the coefficients one after another in a random order, `sweeps` times, parallel over blocks of responses."""
    eta, distribution_of = binding.names["eta"], conditional_normal(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        state.arrays[eta][:] = draw_by_coordinate(distribution_of(state), state.arrays[eta], sweeps, key)

    return KernelFunctions(step)
