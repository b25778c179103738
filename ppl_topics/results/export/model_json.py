"""A fit as JSON: topics with their words, coefficients, and documents with their topic shares."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from ppl_topics._util.output_files import written_text
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import coefficient_draws
from ppl_topics.results.coefficient_summary import coefficient_summary
from ppl_topics.results.documents import (
    DocumentTopics,
    Estimate,
    Part,
    concentration,
    document_topics,
    part_of,
    topic_numbers,
)
from ppl_topics.results.topic_names import topic_names
from ppl_topics.results.topic_table import topic_shares, topic_table

__all__ = ["FORMAT", "SCHEMA", "SUFFIXES", "VERSION", "topic_model", "write_topic_model"]

FORMAT, VERSION = "ppl-topics topic model", 1

SUFFIXES = (".json", ".json.gz")

_NUMBER = {"type": "number"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_MISSING = {"type": ["number", "null"]}
_TEXT = {"type": "string"}


def _record(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A fitted topic model, as ppl-topics exports it",
    **_record(
        format={"const": FORMAT},
        version={"const": VERSION},
        model=_record(
            name=_TEXT, yaml={"type": ["string", "null"], "description": "the resolved model, which can be run again"}
        ),
        corpus=_record(
            name=_TEXT,
            documents={"type": "integer", "minimum": 0},
            tokens={"type": "integer", "minimum": 0},
            words={"type": "integer", "minimum": 0, "description": "size of the vocabulary"},
        ),
        chain={
            "type": "integer",
            "description": "chain that the topics belong to; chains number their topics independently",
        },
        response={"type": ["string", "null"], "description": "response that the topics belong to, if each has its own"},
        draws={"type": "integer", "minimum": 1, "description": "number of draws that means are over"},
        seed={"type": ["integer", "null"]},
        probability={**_SHARE, "description": "probability of the equal-tailed intervals from low to high"},
        alpha={
            "type": ["array", "null"],
            "items": _NUMBER,
            "description": "concentration of each topic in documents; the posterior mean if sampled; null if unknown",
        },
        beta={
            "type": ["array", "number", "null"],
            "items": _NUMBER,
            "description": "concentration of the words in topics: one for all, or one for each word of the vocabulary",
        },
        topics={
            "type": "array",
            "items": _record(
                topic={"type": "integer", "minimum": 0, "description": "its number, the same everywhere in the file"},
                name={**_TEXT, "description": "after its keywords or its label; empty if it has none"},
                share={"type": ["number", "null"], "description": "of the tokens"},
                words={
                    "type": "array",
                    "description": "the most probable first",
                    "items": _record(word=_TEXT, probability=_SHARE, low=_MISSING, high=_MISSING),
                },
            ),
        },
        coefficients={
            "type": ["array", "null"],
            "description": "null if the model has no response, or they were not recorded",
            "items": _record(
                response=_TEXT,
                coefficient={**_TEXT, "description": "topic 0, ..., the name of a covariate, or intercept"},
                topic={"type": ["integer", "null"], "description": "null for a covariate or the intercept"},
                mean=_NUMBER,
                sd=_MISSING,
                low=_MISSING,
                high=_MISSING,
            ),
        },
        shares_from={
            "enum": ["draws", "z_last"],
            "description": "shares of documents: mean of recorded draws of theta, or E[theta | z, alpha] at the last z",
        },
        documents={
            "type": "array",
            "items": _record(
                id=_TEXT,
                tokens={"type": ["integer", "null"]},
                shares={
                    "type": "array",
                    "items": _SHARE,
                    "description": "share of each topic, in the order of `topics`",
                },
            ),
        },
    ),
}
"""JSON Schema of what `topic_model` returns. ``version`` increases when a reader of the previous one could fail."""


def topic_model(
    groups: Mapping[str, xr.Dataset],
    *,
    chain: int = 0,
    response: str | None = None,
    n_words: int | None = 20,
    probability: float = 0.9,
    estimate: Estimate = "auto",
) -> dict[str, Any]:
    """Return one chain of a fit as plain data for JSON, as described by the schema `ppl_topics.results.export.SCHEMA`.

    Parameters
    ----------
    groups, chain, response
        As for `ppl_topics.results.documents.document_topics`.
    n_words : int, optional
        Words per topic; None for all of positive probability.
    probability : float
        Probability of the equal-tailed intervals.
    estimate : {"auto", "draws", "z_last"}
        Estimate of the topic shares of documents; see `document_table`.

    Returns
    -------
    dict
        Plain data that `json.dumps` accepts. Numbers are rounded to 9 digits; missing values are None.

    Raises
    ------
    TraceError
        If there is no such chain or response, or the trace lacks the topics or the documents.
    """
    head, documents = _parts(groups, chain, response, n_words, probability, estimate)
    return {**head, "documents": list(documents)}


def write_topic_model(groups: Mapping[str, xr.Dataset], path: Path, **options: Any) -> None:
    """Write what `topic_model` returns, one document per line, without holding the whole text in memory."""
    head, documents = _parts(groups, **options)
    with written_text(path) as text:
        text.write(json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1).removesuffix("\n}"))
        text.write(',\n "documents": [')
        for number, document in enumerate(documents):
            text.write(",\n  " if number else "\n  ")
            text.write(json.dumps(document, ensure_ascii=False, allow_nan=False))
        text.write("\n ]\n}\n")


def _parts(
    groups: Mapping[str, xr.Dataset],
    chain: int,
    response: str | None,
    n_words: int | None,
    probability: float,
    estimate: Estimate,
) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return all but the documents, and the documents one by one."""
    part = part_of(groups, chain, response)
    words = topic_table(groups, chain=chain, response=response, n_words=n_words, probability=probability)
    posterior, constants = groups["posterior"], groups["constant_data"]
    attributes = posterior.attrs
    alpha, beta = (_concentration(groups, role, part) for role in ("alpha", "beta"))
    documents = document_topics(groups, chain, response, estimate)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "model": {"name": str(attributes.get("model_name", "")), "yaml": attributes.get("model_yaml")},
        "corpus": {
            "name": str(attributes.get("corpus_name", "")),
            "documents": int(constants.sizes.get("doc", 0)),
            "tokens": int(constants["doc_length"].sum()) if "doc_length" in constants else 0,
            "words": int(constants.sizes["word"]),
        },
        "chain": part.chain,
        "response": part.response,
        "draws": int(posterior.sizes["draw"]),
        "seed": int(attributes["seed"]) if "seed" in attributes else None,
        "probability": words.attrs["probability"],
        "alpha": _plain(alpha),
        "beta": _plain(beta[0] if beta and len(set(beta)) == 1 else beta),
        "topics": _topics(groups, part, words),
        "coefficients": _coefficients(groups, chain, response, probability),
        "shares_from": documents.estimate,
    }
    return head, _documents(documents)


