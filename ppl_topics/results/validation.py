"""Whether what a stored trace holds fits together, checked once where it is loaded so that all later code may trust it.

What is not there is not missed here: traces of other programs hold less, and each reader says what it needs. What is
there under a name that ppl-topics gives must be of the type, the dims and the range that it writes, and dims that it
names or numbers must be named or numbered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import xarray as xr

from ppl_topics._util.finite import all_finite, first_not_finite, spelled
from ppl_topics.core.tokens import MAX_TOPICS
from ppl_topics.errors import SpecError, TraceError
from ppl_topics.results.attributes import wrong_attribute
from ppl_topics.results.model_dims import wrong_dims

__all__ = ["DRAWN", "check_finite", "check_groups", "check_model"]

DRAWN = ("posterior", "warmup_posterior")
"""Groups of what is drawn, each value of which a run found finite."""

DRAWS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
TEXTS = ("model_yaml", "model_name", "schedule", "inference_library", "corpus_name", "corpus_fingerprint", "created_at")
COUNTS = ("exact", "seed", "warmup", "draws", "thin", "threads", "stopped", "empty_documents", "dropped_tokens")
NAMED = ("word", "doc", "response", "coefficient", "slope", "covariate", "class", "kernel")
NUMBERED = ("chain", "draw", "topic", "token")
NEVER_EMPTY = ("chain", "topic", "word", "doc", "response", "coefficient")
"""Dims of draws and constants along which each run has something."""

CONSTANTS = {
    "doc_length": ("doc",),
    "word_count": ("word",),
    "z_last": ("chain", "response", "token"),
    "sweeps": ("chain", "response"),
    "phi_mean": ("chain", "response", "topic", "word"),
    "phi_mean_rest": ("chain", "response", "topic"),
    "phi_mean_value": ("cell",),
    "phi_mean_topic": ("cell",),
    "phi_mean_word": ("cell",),
    "phi_mean_chain": ("cell",),
    "alpha": ("topic",),
    "beta": ("word",),
    "covariates": ("doc", "covariate"),
    "covariate_columns": (),
    "covariate_mean": ("covariate",),
    "covariate_scale": ("covariate",),
}
"""Dims of the variables of ``constant_data``; of those with a dim ``response``, that one may be absent."""

WHOLE = ("doc_length", "word_count", "z_last", "sweeps", "phi_mean_topic", "phi_mean_word", "phi_mean_chain")
"""Of these, those that hold whole numbers; the others hold floats, but for the columns, which are text."""

PROBABILITIES = ("phi_mean", "phi_mean_value", "phi_mean_rest")

LABELS = {"class": "i", "multi_label": "i", "real": "f", "count": "i"}

DAMAGED = "the file is damaged, or was not written by ppl-topics"

CELLS, CELLS_PER_ENTRY = 10**8, 1_000
"""Of a table of topics by words or documents by topics: so many always, and so many for each entry it comes from."""


def check_groups(groups: Mapping[str, xr.Dataset], where: object) -> None:
    """Check the groups of a trace that was stored."""
    _Check(groups, str(where)).all()


def check_finite(groups: Mapping[str, xr.Dataset], where: object) -> None:
    """Check that all draws are finite; this reads them."""
    for name in DRAWN:
        for label, variable in groups.get(name, xr.Dataset()).data_vars.items():
            index = first_not_finite(variable.values)
            if index is not None:
                value, at = variable.values[index], ", ".join(map(str, index))
                raise TraceError(f"{where}: {name}/{label}[{at}] is {spelled(value)}; {DAMAGED}")


def check_model(text: Any, where: object) -> None:
    """Check that the model of a trace is YAML that stands alone, and leads to no file."""
    from ppl_topics.spec.yaml_source import parse_source

    if not isinstance(text, str) or "\n" not in text:
        raise TraceError(f"{where}: the attribute model_yaml is not a model; was it written by ppl-topics?")
    try:
        source = parse_source(text, "model_yaml")
    except SpecError as error:
        raise TraceError(f"{where}: the attribute {error}; was it written by ppl-topics?") from None
    if "extends" in source.data:
        raise TraceError(f"{where}: the attribute model_yaml extends another model; a trace holds all of its own")


class _Check:
    def __init__(self, groups: Mapping[str, xr.Dataset], where: str) -> None:
        self.groups, self.where = groups, where
        self.models: list[str] = []

    def fail(self, what: str) -> NoReturn:
        raise TraceError(f"{self.where}: {what}; {DAMAGED}")

    def all(self) -> None:
        if wrong := wrong_attribute(self.groups):
            self.fail(wrong)
        for name, group in self.groups.items():
            self.attributes(group)
            for dim in map(str, {**group.sizes, **group.coords}):
                self.coordinate(name, dim, group)
            for variable in group.data_vars.values():
                if len(set(map(str, variable.dims))) < len(variable.dims):
                    self.fail(f"{name}/{variable.name} has the dims {variable.dims}")
            for label, held in group.variables.items():
                # NumPy counts and indexes by signed integers, and these fit into none.
                if held.dtype == np.uint64:
                    self.fail(f"{name}/{label} is of type uint64")
        for name in (*DRAWS, "constant_data"):
            for dim in NEVER_EMPTY:
                if name in self.groups and self.groups[name].sizes.get(dim) == 0:
                    self.fail(f"{name} has no {dim}")
        for name in DRAWS:
            if name in self.groups:
                self.draws(name, self.groups[name])
        constants, observed = (self.groups.get(name, xr.Dataset()) for name in ("constant_data", "observed_data"))
        self.constants(constants)
        self.observed(observed, constants)
        self.tables(constants, observed)
        if wrong := wrong_dims(self.groups):
            self.fail(wrong)

    def attributes(self, group: xr.Dataset) -> None:
        for name in TEXTS:
            if name in group.attrs and not isinstance(group.attrs[name], str):
                self.fail(f"the attribute {name} is no text")
        for name in COUNTS:
            value = group.attrs.get(name, 0)
            if np.ndim(value) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
                self.fail(f"the attribute {name} is no count")
        # All groups have the same, as a rule.
        text = group.attrs.get("model_yaml")
        if text is not None and text not in self.models:
            check_model(text, self.where)
            self.models.append(text)

    def coordinate(self, name: str, dim: str, group: xr.Dataset) -> None:
        """Check the names or numbers along a dim: they are there, of one sort, each once."""
        what = f"{name}/{dim}"
        if dim not in (*NAMED, *NUMBERED):
            return
        if dim == "token" and dim not in group.coords:
            # There are too many.
            return
        if dim not in group.coords:
            self.fail(f"{name} has no {'names' if dim in NAMED else 'numbers'} along {dim}")
        values = group[dim]
        if values.dims != (dim,):
            self.fail(f"{what} has the dims {values.dims}")
        numbers = values.dtype.kind in "iu"
        if dim in NUMBERED:
            if not numbers or (values.size and not 0 <= int(values.min()) <= int(values.max()) < 2**62):
                self.fail(f"{what} does not hold numbers from 0")
        elif not numbers and not all(isinstance(name, str) for name in values.values.tolist()):
            self.fail(f"{what} does not hold names")
        # Steps of a schedule may have one label; nothing is looked up by it.
        if dim != "kernel" and len(set(values.values.tolist())) < values.size:
            self.fail(f"{what} holds the same twice")

    def draws(self, name: str, group: xr.Dataset) -> None:
        """Check a group of draws, or of their statistics."""
        main = self.groups["posterior"]
        if name == "posterior":
            for dim in ("chain", "draw"):
                if not group.sizes.get(dim, 0):
                    self.fail(f"posterior has no {dim}")
        partner = {"sample_stats": "posterior", "warmup_sample_stats": "warmup_posterior"}.get(name, name)
        if partner in self.groups and group.sizes.get("draw", 0) != self.groups[partner].sizes.get("draw", 0):
            self.fail(f"{name} and {partner} do not have as many draws")
        if not self.same(group, main, "chain"):
            self.fail(f"{name} and posterior do not have the same chains")
        if "topic" in group.dims and "topic" in main.dims and not self.same(group, main, "topic"):
            self.fail(f"{name} and posterior do not have the same topics")
        for label, variable in group.data_vars.items():
            what = f"{name}/{label}"
            if variable.dtype.kind not in "biuf" or variable.dtype.itemsize > 8:
                self.fail(f"{what} is of type {variable.dtype}")
            if variable.dims[:2] != ("chain", "draw"):
                self.fail(f"{what} has the dims {variable.dims}, expected chain and draw first")
        if "topic_share" in group and group["topic_share"].dims[2:] not in (("topic",), ("response", "topic")):
            self.fail(f"{name}/topic_share has the dims {group['topic_share'].dims}")
        if group.sizes.get("topic", 0) > MAX_TOPICS:
            self.fail(f"{name} has {group.sizes['topic']:,} topics, more than there can be")

    def same(self, one: xr.Dataset, other: xr.Dataset, dim: str) -> bool:
        """Tell whether two groups have the same along a dim, as far as both have it."""
        if dim not in one.dims or dim not in other.dims:
            return dim not in one.dims or dim not in ("chain",)
        return one.sizes[dim] == other.sizes[dim] and bool(np.array_equal(one[dim].values, other[dim].values))

    def constants(self, group: xr.Dataset) -> None:
        """Check what does not change from draw to draw."""
        posterior = self.groups["posterior"]
        for name, dims in CONSTANTS.items():
            if name not in group:
                continue
            found, what = group[name], f"constant_data/{name}"
            if found.dims not in (dims, tuple(dim for dim in dims if dim != "response")):
                self.fail(f"{what} has the dims {found.dims}, expected {dims}")
            if name == "covariate_columns":
                self.columns(found, group)
                continue
            kinds, expected = ("iu", "whole numbers") if name in WHOLE else ("f", "floats")
            if found.dtype.kind not in kinds or found.dtype.itemsize > 8:
                self.fail(f"{what} is of type {found.dtype}, expected {expected}")
            if not all_finite(found.values):
                self.fail(f"{what} holds what is not finite")
            if found.size and name != "covariates" and name != "covariate_mean" and found.values.min() < 0:
                self.fail(f"{what} holds what is below 0")
            if found.size and name in PROBABILITIES and found.values.max() > 1.001:
                self.fail(f"{what} holds what is above 1")
        for name in ("alpha", "beta"):
            if name in group and not (group[name].values > 0).all():
                self.fail(f"constant_data/{name} is not above 0")
        for dim in ("chain", "topic"):
            if dim in group.dims and dim in posterior.dims and not self.same(group, posterior, dim):
                self.fail(f"constant_data and posterior do not have the same {dim}s")
        for dim in ("word", "doc"):
            # Draws may be kept of some of them.
            if dim in group.coords and dim in posterior.coords:
                further = set(posterior[dim].values.tolist()) - set(group[dim].values.tolist())
                if further:
                    self.fail(f"posterior has {dim}s that constant_data has not, such as {next(iter(further))!r}"[:200])
        parts = group.sizes.get("chain", 1) * group.sizes.get("response", 1)
        limits = {"topic": group.sizes.get("topic", 0), "word": group.sizes.get("word", 0), "chain": parts}
        for what, limit in limits.items():
            self.below(group, f"phi_mean_{what}", limit)
        cells = [name for name in CONSTANTS if name.startswith("phi_mean_")]
        held = [name for name in cells if name in group]
        if held and (len(held) < len(cells) or "beta" not in group):
            self.fail(f"constant_data lacks some of {', '.join(cells)} and beta")
        self.below(group, "z_last", group.sizes.get("topic", 0))
        if "word_count" in group and "doc_length" in group:
            # As Python numbers, which do not overflow.
            tokens, counted = (sum(group[name].values.tolist()) for name in ("doc_length", "word_count"))
            if tokens != counted:
                self.fail(f"constant_data/doc_length comes to {tokens:,} tokens and word_count to {counted:,}")
        if "z_last" in group and "doc_length" in group:
            tokens = sum(group["doc_length"].values.tolist())
            if tokens != group.sizes["token"]:
                self.fail(
                    f"constant_data/doc_length comes to {tokens:,} tokens, and z_last has {group.sizes['token']:,}"
                )

    def below(self, group: xr.Dataset, name: str, limit: int) -> None:
        if name not in group or not group[name].size:
            return
        if int(group[name].values.max()) >= limit:
            self.fail(f"constant_data/{name} does not hold whole numbers below {limit:,}")

    def columns(self, found: xr.DataArray, group: xr.Dataset) -> None:
        """Check the columns of the covariates, which are JSON."""
        from ppl_topics.corpus.covariates import columns_from_json

        try:
            columns = columns_from_json(str(found.item()))
            names = [name for column in columns for name in column.names]
            whole = all(isinstance(text, str) for column in columns for text in (column.name, *(column.levels or ())))
        except (ValueError, TypeError, RecursionError):
            names, whole = [], False
        if not whole or len(names) != group.sizes.get("covariate", 0) or len(set(names)) < len(names):
            self.fail("constant_data/covariate_columns does not describe the covariates")

    def observed(self, group: xr.Dataset, constants: xr.Dataset) -> None:
        """Check the words of the tokens, and the labels."""
        if "words" in group:
            words, n_words = group["words"], constants.sizes.get("word", 0)
            if words.dims != ("token",) or words.dtype.kind not in "iu":
                self.fail(f"observed_data/words has the dims {words.dims} of {words.dtype}")
            if words.size and not 0 <= int(words.values.min()) <= int(words.values.max()) < n_words:
                self.fail(f"observed_data/words does not hold whole numbers below {n_words:,}")
            if "doc_length" in constants and sum(constants["doc_length"].values.tolist()) != words.size:
                self.fail(f"observed_data/words has {words.size:,} tokens, and the documents have others")
        for name in ("doc", "token"):
            if name in group.dims and name in constants.dims and group.sizes[name] != constants.sizes[name]:
                self.fail(f"observed_data and constant_data do not have as many {name}s")
        if "labels" not in group:
            return
        labels = group["labels"]
        kind = labels.attrs.get("kind")
        if not isinstance(kind, str) or kind not in LABELS or labels.dtype.kind != LABELS[kind]:
            self.fail("observed_data/labels is not of a kind of labels")
        if kind != "class" and "class" in group.coords:
            self.fail(f"observed_data/labels is of kind {kind}, and there are names of classes")
        two = labels.dims == ("doc", "response")
        if (labels.dims != ("doc",) and not two) or (two and kind == "class") or (not two and kind == "multi_label"):
            self.fail(f"observed_data/labels has the dims {labels.dims}")
        highest = {"class": group.sizes.get("class", 0) - 1, "multi_label": 1}.get(kind)
        if kind == "real":
            if np.isinf(labels.values).any():
                self.fail("observed_data/labels holds what is not finite")
        elif labels.size and (labels.values.min() < -1 or (highest is not None and labels.values.max() > highest)):
            self.fail("observed_data/labels holds what is no label")

    def tables(self, constants: xr.Dataset, observed: xr.Dataset) -> None:
        """Refuse sizes of which the tables that are made of them would not fit the file that they stand in."""
        sizes = constants.sizes
        topics = max(sizes.get("topic", 0), self.groups["posterior"].sizes.get("topic", 0))
        if topics > MAX_TOPICS:
            self.fail(f"constant_data has {topics:,} topics, more than there can be")
        tokens = observed.sizes.get("token", sizes.get("token", 0))
        tables = {("doc", "topic"): (sizes.get("doc", 0) * topics, tokens)}
        if "phi_mean_rest" in constants:
            parts = sizes.get("chain", 1) * sizes.get("response", 1)
            tables[("word", "topic")] = (parts * sizes.get("word", 0) * topics, sizes.get("cell", 0))
        for (of, by), (cells, entries) in tables.items():
            if cells > max(CELLS, CELLS_PER_ENTRY * entries):
                self.fail(f"a table of {of} by {by} would have {cells:,} cells, for {entries:,} entries")
