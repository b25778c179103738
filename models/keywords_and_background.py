"""Topics of which some have keywords, and that share a background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.models.background import (
    BACKGROUND,
    BackgroundPrior,
    draw_of_background,
    mean_of_background,
    mix_background,
)
from ppl_topics.models.dirichlet import Positive
from ppl_topics.models.keywords import Keywords

__all__ = ["KeywordsAndBackground"]


@block("keywords_and_background")
class KeywordsAndBackground(Keywords):
    """Topics of which some have keywords, and that share a background (after Eshima, Imai, Sasaki 2024).

    A topic k draws each word from the background with probability s_k. Else it draws it as a topic of ``keywords``
    does: phi_k = (1 - s_k) ((1 - p_k) own_k + p_k keyword_k) + s_k background.

    The variable ``keyword_weight`` holds p_k keyword_k, ``background`` the background's probabilities, and
    ``background_share`` s_k.

    Attributes
    ----------
    over : {"word"}
    per : {"topic"}
    concentration : float, {sum: float} or list of float
        Of each word in the own words of a topic.
    keywords : dict of str to list of str
        Names of the first topics, in order, and the keywords of each; ``terror*`` stands for all words that begin so.
    keyword_concentration : float
        Of each keyword among those of its topic.
    a, b : float
        Of the beta distribution of p_k, of mean ``a / (a + b)``.
    background_concentration : float
        Of each word in the background.
    background_a, background_b : float
        Of the beta distribution of s_k. With a flat one topics may keep their common words to themselves;
        ``background_a + background_b`` counts against the tokens of a topic.

    References
    ----------
    S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American Journal of Political Science 68(2),
    section 2 (there without a background).
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        **Keywords.tiny_parameters,
        "background_concentration": 0.6,
        "background_a": 0.9,
        "background_b": 1.7,
    }

    block: Literal["keywords_and_background"] = "keywords_and_background"  # type: ignore[assignment]
    background_concentration: Positive = 0.1
    background_a: Positive = 1.0
    background_b: Positive = 1.0

    @property
    def background_prior(self) -> BackgroundPrior:
        """The prior: a and b of the shares, and the concentration of each word of the background."""
        return self.background_a, self.background_b, self.background_concentration

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the weights of the keywords, the background, and the share that it has of each topic."""
        return {**super().auxiliaries(), **BACKGROUND}

    def init(self, role: str, state: ChainState) -> NDArray[Any]:
        """Return the prior means, and for phi the mean of own words given z and these."""
        if role in BACKGROUND:
            return mean_of_background(role, state.sizes, self.background_prior)
        value = super().init(role, state)
        if role == "phi":
            mix_background(value, state.arrays["background"], state.arrays["background_share"])
        return value

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the parts of phi from the prior, or phi, word-major, given these."""
        if role in BACKGROUND:
            return draw_of_background(role, state.sizes, self.background_prior, rng)
        value = super().simulate(role, values, state, rng)
        if role == "phi":
            mix_background(value, values["background"], values["background_share"])
        return value
