"""Whether the parts of a stored trace fit together, checked once on loading so that all later code may rely on it.

Missing parts are not reported here: traces of other programs hold less, and each reader says what it needs. But
variables with names that ppl-topics gives must have the types, dims and ranges that it writes, and the dims that it
names or numbers must be named or numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from ppl_topics._util.finite import all_finite, first_not_finite, spelled
from ppl_topics.core.tokens import MAX_TOPICS
from ppl_topics.errors import SpecError, TraceError
from ppl_topics.results.attributes import attribute_problems
from ppl_topics.results.model_dims import CONSTANT_DIMS, dims_problems

__all__ = ["DRAWN", "check_finite", "check_groups"]

DRAWN = ("posterior", "warmup_posterior")
"""Groups of what is drawn; a run found every value finite."""

PARTNERS = {"sample_stats": "posterior", "warmup_sample_stats": "warmup_posterior"}
"""Groups of statistics, and the groups whose draws they describe."""

TEXTS = (
    *("model_yaml", "model_name", "schedule", "warmup_schedule", "warmup_inexact", "start"),
    *("inference_library", "corpus_name", "corpus_fingerprint", "created_at"),
)
COUNTS = ("exact", "seed", "warmup", "draws", "thin", "threads", "stopped", "empty_documents", "dropped_tokens")
NAMED = (
    *("word", "doc", "response", "coefficient", "slope", "prevalence", "prevalence_slope"),
    *("covariate", "feature", "class", "kernel"),
)
NUMBERED = ("chain", "draw", "topic", "token")
NEVER_EMPTY = ("chain", "topic", "word", "doc", "response", "coefficient")
"""Dims of draws and constants that are never empty."""

WHOLE = ("doc_length", "word_count", "z_last", "sweeps", "phi_mean_topic", "phi_mean_word", "phi_mean_chain")
"""Constants that hold whole numbers; the others hold floats, except the columns of covariates, which are text."""

POSITIVE = ("alpha", "beta", "target_scale")
SIGNED = ("covariates", "covariate_mean", "feature_mean", "target_mean")
PROBABILITIES = ("phi_mean", "phi_mean_value", "phi_mean_rest")
SCALING = ("covariate_columns", "covariate_mean", "covariate_scale")
OF_FORMULA = ("covariate_columns", "covariate_formula", "feature_mean", "feature_scale")
TARGETS = ("target_mean", "target_scale")
CELLS = tuple(name for name in CONSTANT_DIMS if name.startswith("phi_mean_"))
"""Constants that hold the mean of sparse topics."""

LABELS = {"class": "i", "multi_label": "i", "real": "f", "count": "i"}
"""Kinds of labels, and the kind of their dtype."""

DAMAGED = "the file is damaged, or was not written by ppl-topics"

MAX_CELLS, MAX_CELLS_PER_ENTRY = 10**8, 1_000
"""A table of topics by words or documents by topics may have as many cells as the larger of these, the second times the
number of entries that it is made from."""


def check_groups(groups: Mapping[str, xr.Dataset], where: object) -> None:
    """Raise a `TraceError` unless the groups of a stored trace fit together."""
    problem = next(_problems(groups), None)
    if problem is not None:
        raise TraceError(f"{where}: {problem}; {DAMAGED}")


def check_finite(groups: Mapping[str, xr.Dataset], where: object) -> None:
    """Check that all draws are finite; this reads them."""
    for name in DRAWN:
        for label, variable in groups.get(name, xr.Dataset()).data_vars.items():
            index = first_not_finite(variable.values)
            if index is not None:
                value, at = variable.values[index], ", ".join(map(str, index))
                raise TraceError(f"{where}: {name}/{label}[{at}] is {spelled(value)}; {DAMAGED}")


def _problems(groups: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield what is wrong with a trace; a problem may hide others, or cause them."""
    yield from attribute_problems(groups)
    for group in groups.values():
        yield from _settings(group)
    # All groups have the same model, as a rule.
    for text in {group.attrs["model_yaml"]: None for group in groups.values() if "model_yaml" in group.attrs}:
        yield from _model(text)
    for name, group in groups.items():
        yield from _coordinates(name, group)
        for label, variable in group.variables.items():
            if len(set(variable.dims)) < variable.ndim:
                yield f"{name}/{label} has the dims {variable.dims}"
            # NumPy counts and indexes by signed integers, which cannot hold these.
            if variable.dtype == np.uint64:
                yield f"{name}/{label} is of type uint64"
    constants, observed = (groups.get(name, xr.Dataset()) for name in ("constant_data", "observed_data"))
    draws = {name: groups[name] for name in (*DRAWN, *PARTNERS) if name in groups}
    for name, group in {**draws, "constant_data": constants}.items():
        for dim in NEVER_EMPTY:
            if group.sizes.get(dim) == 0:
                yield f"{name} has no {dim}"
        if group.sizes.get("topic", 0) > MAX_TOPICS:
            yield f"{name} has {group.sizes['topic']:,} topics, more than there can be"
    for dim in ("chain", "draw"):
        if not groups["posterior"].sizes.get(dim, 0):
            yield f"posterior has no {dim}"
    for name, group in draws.items():
        yield from _draws(name, group, groups)
    yield from dims_problems(groups)
    yield from _constants(constants, groups["posterior"])
    yield from _observed(observed, constants)
    yield from _large_tables(groups["posterior"], constants, observed)


