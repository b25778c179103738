"""Predictions by a block of labels that is no response: means of targets, averaged over draws, by its own method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.threads import using_threads
from ppl_topics.core.block import Block
from ppl_topics.corpus import Corpus
from ppl_topics.errors import SpecError, TraceError
from ppl_topics.prediction.by_documents import by_documents, threads_of
from ppl_topics.prediction.options import Options
from ppl_topics.prediction.predictor import NewDocuments, design_of, topics_by_draw
from ppl_topics.prediction.trained import Part, TrainedLabels

__all__ = ["expected_targets"]


def expected_targets(labels: TrainedLabels, corpus: Corpus, options: Options) -> FloatArray:
    """Return the means of the targets of documents in the words of the fit, shape (D, C).

    Raises
    ------
    SpecError
        If the block predicts nothing, or what it returns has no row for each document.
    TraceError
        If the trace lacks a variable that the block depends on.
    """
    if type(labels.block).expected_targets is Block.expected_targets:
        # Before any topic is drawn.
        labels.block.expected_targets(np.zeros((0, 0)), {})
    return np.concatenate(by_documents(_expected_targets, labels, corpus, options))


def _expected_targets(labels: TrainedLabels, corpus: Corpus, options: Options) -> FloatArray:
    trained, block = labels.trained, labels.block
    new = NewDocuments(trained.tokens(corpus), design_of(labels, corpus), lambda part: trained.alpha(part, corpus))
    total, number = np.zeros(()), 0
    with using_threads(threads_of(options, corpus, trained.topics)):
        for part in (part for chain in trained.chains for part in trained.parts(chain)):
            held = _values(labels, part)
            at: tuple[int, Mapping[str, NDArray[Any]]] = (-1, {})
            for draw, inputs in _inputs(labels, new, options, part):
                at = at if at[0] == draw else next(held)
                found = np.asarray(block.expected_targets(inputs, at[1]), dtype=np.float64)
                if found.ndim != 2 or len(found) != corpus.n_docs:
                    raise SpecError(
                        f"block {block.kind!r}: `expected_targets` returned an array of shape {found.shape} for "
                        f"{corpus.n_docs} documents; expected a row for each, and a column for each target"
                    )
                total, number = total + found, number + 1
    return np.asarray(total / number)


def _inputs(labels: TrainedLabels, new: NewDocuments, options: Options, part: Part) -> Iterator[tuple[int, FloatArray]]:
    """Yield places of draws in one chain, with the features of documents, shape (D, F), that go with each."""
    n_topics, design = labels.trained.topics, new.design.toarray()
    for draws, several in topics_by_draw(labels, new, options, part, n_topics):
        for number, of_number in enumerate(draws):
            rows = several.given(number).topic_rows
            shares = sparse.csr_array((rows.values, rows.columns, rows.ptr), shape=(len(design), n_topics)).toarray()
            for draw in of_number:
                yield draw, np.hstack([shares, design])


def _values(labels: TrainedLabels, part: Part) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Yield the kept draws in one chain, by number, of what the targets depend on beside documents, by role."""
    model, posterior = labels.trained.model, labels.trained.groups["posterior"]
    (factor,) = (factor for factor in model.factors if factor.name == model.names["y"])
    names = factor.touches
    touched = [v for name, v in model.variables.items() if name in names and not {"doc", "token"} & set(v.dims)]
    for variable in touched:
        if variable.name not in posterior:
            raise TraceError(f"the trace does not hold {variable.name}; run the model with record {variable.name}: all")
    arrays = {v.role: part.of(posterior[v.name]).transpose("draw", *v.dims) for v in touched}
    for draw in range(len(labels.draws)):
        yield draw, {role: array.isel(draw=draw).values for role, array in arrays.items()}
