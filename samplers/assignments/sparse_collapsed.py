"""SparseLDA: collapsed Gibbs sampling over the topics that a word has, and a small rest, one token after another.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

import numpy as np

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.tile_sweeper import TileSweeper
from ppl_topics.samplers.assignments.tiling import make_tiling
from ppl_topics.samplers.responses.response_term import acceptance, term_of

__all__ = ["sparse_collapsed"]


@kernel(
    "sparse_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    cost="N * (60 + 1.3 * K_w) + N * (16 * min(1, C) + 0.9 * C)",
    memory="10 * N + 6 * min(N, V * K) + 50 * D * C + 10 * N * min(1, C)",
    reference="Yao, Mimno, McCallum 2009, section 3",
)
def sparse_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """SparseLDA: O(topics of the word) a token, sequential, theta and phi integrated out."""
    tokens, sizes = binding.tokens, binding.sizes
    selected = words.mask(tokens.word_counts)
    tiling = make_tiling(tokens, selected, np.ones(sizes.words, np.bool_), n_blocks=1)
    mass = np.ones((1, sizes.topics))
    make_term = term_of(binding)

    def init(state: ChainState) -> TileSweeper:
        return TileSweeper(tokens, tiling, sizes.topics, np.ones(sizes.words, np.bool_))

    def step(state: ChainState, sweeper: TileSweeper, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        sweeper.count(state)
        sweeper.sweep(state, mass, np.array([state.beta.sum()]), term, key)
        return acceptance(term, len(tiling.order))

    return KernelFunctions(step, init, scratch=True)
