"""Slice sampling of a symmetric beta under a Gamma prior, the topics integrated out."""

from __future__ import annotations

from typing import Any

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.concentration.histograms import CountHistogram, beta_statistics, log_likelihood
from ppl_topics.samplers.concentration.slice_concentration import Gamma, draw_concentration
from ppl_topics.samplers.variates.streams import Stream, open_stream

__all__ = ["draw_beta", "log_p_w", "slice_beta"]


def log_p_w(beta: FloatArray, statistics: CountHistogram) -> float:
    """Return log p(w | z, beta), phi integrated out; pooled statistics need equal beta."""
    return log_likelihood(beta, float(beta.sum()), statistics)


def draw_beta(beta: float, n_words: int, statistics: CountHistogram, prior: Gamma, stream: Stream) -> float:
    """Update a symmetric beta by slice sampling given pooled statistics, leaving p(beta | w, z) invariant."""
    return draw_concentration(beta, 0, n_words, 0.0, statistics, prior, stream)


@kernel(
    "slice_beta",
    updates="beta",
    integrates_out="phi",
    reads="z",
    handles=("gamma", "dirichlet", "words"),
    exact=True,
    automatic=True,
    distributes="central",
    cost="V * K + 20 * min(N, V * K)",
    memory="48 * min(N, V * K_w)",
    reference="Neal 2003; Wallach 2008, section 2.4",
)
def slice_beta(binding: Binding) -> KernelFunctions:
    """Slice sampling of log beta, the same for all words, phi integrated out."""
    name, n_words = binding.names["beta"], binding.sizes.words
    block: Any = binding.blocks[name]
    prior = Gamma(block.shape, block.rate)

    def step(state: ChainState, memory: None, key: Key) -> None:
        value = state.arrays[name]
        statistics = beta_statistics(state.n_wk, state.n_k, True)
        value[...] = draw_beta(float(value), n_words, statistics, prior, open_stream(*key))

    return KernelFunctions(step)