def _settings(group: xr.Dataset) -> Iterator[str]:
    """Check the attributes that tell what was run."""
    for name in TEXTS:
        if not isinstance(group.attrs.get(name, ""), str):
            yield f"the attribute {name} is not text"
    for name in COUNTS:
        value = group.attrs.get(name, 0)
        if np.ndim(value) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
            yield f"the attribute {name} is not a count"


def _model(text: str) -> Iterator[str]:
    """Check that a model is YAML that refers to no other file."""
    from ppl_topics.spec.yaml_source import parse_source

    if "\n" not in text:
        yield "the attribute model_yaml is not a model"
    try:
        if "extends" in parse_source(text, "model_yaml").data:
            yield "the attribute model_yaml extends another model; the model of a trace must be complete"
    except SpecError as error:
        yield f"the attribute {error}"


def _coordinates(name: str, group: xr.Dataset) -> Iterator[str]:
    """Check that dims have the names or numbers that they should have, each once."""
    for dim in map(str, {**group.sizes, **group.coords}):
        # There are too many tokens to number all of them.
        if dim not in (*NAMED, *NUMBERED) or (dim == "token" and dim not in group.coords):
            continue
        if dim not in group.coords:
            yield f"{name} has no {'names' if dim in NAMED else 'numbers'} along {dim}"
        values, what = group[dim], f"{name}/{dim}"
        if values.dims != (dim,):
            yield f"{what} has the dims {values.dims}"
        numbers = values.dtype.kind in "iu"
        if dim in NUMBERED:
            if not numbers or (values.size and not 0 <= int(values.min()) <= int(values.max()) < 2**62):
                yield f"{what} does not hold numbers from 0"
        elif not numbers and not all(isinstance(entry, str) for entry in values.values.tolist()):
            yield f"{what} does not hold names"
        # Steps of a schedule may share a label; nothing is found by it.
        if dim != "kernel" and len(set(values.values.tolist())) < values.size:
            yield f"{what} holds the same {'name' if dim in NAMED else 'number'} twice"


