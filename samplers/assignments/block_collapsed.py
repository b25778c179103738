"""Collapsed Gibbs sampling in parallel, and exact: tiles of documents by words, given each topic's mass in a block.

The words are dealt into B blocks. Given z, the masses that a topic has in the blocks are Dirichlet with parameters
n_kb + beta_b, by the aggregation property, and the shares of the words within a block are independent Dirichlet
distributions of their own. So a sweep first draws the masses; given these, with the shares within blocks integrated
out, tokens of different blocks meet only in the counts of their documents. The corpus is cut into B groups of documents
by B blocks of words, and B tiles of a diagonal, which share neither a document nor a block, are swept at the same time,
one diagonal after another. Each step draws from a full conditional of the distribution of z and the masses, whose
margin is the posterior of z: so the posterior stays invariant. The masses are many tokens' worth each, so holding them
for a sweep hardly slows the chain; with one block it is collapsed Gibbs sampling, token by token.

References
----------
T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101, equation 5.
F. Yan, N. Xu, Y. Qi (2009). Parallel inference for latent Dirichlet allocation on graphics processing units. NIPS 22.
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document collections.
"""

from __future__ import annotations

from typing import Annotated, Any

import numba
import numpy as np
import numpy.typing as npt
import pydantic

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.assignments.collapsed_tiles import Places, Priors, Tile, new_tile
from ppl_topics.samplers.assignments.dense_tiles import sweep_dense
from ppl_topics.samplers.assignments.sparse_tiles import sweep_sparse
from ppl_topics.samplers.assignments.tiles import (
    Tiling,
    block_sums,
    count_blocks,
    count_docs,
    default_blocks,
    draw_masses,
    make_tiling,
)
from ppl_topics.samplers.assignments.word_lists import WordLists, fill_lists, new_lists
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["TileSweeper", "block_collapsed", "sweep_diagonals"]

MOST_DENSE_TOPICS = 512
"""With more topics than this, words get lists of their topics."""

LISTED_SHARE = 8
"""A list of more than this part of the topics is slower than all topics, eight at a time."""

DENSE_BYTES_A_TOKEN = 2
"""Counts by document are kept as a matrix where it takes no more memory than this."""

Blocks = Annotated[int, pydantic.Field(ge=1, le=1024)]


