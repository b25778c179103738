"""What the coefficients' distribution depends on the documents through, group by group of these.

A sum of real numbers depends on the order of its terms. Groups are those of `Tokens.groups`, whatever machine they are
on, and their sums are added one after another: the same bits anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal
from ppl_topics.samplers.coefficients.gram import (
    Columns,
    columns_of,
    gram,
    padded,
    rows_of,
    shared_weights,
    weighted_sums,
)
from ppl_topics.samplers.responses.features import Rows

__all__ = ["GroupSums", "Sums", "add_up", "added", "groups_of", "in_order", "one_form"]

T = TypeVar("T")


@dataclass(frozen=True)
class GroupSums:
    """The documents of a group, of which sums are computed as they are asked for.

    Attributes
    ----------
    rows, columns : Rows, Columns
        Their features.
    b, omega : ndarray of float64, shape (D, C)
        See `ConditionalNormal`.
    weight : ndarray of float64, shape (D, 1), or None
        Where omega_dc = weight_d scale_c.
    scale : ndarray of float64, shape (C,), or None
    """

    rows: Rows
    columns: Columns
    b: FloatArray
    omega: FloatArray
    weight: FloatArray | None
    scale: FloatArray | None

    @property
    def shifts(self) -> FloatArray:
        """The sum of b_dc f_d, shape (F, C)."""
        return weighted_sums(self.columns, self.b)

    def shared_products(self, room: FloatArray | None = None) -> FloatArray:
        """Return the sum of weight_d f_d f_d', in the form of `gram`, with one column that counts."""
        assert self.weight is not None, "weights that do not split"
        return gram(self.rows, self.columns, self.weight, room)

    def products(self, first: int, last: int, room: FloatArray | None = None) -> FloatArray:
        """Return the sums of omega_dc f_d f_d' of some responses, in the form of `gram`."""
        if self.scale is None:
            return gram(self.rows, self.columns, self.omega[:, first:last], room)
        return self.shared_products()[:, :1] * padded(self.scale[None, first:last])


@dataclass(frozen=True)
class Sums:
    """The sums over a group, or over all documents.

    Attributes
    ----------
    products : ndarray of float64, shape (F (F + 1) / 2, C')
        As `gram` returns them; with one column that counts, if there is a scale.
    scale : ndarray of float64, shape (C,), or None
    shifts : ndarray of float64, shape (F, C)
    """

    products: FloatArray
    scale: FloatArray | None
    shifts: FloatArray

    @classmethod
    def of(cls, group: GroupSums) -> Sums:
        """Compute those of a group."""
        products = group.products(0, group.omega.shape[1]) if group.scale is None else group.shared_products()
        return cls(products, group.scale, group.shifts)

    def expanded(self) -> FloatArray:
        """Return the products of each response."""
        return self.products if self.scale is None else self.products[:, :1] * padded(self.scale[None, :])


def groups_of(distribution: ConditionalNormal, edges: IntArray) -> list[GroupSums]:
    """Split the documents into groups, of the given boundaries."""
    features, b, omega, precision = distribution
    rows = rows_of(features, precision.shape[1])
    result = []
    for first, last in pairwise(edges.tolist()):
        part = rows
        if (first, last) != (0, len(rows.ptr) - 1):
            entries = slice(rows.ptr[first], rows.ptr[last])
            ptr = rows.ptr[first : last + 1] - rows.ptr[first]
            part = rows._replace(ptr=ptr, columns=rows.columns[entries], values=rows.values[entries])
        weights = np.ascontiguousarray(omega[first:last])
        weight, scale = shared_weights(weights) or (None, None)
        columns = columns_of(part, precision.shape[1])
        result.append(GroupSums(part, columns, np.ascontiguousarray(b[first:last]), weights, weight, scale))
    return result


def one_form(parts: Sequence[GroupSums] | Sequence[Sums]) -> bool:
    """Tell whether the weights of all groups split in the same way."""
    first = parts[0].scale
    return first is not None and all(part.scale is not None and np.array_equal(part.scale, first) for part in parts)


def added(parts: Sequence[T], compute: Callable[[T, FloatArray | None], FloatArray]) -> FloatArray:
    """Add up arrays one after another, each computed in the memory of the one before where it can be."""
    total, room = compute(parts[0], None), None
    for part in parts[1:]:
        room = compute(part, np.empty_like(total) if room is None else room)
        total += room
    return total


def add_up(parts: Sequence[Sums]) -> Sums:
    """Return the sums over all groups."""
    shifts = in_order([part.shifts for part in parts])
    if one_form(parts):
        return replace(parts[0], products=in_order([part.products for part in parts]), shifts=shifts)
    return Sums(in_order([part.expanded() for part in parts]), None, shifts)


def in_order(arrays: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of arrays, added one after another."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total
