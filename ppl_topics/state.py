"""What a chain is made of: tokens, topic assignments, counts, and arrays by variable name.

Kernels work on these plain arrays. The counts are always those of ``z``: a kernel that moves tokens
leaves them so, and :meth:`ChainState.check` says where they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ppl_topics.errors import RunError
from ppl_topics.topic_lists import TopicLists

if TYPE_CHECKING:
    from ppl_topics.corpus.scaling import Scaling

__all__ = ["MAX_COEFFICIENTS", "ChainState", "Design", "Key", "Observed", "Sizes", "Tokens", "topic_dtype"]

MAX_TOPICS = 65_535

MAX_COEFFICIENTS = 65_535
"""Of a response: what numbers of 16 bits can tell apart."""


class Sizes(NamedTuple):
    """Sizes of the dims.

    Attributes
    ----------
    docs, words, topics, tokens : int
        Documents, words of the vocabulary, topics, tokens.
    responses, coefficients : int
        Responses, and coefficients of each.
    slopes : int
        Coefficients of a response less its intercept.
    supervised : int
        Topics that have coefficients: the first ones.
    """

    docs: int
    words: int
    topics: int
    tokens: int
    responses: int = 0
    coefficients: int = 0
    slopes: int = 0
    supervised: int = 0

    def of(self, dim: str) -> int:
        """Return the size of a dim by its name: ``doc``, ``word``, ``topic``, ``token``, ``response``, ..."""
        return self.by_dim[dim]

    @property
    def by_dim(self) -> dict[str, int]:
        """The sizes of all dims by name."""
        return {
            "doc": self.docs,
            "word": self.words,
            "topic": self.topics,
            "token": self.tokens,
            "response": self.responses,
            "coefficient": self.coefficients,
            "slope": self.slopes,
            "side": 2,
        }


class Key(NamedTuple):
    """The name of a random stream, up to its unit (a document, word or topic).

    ``step`` counts sweeps; ``kernel`` numbers the executions of kernels inside one sweep.
    """

    seed: int
    chain: int
    step: int
    kernel: int

    def generator(self, unit: int = 0) -> np.random.Generator:
        """Return a NumPy generator over the stream of ``unit``, for kernels written in plain Python.

        Examples
        --------
        >>> Key(seed=1, chain=0, step=0, kernel=0).generator().random() < 1
        True
        """
        counter = np.array([0, unit, self.step, self.kernel], dtype=np.uint64)
        key = np.array([self.seed, self.chain], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))


def topic_dtype(topics: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest unsigned type that holds ``topics`` topics."""
    return np.uint8 if topics <= 256 else np.uint16


