"""Topics with seed words, given assignments: Dirichlet, a seed word counting as tokens of its topic."""

from __future__ import annotations

from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.keyword_cells import with_tokens
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi

__all__ = ["seeded_rows"]


@kernel(
    "seeded_rows",
    updates="phi",
    reads=("z", "beta"),
    handles=("seeded", "words"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    cost="V * (200 + 4.4 * K)",
    reference="Magnusson et al. 2018, eq. 3",
)
def seeded_rows(binding: Binding) -> KernelFunctions:
    """Draw topics with seed words given z: each row Dirichlet, parallel over words."""
    phi = binding.names["phi"]
    block: Any = binding.blocks[phi]
    cells, weight = block.cells, block.weight

    def step(state: ChainState, memory: None, key: Key) -> None:
        with with_tokens(state, cells, weight):
            finite = draw_phi(state.n_wk, state.n_k, state.beta, key, state.arrays[phi])
        if not finite:
            raise FloatingPointError(f"{phi} is not finite")

    return KernelFunctions(step, checked=(phi,))
