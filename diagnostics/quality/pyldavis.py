"""The arguments of pyLDAvis, from a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics.diagnostics.quality.topic_set import as_topics, topic_sets
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import Part, concentration
from ppl_topics.results.response_topics import chosen_response

__all__ = ["to_pyldavis"]


def to_pyldavis(groups: Mapping[str, xr.Dataset], chain: int = 0, *, response: str | None = None) -> dict[str, Any]:
    """Return the arguments of ``pyLDAvis.prepare`` for the topics of a chain.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain : int
        Chains number their topics independently, so they are not combined.
    response : str, optional
        Whose topics, if each response has its own topics.

    Returns
    -------
    dict
        ``topic_term_dists``, the mean phi, shape (K, V); ``doc_topic_dists``, (n_dk + alpha_k) / (N_d + sum alpha) at
        the last z, shape (D, K), float64 with rows that sum to 1; ``doc_lengths``, shape (D,), int64; ``vocab``, a list
        of V words; ``term_frequency``, shape (V,), int64. Documents without tokens and words that never occur are left
        out, as pyLDAvis requires. ``sort_topics`` is False and ``start_index`` 0, so topics keep the numbers that they
        have in the trace.

    Raises
    ------
    TraceError
        If the trace lacks the topics, z, or the lengths of documents, there is no such chain, or there are fewer than
        two topics, which pyLDAvis cannot lay out.

    Examples
    --------
    If pyLDAvis is installed (for topics with zeros, it warns about their logarithms)::

        data = pyLDAvis.prepare(**to_pyldavis(fit.groups))
        pyLDAvis.save_html(data, "topics.html")
    """
    chosen = chosen_response(groups, response)
    topics = next(each for each in topic_sets(groups, chain) if each.response == chosen)
    constants, z = groups["constant_data"], topics.z_last
    if z is None or "doc_length" not in constants or "word_count" not in constants:
        raise TraceError(
            "pyLDAvis needs `z_last`, `doc_length` and `word_count` in `constant_data`, which the trace does not hold"
        )
    k = len(topics.phi)
    if k < 2:
        raise TraceError("pyLDAvis needs at least two topics, and the trace has one")
    alpha = concentration(groups, "alpha", Part(topics.chain, topics.response), None)
    lengths = constants["doc_length"].values.astype(np.int64)
    docs = np.repeat(np.arange(len(lengths)), lengths)
    n_dk = np.bincount(docs * k + z, minlength=len(lengths) * k).reshape(-1, k)
    weights = (n_dk + alpha)[lengths > 0]
    frequency = constants["word_count"].values.astype(np.int64)
    occurs = frequency > 0
    return {
        "topic_term_dists": as_topics(topics.phi[:, occurs]),
        "doc_topic_dists": weights / weights.sum(axis=1, keepdims=True),
        "doc_lengths": lengths[lengths > 0],
        "vocab": topics.vocabulary[occurs].tolist(),
        "term_frequency": frequency[occurs],
        "sort_topics": False,
        "start_index": 0,
    }
