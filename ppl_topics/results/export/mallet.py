"""The state of a chain in the format of MALLET's ``--output-state``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.output_files import written_text
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import concentration, document_lengths, last_topics, part_of, words_of_tokens

__all__ = ["SUFFIXES", "mallet_state", "write_state"]

SUFFIXES = (".gz",)
"""MALLET reads and writes only compressed states."""

HEADER = "#doc source pos typeindex type topic"

CHUNK = 100_000
"""Tokens written at a time."""

SPACE = re.compile(r"\s")


def mallet_state(groups: Mapping[str, xr.Dataset], *, chain: int = 0, response: str | None = None) -> Iterator[str]:
    """Yield the lines of a chain's last state as MALLET's ``--output-state`` writes them, many lines at a time.

    The lines ``#doc source pos typeindex type topic``, ``#alpha : ...`` and ``#beta : ...`` are followed by one for
    each token: number of the document, its id, position in the document, number of the word, word, topic. Numbers start
    at 0; those of words are positions in the vocabulary. A document without tokens has no line.

    The format separates fields by spaces and has no escapes: each white-space character in a word or id is written as
    ``_``, an empty word as ``_``, and an empty id as ``NA``. The numbers still tell words and documents apart. The
    format has one beta for all words: if betas differ, their mean is written. Sampled concentrations are those of the
    last draw, which belongs to the last assignments.

    Parameters
    ----------
    groups, chain, response
        As for `ppl_topics.results.documents.document_topics`.

    Raises
    ------
    TraceError
        If there is no such chain or response, or the trace lacks the words, the assignments or the concentrations.
    """
    part = part_of(groups, chain, response)
    lengths = document_lengths(groups)
    words, z = words_of_tokens(groups), last_topics(groups, part)
    if not len(words) == len(z) == int(lengths.sum()):
        raise TraceError(
            f"the trace has {len(words):,} words and {len(z):,} topics of tokens in documents of {lengths.sum():,}"
        )
    alpha, beta = (concentration(groups, role, part, draw=-1) for role in ("alpha", "beta"))
    if alpha.ndim > 1:
        raise TraceError(
            "the concentrations of the topics differ from document to document, and MALLET's state has one for all; "
            "export to JSON instead"
        )
    constants = groups["constant_data"]
    vocabulary = _fields(constants["word"], "_")
    ids = _fields(constants["doc"], "NA")
    return _lines(alpha, beta, lengths, words, z, vocabulary, ids)


def _lines(
    alpha: FloatArray,
    beta: FloatArray,
    lengths: IntArray,
    words: IntArray,
    z: IntArray,
    vocabulary: list[str],
    ids: list[str],
) -> Iterator[str]:
    yield f"{HEADER}\n"
    yield f"#alpha : {' '.join(map(repr, alpha.tolist()))} \n"
    # Rounding may change the mean of equal numbers.
    yield f"#beta : {float(beta[0] if (beta == beta[0]).all() else beta.mean())!r}\n"
    docs = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    for start in range(0, len(words), CHUNK):
        cut = slice(start, start + CHUNK)
        tokens = zip(docs[cut].tolist(), places[cut].tolist(), words[cut].tolist(), z[cut].tolist(), strict=True)
        yield "".join(f"{d} {ids[d]} {place} {w} {vocabulary[w]} {k}\n" for d, place, w, k in tokens)


def _fields(values: xr.DataArray, empty: str) -> list[str]:
    """Return texts without white space, and with a substitute for empty ones."""
    texts: list[Any] = values.values.tolist()
    return [SPACE.sub("_", str(text)) or empty for text in texts]


def write_state(groups: Mapping[str, xr.Dataset], path: Path, *, chain: int, response: str | None) -> None:
    """Write what `mallet_state` yields."""
    lines = mallet_state(groups, chain=chain, response=response)
    with written_text(path) as text:
        text.writelines(lines)
