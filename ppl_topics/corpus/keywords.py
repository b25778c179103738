"""The keyword arguments that the constructors, the readers and the datasets share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, TypeVar, cast, get_type_hints

from ppl_topics._util.nearest import did_you_mean
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.text_options import StopWords, TextOptions, Tokenizer

__all__ = [
    "DocumentKeywords",
    "PruningKeywords",
    "TextKeywords",
    "TextsKeywords",
    "TokensKeywords",
    "document_keywords",
    "takes",
]

F = TypeVar("F", bound=Callable[..., Any])


class DocumentKeywords(TypedDict, total=False):
    """What is known about the documents."""

    doc_ids: Iterable[str | int] | None
    labels: Any
    label_kind: LabelKind | None
    covariates: Any
    name: str


class PruningKeywords(TypedDict, total=False):
    """Which words to keep: the fields of `Pruning`."""

    min_count: int
    min_df: float | int
    max_df: float | int
    max_vocabulary: int | None


class TextKeywords(PruningKeywords, total=False):
    """How texts become words: the fields of `TextOptions`."""

    stop_words: StopWords
    lowercase: bool
    token_pattern: str
    tokenizer: Tokenizer | None
    ngrams: int


class TokensKeywords(DocumentKeywords, PruningKeywords, total=False):
    """The keywords for documents that are lists of words."""


class TextsKeywords(DocumentKeywords, TextKeywords, total=False):
    """The keywords for documents that are texts."""


_DEFAULTS = {"name": "", **{field.name: field.default for field in dataclasses.fields(TextOptions)}}


def takes(keywords: type, **defaults: Any) -> Callable[[F], F]:
    """Give a function with ``**options`` the keywords of a TypedDict, with the usual defaults or those given here.

    `help` and editors show them, a misspelt one is a TypeError, and the function receives all of them.
    """
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default={**_DEFAULTS, **defaults}.get(name), annotation=hint
        )
        for name, hint in get_type_hints(keywords).items()
    ]

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        full = signature.replace(parameters=[*own, *shared])

        @functools.wraps(function)
        def called(*args: Any, **options: Any) -> Any:
            try:
                bound = full.bind(*args, **options)
            except TypeError as error:
                wrong = next((name for name in options if name not in full.parameters), None)
                hint = "" if wrong is None else did_you_mean(wrong, full.parameters)
                raise TypeError(f"{function.__name__}(): {error}{hint}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        called.__signature__ = full  # type: ignore[attr-defined]
        return cast(F, called)

    return decorate


def document_keywords(options: Mapping[str, Any]) -> DocumentKeywords:
    """Pick from keyword arguments those that describe the documents."""
    return cast(DocumentKeywords, {name: options[name] for name in DocumentKeywords.__annotations__})
