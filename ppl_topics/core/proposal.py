"""What a Metropolis proposal for the topic of a token declares of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, IntArray, UnsignedArray

__all__ = ["Document", "ProposalSpec", "Topics"]


class Topics(NamedTuple):
    """What the table of a proposal is built from; see :func:`proposal`.

    Attributes
    ----------
    phi : ndarray of float32, shape (V, K)
        The topics; where they are integrated out, their expectation given the counts at the time of building.
    alpha : ndarray of float64, shape (K,)
    word_ptr : ndarray of int64, shape (V + 1,)
        Differences are the corpus counts of the words.
    selected : ndarray of bool, shape (V,)
        Words whose tokens will be moved.
    chunk_ptr : ndarray of int64
        Boundaries of pieces of the corpus whose documents are swept one after another.
    response : callable, optional
        None in a model without a response. Returns what a topic adds to the responses of a document of which nothing
        is known yet but its fixed features and its topics' prior mean: ``eta`` of shape (K, C), ``slope`` and
        ``curvature`` of shape (D, C), such that a token in topic k adds
        ``(eta[k] * (slope[d] - curvature[d] * eta[k] / 2)).sum()`` to the log density of document d. C is the number
        of responses, rounded up to a multiple of 4 with zeros.
    """

    phi: Float32Array
    alpha: FloatArray
    word_ptr: IntArray
    selected: BoolArray
    chunk_ptr: IntArray
    response: Callable[[], tuple[FloatArray, FloatArray, FloatArray]] | None


class Document(NamedTuple):
    """The document of the token that is being moved, as the compiled functions of a proposal see it.

    Attributes
    ----------
    number : int
        Which document of the corpus.
    topics : ndarray of uint8 or uint16, shape (N_d,)
        Topic of each token; that of the token being moved is out of date.
    others : ndarray of int64, shape (K,)
        Tokens in each topic, without the one being moved.
    """

    number: int
    topics: UnsignedArray
    others: IntArray


@dataclass(frozen=True)
class ProposalSpec:
    """What a proposal declares of itself; see :func:`proposal`."""

    name: str
    build: Callable[[Topics, Any], tuple[Any, ...]]
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
