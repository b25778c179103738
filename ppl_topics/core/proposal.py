"""What a Metropolis proposal for the topic of a token declares, and what its functions are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, IntArray, IntegerArray, UnsignedArray

__all__ = ["ProposalSpec", "TableInputs", "Token"]


class TableInputs(NamedTuple):
    """What the table of a proposal is built from; see :func:`proposal`.

    Attributes
    ----------
    phi : ndarray of float32, shape (V, K)
        The topics; where they are integrated out, their expectation given the counts at the time of building.
    alpha : ndarray of float64, shape (K,)
        Where it differs from document to document, such as one might have.
    word_ptr : ndarray of int64, shape (V + 1,)
        Differences are the corpus counts of the words.
    selected : ndarray of bool, shape (V,)
        Words whose tokens will be moved.
    chunk_ptr : ndarray of int64
        Documents ``chunk_ptr[t]`` to ``chunk_ptr[t + 1] - 1`` are swept one after another.
    response : callable, optional
        None in a model without a response. Returns what a topic adds to the responses of a document, whose linear
        predictor is taken from its fixed features and the prior mean of its topics: ``eta`` of shape (K, C), ``slope``
        and ``curvature`` of shape (D, C), such that a token in topic k adds
        ``(eta[k] * (slope[d] - curvature[d] * eta[k] / 2)).sum()`` to the log density of document d. C is the number
        of responses, rounded up to a multiple of 4 with zeros.
    """

    phi: Float32Array
    alpha: FloatArray
    word_ptr: IntArray
    selected: BoolArray
    chunk_ptr: IntArray
    response: Callable[[], tuple[FloatArray, FloatArray, FloatArray]] | None


class Token(NamedTuple):
    """The token that is being drawn, and the topics of the other tokens of its document.

    Attributes
    ----------
    doc, word : int
        Its document and its word.
    number : int
        Its number in the corpus.
    position : int
        Its number in the document.
    topics : ndarray of uint8 or uint16, shape (N_d,)
        Topic of each token of the document; that at `position` is out of date.
    counts : ndarray of integers, shape (K,)
        The document's tokens in each topic, without this one.
    """

    doc: int
    word: int
    number: int
    position: int
    topics: UnsignedArray
    counts: IntegerArray


@dataclass(frozen=True)
class ProposalSpec:
    """What a proposal declares; see :func:`proposal`."""

    name: str
    build: Callable[[TableInputs, Any], tuple[Any, ...]]
    draw: Callable[..., int]
    weight: Callable[..., float]
    exact_given: tuple[str, ...]
    reference: str
    doc: str

    def declaration(self) -> dict[str, Any]:
        """Return the declaration as plain data, for listings."""
        return {
            "name": self.name,
            "exact_given": list(self.exact_given),
            "reference": self.reference,
            "doc": self.doc,
        }