def _draws(name: str, group: xr.Dataset, groups: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Check a group of draws, or of their statistics."""
    partner = PARTNERS.get(name, name)
    if partner in groups and group.sizes.get("draw", 0) != groups[partner].sizes.get("draw", 0):
        yield f"{name} and {partner} have different numbers of draws"
    yield from _same(name, group, groups["posterior"])
    for label, variable in group.data_vars.items():
        if variable.dtype.kind not in "biuf" or variable.dtype.itemsize > 8:
            yield f"{name}/{label} is of type {variable.dtype}"
        if variable.dims[:2] != ("chain", "draw"):
            yield f"{name}/{label} has the dims {variable.dims}, expected chain and draw first"


def _same(name: str, group: xr.Dataset, posterior: xr.Dataset) -> Iterator[str]:
    """Check that a group has the chains and topics of the posterior, if it has any."""
    for dim in ("chain", "topic"):
        if dim in group.dims and dim in posterior.dims and not np.array_equal(group[dim], posterior[dim]):
            yield f"{name} and posterior do not have the same {dim}s"


def _constants(group: xr.Dataset, posterior: xr.Dataset) -> Iterator[str]:
    """Check what does not change from draw to draw."""
    # Covariates that the model does not look at have columns, and nothing else.
    scalings = [(each[1:], each) for each in (SCALING, OF_FORMULA)]
    for wanted, needed in (*scalings, (TARGETS, TARGETS), (CELLS, (*CELLS, "beta"))):
        if any(name in group for name in wanted) and not all(name in group for name in needed):
            yield f"constant_data lacks some of {', '.join(needed)}"
    sizes = {dim: group.sizes.get(dim, 0) for dim in ("topic", "word")}
    parts = _parts(group)
    limits = {"z_last": sizes["topic"], **{f"phi_mean_{dim}": n for dim, n in {**sizes, "chain": parts}.items()}}
    for name in CONSTANT_DIMS:
        if name not in group:
            continue
        found, what = group[name], f"constant_data/{name}"
        if name == "covariate_columns":
            yield from _columns(found, group)
            continue
        if name == "covariate_formula":
            yield from _formula(found, group)
            continue
        kinds, expected = ("iu", "whole numbers") if name in WHOLE else ("f", "floats")
        if found.dtype.kind not in kinds or found.dtype.itemsize > 8:
            yield f"{what} is of type {found.dtype}, expected {expected}"
        if not all_finite(found.values):
            yield f"{what} holds values that are not finite"
        if not found.size:
            continue
        least, most = found.values.min(), found.values.max()
        if least < 0 and name not in SIGNED:
            yield f"{what} holds values below 0"
        if least <= 0 and name in POSITIVE:
            yield f"{what} is not above 0"
        if most > 1.001 and name in PROBABILITIES:
            yield f"{what} holds values above 1"
        if name in limits and most >= limits[name]:
            yield f"{what} does not hold whole numbers below {limits[name]:,}"
    yield from _same("constant_data", group, posterior)
    scaled = "target_scale" in group and "response" in posterior.dims
    if scaled and not np.array_equal(group["response"], posterior["response"]):
        yield "the targets of constant_data and posterior do not have the same responses"
    for dim in ("word", "doc"):
        # Draws may be kept for some of them.
        if dim in group.coords and dim in posterior.coords:
            further = set(posterior[dim].values.tolist()) - set(group[dim].values.tolist())
            if further:
                yield f"posterior has {dim}s that constant_data lacks, such as {next(iter(further))!r}"[:200]
    if "doc_length" in group:
        # As Python numbers, which do not overflow.
        tokens = sum(group["doc_length"].values.tolist())
        if "word_count" in group and tokens != (counted := sum(group["word_count"].values.tolist())):
            yield f"constant_data/doc_length adds up to {tokens:,} tokens, but word_count to {counted:,}"
        if "z_last" in group and tokens != group.sizes["token"]:
            yield f"constant_data/doc_length adds up to {tokens:,} tokens, but z_last has {group.sizes['token']:,}"


def _parts(group: xr.Dataset) -> int:
    """Return how many sets of sparse topics there are."""
    sizes = group["phi_mean_rest"].sizes if "phi_mean_rest" in group else {}
    return sizes.get("chain", 1) * sizes.get("response", 1)


def _columns(found: xr.DataArray, group: xr.Dataset) -> Iterator[str]:
    """Check the columns of the covariates, which are JSON."""
    from ppl_topics.corpus.covariates import columns_from_json

    try:
        columns = columns_from_json(str(found.item()))
        names = [name for column in columns for name in column.names]
        texts = all(isinstance(text, str) for column in columns for text in (column.name, *(column.levels or ())))
        sound = texts and len(names) == len(set(names)) == group.sizes.get("covariate", 0)
    except (ValueError, TypeError, RecursionError):
        sound = False
    if not sound:
        yield "constant_data/covariate_columns does not describe the covariates"


def _formula(found: xr.DataArray, group: xr.Dataset) -> Iterator[str]:
    """Check the formula of the covariates, which is JSON; what it is of, `_columns` checks."""
    from ppl_topics.corpus.formulas import FittedFormula

    try:
        names = FittedFormula.from_json(str(found.item()), ()).names
        sound = len(names) == len(set(names)) == group.sizes.get("feature", 0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        sound = False
    if not sound:
        yield "constant_data/covariate_formula is no formula of the covariates"


def _observed(group: xr.Dataset, constants: xr.Dataset) -> Iterator[str]:
    """Check the words of the tokens, and the labels."""
    if "words" in group:
        words, n_words = group["words"], constants.sizes.get("word", 0)
        if words.dims != ("token",) or words.dtype.kind not in "iu":
            yield f"observed_data/words has the dims {words.dims} of {words.dtype}, expected tokens of whole numbers"
        if words.size and not 0 <= int(words.values.min()) <= int(words.values.max()) < n_words:
            yield f"observed_data/words does not hold whole numbers below {n_words:,}"
        if "doc_length" in constants and words.size != (tokens := sum(constants["doc_length"].values.tolist())):
            yield f"observed_data/words has {words.size:,} tokens, but constant_data/doc_length adds up to {tokens:,}"
    for dim in ("doc", "token"):
        if dim in group.dims and dim in constants.dims and group.sizes[dim] != constants.sizes[dim]:
            yield f"observed_data and constant_data have different numbers of {dim}s"
    if "labels" in group:
        yield from _labels(group["labels"], group)


def _labels(labels: xr.DataArray, group: xr.Dataset) -> Iterator[str]:
    kind, classes = labels.attrs.get("kind"), group.sizes.get("class", 0)
    if not isinstance(kind, str) or LABELS.get(kind) != labels.dtype.kind:
        yield "observed_data/labels is not of a kind of labels"
    if kind != "class" and "class" in group.coords:
        yield f"observed_data/labels is of kind {kind}, but there are names of classes"
    one, several = ("doc",), ("doc", "response")
    if labels.dims not in {"class": (one,), "multi_label": (several,)}.get(str(kind), (one, several)):
        yield f"observed_data/labels has the dims {labels.dims}"
    if kind == "real":
        if np.isinf(labels.values).any():
            yield "observed_data/labels holds values that are not finite"
    elif labels.size:
        highest = {"class": classes - 1, "multi_label": 1}.get(str(kind), np.inf)
        if labels.values.min() < -1 or labels.values.max() > highest:
            yield "observed_data/labels holds values that are not labels"


def _large_tables(posterior: xr.Dataset, constants: xr.Dataset, observed: xr.Dataset) -> Iterator[str]:
    """Refuse sizes that make tables much larger than the file."""
    sizes = constants.sizes
    topics = max(sizes.get("topic", 0), posterior.sizes.get("topic", 0))
    tokens = observed.sizes.get("token", sizes.get("token", 0))
    tables = {"doc by topic": (sizes.get("doc", 0) * topics, tokens)}
    if "phi_mean_rest" in constants:
        tables["word by topic"] = (_parts(constants) * sizes.get("word", 0) * topics, sizes.get("cell", 0))
    for table, (cells, entries) in tables.items():
        if cells > max(MAX_CELLS, MAX_CELLS_PER_ENTRY * entries):
            yield f"a table of {table} would have {cells:,} cells, for {entries:,} entries"