def _concentration(groups: Mapping[str, xr.Dataset], role: str, part: Part) -> list[float] | None:
    try:
        values = concentration(groups, role, part, None)
    except TraceError:
        # It was sampled, and its draws were not recorded.
        return None
    # Nor is there one where they depend on covariates.
    return values.tolist() if values.ndim == 1 else None


def _topics(groups: Mapping[str, xr.Dataset], part: Part, words: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the topics by number; one without a word of positive probability has an empty list of words."""
    numbers = topic_numbers(groups)
    names = topic_names(groups) or [""] * len(numbers)
    shares = topic_shares(groups, part, len(numbers)).tolist()
    listed: dict[int, list[dict[Any, Any]]] = {number: [] for number in numbers}
    for row in words[["topic", "word", "probability", "low", "high"]].to_dict("records"):
        listed[row.pop("topic")].append(row)
    return [
        {"topic": number, "name": name, "share": _plain(share), "words": _plain(listed[number])}
        for number, name, share in zip(numbers, names, shares, strict=True)
    ]


def _coefficients(
    groups: Mapping[str, xr.Dataset], chain: int, response: str | None, probability: float
) -> list[dict[str, Any]] | None:
    try:
        table = coefficient_summary(
            groups, coefficient_draws(groups, chain), response=response, probability=probability, n_words=1
        )
    except TraceError:
        # The model has no response, or its coefficients were not recorded.
        return None
    columns = ["response", "coefficient", "topic", "mean", "sd", "low", "high"]
    rows: list[dict[str, Any]] = _plain(table[columns].astype({"topic": object}).to_dict("records"))
    return rows


def _documents(found: DocumentTopics) -> Iterator[dict[str, Any]]:
    for name, length, shares in zip(found.docs, found.lengths.tolist(), found.theta, strict=True):
        yield {"id": str(name), "tokens": None if length < 0 else length, "shares": _plain(shares.tolist())}


def _plain(value: Any) -> Any:
    """Return a value for JSON: None if it is missing, and numbers rounded to 9 digits."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if value is None or value is pd.NA:
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value
