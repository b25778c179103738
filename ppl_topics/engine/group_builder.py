"""From the draws of chains to xarray Datasets, a group each, with dims and coordinates of the model."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray
from ppl_topics.core.alpha import Alpha, LogLinear
from ppl_topics.core.observed import Observed
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.covariates import columns_to_json
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.encode_observed import observed_labels
from ppl_topics.engine.executor import step_labels
from ppl_topics.engine.recorder import ChainDraws, Selection, selections
from ppl_topics.engine.traced import Traced
from ppl_topics.errors import StoppedError
from ppl_topics.results.groups import GROUPS, by_response, ends

__all__ = ["GroupBuilder", "attributes_of", "build_groups", "coordinates"]

MAX_COVARIATE_CELLS = 10_000_000
"""Covariates with more cells, which are usually sparse, are not copied from the corpus."""

SOFTWARE = ("numpy", "numba", "scipy", "xarray", "arviz")


def build_groups(
    bound: BoundModel, corpus: Corpus, chains: Mapping[int, ChainDraws], settings: Settings
) -> dict[str, xr.Dataset]:
    """Build the groups of a trace whose draws are in memory."""
    ordered = [chains[number] for number in sorted(chains)]
    n_draws = min(chain.n_draws for chain in ordered)
    if n_draws == 0:
        sweeps = min(chain.sweeps for chain in ordered)
        done = "1 sweep" if sweeps == 1 else f"{sweeps} sweeps"
        raise StoppedError(f"stopped after {done} of warmup, before the first draw; nothing to keep")
    n_warmup = min(chain.n_warmup for chain in ordered)
    builder = GroupBuilder(bound, corpus, sorted(chains), settings.traced)
    means, last, sweeps_done = zip(*((chain.phi_mean, chain.z, chain.sweeps) for chain in ordered), strict=True)
    drawn = (
        builder.variables([c.posterior for c in ordered], n_draws),
        builder.statistics([c.statistics for c in ordered], n_draws, builder.labels),
        builder.variables([c.warmup for c in ordered], n_warmup),
        builder.statistics([c.warmup_statistics for c in ordered], n_warmup, builder.warmup_labels),
    )
    constants = builder.constants().assign(ends(builder.chains, builder.responses, means, last, sweeps_done))
    attributes = attributes_of(bound, corpus, settings, min(sweeps_done) < settings.sweeps)
    return builder.groups(drawn, constants, attributes)


class GroupBuilder:
    """Builds the groups of a trace, with dims and coordinates of the model; `chains` counts those of all responses."""

    def __init__(self, bound: BoundModel, corpus: Corpus, chains: Sequence[int], traced: Sequence[Traced] = ()) -> None:
        self.traced = {each.name: each.dims for each in traced}
        self.bound, self.corpus, self.kept = bound, corpus, selections(bound)
        self.labels, self.warmup_labels = step_labels(bound.plan.schedule), step_labels(bound.plan.first_schedule)
        self.parts = bound.parts
        self.chains = np.array(chains)[:: self.parts] // self.parts

    def variables(self, chains: Sequence[Mapping[str, list[NDArray[Any]]]], draws: int) -> xr.Dataset:
        """Build a group of variables, each with dims (chain, draw, ...)."""
        data: dict[str, Any] = {}
        coords: dict[str, Any] = {"chain": self.chains, "draw": np.arange(draws)}
        for name in chains[0]:
            dims = self.dims(name)
            stacked = _stack([chain[name] for chain in chains], draws)
            data[name] = by_response(("chain", "draw", *dims), stacked, self.parts)
            coords |= self.coords(data[name][0][2:], self.kept.get(name))
        return xr.Dataset(data, coords)

    @property
    def responses(self) -> NDArray[Any] | None:
        """Names of the responses, where each has its own chains."""
        return self.coords(["response"], None)["response"] if self.parts > 1 else None

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the dims of one draw of a variable."""
        if name in self.traced:
            return self.traced[name]
        return ("topic",) if name == "topic_share" else self.kept[name].variable.dims

    def all_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the dims of one draw of each variable that is kept."""
        return {name: self.dims(name) for name in (*self.kept, "topic_share")}

    def empty(self, attributes: Mapping[str, str | int]) -> dict[str, xr.Dataset]:
        """Return the groups of a trace before the first sweep: constants, observed data, coordinates of the others."""
        common: dict[str, Any] = {"chain": self.chains}
        if self.responses is not None:
            common["response"] = self.responses
        variables = dict(common)
        for name, dims in self.all_dims().items():
            variables |= self.coords(dims, self.kept.get(name))
        posterior = xr.Dataset(coords=variables)
        statistics, of_warmup = (
            xr.Dataset(coords=common | {"kernel": np.array(labels, dtype=object)})
            for labels in (self.labels, self.warmup_labels)
        )
        constants = self.constants()
        return self.groups((posterior, statistics, posterior, of_warmup), constants, attributes)

    def groups(
        self, drawn: Sequence[xr.Dataset], constants: xr.Dataset, attributes: Mapping[str, str | int]
    ) -> dict[str, xr.Dataset]:
        """Put the groups together, those of draws being the variables and statistics of draws and of warmup."""
        groups = zip(GROUPS, (*drawn, self.observed(), constants), strict=True)
        return {name: group.assign_attrs(attributes) for name, group in groups}

    def coords(self, dims: Sequence[str], selection: Selection | None) -> dict[str, Any]:
        """Return the coordinates of dims: of words and documents, those that are kept."""
        words, docs = (None, None) if selection is None else (selection.words, selection.docs)
        bound = self.bound
        keywords = bound.model.keyword_names(self.corpus.vocabulary) if "keyword" in dims else ()
        result = coordinates(
            dims, self.corpus, bound.sizes, bound.observed, bound.prevalence, keywords, words=words, docs=docs
        )
        for name, bound in self.bound.marginals.items():
            own = self.bound.model.marginals[name].dims
            alone = coordinates([own[dim] for dim in dims if dim in own], self.corpus, bound.sizes, bound.observed)
            result |= {dim: alone[own[dim]] for dim in dims if dim in own}
        return result

    def statistics(self, chains: Sequence[Mapping[str, list[Any]]], draws: int, labels: Sequence[str]) -> xr.Dataset:
        """Build a group of statistics; those of kernels have the dim ``kernel``, of the steps with these labels."""
        names = list(dict.fromkeys(name for chain in chains for name in chain))
        data: dict[str, Any] = {}
        missing = np.full(len(labels), np.nan)
        for name in names:
            # A statistic that no step of a chain returned is missing in it.
            stacked = _stack([chain.get(name, [missing] * draws) for chain in chains], draws)
            dims = ("chain", "draw", "kernel") if stacked.ndim == 3 else ("chain", "draw")
            data[name] = by_response(dims, stacked, self.parts)
        coords = {"chain": self.chains, "draw": np.arange(draws), "kernel": list(labels)}
        return xr.Dataset(data, coords | (self.coords(("response",), None) if self.parts > 1 else {}))

    def observed(self) -> xr.Dataset:
        """Build the group of observed data: the word of each token, and the labels with the names of their classes."""
        data: dict[str, Any] = {"words": ("token", np.asarray(self.corpus.words))}
        coords = self.coords(("doc",), None)
        for name, bound in self._responses():
            labels = (
                self.corpus.labels if bound.model.label_block is None else observed_labels(bound.model, self.corpus)
            )
            if labels is None:
                continue
            values = np.asarray(labels.values)
            dims = ("doc",) if values.ndim == 1 else ("doc", f"response{name}")
            data[f"labels{name}"] = (dims, values, {"kind": labels.kind})
            if len(labels.classes):
                # Labels of one class of several are positions in `class`; the other kinds have a column for each.
                coords[f"class{name}" if values.ndim == 1 else f"response{name}"] = _text(labels.classes)
        above = self.bound.model.weights.labels_above
        if above is not None:
            named = self.corpus.labels_of(above)
            assert named is not None, "topics of labels without labels"
            values = np.asarray(named.values)
            data["topic_labels"] = (("doc", "topic_label")[: values.ndim], values, {"kind": named.kind})
            coords["topic_label"] = _text(named.classes)
        return xr.Dataset(data, coords)

    def constants(self) -> xr.Dataset:
        """Build the group of constants: lengths, counts of words, fixed concentrations, covariates, scales."""
        sizes = self.bound.sizes
        data: dict[str, Any] = {
            "doc_length": ("doc", np.asarray(self.bound.tokens.doc_lengths)),
            "word_count": ("word", np.asarray(self.bound.tokens.word_counts)),
        }
        for role, value in self.bound.concentrations.items():
            if not isinstance(value, str | Alpha | LogLinear):
                data[role] = (("topic",) if role == "alpha" else ("word",), value)
        coords = {"topic": np.arange(sizes.topics), **self.coords(("doc", "word"), None)}
        above = self.bound.model.weights.labels_above
        labels = None if above is None else self.corpus.labels_of(above)
        names = self.bound.model.topic_names if labels is None else labels.classes
        if len(names):
            data["topic_name"] = ("topic", _text([*names, *[""] * (sizes.topics - len(names))]))
        covariates = self.corpus.covariates
        observing = [self.bound.prevalence, *(bound.observed for _, bound in self._responses())]
        scalings = (None if each is None else each.scaling for each in observing)
        scaling = next((each for each in scalings if each is not None), None)
        few = covariates is not None and np.prod(covariates.matrix.shape) <= MAX_COVARIATE_CELLS
        if covariates is not None and few:
            matrix = covariates.matrix
            data["covariates"] = (("doc", "covariate"), matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
        if covariates is not None and (few or scaling is not None):
            # What the columns are of, to group documents and to encode new ones; a variable, since attributes are
            # limited in size.
            data["covariate_columns"] = ((), columns_to_json(covariates.columns))
            coords["covariate"] = _text(covariates.names)
        if covariates is not None and scaling is not None:
            if scaling.formula is None:
                dim = "covariate"
            else:
                dim = "feature"
                data["covariate_formula"] = ((), scaling.formula.to_json())
                coords[dim] = _text(scaling.formula.names)
            data[f"{dim}_mean"], data[f"{dim}_scale"] = (dim, scaling.mean), (dim, scaling.scale)
        for name, bound in self._responses():
            standardised = None if bound.observed is None else bound.observed.target_scaling
            if standardised is not None:
                # Needed to predict in the units of the targets.
                dim = f"response{name}"
                data[f"target_mean{name}"] = (dim, standardised.mean)
                data[f"target_scale{name}"] = (dim, standardised.scale)
                coords |= self.coords((dim,), None)
        return xr.Dataset(data, coords)

    def _responses(self) -> list[tuple[str, BoundModel]]:
        """Return the models of one response each, with what the names of their variables end in: nothing, if one."""
        return [(f"_{name}" if name else "", bound) for name, bound in self.bound.by_response.items()]


def coordinates(
    dims: Sequence[str],
    corpus: Corpus,
    sizes: Sizes,
    observed: Observed | None,
    prevalence: Observed | None = None,
    keywords: Sequence[str] = (),
    words: IntArray | None = None,
    docs: int | None = None,
) -> dict[str, Any]:
    """Return the coordinates of dims: of some words and the first documents, or all where None."""
    result: dict[str, Any] = {}
    for dim in dims:
        if dim == "topic":
            result[dim] = np.arange(sizes.topics)
        elif dim == "word":
            result[dim] = _text(corpus.vocabulary if words is None else corpus.vocabulary[words])
        elif dim == "doc":
            result[dim] = _text(corpus.doc_ids[:docs])
        elif dim == "token":
            result[dim] = np.arange(sizes.tokens)
        elif dim in ("prevalence", "prevalence_slope"):
            assert prevalence is not None, f"{dim} without covariates of topics"
            result[dim] = _text(prevalence.columns[: sizes.of(dim)])
        elif dim == "keyword":
            result[dim] = _text(keywords)
        elif dim == "cutpoint":
            assert observed is not None, f"{dim} without a response"
            result[dim] = _text([f"{low} | {high}" for low, high in pairwise(observed.classes[1:])])
        elif dim in ("response", "coefficient", "slope"):
            assert observed is not None, f"{dim} without a response"
            names = (*(f"topic {topic}" for topic in range(sizes.supervised)), *observed.columns)
            of_dim = {"response": observed.responses, "coefficient": names, "slope": names[: sizes.slopes]}
            result[dim] = _text(of_dim[dim])
    return result


def _stack(chains: Sequence[Sequence[Any]], draws: int) -> NDArray[Any]:
    return (
        np.stack([np.stack([np.asarray(v) for v in values[:draws]]) for values in chains])
        if draws
        else np.zeros((len(chains), 0, *(np.shape(chains[0][0]) if chains[0] else ())))
    )


def _text(values: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    return np.asarray(values, dtype=object)


def attributes_of(bound: BoundModel, corpus: Corpus, settings: Settings, stopped: bool) -> dict[str, str | int]:
    """Return the attributes of all groups: model, schedule, settings, corpus, versions; whether the run was stopped."""
    plan = bound.plan
    spec = plan.model.spec
    dropped = corpus.dropped
    own_warmup: dict[str, str] = {}
    if plan.warmup is not None and settings.warmup:
        own_warmup["warmup_inexact"] = ", ".join(plan.warmup.inexact)
        if plan.first_schedule is not plan.schedule:
            own_warmup["warmup_schedule"] = "\n".join(plan.warmup_lines())
    return {
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "ppl-topics",
        "inference_library_version": version("ppl-topics"),
        "model_name": spec.name,
        "model_yaml": spec.to_yaml(),
        "schedule": str(plan),
        "exact": int(plan.exact),
        **own_warmup,
        "start": bound.start,
        "seed": settings.seed,
        "warmup": settings.warmup,
        "draws": settings.draws,
        "thin": settings.thin,
        "threads": settings.threads,
        "stopped": int(stopped),
        "corpus_name": corpus.name,
        "corpus_fingerprint": corpus.fingerprint,
        "empty_documents": int(corpus.n_empty_docs),
        "dropped_tokens": int(dropped.tokens),
        "python_version": platform.python_version(),
        **{f"{name}_version": version(name) for name in SOFTWARE},
    }
