"""Collapsed Gibbs sampling in parallel, and exact: tiles of documents by words, given each topic's mass in a block.

The words are dealt into B blocks. Given z, the masses that a topic has in the blocks are Dirichlet with parameters
n_bk + beta_b, by the aggregation property, and independently the words of each block share its mass by a Dirichlet
distribution too. So a sweep first draws the masses; given these, with the shares within blocks integrated
out, tokens of different blocks meet only in the counts of their documents. The corpus is cut into B groups of documents
by B blocks of words, and B tiles of a diagonal, which share neither a document nor a block, are swept at the same time,
one diagonal after another. Each step draws from a full conditional of the distribution of z and the masses, whose
margin is the posterior of z: so the posterior stays invariant. The masses summarise many tokens each, so holding them
for a sweep hardly slows the chain; with one block this is collapsed Gibbs sampling, token by token. The conditional is
in `ppl_topics.samplers.assignments.tile`.

References
----------
T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101, equation 5.
F. Yan, N. Xu, Y. Qi (2009). Parallel inference for latent Dirichlet allocation on graphics processing units. NIPS 22.
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document collections.
H.-F. Yu and others (2015). A scalable asynchronous distributed algorithm for topic modeling. WWW'15.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pydantic

from ppl_topics._util.arrays import IntArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, Rotation, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.block_masses import draw_masses, sum_by_block
from ppl_topics.samplers.assignments.tile_sweeper import TileSweeper, rare_words
from ppl_topics.samplers.assignments.tiling import block_at, default_blocks, make_tiling
from ppl_topics.samplers.responses.response_term import acceptance, term_of

__all__ = ["NumberOfBlocks", "block_collapsed"]

NumberOfBlocks = Annotated[int, pydantic.Field(ge=1, le=1024)]


@kernel(
    "block_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc and word",
    distributes="rotate",
    cost="N * (53 + 0.18 * K if K <= 512 else 90 + 0.6 * K_d + 0.01 * K) + N * (16 * min(1, C) + 0.9 * C)",
    tasks="min(16, max(N // 2**18, min(4, N // 2**14)))",
    memory="4 * N + (11 * N if K > 512 else 4 * D * K if 2 * D * K <= N else 0) + 50 * D * C + 10 * N * min(1, C)",
    reference="Griffiths, Steyvers 2004, eq. 5, given the masses of blocks of words",
    tiny_options={"blocks": 3},
)
def block_collapsed(
    binding: Binding, *, blocks: NumberOfBlocks | None = None, words: WordSelection = ALL_WORDS
) -> KernelFunctions:
    """Collapsed Gibbs in parallel: theta, and phi within blocks of words, integrated out; documents by blocks."""
    tokens, sizes = binding.tokens, binding.sizes
    n_blocks = blocks or default_blocks(int(tokens.word_counts.sum()))
    selected = words.mask(tokens.word_counts)
    tiling = make_tiling(tokens, selected, np.ones(sizes.words, np.bool_), n_blocks)
    make_term = term_of(binding)

    def init(state: ChainState) -> TileSweeper:
        return TileSweeper(tokens, tiling, sizes.topics, rare_words(tokens.word_counts, sizes.topics))

    def begin(state: ChainState, sweeper: TileSweeper, key: Key) -> None:
        beta_sum = sum_by_block(tiling.word_block, state.beta, n_blocks)
        masses = draw_masses(sweeper.count(state), beta_sum, key)
        sweeper.begin(state, masses, beta_sum, make_term(state), key)

    def visit(state: ChainState, sweeper: TileSweeper, first: int, last: int) -> None:
        sweeper.visit(state, first, last)

    def end(state: ChainState, sweeper: TileSweeper) -> dict[str, float] | None:
        sweeper.end(state)
        return acceptance(sweeper.given[1], len(tiling.order))

    def give(sweeper: TileSweeper, block: int) -> Any:
        return sweeper.give(rotation.words[block])

    def take(state: ChainState, sweeper: TileSweeper, block: int, n_k: IntArray, given: Any) -> None:
        sweeper.take(state.n_wk, block, rotation.words[block], n_k, given)

    rotation = Rotation(tiling.word_block, tiling.group_ptr, block_at, begin, visit, end, give, take)
    return KernelFunctions.of_rotation(rotation, init, scratch=True)
