"""What a trace says of the assignments of a chain on a device."""

from __future__ import annotations

import numpy as np
from numba import cuda

from ppl_topics.cuda.device_state import DeviceState
from ppl_topics.cuda.launching import grid_of_cells, grid_of_documents
from ppl_topics.cuda.log_joint import theta_terms, word_terms
from ppl_topics.cuda.steps import pieces_of
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer

__all__ = ["summary_on_device"]


def summary_on_device(state: DeviceState) -> tuple[float, dict[str, float]]:
    """Return log p(w, z | alpha, beta), theta and phi integrated out, and the shares of counts that are not zero.

    For topics that include all words. The sums over documents and words are added up on the host, in their order.
    """
    host, sizes = state.host, state.host.sizes
    alpha = host.document_alpha
    rows, row = state.alpha(alpha)
    sums = cuda.to_device(alpha.rows.sum(axis=1))
    queue = cuda.to_device(np.zeros(1, np.int32))
    terms, met = cuda.device_array(sizes.docs, np.float64), cuda.device_array(sizes.docs, np.int32)
    corpus = state.corpus.tokens
    theta_terms[grid_of_documents(sizes.topics, sizes.docs)](
        corpus.order, corpus.doc_ptr, state["z"], rows, row, sums, queue, terms, met
    )
    beta, shape = host.beta, (pieces_of(sizes.words), sizes.topics)
    of_words, present = cuda.device_array(shape, np.float64), cuda.device_array(shape, np.int64)
    word_terms[grid_of_cells(sizes.topics, shape[0])](state["n_wk"], cuda.to_device(beta), of_words, present)
    state.fetch(["n_k"])
    mass = float(beta.sum())
    value = float(terms.copy_to_host().sum()) + float(of_words.copy_to_host().sum())
    value -= sum(log_pochhammer(mass, int(count)) for count in host.n_k)
    cells = max(1, sizes.words * sizes.topics)
    documents = max(1, sizes.docs * sizes.topics)
    return value, {
        "density_n_dk": int(met.copy_to_host().sum()) / documents,
        "density_n_kw": int(present.copy_to_host().sum()) / cells,
    }
