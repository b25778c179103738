"""A prior of the topics' concentrations under which few or many topics are used, as the corpus says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy.special import gammaln

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.alpha import SMALLEST_ALPHA
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.models.dirichlet import draw_rows_of
from ppl_topics.models.gamma import Gamma

__all__ = ["HierarchicalDirichlet"]


@block("hierarchical_dirichlet")
class HierarchicalDirichlet(Block):
    """Concentrations alpha_k = a pi_k, where pi has a Dirichlet distribution: that of a Dirichlet process, cut at K.

    pi is Dirichlet(g / K, ..., g / K), and a and g have gamma distributions. With many topics, most of pi is close to 0
    and the model is the hierarchical Dirichlet process (Teh et al. 2006, section 5; Ishwaran, Zarepour 2002): K is an
    upper bound, and how many topics have tokens is part of the posterior.

    The variable ``alpha`` holds a pi, whose sum is a, and ``top_concentration`` g. As the concentration of theta.

    Attributes
    ----------
    shape, rate : float
        Of the gamma distribution of a: how alike the weights of documents are.
    top_shape, top_rate : float
        Of the gamma distribution of g: the larger it is, the more topics are used.

    References
    ----------
    Y. W. Teh, M. I. Jordan, M. J. Beal, D. M. Blei (2006). Hierarchical Dirichlet processes. Journal of the American
    Statistical Association 101(476).
    H. Ishwaran, M. Zarepour (2002). Exact and approximate sum representations for the Dirichlet process. Canadian
    Journal of Statistics 30(2).
    """

    seams: ClassVar[frozenset[str]] = frozenset({"concentration"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"shape": 1.7, "rate": 1.1, "top_shape": 1.2, "top_rate": 0.6}

    block: Literal["hierarchical_dirichlet"] = "hierarchical_dirichlet"
    shape: float = pydantic.Field(gt=0)
    rate: float = pydantic.Field(gt=0)
    top_shape: float = pydantic.Field(gt=0)
    top_rate: float = pydantic.Field(gt=0)

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        return None if role == "alpha" else "it must be the concentration of theta, the weights of topics"

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (topic,)."""
        return ("topic",)

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return g."""
        return {"top_concentration": ("top_concentration", ())}

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return the prior means."""
        if role == "top_concentration":
            return np.array(self.top_shape / self.top_rate)
        return np.full(state.sizes.topics, self.shape / self.rate / state.sizes.topics)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw g, or the concentrations given g, from the prior."""
        if role == "top_concentration":
            return np.array(max(rng.gamma(self.top_shape, 1.0 / self.top_rate), SMALLEST_ALPHA))
        topics = state.sizes.topics
        shares = draw_rows_of(np.full((1, topics), float(values["top_concentration"]) / topics), rng)[0]
        return np.asarray(np.maximum(rng.gamma(self.shape, 1.0 / self.rate) * shares, SMALLEST_ALPHA))

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the concentrations and of g."""
        top, topics = float(state.arrays["top_concentration"]), len(value)
        total = float(value.sum())
        of_pi = gammaln(top) - topics * gammaln(top / topics) + (top / topics - 1.0) * np.log(value / total).sum()
        # Of a and pi in the place of their product.
        jacobian = (topics - 1) * np.log(total)
        priors = Gamma(shape=self.shape, rate=self.rate), Gamma(shape=self.top_shape, rate=self.top_rate)
        return float(of_pi - jacobian + sum(prior.log_prior(x) for prior, x in zip(priors, (total, top), strict=True)))
