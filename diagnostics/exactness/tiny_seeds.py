"""Topics with seed words on the tiny corpus: their distribution given z."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.enumeration import dirichlet_multinomial
from ppl_topics.engine.bind import BoundModel

__all__ = ["TinySeeds"]


class TinySeeds:
    """The distribution of phi given assignments, of topics with seed words; phi is given if the schedule leaves it."""

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str], rng: np.random.Generator) -> None:
        name = bound.model.names["phi"]
        block = bound.block(name)
        self._concentrations = np.tile(state.beta, (state.sizes.topics, 1))
        self._concentrations[block.cells.topics, block.cells.words] += block.tokens_of_keywords
        self.given_phi: NDArray[Any] | None = None
        if "phi" not in moved:
            state.arrays[name][...] = block.simulate("phi", {"beta": state.beta}, state, rng)
            self.given_phi = state.arrays[name].copy()

    def log_evidence(self, n_kw: NDArray[Any]) -> FloatArray:
        """Return log p(w | z) of each state, phi summed over, for counts of shape (S, K, V)."""
        return dirichlet_multinomial(n_kw, self._concentrations)

    def draw(self, n_wk: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw phi given the counts, shape (V, K); by role."""
        rows = [rng.dirichlet(row) for row in n_wk.T + self._concentrations]
        return {"phi": np.stack(rows, axis=1) if self.given_phi is None else self.given_phi}
