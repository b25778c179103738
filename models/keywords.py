"""Topics with keywords: each a mixture of its own words and of words that are known to belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, RealArray
from ppl_topics._util.nearest import nearest
from ppl_topics._util.user_warning import warn_user
from ppl_topics.core.block import Block
from ppl_topics.core.keyword_cells import KeywordCells
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus.names import StrArray
from ppl_topics.errors import SpecError
from ppl_topics.models.dirichlet import FixedConcentration, Positive, concentration_vector, draw_rows_of, mean_rows

__all__ = ["KeywordWarning", "Keywords"]

Pattern = Annotated[str, pydantic.Field(min_length=1)]


class KeywordWarning(UserWarning):
    """Some keywords are no words of the corpus."""


@block("keywords")
class Keywords(Block):
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

    seams: ClassVar[frozenset[str]] = frozenset({"topics"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        "keywords": {"first": ["0", "2"], "second": ["1", "0"]},
        "keyword_concentration": 0.7,
        "a": 1.4,
        "b": 0.8,
    }

    block: Literal["keywords"] = "keywords"
    over: Literal["word"]
    per: Literal["topic"]
    concentration: FixedConcentration
    keywords: dict[str, Annotated[list[Pattern], pydantic.Field(min_length=1)]]
    keyword_concentration: Positive = 0.1
    a: Positive = 1.0
    b: Positive = 1.0

    _found: tuple[tuple[int, ...], ...] | None = pydantic.PrivateAttr(default=None)

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if len(self.keywords) > topics:
            return f"keywords of {len(self.keywords)} topics, but there are {topics}; set more topics"
        return None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (topic, word)."""
        return ("topic", "word")

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the part of phi that the keywords bring, a number for each."""
        return {"keyword_weight": ("keyword_weight", ("keyword",))}

    def for_corpus(self, vocabulary: Iterable[str], topics: int) -> Self:
        """Return the block with the keywords that the vocabulary has.

        Raises
        ------
        SpecError
            If there are no keywords, or a topic has none that is a word of the corpus.

        Warns
        -----
        KeywordWarning
            If the corpus lacks some keywords.
        """
        if not self.keywords:
            raise SpecError("there are no keywords; name topics and list words of each, {economy: [tax*, jobs]}")
        number = {str(word): place for place, word in enumerate(vocabulary)}
        missing, found = [], []
        for name, patterns in self.keywords.items():
            each = {pattern: _matching(pattern, number) for pattern in patterns}
            missing += [f"{pattern!r} of {name!r}" for pattern, words in each.items() if not words]
            found.append(tuple(sorted({word for words in each.values() for word in words})))
            if not found[-1]:
                raise SpecError(
                    f"the corpus has none of the keywords of {name!r}: {', '.join(patterns)}"
                    f"{nearest(patterns[0], number)}"
                )
        if missing:
            warn_user(f"the corpus has no words for the keywords {', '.join(missing)}", KeywordWarning)
        bound = self.model_copy()
        bound._found = (*found, *[()] * (topics - len(found)))
        return bound

    @property
    def cells(self) -> KeywordCells:
        """The keywords, of a block that was made for a corpus."""
        assert self._found is not None, "keywords without a vocabulary"
        pointer = np.cumsum([0, *map(len, self._found)])
        return KeywordCells(pointer.astype(np.int64), np.array([w for words in self._found for w in words], np.int64))

    @property
    def n_keywords(self) -> int:
        """How many keywords all topics have; before the corpus is known, how many are listed."""
        return sum(map(len, self.keywords.values() if self._found is None else self._found))

    @property
    def topic_names(self) -> list[str]:
        """What the topics with keywords are called."""
        return list(self.keywords)

    def keyword_names(self, vocabulary: StrArray) -> list[str]:
        """Return ``economy: tax`` of each keyword."""
        names, cells = self.topic_names, self.cells
        return [f"{names[k]}: {vocabulary[w]}" for k, w in zip(cells.topics, cells.words, strict=True)]

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, FloatArray]:
        """Return the concentration as a vector."""
        return {"beta": concentration_vector(self.concentration, "word", sizes.words)}

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
        phi *= (1.0 - cells.sums(weight)).astype(phi.dtype)
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


def _matching(pattern: str, number: Mapping[str, int]) -> Iterable[int]:
    """Return the words that a keyword stands for."""
    if "*" not in pattern:
        return [number[pattern]] if pattern in number else []
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [place for word, place in number.items() if expression.fullmatch(word)]
