"""What the documents of a supervised model have beside words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ppl_topics._util.arrays import FloatArray, IntArray, UInt16Array
from ppl_topics.corpus.scaling import Scaling
from ppl_topics.errors import RunError

__all__ = ["MAX_COEFFICIENTS", "Design", "Observed"]


MAX_COEFFICIENTS = 65_535
"""Of a response: what numbers of 16 bits can tell apart."""


class Design(NamedTuple):
    """Features of documents beside their topics, as sparse rows: covariates, and a 1 where there is an intercept.

    Attributes
    ----------
    ptr : ndarray of int64, shape (D + 1,)
        Document d has the entries ``ptr[d]`` to ``ptr[d + 1] - 1``.
    columns : ndarray of uint16, shape (n,)
        Number of the column, ascending in a document.
    values : ndarray of float64, shape (n,)
        Not zero.
    width : int
        P, columns.
    """

    ptr: IntArray
    columns: UInt16Array
    values: FloatArray
    width: int

    @classmethod
    def of(cls, matrix: Any) -> Design:
        """Return the rows of a matrix, zeros left out, in arrays that cannot be written.

        Parameters
        ----------
        matrix : array-like or SciPy sparse array, shape (D, P)

        Raises
        ------
        RunError
            If there are more than 65,535 columns.

        Examples
        --------
        >>> Design.of([[0.0, 2.0], [0.0, 0.0], [3.0, 1.0]]).columns
        array([1, 0, 1], dtype=uint16)
        """
        given: Any = matrix if sparse.issparse(matrix) else np.asarray(matrix, dtype=np.float64)
        rows: Any = sparse.csr_array(given).astype(np.float64)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        width = int(rows.shape[1])
        if width > MAX_COEFFICIENTS:
            raise RunError(f"a response has {width:,} coefficients at least; the most is {MAX_COEFFICIENTS:,}")
        made = cls(rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data.astype(np.float64), width)
        for array in made[:3]:
            array.flags.writeable = False
        return made

    def toarray(self) -> FloatArray:
        """Return a dense array of shape (D, P)."""
        dense = np.zeros((len(self.ptr) - 1, self.width))
        dense[np.repeat(np.arange(len(dense)), np.diff(self.ptr)), self.columns] = self.values
        return dense


@dataclass(frozen=True)
class Observed:
    """What the documents of a supervised model have beside words, shared by all chains and never changed.

    Attributes
    ----------
    targets : ndarray of float64, shape (D, C)
        As the model's response encodes the labels, centred and scaled by `target_scaling`; NaN where missing.
    design : Design
        Features of the documents beside their topics.
    responses : tuple of str
        Names of the C responses: classes, labels or targets.
    columns : tuple of str
        Names of the P features.
    intercept : bool
        Whether the last of them is the constant.
    scaling : Scaling, optional
        How the covariates were centred and scaled, where there are any.
    classes : tuple of str
        Names of the classes of which a document has one, if it has one.
    target_scaling : Scaling, optional
        How the targets were centred and scaled, where they were.
    """

    targets: FloatArray
    design: Design
    responses: tuple[str, ...]
    columns: tuple[str, ...]
    intercept: bool = False
    scaling: Scaling | None = None
    classes: tuple[str, ...] = ()
    target_scaling: Scaling | None = None
