"""Semi-collapsed Gibbs sampling: frequent words given their phi, rare words with theirs integrated out.

Given phi, a token of a word that occurs once can hardly move, since its own topic has all of the word's mass. And most
words of a corpus are rare, so most draws of phi are for them. Here a sweep draws phi for the frequent words, and the
mass that each topic has in a few blocks of rare words, as if a block were one word: jointly Dirichlet by the
aggregation property, and independent of how the words of a block share its mass. Given these, tokens of frequent words
are drawn in parallel over documents, and those of rare words as in `block_collapsed`. Both are discarded after the
sweep: the kernel integrates phi out, and leaves the posterior of z invariant.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equations 3 to 5.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic

from ppl_topics._util.arrays import BoolArray, Float32Array, Int32Array, IntArray, UInt32Array, read_only
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions, Rotation
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.assignments.block_collapsed import NumberOfBlocks
from ppl_topics.samplers.assignments.block_masses import sum_by_block
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi
from ppl_topics.samplers.assignments.partially_collapsed import sweep_partially_collapsed
from ppl_topics.samplers.assignments.tile_sweeper import TileSweeper, rare_words
from ppl_topics.samplers.assignments.tiling import Tiling, block_at, default_blocks, make_tiling
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.response_term import acceptance, term_of
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi

__all__ = ["Aggregation", "aggregate", "semi_collapsed"]

Occurrences = Annotated[int, pydantic.Field(ge=0)]


class Aggregation(NamedTuple):
    """A corpus whose vocabulary has each block of rare words as one word.

    Attributes
    ----------
    frequent : ndarray of int64 of shape (F,)
        The frequent words; in the aggregated vocabulary they come first, then the B blocks.
    words : ndarray of uint32 of shape (N,)
        Aggregated word of each token.
    tiling : Tiling
        The tokens of the rare words.
    n_blocks : int
        B.
    """

    frequent: IntArray
    words: UInt32Array
    tiling: Tiling
    n_blocks: int


def aggregate(tokens: Tokens, rare: BoolArray, blocks: int | None) -> Aggregation:
    """Deal the rare words, of which `rare` is a mask, into blocks; at most as many as there are rare words."""
    counts = tokens.word_counts
    n_blocks = min(blocks or default_blocks(int(counts[rare].sum())), int(rare.sum()))
    tiling = make_tiling(tokens, rare, rare, n_blocks)
    frequent = np.flatnonzero(~rare)
    renamed = np.empty(len(rare), dtype=np.uint32)
    renamed[frequent] = np.arange(len(frequent))
    renamed[rare] = len(frequent) + tiling.word_block[rare]
    return Aggregation(frequent, read_only(renamed[tokens.words], np.uint32), tiling, n_blocks)


class Memory(NamedTuple):
    """Memory of one chain: its sweeper, and counts and probabilities of the F + B aggregated words in K topics."""

    sweeper: TileSweeper
    counts: Int32Array
    phi: Float32Array


# Not automatic: at the same cost `block_collapsed` collapses all words.
@kernel(
    "semi_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    parallel_over="doc",
    distributes="rotate",
    cost="N * (50 + 0.13 * K) + 2 * V * K + N * (16 * min(1, C) + 0.9 * C)",
    memory="8 * N + 4 * V * K + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, eqs. 3 to 5, with rare words collapsed",
    tiny_options={"blocks": 3},
)
def semi_collapsed(binding: Binding, *, rare: Occurrences = 9, blocks: NumberOfBlocks | None = None) -> KernelFunctions:
    """Frequent words given phi, words of at most `rare` tokens collapsed; theta and phi integrated out."""
    tokens, sizes = binding.tokens, binding.sizes
    is_rare = tokens.word_counts <= rare
    whole, elsewhere = aggregate(tokens, is_rare, blocks), tokens.elsewhere
    tiling = whole.tiling
    n_frequent = len(whole.frequent)
    is_frequent = np.arange(n_frequent + whole.n_blocks) < n_frequent
    frequent = tokens.by_document(is_frequent)._replace(words=whole.words)
    make_term = term_of(binding)

    def init(state: ChainState) -> Memory:
        shape = (n_frequent + whole.n_blocks, sizes.topics)
        sweeper = TileSweeper(tokens, tiling, sizes.topics, rare_words(tokens.word_counts, sizes.topics))
        return Memory(sweeper, np.zeros(shape, np.int32), np.zeros(shape, np.float32))

    def begin(state: ChainState, memory: Memory, key: Key) -> None:
        sweeper, counts, phi = memory
        term, beta = make_term(state), state.beta
        beta_sum = sum_by_block(tiling.word_block, beta, whole.n_blocks)
        np.take(state.n_wk, whole.frequent, axis=0, out=counts[:n_frequent])
        counts[n_frequent:] = sweeper.count(state)
        betas = np.concatenate([beta[whole.frequent], beta_sum])
        draw_phi(counts, state.n_k, betas, key._replace(kernel=key.kernel + Reserved.PHI_WITHIN_KERNEL), phi)
        by_document = key if elsewhere is None else key._replace(first=elsewhere.docs_before)
        given = AllGivenPhi.of(state.document_alpha, phi)
        sweep_partially_collapsed(frequent, state.z, given, (), term, by_document)
        # The counts of rare words are those of all documents, wherever these are.
        of_rare = None if elsewhere is None else state.n_wk[is_rare]
        recount(tokens, state)
        if of_rare is not None:
            state.n_wk[is_rare] = of_rare
        mass = phi[n_frequent:].astype(np.float64)
        sweeper.begin(state, mass, beta_sum, term, key._replace(kernel=key.kernel + Reserved.RARE_WITHIN_KERNEL))

    def visit(state: ChainState, memory: Memory, first: int, last: int) -> None:
        memory.sweeper.visit(state, first, last)

    def end(state: ChainState, memory: Memory) -> dict[str, float] | None:
        memory.sweeper.end(state)
        return acceptance(memory.sweeper.given[1], sizes.tokens)

    def give(memory: Memory, block: int) -> Any:
        return memory.sweeper.give(rotation.words[block])

    def take(state: ChainState, memory: Memory, block: int, n_k: IntArray, given: Any) -> None:
        memory.sweeper.take(state.n_wk, block, rotation.words[block], n_k, given)

    rotation = Rotation(tiling.word_block, tiling.group_ptr, block_at, begin, visit, end, give, take)
    return KernelFunctions.of_rotation(rotation, init, scratch=True)