@parallel
def sweep_diagonals(
    group_ptr: IntArray,
    tile_ptr: IntArray,
    places: Places,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_bk: IntArray,
    n_dk: Int32Array,
    lists: WordLists,
    sparse: bool,
    mass: FloatArray,
    beta_sums: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over all tiles, one diagonal after another, in parallel over the tiles of each.

    Parameters
    ----------
    group_ptr : ndarray of int64 of shape (B + 1,)
    tile_ptr : ndarray of int64 of shape (B, B + 1)
        Documents of the groups, and tokens of the tiles; see `ppl_topics.samplers.assignments.tiles.Tiling`.
    places : Places
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place.
    n_wk : ndarray of int32 of shape (V, K)
    n_bk : ndarray of int64 of shape (B, K)
    n_dk : ndarray of int32 of shape (D, K) or (0, K)
        Counts of z, updated in place; without rows, documents are counted at each visit.
    lists : WordLists
    sparse : bool
        Whether to use the lists.
    mass : ndarray of float64 of shape (B, K)
    beta_sums : ndarray of float64 of shape (B,)
        Of each topic in each block, and of the block's prior.
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    term : ResponseTerm
    key : Key
        Of the random streams, one for each tile.
    """
    n_blocks = len(n_bk)
    priors = Priors(alpha, beta, alpha.astype(np.float32), beta.astype(np.float32))
    for diagonal in range(n_blocks):
        for group in numba.prange(n_blocks):
            tile = tile_of(group, diagonal, group_ptr, tile_ptr, n_bk, mass, beta_sums, priors, key)
            if sparse:
                sweep_sparse(tile, places, z, n_wk, lists, term)
            else:
                sweep_dense(tile, places, z, n_wk, n_dk, term)


@compiled
def tile_of(
    group: int,
    diagonal: int,
    group_ptr: IntArray,
    tile_ptr: IntArray,
    n_bk: IntArray,
    mass: FloatArray,
    beta_sums: FloatArray,
    priors: Priors,
    key: Key,
) -> Tile:
    """Return the tile of a group on a diagonal, with a stream of its own."""
    n_blocks = len(n_bk)
    block = (group + diagonal) % n_blocks
    first, last = tile_ptr[block, group], tile_ptr[block, group + 1]
    stream = new_stream()
    start(stream, key, block * n_blocks + group)
    return new_tile(first, last, group_ptr[group], n_bk[block], mass[block], beta_sums[block], priors, stream)


class TileSweeper:
    """Sweeps of the tokens of some words, tile by tile, and the memory that they need.

    Parameters
    ----------
    tokens : Tokens
    tiling : Tiling
    n_topics : int
    most_listed : int
        Longest list of a word's topics; 0 for none, all topics being drawn from eight at a time.
    """

    def __init__(self, tokens: Tokens, tiling: Tiling, n_topics: int, most_listed: int) -> None:
        self.tokens = tokens
        self.tiling = tiling
        self.sparse = most_listed > 0
        self.lists = new_lists(tokens.word_counts, most_listed)
        n_docs, n_tokens = len(tokens.doc_ptr) - 1, len(tokens.words)
        dense = not self.sparse and 4 * n_docs * n_topics <= DENSE_BYTES_A_TOKEN * n_tokens
        self.n_dk = np.zeros((n_docs if dense else 0, n_topics), np.int32)
        self.n_bk = np.zeros((len(tiling.tile_ptr), n_topics), np.int64)

    def count(self, z: npt.NDArray[Any]) -> IntArray:
        """Count the topics of the tokens of each block, and return these counts."""
        tokens = self.tokens
        count_blocks(tokens.chunk_ptr, tokens.doc_ptr, tokens.words, z, self.tiling.block, self.n_bk)
        return self.n_bk

    def sweep(
        self,
        state: ChainState,
        mass: FloatArray,
        beta_sums: FloatArray,
        term: ResponseTerm,
        key: Key,
    ) -> None:
        """Draw the tokens given the masses; `count` must have been called since z changed."""
        tokens, tiling = self.tokens, self.tiling
        if len(self.n_dk):
            count_docs(tokens.chunk_ptr, tokens.doc_ptr, state.z, self.n_dk)
        if self.sparse:
            fill_lists(state.n_wk, self.lists)
        before = self.n_bk.sum(axis=0)
        sweep_diagonals(
            tiling.group_ptr,
            tiling.tile_ptr,
            Places(tiling.order, tokens.doc_ptr, tokens.words),
            state.z,
            state.n_wk,
            self.n_bk,
            self.n_dk,
            self.lists,
            self.sparse,
            mass,
            beta_sums,
            state.alpha,
            state.beta,
            term,
            key,
        )
        state.n_k += self.n_bk.sum(axis=0) - before


def most_listed(n_topics: int) -> int:
    """Return the longest list of topics that pays, or 0 where none does."""
    return n_topics // LISTED_SHARE if n_topics > MOST_DENSE_TOPICS else 0


@kernel(
    "block_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc and word",
    cost="N * (53 + 0.18 * K) + N * (16 * min(1, C) + 0.9 * C)",
    tasks="min(16, N // 2**18)",
    memory="4 * N + (6 * min(N, V * K / 8) if K > 512 else 4 * D * K if 2 * D * K <= N else 0)"
    " + 50 * D * C + 10 * N * min(1, C)",
    reference="Griffiths, Steyvers 2004, eq. 5, given the masses of blocks of words",
)
def block_collapsed(
    binding: Binding, *, blocks: Blocks | None = None, words: WordSelection = ALL_WORDS
) -> KernelFunctions:
    """Collapsed Gibbs in parallel: theta, and phi within blocks of words, integrated out; documents by blocks."""
    tokens, sizes = binding.tokens, binding.sizes
    n_blocks = blocks or default_blocks(sizes.tokens)
    selected = words.mask(tokens.word_counts)
    tiling = make_tiling(tokens, selected, np.ones(sizes.words, np.bool_), n_blocks)
    make_term = term_of(binding)

    def init(state: ChainState) -> TileSweeper:
        return TileSweeper(tokens, tiling, sizes.topics, most_listed(sizes.topics))

    def step(state: ChainState, sweeper: TileSweeper, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        n_bk = sweeper.count(state.z)
        beta_sums = block_sums(tiling.block, state.beta, n_blocks)
        mass = np.empty((n_blocks, sizes.topics))
        draw_masses(n_bk, beta_sums, key, n_blocks * n_blocks, mass)
        sweeper.sweep(state, mass, beta_sums, term, key)
        return acceptance(term, len(tiling.order))

    return KernelFunctions(step, init, scratch=True)
