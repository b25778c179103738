"""What a trace says of the assignments of a state, from where their documents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.state import ChainState
from ppl_topics.engine.log_joint import theta_terms
from ppl_topics.engine.topic_sums import OfTopics
from ppl_topics.samplers.counts import add_in_order

__all__ = ["OfDocuments", "Summary", "of_documents", "summarise"]


class OfDocuments(NamedTuple):
    """Terms of log p(z | alpha), one for each piece of the documents, and how many counts n_dk are not zero."""

    terms: FloatArray
    met: int


class Summary(NamedTuple):
    """log p(w, z), theta and phi integrated out, and the shares of n_dk, n_kw and of phi that are not zero."""

    log_marginal: float
    densities: Mapping[str, float]


def of_documents(pieces: IntArray, state: ChainState) -> OfDocuments:
    """Summarise the documents of a state, which are cut into pieces."""
    doc_ptr, z = state.tokens.drawn(state.z)
    return OfDocuments(*theta_terms(pieces, doc_ptr, z, state.document_alpha))


def summarise(docs: int, topics: int, documents: Sequence[OfDocuments], words: OfTopics) -> Summary:
    """Put together the documents of several places, in their order; the bits are those of all in one place."""
    log_theta = add_in_order(np.concatenate([each.terms for each in documents]))
    met = sum(each.met for each in documents) / (docs * topics) if docs else 0.0
    return Summary(log_theta + words.log_words, {"density_n_dk": met, **words.densities})
