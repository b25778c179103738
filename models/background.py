"""Topics with a background: words that all of them share, in which stop words find their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, RealArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.models.dirichlet import FixedConcentration, Positive, concentration_vector, draw_rows_of, mean_rows

__all__ = ["BACKGROUND", "Background", "draw_of_background", "mean_of_background", "mix_background"]

BACKGROUND: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "background": ("background", ("word",)),
    "background_share": ("background_share", ("topic",)),
}
"""The variables of a background: role and dims by name."""

BackgroundPrior = tuple[float, float, float]
"""a and b of the shares of a background, and the concentration of each of its words."""


def mean_of_background(role: str, sizes: Sizes, prior: BackgroundPrior) -> FloatArray:
    """Return the prior mean of the background, or of its shares."""
    a, b, _ = prior
    return np.full(sizes.words, 1.0 / sizes.words) if role == "background" else np.full(sizes.topics, a / (a + b))


def draw_of_background(role: str, sizes: Sizes, prior: BackgroundPrior, rng: np.random.Generator) -> FloatArray:
    """Draw the background, or its shares, from the prior."""
    a, b, concentration = prior
    if role == "background":
        return np.asarray(draw_rows_of(np.full((1, sizes.words), concentration), rng)[0])
    return rng.beta(a, b, size=sizes.topics)


def mix_background(phi: RealArray, background: NDArray[Any], share: NDArray[Any]) -> None:
    """Make phi of topics without a background, shape (V, K), in their place: less of them, and the background."""
    phi *= (1.0 - share).astype(phi.dtype)
    phi += np.outer(background, share).astype(phi.dtype)


@block("background")
class Background(Block):
    """Topics that share a background.

    A topic k draws each word from the background with probability s_k, and else from its own words:
    phi_k = (1 - s_k) own_k + s_k background, where own_k and the background are Dirichlet over all words, and s_k has a
    beta distribution: keyword-assisted topics (Eshima, Imai, Sasaki 2024) whose keywords are all words, and the same
    for all topics.

    The variable ``background`` holds the background's probabilities, and ``background_share`` s_k.

    Attributes
    ----------
    over : {"word"}
    per : {"topic"}
    concentration : float, {sum: float} or list of float
        Of each word in the own words of a topic.
    background_concentration : float
        Of each word in the background.
    a, b : float
        Of the beta distribution of s_k, of mean ``a / (a + b)``. With a flat one topics may keep their common words to
        themselves, for nothing asks for a background then; ``a + b`` counts against the tokens of a topic.

    References
    ----------
    C. Chemudugunta, P. Smyth, M. Steyvers (2006). Modeling general and specific aspects of documents with a
    probabilistic topic model. NIPS 19 (there the share is one of the document).
    S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American Journal of Political Science 68(2),
    section 2.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"topics"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"background_concentration": 0.7, "a": 1.4, "b": 0.8}

    block: Literal["background"] = "background"
    over: Literal["word"]
    per: Literal["topic"]
    concentration: FixedConcentration
    background_concentration: Positive = 0.1
    a: Positive = 1.0
    b: Positive = 1.0

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (topic, word)."""
        return ("topic", "word")

    @property
    def background_prior(self) -> BackgroundPrior:
        """The prior: a and b of the shares, and the concentration of each word of the background."""
        return self.a, self.b, self.background_concentration

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the background, and the share that it has of each topic."""
        return BACKGROUND

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, FloatArray]:
        """Return the concentration as a vector."""
        return {"beta": concentration_vector(self.concentration, "word", sizes.words)}

    def init(self, role: str, state: ChainState) -> NDArray[Any]:
        """Return the prior means, and for phi the mean of own words given z and these."""
        if role in BACKGROUND:
            return mean_of_background(role, state.sizes, self.background_prior)
        phi = mean_rows(state)
        mix_background(phi, state.arrays["background"], state.arrays["background_share"])
        return phi

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the background and its shares from the prior, or phi, word-major, given these."""
        if role in BACKGROUND:
            return draw_of_background(role, state.sizes, self.background_prior, rng)
        own = draw_rows_of(np.broadcast_to(values["beta"], (state.sizes.topics, state.sizes.words)), rng)
        phi: FloatArray = np.ascontiguousarray(own.T)
        mix_background(phi, values["background"], values["background_share"])
        return phi
