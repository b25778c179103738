"""What a supervised model observes of a corpus besides its words: encoded labels, and the fixed features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray, read_only
from ppl_topics.core.alpha import Above
from ppl_topics.core.block import Block
from ppl_topics.core.observed import Design, Observed
from ppl_topics.core.response import FixedFeatures
from ppl_topics.corpus import Corpus, Covariates, Labels
from ppl_topics.corpus.names import listed
from ppl_topics.corpus.scaling import Scaling
from ppl_topics.errors import CorpusError, SpecError
from ppl_topics.spec import Model

__all__ = ["INTERCEPT", "design_of", "encode_above", "encode_observed", "observed_labels", "observed_of"]

INTERCEPT = "intercept"


def encode_observed(model: Model, corpus: Corpus) -> Observed | None:
    """Encode the labels and covariates of a corpus for the block that observes labels; None if a model has none."""
    block, labels = model.label_block, observed_labels(model, corpus)
    if block is None or labels is None:
        return None
    name = model.names["y"]
    try:
        targets, responses = block.encode(labels)
    except CorpusError as error:
        raise CorpusError(f"block {name!r} ({block.kind}): {error}") from None
    response = model.response
    target_scaling = None if response is None else response.scaling(targets)
    intercept = response is not None and response.intercept
    if target_scaling is not None:
        targets = np.asarray(target_scaling.apply(targets))
    observed = _with_features(model, block, corpus, targets, responses, intercept)
    classes = tuple(str(name) for name in labels.classes) if labels.kind == "class" else ()
    return replace(observed, classes=classes, target_scaling=target_scaling)


def encode_above(model: Model, corpus: Corpus) -> Above | None:
    """Encode what the weights of topics depend on: covariates, with an intercept, or labels; None if a model has none.

    Raises
    ------
    CorpusError
        If the corpus lacks it.
    SpecError
        If labels do not fit the number of topics.
    """
    name, block = model.names["theta"], model.weights
    if model.uses_covariates(block):
        return _with_features(model, block, corpus, np.zeros((corpus.n_docs, 0)), (), intercept=True)
    if block.labels_above is None:
        return None
    labels = _labels_of(corpus, block.labels_above, f"block {name!r} ({block.kind}) of model {model.spec.name!r}")
    try:
        return block.document_alpha(labels, model.spec.topics)
    except SpecError as error:
        raise SpecError(f"{model.spec.locate('blocks', name)}: block {name!r} ({block.kind}): {error}") from None


def _with_features(
    model: Model, block: Block, corpus: Corpus, targets: FloatArray, responses: Iterable[str], intercept: bool
) -> Observed:
    """Return targets with the covariates that a block has coefficients for."""
    covariates = scaling = None
    columns: tuple[str, ...] = ()
    name = model.names.get("x", "")
    fixed = model.spec.blocks.get(name)
    if isinstance(fixed, FixedFeatures) and model.uses_covariates(block):
        covariates = corpus.covariates
        if covariates is None:
            raise CorpusError(
                f"block {name!r} ({fixed.kind}) of model {model.spec.name!r} needs covariates, and the corpus has "
                f"none; name their columns ({argument('covariates')}), or use a model without them"
            )
        scaling = fixed.scaling(covariates)
        columns = _checked(fixed.columns(covariates), model.spec.topics)
    design = design_of(corpus.n_docs, covariates, scaling, intercept)
    columns = (*columns, INTERCEPT) if intercept else columns
    return observed_of(targets, design, responses, columns, intercept, scaling)


def observed_labels(model: Model, corpus: Corpus) -> Labels | None:
    """Return the labels of a corpus that the block of labels observes; None if a model has no such block, or several.

    Raises
    ------
    CorpusError
        If the corpus does not have these.
    """
    block = model.label_block
    if block is None:
        return None
    what = f"block {model.names['y']!r} ({block.kind})"
    labels = _labels_of(corpus, block.observed_labels, f"{what} of model {model.spec.name!r}")
    try:
        return labels if model.response is None else model.response.arranged(labels)
    except CorpusError as error:
        raise CorpusError(f"{what}: {error}") from None


def _labels_of(corpus: Corpus, called: str, by: str) -> Labels:
    """Return the labels of a corpus that a block observes, by what it calls them."""
    labels = corpus.labels_of(called)
    if labels is None:
        what = f"{by} needs labels"
        if called != "labels":
            has = f"has {listed(list(corpus.more_labels))}" if corpus.more_labels else "has no others than `labels`"
            raise CorpusError(
                f"{what} {called!r}, and the corpus {has}; give them ({argument('more_labels')}, or "
                f"Corpus.with_labels(..., name={called!r}))"
            )
        raise CorpusError(
            f"{what}, and the corpus has none; name their column ({argument('label_column')}), or use a model without "
            "labels"
        )
    return labels


def design_of(n_docs: int, covariates: Covariates | None, scaling: Scaling | None, intercept: bool) -> Design:
    """Return the fixed features of documents: covariates, centred and scaled, and a 1 for the intercept."""
    parts: list[Any] = []
    if covariates is not None and scaling is not None:
        parts.append(sparse.csr_array(scaling.apply(covariates.matrix)))
    if intercept:
        parts.append(sparse.csr_array(np.ones((n_docs, 1))))
    return Design.of(sparse.hstack(parts, format="csr") if parts else np.zeros((n_docs, 0)))


def observed_of(
    targets: FloatArray,
    design: Design,
    responses: Iterable[str],
    columns: Iterable[str],
    intercept: bool,
    scaling: Scaling | None = None,
) -> Observed:
    """Return what is observed, in arrays that cannot be written."""
    return Observed(read_only(targets, np.float64), design, tuple(responses), tuple(columns), intercept, scaling)


def _checked(names: Sequence[str], topics: int) -> tuple[str, ...]:
    """Return the names of covariates; topics and intercept have theirs already."""
    taken = {INTERCEPT, *(f"topic {topic}" for topic in range(topics))}
    clash = next((name for name in names if name in taken), None)
    if clash is not None:
        raise CorpusError(f"covariate {clash!r} has the name of another coefficient of the model; rename its column")
    return tuple(names)
