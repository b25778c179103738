"""How texts are cut into words, and which words are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics.corpus.names import iterate
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.errors import CorpusError

__all__ = ["TOKEN_PATTERN", "StopWords", "TextOptions", "Tokenizer"]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""A token, by default: two or more letters, digits or underscores."""

StopWords: TypeAlias = Literal["english"] | Iterable[str] | None


Tokenizer: TypeAlias = Callable[[str], Iterable[str]]

MOST_NGRAMS = 5


@dataclass(frozen=True)
class TextOptions(Pruning):
    """How texts become words; `Corpus.from_texts` documents the fields. The stop words are kept as a frozenset."""

    stop_words: StopWords = None
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    tokenizer: Tokenizer | None = None
    ngrams: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "stop_words", _stop_word_set(self.stop_words))
        _check_token_pattern(self.token_pattern)
        if self.tokenizer is not None and not callable(self.tokenizer):
            raise CorpusError(f"tokenizer is {self.tokenizer!r}; expected a function from a text to its tokens")
        if self.tokenizer is not None and self.token_pattern != TOKEN_PATTERN:
            raise CorpusError("tokenizer and token_pattern both say what a token is; give one of them")
        if not is_whole(self.ngrams) or not 1 <= self.ngrams <= MOST_NGRAMS:
            raise CorpusError(
                f"{argument('ngrams')} is {self.ngrams!r}; expected how many tokens a run may have, 1 to {MOST_NGRAMS}"
            )

    def analyzer(self) -> Callable[[str | list[str]], list[str]]:
        """Return the function that cuts a text into tokens; a list is one of tokens already.

        It is the analyzer of scikit-learn's `CountVectorizer`, unless there is a tokenizer.
        """
        stop_words = frozenset(self.stop_words or ())
        cut = self._cut(stop_words)

        def analyze(text: str | list[str]) -> list[str]:
            tokens = cut(text) if isinstance(text, str) else [token for token in text if token not in stop_words]
            return tokens if self.ngrams == 1 else _with_runs(tokens, self.ngrams)

        return analyze

    def _cut(self, stop_words: frozenset[str]) -> Callable[[str], list[str]]:
        """Return the function that cuts a text, without runs of tokens."""
        if self.tokenizer is None:
            from sklearn.feature_extraction.text import CountVectorizer

            vectorizer = CountVectorizer(
                stop_words=stop_words or None, lowercase=self.lowercase, token_pattern=self.token_pattern
            )
            analyzer: Callable[[str], list[str]] = vectorizer.build_analyzer()
            return analyzer
        tokenizer, lowercase = self.tokenizer, self.lowercase

        def cut(text: str) -> list[str]:
            tokens = iterate(tokenizer(text.lower() if lowercase else text), "a list of tokens from tokenizer")
            return [token for token in tokens if token not in stop_words]

        return cut


def _with_runs(tokens: list[str], most: int) -> list[str]:
    """Return the tokens, then all runs of up to so many of them, joined."""
    runs = ("_".join(tokens[i : i + n]) for n in range(2, most + 1) for i in range(len(tokens) - n + 1))
    return [*tokens, *runs]


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
