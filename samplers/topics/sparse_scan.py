"""Which words a topic includes, where topics are sparse: the scan of `indicator_scan` over packed bits.

For the scan the sparse topics become a bit for each topic and word, and another that says where there are tokens: a
sixteenth of the memory of phi as a dense array, while the scan runs.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.indicator_scan import ScanGiven, scan_packed
from ppl_topics.samplers.topics.packed_indicators import PackedIndicators, pack_sparse, unpack_sparse

__all__ = ["listed_scan", "scan_sparse"]


def scan_sparse(sparse: SparseTopics, given: ScanGiven, key: Key) -> SparseTopics:
    """Return sparse topics with indicators drawn from their full conditionals, phi integrated out.

    The draws are those of `ppl_topics.samplers.topics.indicator_scan.scan_indicators`, bit for bit. Words that stay
    keep their probabilities, which are stale.
    """
    packed = PackedIndicators.empty(*sparse.shape)
    number = pack_sparse(sparse, packed)
    scan_packed(number, given, packed, key)
    return unpack_sparse(packed, sparse)


@kernel(
    "listed_scan",
    updates="included",
    integrates_out="phi",
    reads=("z", "beta", "pi"),
    handles=("listed_spike_slab", "listed_words"),
    exact=True,
    automatic=True,
    parallel_over="topic",
    cost="8 * V * K + 20 * L",
    memory="V * K / 4 + 10 * L + 400_000",
    tasks="(K + 7) // 8",
    reference="Magnusson et al. 2018, appendix B",
)
def listed_scan(binding: Binding) -> KernelFunctions:
    """Draw which words each sparse topic includes, phi integrated out; parallel over topics."""
    block: Any = binding.blocks[binding.names["phi"]]

    def step(state: ChainState, memory: None, key: Key) -> None:
        assert state.sparse_topics is not None, "a state without sparse topics"
        given = ScanGiven.of(state, block.probability(state))
        state.sparse_topics = scan_sparse(state.sparse_topics, given, key)

    return KernelFunctions(step)
