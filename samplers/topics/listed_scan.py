"""Which words a topic includes, where topics are held as lists: the scan of `indicator_scan` over packed bits.

For the scan the lists become a bit for each topic and word, and another that says where there are tokens: a sixteenth
of the memory of phi as an array, for its duration.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.sparse_topics import TopicLists
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.indicator_scan import BLOCK, log_odds, scan_packed
from ppl_topics.samplers.topics.listing import list_packed, pack_listed

__all__ = ["listed_scan", "scan_lists"]


def scan_lists(
    lists: TopicLists,
    n_k: IntArray,
    beta: FloatArray,
    word_log_odds: FloatArray,
    topic_log_odds: FloatArray,
    key: Key,
) -> TopicLists:
    """Draw the indicator of each word in each topic from its full conditional, phi integrated out; return new lists.

    The draw is that of `ppl_topics.samplers.topics.indicator_scan.scan_indicators` for the same counts, indicators and
    keys, bit for bit. Words that stay keep their probabilities, which are stale.

    Parameters
    ----------
    lists : TopicLists
    n_k : ndarray of int64 of shape (K,)
        Tokens of each topic.
    beta : ndarray of float64 of shape (V,)
    word_log_odds : ndarray of float64 of shape (V,)
    topic_log_odds : ndarray of float64 of shape (K,)
        Their sum is the prior log odds of inclusion; infinite where it is certain.
    key : Key
        Of the random streams.
    """
    n_words, n_topics = lists.shape
    shape = -(-n_topics // BLOCK), n_words
    occupied, packed = np.empty(shape, np.uint8), np.empty(shape, np.uint8)
    number = pack_listed(lists.pointer, lists.topics, lists.counts, n_topics, occupied, packed)
    scan_packed(number, n_k, beta, word_log_odds, topic_log_odds, key, occupied, packed)
    return list_packed(packed, lists)


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
    """Draw which words each topic, held as lists, includes, phi integrated out; parallel over topics."""
    block: Any = binding.blocks[binding.names["phi"]]
    sizes = binding.sizes

    def step(state: ChainState, memory: None, key: Key) -> None:
        odds = log_odds(block.probability(state), sizes.words, sizes.topics)
        assert state.lists is not None, "a state without lists"
        state.lists = scan_lists(state.lists, state.n_k, state.beta, *odds, key)

    return KernelFunctions(step)
