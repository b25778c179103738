"""The keys of a model file: its top level, and what may be recorded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic

__all__ = ["MAX_TEMPERATURE", "Docs", "ModelFile", "RecordRule", "TopWords"]

MAX_TEMPERATURE = 1000.0
"""Of a warmup; a higher one is probably a typing error."""

_strict = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class TopWords(pydantic.BaseModel):
    """Record phi for the most frequent words of the corpus.

    Attributes
    ----------
    top_words : int
        Number of words.
    """

    model_config = _strict
    top_words: Annotated[int, pydantic.Field(ge=1)]


class Docs(pydantic.BaseModel):
    """Record theta for the first documents.

    Attributes
    ----------
    docs : int
        Number of documents.
    """

    model_config = _strict
    docs: Annotated[int, pydantic.Field(ge=1)]


RecordRule = Literal["all", "none"] | TopWords | Docs


class ModelFile(pydantic.BaseModel):
    """The top level of a model file, after `extends` and the parameters were applied.

    Attributes
    ----------
    name, doc : str
        Name of the model; its description in a sentence.
    extends : str, optional
        A shipped model or a file whose parts this model takes over.
    parameters : dict
        Named values; `topics` sets the number of topics.
    blocks : dict
        Blocks by variable name.
    schedule : object, optional
        Tree of kernels; by default the scheduler chooses it.
    warmup : object, optional
        Tree of kernels that run before the first kept draw, with a `temperature` or not; by default the schedule, in
        some models annealed.
    record : dict
        What to keep of each variable: all, none, {top_words: n} or {docs: n}.
    given : list of str
        Variables that a run gets values of, and holds fixed.
    """

    model_config = _strict
    name: str
    doc: str = ""
    extends: str | None = None
    parameters: dict[str, Any] = pydantic.Field(default_factory=dict)
    blocks: Annotated[dict[str, dict[str, Any]], pydantic.Field(min_length=1)]
    schedule: dict[str, Any] | list[Any] | None = None
    warmup: dict[str, Any] | list[Any] | None = None
    record: dict[str, RecordRule] = pydantic.Field(default_factory=dict)
    given: list[str] = pydantic.Field(default_factory=list)
