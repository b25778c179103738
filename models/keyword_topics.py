"""What blocks of topics share of which some are known by keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import pydantic

from ppl_topics._util.argument_names import spelled
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics._util.user_warning import warn_user
from ppl_topics.core.block import Block
from ppl_topics.core.keyword_cells import KeywordCells
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus.names import StrArray
from ppl_topics.errors import SpecError
from ppl_topics.models.dirichlet import FixedConcentration, concentration_vector

__all__ = ["KeywordTopics", "KeywordWarning"]

Text = Annotated[str, pydantic.Field(pattern=r"^\S(.*\S)?$")]
"""Without spaces at the ends."""


class KeywordWarning(UserWarning):
    """Some keywords are no words of the corpus."""


class KeywordTopics(Block):
    """Base of topics of which the first have names, and keywords.

    Attributes
    ----------
    over : {"word"}
    per : {"topic"}
    concentration : float, {sum: float} or list of float
        Of each word in a topic, whether it is a keyword or not.
    keywords : dict of str to list of str
        Names of the first topics, in order, and the keywords of each; ``terror*`` stands for all words that begin so.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"topics"})

    over: Literal["word"]
    per: Literal["topic"]
    concentration: FixedConcentration
    keywords: dict[Text, Annotated[list[Text], pydantic.Field(min_length=1)]]

    _found: tuple[tuple[int, ...], ...] | None = pydantic.PrivateAttr(default=None)

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if len(self.keywords) > topics:
            return f"keywords of {len(self.keywords)} topics, but there are {topics}; set more topics"
        return None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (topic, word)."""
        return ("topic", "word")

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
            raise SpecError(
                "there are no keywords; name topics and list words of each, {economy: [tax*, jobs]}"
                + spelled("", ", or give a file (--keywords)")
            )
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
        return self.with_found_words((*found, *[()] * (topics - len(found))))

    @property
    def found_words(self) -> tuple[tuple[int, ...], ...] | None:
        """The keywords of each topic, as numbers of words; None before the corpus is known."""
        return self._found

    def with_found_words(self, found: tuple[tuple[int, ...], ...]) -> Self:
        """Return the block with the keywords of each topic, as numbers of words."""
        bound = self.model_copy()
        bound._found = found
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


def _matching(pattern: str, number: Mapping[str, int]) -> Iterable[int]:
    """Return the words that a keyword stands for."""
    if "*" not in pattern:
        return [number[pattern]] if pattern in number else []
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [place for word, place in number.items() if expression.fullmatch(word)]
