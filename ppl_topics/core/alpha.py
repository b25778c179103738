"""Concentrations of the topics in documents: the same in all, or by document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.observed import Design, Observed

__all__ = ["LARGEST_ALPHA", "SMALLEST_ALPHA", "Above", "Alpha", "LogLinear"]

SMALLEST_ALPHA, LARGEST_ALPHA = 1e-100, 1e12
"""Below, products of two concentrations underflow, and a lone token would have no topic to be in. Above, where a row is
even for all purposes, products of a few sums over a row would overflow."""


class Alpha(NamedTuple):
    """Concentrations of the topics, as compiled functions take them.

    Attributes
    ----------
    rows : ndarray of float64, shape (R, K)
    row : ndarray of int64, shape (D,) or (0,)
        Which of the rows each document has; empty where all have the first.
    typical : ndarray of float64, shape (K,)
        Such as a document might have; the same wherever the documents are.
    """

    rows: FloatArray
    row: IntArray
    typical: FloatArray

    @classmethod
    def shared(cls, alpha: FloatArray) -> Alpha:
        """Return those of documents that all have the same."""
        typical = np.array(alpha, dtype=np.float64)
        return cls(typical.reshape(1, -1), np.empty(0, np.int64), typical)

    @property
    def by_doc(self) -> FloatArray:
        """By document, shape (D, K), or (1, K) where all have the same."""
        return self.rows[self.row] if len(self.row) else self.rows

    def of(self, first: int, last: int | None = None) -> Alpha:
        """Return those of some documents that follow one another."""
        return self._replace(row=self.row[first:last])


Above: TypeAlias = Observed | Alpha
"""What the concentrations of the topics depend on in each document: its covariates; or they are these, for its labels
say which topics it may have."""


@dataclass(frozen=True, eq=False)
class LogLinear:
    """Concentrations whose logarithms are linear in features of the documents: alpha_dk = exp(x_d . gamma_k).

    Attributes
    ----------
    coefficients : str
        Name of the variable gamma, shape (K, P).
    features : ndarray of float64, shape (R, P)
        Those that differ: documents with the same have one row. The last is 1.
    row : ndarray of int64, shape (D,)
        Which row each document has.
    columns : tuple of str
        Names of the features.
    """

    coefficients: str
    features: FloatArray
    row: IntArray
    columns: tuple[str, ...] = ()

    @classmethod
    def on(cls, coefficients: str, design: Design, columns: tuple[str, ...] = ()) -> LogLinear:
        """Find the features that differ."""
        features, row = np.unique(design.toarray(), axis=0, return_inverse=True)
        return cls(coefficients, np.ascontiguousarray(features), row.reshape(-1).astype(np.int64), columns)

    def of(self, coefficients: FloatArray) -> Alpha:
        """Return the concentrations at values of gamma.

        Examples
        --------
        >>> design = Design.of([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]])
        >>> LogLinear.on("gamma", design).of(np.array([[0.5, 0.0], [0.0, 1.0]])).by_doc.round(2)
        array([[1.  , 2.72],
               [2.72, 2.72],
               [1.  , 2.72]])
        """
        typical = np.clip(np.exp(coefficients[:, -1]), SMALLEST_ALPHA, LARGEST_ALPHA)
        return Alpha(self.rows(coefficients), self.row, typical)

    def rows(self, coefficients: FloatArray) -> FloatArray:
        """Return the concentrations of the features, shape (..., R, K), at values of gamma, shape (..., K, P)."""
        assert coefficients.shape[-1] == self.features.shape[1], "features of another model"
        # Not by BLAS, whose sums may depend on the number of its threads.
        return np.asarray(np.exp(np.einsum("rp,...kp->...rk", self.features, coefficients)))
