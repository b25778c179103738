"""What a chain is made of: topic assignments, counts, and arrays by variable name.

Kernels work on these plain arrays. The counts are always those of ``z``: a kernel that moves tokens
leaves them so, and :meth:`ChainState.check` says where they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray
from ppl_topics.core.alpha import Alpha, LogLinear
from ppl_topics.core.observed import Observed
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.tokens import Sizes, Tokens
from ppl_topics.errors import RunError

__all__ = ["WORD_MAJOR", "ChainState"]

WORD_MAJOR = ("phi", "included")
"""Roles of variables that are held by words, though their first dim is the topic."""


@dataclass
class ChainState:
    """The current values of one chain.

    Attributes
    ----------
    tokens : Tokens
    sizes : Sizes
    z : ndarray of uint8 or uint16, shape (N,)
        Topic of each token.
    n_wk : ndarray of int32, shape (V, K)
        Tokens of word w in topic k, word-major; of shape (0, K) where there are `sparse_topics`.
    n_k : ndarray of int64, shape (K,)
    arrays : dict of str to ndarray
        Every other variable by its name in the model: phi (V x K, float32, word-major), theta
        (D x K, float32), concentrations (float64).
    concentrations : dict
        By role (``alpha``, ``beta``): a fixed vector, the name of the variable that holds it, a fixed one for each
        document, or how it depends on the features of documents.
    observed : Observed, optional
        Of a supervised model.
    sparse_topics : SparseTopics, optional
        Instead of the counts by word, phi and the indicators, where the model asks for ``storage: sparse``.
    phi_name : str
        Name in the model of the topics that `sparse_topics` holds.
    observed_by : dict of str to Observed
        Of several responses, what each observes, by the name of its block; then there is no `observed`.
    """

    tokens: Tokens
    sizes: Sizes
    z: NDArray[Any]
    n_wk: Int32Array
    n_k: IntArray
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    concentrations: Mapping[str, FloatArray | str | Alpha | LogLinear] = field(default_factory=dict)
    observed: Observed | None = None
    sparse_topics: SparseTopics | None = None
    phi_name: str = "phi"
    observed_by: Mapping[str, Observed] = field(default_factory=dict)

    @property
    def alpha(self) -> FloatArray:
        """Concentration of each topic in the weights of every document, shape (K,)."""
        return self._concentration("alpha", self.sizes.topics)

    @property
    def document_alpha(self) -> Alpha:
        """Concentration of each topic in a document's weights, the same in all documents or not."""
        value = self.concentrations["alpha"]
        if isinstance(value, LogLinear):
            return value.of(self.arrays[value.coefficients])
        if isinstance(value, Alpha):
            return value
        return Alpha.shared(self.alpha)

    @property
    def beta(self) -> FloatArray:
        """Concentration of each word in a topic, shape (V,)."""
        return self._concentration("beta", self.sizes.words)

    def _concentration(self, role: str, size: int) -> FloatArray:
        value = self.concentrations[role]
        assert not isinstance(value, Alpha | LogLinear), f"{role} differs from document to document"
        array = self.arrays[value] if isinstance(value, str) else value
        # A copy: kernels cannot change what is fixed, and compiled code sees one array type.
        each = np.empty(size)
        each[:] = array
        return each

    @property
    def n_dk(self) -> Int32Array:
        """Tokens of document d in topic k, shape (D, K); counted afresh at each call, in dense memory."""
        cells = self.tokens.docs * self.sizes.topics + self.z
        counts = np.bincount(cells, minlength=self.sizes.docs * self.sizes.topics)
        return counts.reshape(self.sizes.docs, self.sizes.topics).astype(np.int32)

    @property
    def drawn_dk(self) -> Int32Array:
        """How often topic k was drawn from the weights of document d, shape (D, K): `n_dk`, or once a document."""
        return self.tokens.drawn_counts(self.n_dk)

    @property
    def counts_by_word(self) -> Int32Array:
        """Tokens of word w in topic k, shape (V, K), as a dense array also where the topics are sparse."""
        return self.n_wk if self.sparse_topics is None else self.sparse_topics.dense("counts")

    @property
    def values(self) -> dict[str, NDArray[Any]]:
        """Every variable but z by its name, as dense arrays also where the topics are sparse."""
        if self.sparse_topics is None:
            return self.arrays
        sparse = self.sparse_topics
        return {**self.arrays, "included": sparse.dense("included"), self.phi_name: sparse.dense("phi")}

    def set_value(self, name: str, value: Any) -> None:
        """Set a variable but z to a value; of sparse topics, the indicators before the probabilities."""
        if self.sparse_topics is None or name in self.arrays:
            self.arrays[name][...] = value
        elif name == "included":
            self._include(np.asarray(value), self._counts()[0])
        else:
            self.sparse_topics.set_phi(np.asarray(value))

    def set_z(self, z: NDArray[Any]) -> None:
        """Replace the assignments and count them again; words are included where they have tokens now."""
        self.z[:] = z
        n_wk, self.n_k[:] = self._counts()
        if self.sparse_topics is None:
            self.n_wk[:] = n_wk
        else:
            self._include((n_wk > 0) | (self.sparse_topics.dense("included") > 0), n_wk)

    def _include(self, included: NDArray[Any], n_wk: NDArray[Any]) -> None:
        """Build the sparse topics again; words that stay keep their probabilities."""
        assert self.sparse_topics is not None, "a state without sparse topics"
        phi = self.sparse_topics.dense("phi")
        self.sparse_topics = SparseTopics.of(included, n_wk)
        self.sparse_topics.set_phi(phi)

    def _counts(self) -> tuple[Int32Array, IntArray]:
        cells = self.tokens.words.astype(np.int64) * self.sizes.topics + self.z
        n_wk = np.bincount(cells, minlength=self.sizes.words * self.sizes.topics)
        n_wk = n_wk.reshape(self.sizes.words, self.sizes.topics)
        return n_wk.astype(np.int32), n_wk.sum(axis=0).astype(np.int64)

    def copy(self) -> ChainState:
        """Return a state that shares only what is observed and the fixed concentrations."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return ChainState(
            self.tokens,
            self.sizes,
            self.z.copy(),
            self.n_wk.copy(),
            self.n_k.copy(),
            arrays,
            self.concentrations,
            self.observed,
            None if self.sparse_topics is None else self.sparse_topics.copy(),
            self.phi_name,
            self.observed_by,
        )

    def check(self) -> None:
        """Check what must hold after every kernel.

        Raises
        ------
        RunError
            If the counts are not those of z, a topic is out of range, a document has several topics though the model
            gives it one, or a value is not finite.
        """
        if self.z.size and int(self.z.max()) >= self.sizes.topics:
            raise RunError(f"z holds topic {int(self.z.max())}, but there are {self.sizes.topics} topics")
        doc = self.tokens.mixed_document(self.z)
        if doc is not None:
            raise RunError(f"the tokens of document number {doc} have several topics, and the model gives it one")
        n_wk, n_k = self._counts()
        held = self.counts_by_word
        if not np.array_equal(n_wk, held):
            word = int(np.flatnonzero((n_wk != held).any(axis=1))[0])
            raise RunError(f"the counts n_wk are not those of z; the first word that differs is number {word}")
        if not np.array_equal(n_k, self.n_k):
            raise RunError("the counts n_k are not those of z")
        for name, array in self.values.items():
            if not np.isfinite(array).all():
                raise RunError(f"{name} holds a value that is not finite")
