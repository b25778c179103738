"""Topics in which most words have probability zero, exactly: a spike at zero, a Dirichlet slab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.errors import SpecError
from ppl_topics.models.dirichlet import PIECE, FixedConcentration, concentration_vector

__all__ = ["SpikeSlab"]


def _possible(value: float) -> float:
    if not 0.0 < value <= 1.0:
        raise ValueError(
            f"expected a probability above 0 (each topic needs a word) and at most 1 (plain Dirichlet), got {value:g}"
        )
    return value


Probability = Annotated[float, pydantic.AfterValidator(_possible)]


@block("spike_slab")
class SpikeSlab(Block):
    """Topics that include some of the words and give the others probability zero.

    An indicator I_kv, Bernoulli(pi), says whether topic k includes word v; phi_k is Dirichlet over the words that it
    includes, with their concentrations, and 0 elsewhere. A topic needs a word: the joint distribution of pi and all
    indicators is their product restricted to topics with at least one word each, and is not normalised again given pi.
    So pi given the indicators has its plain conjugate distribution, Beta(a + included, b + not included), and to draw
    from the prior is to draw pi and all indicators until no topic is empty.

    Attributes
    ----------
    over : {"word"}
    per : {"topic"}
    concentration : float, {sum: float} or list of float
        Of each word that is included; as of all V words by the sum; or one for each word.
    inclusion : float, list of float, or str
        pi, in (0, 1]: of all words; one for each word; or the name of a block that is its prior. At 1 the topics are
        plain Dirichlet.
    storage : {"dense", "sparse"}
        Whether a chain holds phi, the indicators and the counts of words as arrays with a cell for each word and topic,
        or only the cells that are not zero. Dense is faster where most words are included, and goes with more kernels;
        sparse takes a ninth of the memory where a tenth of the words is.

    References
    ----------
    M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
    in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"topics"})
    references: ClassVar[Mapping[str, str]] = {"inclusion": "probability"}

    block: Literal["spike_slab"] = "spike_slab"
    over: Literal["word"]
    per: Literal["topic"]
    concentration: FixedConcentration
    inclusion: Probability | Annotated[list[Probability], pydantic.Field(min_length=1)] | str
    storage: Literal["dense", "sparse"] = "dense"

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``pi``."""
        return "pi"

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (topic, word)."""
        return ("topic", "word")

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the indicators: 1 where a topic includes a word, held word-major as phi is."""
        return {"included": ("included", ("topic", "word"))}

    def forms(self, blocks: Mapping[str, Block]) -> tuple[str, ...]:
        """Return ``spike_slab``; where the topics are sparse, ``listed_spike_slab``."""
        return ("spike_slab, storage: sparse", "listed_spike_slab") if self.sparse_storage else (self.kind,)

    @property
    def sparse_storage(self) -> bool:
        """Whether ``storage`` is sparse."""
        return self.storage == "sparse"

    def included_share(self, blocks: Mapping[str, Block]) -> float:
        """Return the share of the cells that are included, by the prior."""
        if isinstance(self.inclusion, str):
            prior: Any = blocks[self.inclusion]
            return float(prior.a / (prior.a + prior.b))
        return float(np.mean(self.inclusion))

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, FloatArray]:
        """Return the concentration as a vector."""
        if isinstance(self.inclusion, list) and len(self.inclusion) != sizes.words:
            raise SpecError(
                f"inclusion has {len(self.inclusion)} values, but there are {sizes.words} words; "
                f"give {sizes.words} values, or one number for all"
            )
        return {"beta": concentration_vector(self.concentration, "word", sizes.words)}

    def probability(self, state: ChainState) -> FloatArray:
        """Return pi, in a shape that broadcasts to (V, K): (), (V, 1) or (K,)."""
        if isinstance(self.inclusion, str):
            return self._shaped(state.arrays[self.inclusion], state.sizes)
        return self._shaped(np.array(self.inclusion, dtype=np.float64), state.sizes)

    def _shaped(self, pi: FloatArray, sizes: Sizes) -> FloatArray:
        if pi.ndim and isinstance(self.inclusion, str) and sizes.words == sizes.topics:
            raise SpecError(
                f"block {self.inclusion!r}: there are as many topics as words, {sizes.words}, so probabilities per "
                "topic and per word cannot be told apart; leave out `per`, or take fewer topics"
            )
        return pi[:, None] if pi.ndim and len(pi) == sizes.words else pi

    def init(self, role: str, state: ChainState) -> NDArray[Any]:
        """Return ones for the indicators, and for phi its mean given z and the indicators.

        Sparse topics start with the words that have tokens in them instead.
        """
        if role == "included":
            self.probability(state)
            return np.ones(state.n_wk.shape, np.uint8)
        # By pieces: the whole in float64 would be the largest array of a run.
        beta, included, phi = state.beta, state.arrays["included"], np.empty(state.n_wk.shape, np.float32)
        mass = np.zeros(state.sizes.topics)
        for first in range(0, len(phi), PIECE):
            piece = slice(first, first + PIECE)
            mass += (beta[piece, None] * included[piece]).sum(axis=0)
        for first in range(0, len(phi), PIECE):
            piece = slice(first, first + PIECE)
            phi[piece] = (state.n_wk[piece] + beta[piece, None]) * included[piece] / (state.n_k + mass)
        return phi

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> NDArray[Any] | None:
        """Draw the indicators given pi, or phi given the indicators; both word-major, as the state holds them.

        None where a topic would have no word: then pi and the indicators are to be drawn again.
        """
        shape = state.sizes.words, state.sizes.topics
        if role == "included":
            pi = self._shaped(np.asarray(values["pi"]), state.sizes) if "pi" in values else self.probability(state)
            included = rng.random(shape) < pi
            return included.astype(np.uint8) if included.any(axis=0).all() else None
        included, phi = values["included"], np.zeros(shape)
        for topic in range(shape[1]):
            words = np.flatnonzero(included[:, topic])
            phi[words, topic] = rng.dirichlet(values["beta"][words])
        return phi

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return log p(indicators | pi), up to the constant of the restriction; phi is summed over elsewhere."""
        pi = self.probability(state)
        n_words, n_topics = state.sizes.words, state.sizes.topics
        if pi.ndim == 2:
            number, size, pi = words_included(state), n_topics, pi[:, 0]
        else:
            number, size = topics_included(state), n_words
        if pi.ndim == 0:
            number, size = number.sum(), n_words * n_topics
        return float((xlogy(number, pi) + xlog1py(size - number, -pi)).sum())


def words_included(state: ChainState) -> IntArray:
    """Return how many topics include each word, shape (V,)."""
    if state.sparse_topics is not None:
        return state.sparse_topics.topics_of_words
    return np.asarray(state.arrays["included"].sum(axis=1, dtype=np.int64))


def topics_included(state: ChainState) -> IntArray:
    """Return how many words each topic includes, shape (K,)."""
    if state.sparse_topics is not None:
        return state.sparse_topics.words_of_topics
    return np.asarray(state.arrays["included"].sum(axis=0, dtype=np.int64))
