"""How texts are cut into words, and which words are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ppl_topics._util.argument_names import argument
from ppl_topics.corpus.names import iterate
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.errors import CorpusError

__all__ = ["TOKEN_PATTERN", "StopWords", "TextOptions", "text_analyzer"]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""A token, by default: two or more letters, digits or underscores."""

StopWords: TypeAlias = Literal["english"] | Iterable[str] | None


@dataclass(frozen=True)
class TextOptions(Pruning):
    """How texts become words; `Corpus.from_texts` documents the fields. The stop words are kept as a frozenset."""

    stop_words: StopWords = None
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "stop_words", _stop_word_set(self.stop_words))
        _check_token_pattern(self.token_pattern)

    def analyzer(self) -> Callable[[str], list[str]]:
        """Return the function that cuts a text into tokens: the analyzer of scikit-learn's `CountVectorizer`."""
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(
            stop_words=self.stop_words or None, lowercase=self.lowercase, token_pattern=self.token_pattern
        )
        analyzer: Callable[[str], list[str]] = vectorizer.build_analyzer()
        return analyzer


def text_analyzer(
    *, stop_words: StopWords = None, lowercase: bool = True, token_pattern: str = TOKEN_PATTERN
) -> Callable[[str], list[str]]:
    """Return the function that cuts a text into tokens, see `TextOptions`."""
    return TextOptions(stop_words=stop_words, lowercase=lowercase, token_pattern=token_pattern).analyzer()


def _stop_word_set(stop_words: StopWords) -> frozenset[str]:
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise CorpusError(f"{argument('stop_words')} is {stop_words!r}; expected 'english' or a list of words")
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    words = list(iterate(stop_words, f"'english' or a list of words as {argument('stop_words')}"))
    for word in words:
        if not isinstance(word, str):
            raise CorpusError(f"{argument('stop_words')} contains {word!r}; expected strings")
    return frozenset(words)


def _check_token_pattern(pattern: object) -> None:
    what = f"{argument('token_pattern')} {pattern!r}"
    if not isinstance(pattern, str):
        raise CorpusError(f"{what} is not a string; expected a regular expression")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise CorpusError(f"{what} is not a regular expression: {error}") from None
    if compiled.groups > 1:
        raise CorpusError(
            f"{what} has {compiled.groups} groups; expected at most one, which is the token: "
            "write (?:...) for the others"
        )
    if "" in compiled.findall("") + compiled.findall("some words, 12"):
        raise CorpusError(f"{what} matches the empty string; use + instead of *, so that a token has a character")
