"""SparseLDA: collapsed Gibbs sampling over the topics that a word has, and a small rest, one token after another.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

import numpy as np

from ppl_topics.declarations import ALL_WORDS, Binding, KernelFunctions, WordSelection
from ppl_topics.registry import kernel
from ppl_topics.samplers.assignments.block_collapsed import TileSweeper
from ppl_topics.samplers.assignments.tiles import make_tiling
from ppl_topics.state import ChainState, Key

__all__ = ["sparse_collapsed"]


@kernel(
    "sparse_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta"),
    handles=("dirichlet", "assignments", "words"),
    exact=True,
    automatic=True,
    cost="N * (60 + 1.3 * K_w)",
    memory="4 * N + 6 * min(N, V * K)",
    reference="Yao, Mimno, McCallum 2009, section 3",
)
def sparse_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """SparseLDA: O(topics of the word) a token, sequential, theta and phi integrated out."""
    tokens, sizes = binding.tokens, binding.sizes
    selected = words.mask(tokens.word_counts)
    tiling = make_tiling(tokens, selected, np.ones(sizes.words, np.bool_), n_blocks=1)
    mass = np.ones((1, sizes.topics))

    def init(state: ChainState) -> TileSweeper:
        return TileSweeper(tokens, tiling, sizes.topics, most_listed=sizes.topics)

    def step(state: ChainState, sweeper: TileSweeper, key: Key) -> None:
        sweeper.count(state.z)
        sweeper.sweep(state, mass, np.array([state.beta.sum()]), key)

    return KernelFunctions(step, init)
