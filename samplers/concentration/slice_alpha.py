"""Slice sampling of alpha under Gamma priors, the proportions integrated out."""

from __future__ import annotations

from typing import Any

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.concentration.histograms import CountHistogram, alpha_statistics, log_likelihood, merged
from ppl_topics.samplers.concentration.slice_concentration import Gamma, draw_concentration
from ppl_topics.samplers.variates.streams import Stream, open_stream

__all__ = ["draw_alpha", "log_p_z", "slice_alpha"]


def log_p_z(alpha: FloatArray, statistics: CountHistogram) -> float:
    """Return log p(z | alpha), theta integrated out; pooled statistics need equal alpha."""
    return log_likelihood(alpha, float(alpha.sum()), statistics)


def draw_alpha(alpha: FloatArray, statistics: CountHistogram, prior: Gamma, stream: Stream) -> FloatArray:
    """Update alpha by slice sampling, leaving p(alpha | z) invariant, and return it.

    With pooled statistics all topics share one value, which has the prior; otherwise each alpha_k has it, and they are
    updated one after another.
    """
    n_groups = statistics.group_ptr.size - 1
    cells = alpha.size // n_groups
    drawn = alpha.copy()
    for group in range(n_groups):
        others = float(drawn[:group].sum() + drawn[group + cells :].sum())
        drawn[group : group + cells] = draw_concentration(
            float(drawn[group]), group, cells, others, statistics, prior, stream
        )
    return drawn


@kernel(
    "slice_alpha",
    updates="alpha",
    integrates_out="theta",
    reads="z",
    handles=("gamma", "dirichlet", "assignments", "document_assignments"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="8 * N + 5000 * K",
    memory="48 * min(N, D * K)",
    reference="Neal 2003; Wallach 2008, section 2.4",
)
def slice_alpha(binding: Binding) -> KernelFunctions:
    """Slice sampling of log alpha, symmetric or one topic after another, theta integrated out."""
    name, tokens, n_topics = binding.names["alpha"], binding.tokens, binding.sizes.topics
    block: Any = binding.blocks[name]
    prior = Gamma(block.shape, block.rate)

    def statistic(state: ChainState) -> list[CountHistogram]:
        return [alpha_statistics(*tokens.drawn(state.z), n_topics, state.arrays[name].ndim == 0)]

    def draw(state: ChainState, key: Key, statistics: CountHistogram) -> None:
        value = state.arrays[name]
        drawn = draw_alpha(state.alpha, statistics, prior, open_stream(*key))
        value[...] = drawn[0] if value.ndim == 0 else drawn

    return KernelFunctions.of_statistic(statistic, merged, draw)