@dataclass(frozen=True)
class Tokens:
    """The tokens of a corpus and two indexes over them, shared by all chains and never changed.

    Attributes
    ----------
    doc_ptr : ndarray of int64, shape (D + 1,)
        Tokens of document d are ``doc_ptr[d]:doc_ptr[d + 1]``.
    words : ndarray of uint32, shape (N,)
        Word of each token.
    word_ptr : ndarray of int64, shape (V + 1,)
        Tokens of word w are ``by_word[word_ptr[w]:word_ptr[w + 1]]``.
    chunk_ptr : ndarray of int64
        Document boundaries of pieces with about equally many tokens, for parallel loops.
    sort_by_word : callable
        What computes `by_word` from `words` and `word_ptr`.
    """

    doc_ptr: NDArray[np.int64]
    words: NDArray[np.uint32]
    word_ptr: NDArray[np.int64]
    chunk_ptr: NDArray[np.int64]
    sort_by_word: Callable[[NDArray[np.uint32], NDArray[np.int64]], NDArray[np.uint32]]

    @cached_property
    def by_word(self) -> NDArray[np.uint32]:
        """Token positions sorted by word, shape (N,); computed for the first kernel that asks."""
        return self.sort_by_word(self.words, self.word_ptr)

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """Corpus count of each word, shape (V,)."""
        return np.diff(self.word_ptr)

    @property
    def doc_lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each document, shape (D,)."""
        return np.diff(self.doc_ptr)

    @property
    def docs(self) -> NDArray[np.int64]:
        """Document of each token, shape (N,); computed at each call."""
        return np.repeat(np.arange(len(self.doc_ptr) - 1), self.doc_lengths)


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

    ptr: NDArray[np.int64]
    columns: NDArray[np.uint16]
    values: NDArray[np.float64]
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

    def toarray(self) -> NDArray[np.float64]:
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
        As the model's response encodes the labels; NaN where missing.
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
    """

    targets: NDArray[np.float64]
    design: Design
    responses: tuple[str, ...]
    columns: tuple[str, ...]
    intercept: bool = False
    scaling: Scaling | None = None


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
        Tokens of word w in topic k, word-major; of shape (0, K) where there are `lists`.
    n_k : ndarray of int64, shape (K,)
    arrays : dict of str to ndarray
        Every other variable by its name in the model: phi (V x K, float32, word-major), theta
        (D x K, float32), concentrations (float64).
    concentrations : dict
        By role (``alpha``, ``beta``): a fixed vector, or the name of the variable that holds it.
    observed : Observed, optional
        Of a supervised model.
    lists : TopicLists, optional
        What a model whose topics are held as lists has instead of the counts by word, phi and the indicators.
    """

    tokens: Tokens
    sizes: Sizes
    z: NDArray[Any]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    concentrations: Mapping[str, NDArray[np.float64] | str] = field(default_factory=dict)
    observed: Observed | None = None
    lists: TopicLists | None = None

    @property
    def alpha(self) -> NDArray[np.float64]:
        """Concentration of each topic in a document's weights, shape (K,)."""
        return self._concentration("alpha", self.sizes.topics)

    @property
    def beta(self) -> NDArray[np.float64]:
        """Concentration of each word in a topic, shape (V,)."""
        return self._concentration("beta", self.sizes.words)

    def _concentration(self, role: str, size: int) -> NDArray[np.float64]:
        value = self.concentrations[role]
        array = self.arrays[value] if isinstance(value, str) else value
        # A copy: kernels cannot change what is fixed, and compiled code sees one array type.
        each = np.empty(size)
        each[:] = array
        return each

    @property
    def n_dk(self) -> NDArray[np.int32]:
        """Tokens of document d in topic k, shape (D, K); counted afresh at each call, in dense memory."""
        cells = self.tokens.docs * self.sizes.topics + self.z
        counts = np.bincount(cells, minlength=self.sizes.docs * self.sizes.topics)
        return counts.reshape(self.sizes.docs, self.sizes.topics).astype(np.int32)

    @property
    def counts_by_word(self) -> NDArray[np.int32]:
        """Tokens of word w in topic k, shape (V, K), in dense memory also where the state has lists."""
        return self.n_wk if self.lists is None else self.lists.dense("counts")

    @property
    def values(self) -> dict[str, NDArray[Any]]:
        """Every variable but z by its name, as dense arrays also where the state has lists."""
        if self.lists is None:
            return self.arrays
        return {**self.arrays, "included": self.lists.dense("included"), self.lists.name: self.lists.dense("phi")}

    def set_value(self, name: str, value: Any) -> None:
        """Set a variable but z to a value; of lists, the indicators before the probabilities."""
        if self.lists is None or name in self.arrays:
            self.arrays[name][...] = value
        elif name == "included":
            self._relist(np.asarray(value), self._counts()[0])
        else:
            self.lists.set_phi(np.asarray(value))

    def set_z(self, z: NDArray[Any]) -> None:
        """Replace the assignments and count them again; words are included where they have tokens now."""
        self.z[:] = z
        n_wk, self.n_k[:] = self._counts()
        if self.lists is None:
            self.n_wk[:] = n_wk
        else:
            self._relist((n_wk > 0) | (self.lists.dense("included") > 0), n_wk)

    def _relist(self, included: NDArray[Any], n_wk: NDArray[Any]) -> None:
        """Make the lists anew; words that stay keep their probabilities."""
        assert self.lists is not None, "a state without lists"
        phi = self.lists.dense("phi")
        self.lists = TopicLists.of(self.lists.name, included, n_wk)
        self.lists.set_phi(phi)

    def _counts(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
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
            None if self.lists is None else self.lists.copy(),
        )

    def check(self) -> None:
        """Check what must hold after every kernel.

        Raises
        ------
        RunError
            If the counts are not those of z, a topic is out of range, or a value is not finite.
        """
        if self.z.size and int(self.z.max()) >= self.sizes.topics:
            raise RunError(f"z holds topic {int(self.z.max())}, but there are {self.sizes.topics} topics")
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
