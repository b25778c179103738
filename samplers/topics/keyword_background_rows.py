"""Topics with keywords and a background, given assignments: all parts, given how many tokens came from which."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.background_rows import draw_background, draw_shares, mix_background, split_counts
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi
from ppl_topics.samplers.topics.keyword_rows import draw_weights, mix_keywords, split_tokens

__all__ = ["keyword_background_rows"]


@kernel(
    "keyword_background_rows",
    updates=("phi", "keyword_weight", "background", "background_share"),
    reads=("z", "beta"),
    handles=("keywords_and_background", "words"),
    exact=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    cost="V * (300 + 14 * K)",
    memory="4 * V * K",
    reference="Eshima, Imai, Sasaki 2024",
)
def keyword_background_rows(binding: Binding) -> KernelFunctions:
    """Draw topics with keywords and a background given z: which tokens came from which, then these and own words."""
    names, sizes = binding.names, binding.sizes
    roles = ("phi", "keyword_weight", "background", "background_share")
    block: Any = binding.blocks[names["phi"]]
    cells, prior = block.cells, np.array(block.keyword_prior)
    place = cells.words, cells.topics
    a, b, concentration = block.background_prior

    def step(state: ChainState, memory: None, key: Key) -> None:
        phi, weights, background, share = (state.arrays[names[role]] for role in roles)
        # `draw_phi` has the units of all words and topics; then come the words, the background, and topics three times.
        unit = sizes.words + sizes.topics
        after = unit + sizes.words + 1
        counts = split_counts(state.n_wk, phi, background, share, key, unit)
        of_words, of_topics = counts.sum(axis=1, dtype=np.int64), counts.sum(axis=0, dtype=np.int64)
        # What keywords bring to phi, and what phi is there without the background.
        part = (1.0 - share[cells.topics]) * weights
        rest = phi[place] - np.float32(background[cells.words] * share[cells.topics])
        split = split_tokens(counts[place].astype(np.int64), rest.astype(np.float64), part, cells, key, after)
        draw_shares(of_topics, state.n_k, a, b, key, after + sizes.topics, share)
        draw_background(state.n_wk.sum(axis=1) - of_words, concentration, key, unit + sizes.words, background)
        draw_weights(split, of_topics, prior, cells, key, after + 2 * sizes.topics, weights)
        counts[place] -= split.astype(np.int32)
        of_topics -= cells.sums(split).astype(np.int64)
        if not draw_phi(counts, of_topics, state.beta, key, phi):
            raise FloatingPointError(f"{names['phi']} is not finite")
        mix_keywords(weights, cells, phi)
        mix_background(background, share, phi)

    return KernelFunctions(step, checked=(names["phi"],))
