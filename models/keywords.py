"""Topics with keywords: each a mixture of its own words and of words that are known to belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, RealArray
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.models.dirichlet import Positive, draw_rows_of, mean_rows
from ppl_topics.models.keyword_topics import KeywordTopics

__all__ = ["Keywords"]


@block("keywords")
class Keywords(KeywordTopics):
    """Topics of which some have keywords (Eshima, Imai, Sasaki 2024).

    A topic k with keywords draws each word from its keywords with probability p_k, and else from all words:
    phi_k = (1 - p_k) own_k + p_k keyword_k, where own_k is Dirichlet over all words, keyword_k Dirichlet over the
    keywords of the topic, and p_k has a beta distribution. Topics without keywords are plain Dirichlet.

    The variable ``keyword_weight`` holds p_k keyword_k, the part of phi that the keywords bring: its sum over the
    keywords of a topic is p_k.

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

    References
    ----------
    S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American Journal of Political Science 68(2),
    section 2.
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        "keywords": {"first": ["0", "2"], "second": ["1", "0"]},
        "keyword_concentration": 0.7,
        "a": 1.4,
        "b": 0.8,
    }

    block: Literal["keywords"] = "keywords"
    keyword_concentration: Positive = 0.1
    a: Positive = 1.0
    b: Positive = 1.0

    @property
    def keyword_prior(self) -> tuple[float, float, float]:
        """The prior: a and b of the shares of keywords, and the concentration of each keyword."""
        return self.a, self.b, self.keyword_concentration

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the part of phi that the keywords bring, a number for each."""
        return {"keyword_weight": ("keyword_weight", ("keyword",))}

    def init(self, role: str, state: ChainState) -> NDArray[Any]:
        """Return the prior means of the keywords' weights, and for phi the mean of own words given z and these."""
        if role == "keyword_weight":
            cells = self.cells
            return self.a / (self.a + self.b) / np.diff(cells.pointer)[cells.topics]
        phi = mean_rows(state)
        self.mix(phi, state.arrays["keyword_weight"])
        return phi

    def mix(self, phi: RealArray, weight: NDArray[Any]) -> None:
        """Make phi of the own words of topics, shape (V, K), in their place: less of them, in favour of keywords."""
        cells = self.cells
        phi *= np.maximum(0.0, 1.0 - cells.sums(weight)).astype(phi.dtype)
        phi[cells.words, cells.topics] += weight

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the weights of the keywords from the prior, or phi, word-major, given these."""
        if role == "keyword_weight":
            cells = self.cells
            rows = [
                draw_rows_of(np.full((1, size), self.keyword_concentration), rng)[0]
                for size in np.diff(cells.pointer)
                if size
            ]
            return np.concatenate(rows) * rng.beta(self.a, self.b, size=len(rows))[cells.topics]
        own = draw_rows_of(np.broadcast_to(values["beta"], (state.sizes.topics, state.sizes.words)), rng)
        phi: FloatArray = np.ascontiguousarray(own.T)
        self.mix(phi, values["keyword_weight"])
        return phi
