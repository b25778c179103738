"""Cutting texts into tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from ppl_topics.corpus.names import entries
from ppl_topics.errors import CorpusError

__all__ = ["TOKEN_PATTERN", "StopWords", "check_token_pattern", "text_analyzer"]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""A token, by default: two or more letters, digits or underscores."""

StopWords: TypeAlias = Literal["english"] | Iterable[str] | None


def check_token_pattern(pattern: object) -> None:
    """Refuse what is no pattern of a token.

    Raises
    ------
    CorpusError
        If it is no regular expression, has several groups, or matches the empty string.
    """
    what = f"token_pattern {pattern!r}"
    if not isinstance(pattern, str):
        raise CorpusError(f"{what} is not a string; expected a regular expression")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise CorpusError(f"{what} is not a regular expression: {error}") from None
    if compiled.groups > 1:
        raise CorpusError(
            f"{what} has several groups, expected one at most: the group is the token; write (?:...) for the others"
        )
    if "" in compiled.findall("") + compiled.findall("some words, 12"):
        raise CorpusError(f"{what} finds empty tokens; expected one character at least, as with + in place of *")


def text_analyzer(
    *, stop_words: StopWords = None, lowercase: bool = True, token_pattern: str = TOKEN_PATTERN
) -> Callable[[str], list[str]]:
    """Return the function that cuts a text into tokens, scikit-learn's `CountVectorizer` analyzer.

    Raises
    ------
    CorpusError
        If the stop words are neither "english" nor a list of words, or the pattern is no regular expression.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if isinstance(stop_words, str) and stop_words != "english":
        raise CorpusError(f"stop_words is {stop_words!r}; expected 'english' or a list of words")
    words = stop_words if stop_words is None or isinstance(stop_words, str) else list(entries(stop_words, "stop words"))
    check_token_pattern(token_pattern)
    vectorizer = CountVectorizer(stop_words=words, lowercase=lowercase, token_pattern=token_pattern)
    analyzer: Callable[[str], list[str]] = vectorizer.build_analyzer()
    return analyzer
