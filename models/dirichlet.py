"""Dirichlet rows: a document's weights over topics, or a topic's over words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.core.alpha import LARGEST_ALPHA, SMALLEST_ALPHA
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.errors import SpecError

__all__ = [
    "PIECE",
    "Concentration",
    "Dirichlet",
    "FixedConcentration",
    "Positive",
    "concentration_vector",
    "draw_rows_of",
    "mean_rows",
]

Positive = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]


class Sum(pydantic.BaseModel):
    """A symmetric concentration, given by its sum over the row.

    Attributes
    ----------
    sum : float
        Each element is ``sum`` divided by their number.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    sum: Positive


FixedConcentration = Positive | Sum | Annotated[list[Positive], pydantic.Field(min_length=1)]
Concentration = FixedConcentration | str

PIECE = 1024
"""Words whose starting values are computed at once."""


@block("dirichlet")
class Dirichlet(Block):
    """Rows with a Dirichlet distribution.

    As ``prior`` of assignments it is theta (over topic, per doc); as ``topics`` of words it is phi (over
    word, per topic).

    Attributes
    ----------
    over : {"topic", "word"}
        What a row sums over.
    per : {"doc", "topic"}
        What there is one row for.
    concentration : float, {sum: float}, list of float, or str
        Of each element; by its sum; one for each; or the name of a block that is its prior.
    integrate_out : bool
        Whether the variable is never held: kernels must marginalise it.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"topic_weights", "topics"})
    references: ClassVar[Mapping[str, str]] = {"concentration": "concentration"}

    block: Literal["dirichlet"] = "dirichlet"
    over: Literal["topic", "word"]
    per: Literal["doc", "topic"]
    concentration: Concentration
    integrate_out: bool = False

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``alpha`` for theta's concentration, ``beta`` for phi's."""
        return {"theta": "alpha", "phi": "beta"}[own_role]

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        wanted = {"theta": ("topic", "doc"), "phi": ("word", "topic")}[role]
        if (self.over, self.per) != wanted:
            use = {"theta": "the prior of assignments", "phi": "the topics of words"}[role]
            return f"used as {use}, it must be `over: {wanted[0]}, per: {wanted[1]}`"
        if self.over == "topic" and isinstance(self.concentration, list) and len(self.concentration) != topics:
            return _wrong_length(self.over, len(self.concentration), topics)
        return None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (doc, topic) or (topic, word)."""
        return (self.per, self.over)

    @property
    def integrated_out(self) -> bool:
        """Whether the model never holds it."""
        return self.integrate_out

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, FloatArray]:
        """Return the concentration as a vector, where it is fixed."""
        if isinstance(self.concentration, str):
            return {}
        vector = concentration_vector(self.concentration, self.over, sizes.of(self.over))
        return {self.reference_role("concentration", role): vector}

    def init(self, role: str, state: ChainState) -> Float32Array:
        """Return the mean of the rows given z."""
        if role == "theta":
            counts, prior = state.drawn_dk.astype(np.float64), state.alpha
            rows = counts + prior
            return np.ascontiguousarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32)
        return mean_rows(state)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw rows from the prior; phi comes out word-major, as the state holds it."""
        concentration = values[self.reference_role("concentration", role)]
        rows = rng.dirichlet(concentration, size=state.sizes.of(self.per))
        return np.ascontiguousarray(rows.T) if role == "phi" else rows


def mean_rows(state: ChainState) -> Float32Array:
    """Return the mean of Dirichlet topics given z, word-major."""
    # By pieces: the whole in float64 would be the largest array of a run.
    beta, phi = state.beta, np.empty(state.n_wk.shape, np.float32)
    totals = state.n_k + beta.sum()
    for first in range(0, len(phi), PIECE):
        piece = slice(first, first + PIECE)
        phi[piece] = (state.n_wk[piece] + beta[piece, None]) / totals
    return phi


def draw_rows_of(alpha: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from the Dirichlet distributions of the rows of a matrix."""
    # By logarithms of gamma variates, since those of small concentrations underflow.
    log_weights = np.log(rng.standard_gamma(alpha + 1.0)) + np.log1p(-rng.random(alpha.shape)) / alpha
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def concentration_vector(value: FixedConcentration, over: str, size: int) -> FloatArray:
    """Return a fixed concentration as a vector."""
    if isinstance(value, list):
        if len(value) != size:
            raise SpecError(_wrong_length(over, len(value), size))
        vector = np.array(value)
    else:
        vector = np.full(size, value.sum / size if isinstance(value, Sum) else value)
    if vector.min() < SMALLEST_ALPHA:
        raise SpecError(f"a concentration over {over} is {vector.min():.3g}; give at least {SMALLEST_ALPHA:g}")
    if vector.max() > LARGEST_ALPHA:
        raise SpecError(f"a concentration over {over} is {vector.max():.3g}; give at most {LARGEST_ALPHA:g}")
    return vector


def _wrong_length(over: str, given: int, size: int) -> str:
    return (
        f"concentration over {over} has {given} values, but there are {size} {over}s; "
        f"give {size} values, or one number for all"
    )
