"""The tokens of a corpus as kernels read them, and the sizes of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import BoolArray, IntArray, UInt32Array, UnsignedArray, read_only
from ppl_topics.errors import RunError

__all__ = [
    "DIMS",
    "MAX_POSITIONS",
    "MAX_TOPICS",
    "Elsewhere",
    "Sizes",
    "Tokens",
    "TokensByDocument",
    "topic_dtype",
]


MAX_TOPICS = 65_535
MAX_POSITIONS = 2**32 - 1


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
    prevalence : int
        Coefficients that the concentration of each topic has, where it depends on covariates.
    keywords : int
        Keywords of all topics, one after the other.
    levels : int
        Classes of a response of which a document has one.
    """

    docs: int
    words: int
    topics: int
    tokens: int
    responses: int = 0
    coefficients: int = 0
    slopes: int = 0
    supervised: int = 0
    prevalence: int = 0
    keywords: int = 0
    levels: int = 0

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
            "prevalence": self.prevalence,
            "prevalence_slope": max(0, self.prevalence - 1),
            "keyword": self.keywords,
            "cutpoint": max(0, self.levels - 2),
            "side": 2,
        }


DIMS = tuple(Sizes(0, 0, 0, 0).by_dim)
"""Names of the dims that variables of models have."""


def topic_dtype(topics: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest unsigned type that holds ``topics`` topics."""
    return np.uint8 if topics <= 256 else np.uint16


class TokensByDocument(NamedTuple):
    """The tokens of a corpus by document, as compiled functions take them.

    Attributes
    ----------
    chunk_ptr : ndarray of int64
        Documents of parallel task t are ``chunk_ptr[t]:chunk_ptr[t + 1]``.
    doc_ptr : ndarray of int64, shape (D + 1,)
        Tokens of document d are ``doc_ptr[d]:doc_ptr[d + 1]``.
    words : ndarray of uint32, shape (N,)
    selected : ndarray of bool, shape (V,)
        Only the tokens of these words are drawn; all are counted.
    """

    chunk_ptr: IntArray
    doc_ptr: IntArray
    words: UInt32Array
    selected: BoolArray


class Elsewhere(NamedTuple):
    """Documents of a corpus that are in other places.

    Attributes
    ----------
    word_counts : ndarray of int64, shape (V,)
        Of their words.
    docs : int
        How many there are.
    docs_before, tokens_before : int
        How many of them come before those here in the corpus, and their tokens.
    """

    word_counts: IntArray
    docs: int
    docs_before: int
    tokens_before: int


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
    groups : ndarray of int64
        Document boundaries of what sums of real numbers are added up by, one group after another, so that they have
        the same bits wherever the groups are.
    elsewhere : Elsewhere, optional
        Documents of the corpus that are not here.
    whole : bool
        Whether all tokens of a document have the same topic.
    """

    doc_ptr: IntArray
    words: UInt32Array
    word_ptr: IntArray
    chunk_ptr: IntArray
    sort_by_word: Callable[[UInt32Array, IntArray], UInt32Array]
    groups: IntArray
    elsewhere: Elsewhere | None = None
    whole: bool = False

    def drawn(self, z: UnsignedArray) -> tuple[IntArray, UnsignedArray]:
        """Return the topics that are drawn from the weights of documents: where those of each begin, and the topics.

        One for each token; of a `whole` document one, or none if it has no tokens.
        """
        return self.drawn_ptr, z[self.first_tokens] if self.whole else z

    @cached_property
    def drawn_ptr(self) -> IntArray:
        """Where the draws of each document begin, shape (D + 1,); see `drawn`."""
        if not self.whole:
            return self.doc_ptr
        return read_only(np.concatenate([[0], np.cumsum(self.doc_lengths > 0)]), np.int64)

    @cached_property
    def first_tokens(self) -> IntArray:
        """The first token of each document that has any."""
        first: IntArray = self.doc_ptr[:-1][self.doc_lengths > 0]
        return first

    def drawn_counts(self, n_dk: NDArray[Any]) -> NDArray[Any]:
        """Return how often topics are drawn from the weights of documents, given how many of the tokens have them."""
        return np.minimum(n_dk, 1) if self.whole else n_dk

    def spread(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Return the topic of each token, given those that `drawn` returns; the last dim is theirs."""
        lengths = self.doc_lengths
        return np.repeat(drawn, lengths[lengths > 0], axis=-1) if self.whole else drawn

    def made_whole(self, z: UnsignedArray) -> None:
        """Give the tokens of each document the topic of its first, if documents are `whole`."""
        if self.whole:
            z[:] = self.spread(z[self.first_tokens])

    def mixed_document(self, z: NDArray[Any]) -> int | None:
        """Return the number of the first document that has several topics, if documents are `whole`."""
        differ = np.flatnonzero(z != self.spread(z[self.first_tokens])) if self.whole else np.empty(0)
        return int(self.docs[differ[0]]) if len(differ) else None

    @cached_property
    def by_word(self) -> UInt32Array:
        """Token positions sorted by word, shape (N,); computed for the first kernel that asks."""
        self.check_positions()
        return self.sort_by_word(self.words, self.word_ptr)

    def check_positions(self) -> None:
        """Refuse more tokens than an index of their positions can hold."""
        if len(self.words) > MAX_POSITIONS:
            raise RunError(
                f"{len(self.words):,} tokens are more than the {MAX_POSITIONS:,} that can be indexed; use a "
                "kernel given phi with fewer words or topics, or spread the documents over machines"
            )

    def by_document(self, selected: BoolArray) -> TokensByDocument:
        """Return what compiled functions take of the tokens by document, given the words that are drawn."""
        return TokensByDocument(self.chunk_ptr, self.doc_ptr, self.words, selected)

    @property
    def word_counts(self) -> IntArray:
        """Corpus count of each word, shape (V,), also where only some of its documents are here."""
        here = np.diff(self.word_ptr)
        return here if self.elsewhere is None else here + self.elsewhere.word_counts

    def count(self, selected: BoolArray) -> int:
        """Return how many tokens here are of some words, given as an array of shape (V,)."""
        return int(np.diff(self.word_ptr)[selected].sum())

    @property
    def doc_lengths(self) -> IntArray:
        """Number of tokens of each document, shape (D,)."""
        return np.diff(self.doc_ptr)

    @property
    def docs(self) -> IntArray:
        """Document of each token, shape (N,); computed at each call."""
        return np.repeat(np.arange(len(self.doc_ptr) - 1), self.doc_lengths)
