"""What kernels do on a device: for the name of each that can run there, a builder like the kernel's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numba import cuda

from ppl_topics._util.arrays import IntArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.cuda.device_state import DeviceState
from ppl_topics.cuda.given_phi import LARGEST_WEIGHT, SWEEPS, DeviceLists, DeviceTerm
from ppl_topics.cuda.launching import grid_of_cells, grid_of_documents, grid_of_warps
from ppl_topics.cuda.philox import device_key
from ppl_topics.cuda.topics import (
    WORDS_TOGETHER,
    add_partial_counts,
    add_partial_gammas,
    draw_gammas,
    draw_small_topics,
    fill_lists,
    measure_lists,
    scale_topics,
    sum_counts,
)
from ppl_topics.cuda.warp import LANES
from ppl_topics.errors import RunError
from ppl_topics.samplers.responses.response_term import NO_RESPONSE, acceptance, term_of

__all__ = ["STEPS", "DeviceStep", "count_topics"]

DeviceStep: TypeAlias = Callable[[DeviceState, Key], Mapping[str, float] | None]
"""Updates a state in place, with the randomness of a key, and returns statistics."""


def tolerance(topics: int) -> np.float32:
    """Return how far sums of weights in float32 may be from exact ones, as a share; see `given_phi`."""
    per_lane = -(-topics // LANES)
    return np.float32((per_lane / 4 + 24) * 2.0**-23)


def pieces_of(words: int) -> int:
    """Return how many pieces the words are cut into where terms are added up."""
    return -(-words // WORDS_TOGETHER)


MOST_UNLISTED = 0.5
"""Share of the tokens that are drawn up to which lists pay, where the words of these have none."""


def likely_topics(state: DeviceState, selected: Any, phi: Any, counts: IntArray) -> DeviceLists | None:
    """List the topics that each selected word is likely in; None if the words of many tokens are likely in most topics.

    `counts` are those of the words, 0 for words that are not drawn.
    """
    sizes = state.host.sizes
    lengths = cuda.device_array(sizes.words, np.int64)
    level, rest = cuda.device_array(sizes.words, np.float32), cuda.device_array(sizes.words, np.float32)
    grid = grid_of_warps(sizes.words)
    measure_lists[grid](state.corpus.word_counts, selected, phi, sizes.topics, lengths, level, rest)
    pointer = np.zeros(sizes.words + 1, np.int64)
    found = lengths.copy_to_host()
    if counts[found == 0].sum() > MOST_UNLISTED * counts.sum():
        return None
    np.cumsum(found, out=pointer[1:])
    listed = max(1, int(pointer[-1]))
    topics, values = cuda.device_array(listed, np.uint16), cuda.device_array(listed, np.float32)
    lists = DeviceLists(cuda.to_device(pointer), topics, values, level, rest)
    fill_lists[grid](phi, sizes.topics, lists)
    return lists


def no_lists() -> DeviceLists:
    """Return lists of no word."""
    integers, reals = cuda.device_array(0, np.int64), cuda.device_array(0, np.float32)
    return DeviceLists(integers, cuda.device_array(0, np.uint16), reals, reals, reals)


def given_phi(binding: Binding, words: WordSelection, listed: bool) -> DeviceStep:
    """Build a sweep over documents, given the topics."""
    tokens, phi, sizes = binding.tokens, binding.names["phi"], binding.sizes
    selected = words.mask(tokens.word_counts)
    n_drawn, make_term = tokens.count(selected), term_of(binding)
    supervised = has_responses(binding)
    counts = np.where(selected, tokens.word_counts, 0)

    def step(state: DeviceState, key: Key) -> Mapping[str, float] | None:
        alpha = state.host.document_alpha
        largest = float(alpha.rows.max(initial=0.0)) + state.corpus.longest
        if largest >= LARGEST_WEIGHT:
            raise RunError(
                f"a concentration and the tokens of a document come to {largest:,.0f}, and on a GPU they go up to "
                f"{LARGEST_WEIGHT:,.0f}; leave out device"
            )
        if supervised:
            state.fetch(["z"])
        term = make_term(state.host) if supervised else NO_RESPONSE
        on_device = DeviceTerm(*map(cuda.to_device, term))
        here, given = state.corpus.of(selected), state[phi]
        lists = likely_topics(state, here.selected, given, counts) if listed else None
        rows, row = state.alpha(alpha)
        short_rows = cuda.to_device(alpha.rows.astype(np.float32))
        queue = cuda.to_device(np.zeros(1, np.int32))
        sweep = SWEEPS[lists is not None, supervised]
        sweep[grid_of_documents(sizes.topics, sizes.docs)](
            here,
            state["z"],
            given,
            rows,
            short_rows,
            row,
            no_lists() if lists is None else lists,
            on_device,
            state["n_wk"],
            queue,
            tolerance(sizes.topics),
            device_key(key),
        )
        state.drawn("z", "n_wk")
        count_topics(state)
        if not supervised:
            return None
        on_device.rejected.copy_to_host(term.rejected)
        return acceptance(term, n_drawn)

    return step


def has_responses(binding: Binding) -> bool:
    """Tell whether the topics of documents have responses."""
    return binding.response is not None or bool(binding.alone)


def count_topics(state: DeviceState) -> None:
    """Count the tokens of each topic, from those of each word in it."""
    sizes = state.host.sizes
    partial = cuda.device_array((pieces_of(sizes.words), sizes.topics), np.int64)
    sum_counts[grid_of_cells(sizes.topics, len(partial))](state["n_wk"], sizes.words, partial)
    add_partial_counts[grid_of_cells(sizes.topics, 1)](partial, state["n_k"])
    state.drawn("n_k")


def partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> DeviceStep:
    """Build a sweep that looks at all topics for each token."""
    return given_phi(binding, words, listed=False)


def sparse_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> DeviceStep:
    """Build a sweep that looks at the likely topics of each word."""
    return given_phi(binding, words, listed=True)


def dirichlet_rows(binding: Binding) -> DeviceStep:
    """Build the draw of the topics given the counts by word."""
    phi, sizes = binding.names["phi"], binding.sizes
    pieces = pieces_of(sizes.words)

    def step(state: DeviceState, key: Key) -> None:
        beta, words = state.host.beta, device_key(key)
        shapes, mass = cuda.to_device(beta), float(beta.sum())
        partial = cuda.device_array((pieces, sizes.topics), np.float64)
        scale, finite = cuda.device_array(sizes.topics, np.float32), cuda.device_array(sizes.topics, np.bool_)
        by_cell, drawn = grid_of_cells(sizes.topics, pieces), state[phi]
        draw_gammas[by_cell](state["n_wk"], shapes, words, drawn, partial)
        add_partial_gammas[grid_of_cells(sizes.topics, 1)](partial, state["n_k"], mass, scale, finite)
        scale_topics[by_cell](scale, sizes.words, drawn)
        draw_small_topics[sizes.topics, LANES](state["n_wk"], shapes, words, scale, drawn, finite)
        state.drawn(phi)
        if not finite.copy_to_host().all():
            raise FloatingPointError(f"{phi} is not finite")

    return step


STEPS: Mapping[str, Callable[..., DeviceStep]] = {
    "partially_collapsed": partially_collapsed,
    "sparse_partially_collapsed": sparse_partially_collapsed,
    "dirichlet_rows": dirichlet_rows,
}
"""By the name of a kernel, what builds its step on a device, from a binding and the options of the kernel."""
