"""Keeps the draws of one chain in arrays, as the model's ``record`` asks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, IntArray
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import SweepRecord
from ppl_topics.engine.finite_check import check_recorded
from ppl_topics.engine.summary import of_documents, summarise
from ppl_topics.engine.topic_sums import topic_sums
from ppl_topics.engine.traced import Traced
from ppl_topics.errors import SpecError
from ppl_topics.results.mean_topics import SparseMean
from ppl_topics.results.run_folder.draws import ChainStream
from ppl_topics.samplers.responses.features import features_of, scores
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi_of, draw_theta
from ppl_topics.schedule.dead_steps import dirichlet_step
from ppl_topics.spec import Docs, Model, RecordRule, TopWords, Variable

__all__ = ["LARGE_DIMS", "ChainDraws", "Recorder", "Selection", "Sink", "rule_for", "selections"]

LARGE_DIMS = {"word", "doc", "token"}
"""Dims of the variables that take most of the memory of a trace; warmup leaves them out."""

DEFAULT_RULES: dict[str, RecordRule] = {
    "phi": TopWords(top_words=1000),
    "theta": Docs(docs=1000),
    "z": "none",
    "included": "none",
}


def rule_for(variable: Variable, model: Model) -> RecordRule:
    """Return what is kept of a variable: what the model's ``record`` says, or else the default."""
    asked = model.spec.record.get(variable.name)
    if asked is not None:
        return asked
    if variable.given and LARGE_DIMS & set(variable.dims):
        return "none"
    if variable.role == "augmentation" and "doc" in variable.dims:
        return "none"
    if variable.role in ("pi", "background") and "word" in variable.dims:
        # Variables of one group of a trace have the same words.
        of_phi = rule_for(model.variables[model.names["phi"]], model)
        return "all" if of_phi == "none" else of_phi
    return DEFAULT_RULES.get(variable.role, "all")


@dataclass(frozen=True)
class Selection:
    """What to keep of a variable: some words of dim ``word``, the first documents of dim ``doc``, or all where None."""

    variable: Variable
    words: IntArray | None = None
    docs: int | None = None


def selections(bound: BoundModel) -> dict[str, Selection]:
    """Work out what the model's ``record`` keeps, by variable."""
    result = {}
    for name, variable in bound.model.variables.items():
        rule = rule_for(variable, bound.model)
        if rule == "none":
            continue
        words = docs = None
        if isinstance(rule, TopWords) and rule.top_words < bound.sizes.words:
            # The most frequent words, in vocabulary order; ties go to the smaller id.
            order = np.argsort(-bound.tokens.word_counts, kind="stable")
            words = np.sort(order[: rule.top_words])
        if isinstance(rule, Docs):
            docs = min(rule.docs, bound.sizes.docs)
        result[name] = Selection(variable, words, docs)
    _check_words(bound, result)
    return result


def _check_words(bound: BoundModel, kept: Mapping[str, Selection]) -> None:
    words = bound.sizes.words
    sizes = {n: words if s.words is None else len(s.words) for n, s in kept.items() if "word" in s.variable.dims}
    if len(set(sizes.values())) > 1:
        given = ", ".join(f"{size:,} of {name}" for name, size in sizes.items())
        place = bound.model.spec.locate("record")
        raise SpecError(f"{place}: record: keeps words by different rules, {given}; give these variables the same rule")


@dataclass
class ChainDraws:
    """The draws of one chain, as lists of arrays by name, each as long as the number of draws so far.

    Warmup keeps the small variables only. `phi_mean` is the mean of E[phi | z] over the kept draws, shape (V, K), given
    the indicators if there are any; `z` has the last assignments, and `sweeps` is how many the chain has run.
    """

    posterior: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    warmup: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    statistics: dict[str, list[Any]] = field(default_factory=dict)
    warmup_statistics: dict[str, list[Any]] = field(default_factory=dict)
    phi_mean: Float32Array | SparseMean = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    z: NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    sweeps: int = 0

    def add(self, warmup: bool, values: Mapping[str, NDArray[Any]], statistics: Mapping[str, Any]) -> None:
        """Keep a state."""
        kept = self.warmup if warmup else self.posterior
        kept_statistics = self.warmup_statistics if warmup else self.statistics
        for name, value in values.items():
            kept.setdefault(name, []).append(value)
        n_before = len(kept_statistics.get("lp", []))
        # A statistic of a kernel that a sweep did not run is missing there.
        missing = np.full_like(statistics["step_seconds"], np.nan)
        for name in {**kept_statistics, **statistics}:
            kept_statistics.setdefault(name, [missing] * n_before).append(statistics.get(name, missing))

    def flush(self) -> None:
        """Do nothing: draws that are in memory have nowhere else to go."""

    @property
    def n_draws(self) -> int:
        """Number of draws that are kept."""
        return len(self.statistics.get("lp", []))

    @property
    def n_warmup(self) -> int:
        """Number of warmup sweeps that are kept."""
        return len(self.warmup_statistics.get("lp", []))


Sink: TypeAlias = ChainDraws | ChainStream
"""Where the draws of one chain go: into memory, or to disk."""


class Recorder:
    """Records the states of one chain into a sink."""

    def __init__(self, bound: BoundModel, sink: Sink, traced: Sequence[Traced] = ()) -> None:
        self.bound = bound
        self.traced = traced
        self.selections = selections(bound)
        self.sink = sink
        self.topics = topic_sums(bound.model, bound.sizes, sparse=bound.sparse)
        self.log_posterior = float("nan")
        phi = self.selections.get(bound.model.names["phi"])
        # Where all words are kept, the step does it as well.
        few = phi is not None and phi.words is not None
        self._phi_step = dirichlet_step(bound.plan.schedule, bound.model) if few else None

    def kept(self, warmup: bool) -> dict[str, Selection]:
        """Return what is kept of a state: all that is asked for, or in warmup only what is small."""
        return {name: s for name, s in self.selections.items() if not (warmup and LARGE_DIMS & set(s.variable.dims))}

    def _traced(self, warmup: bool) -> list[Traced]:
        """Return the functions that are kept."""
        return [each for each in self.traced if not (warmup and LARGE_DIMS & set(each.dims))]

    def needed(self, warmup: bool) -> set[str]:
        """Return the names of what `record` reads of a state, beside variables that are small: z and n_wk are large."""
        names, kept = self.bound.model.names, self.kept(warmup)
        if self._traced(warmup):
            return {*self.bound.model.held, "n_wk"}
        if self._draws_phi(warmup):
            kept.pop(names["phi"])
        of_z = self.bound.model.supervised or ("theta" in names and names["theta"] in kept)
        return {*kept, *([names["z"]] if of_z else []), *([] if warmup else ["n_wk"])}

    def _draws_phi(self, warmup: bool) -> bool:
        """Tell whether the words of phi that are kept are drawn here, in place of a step that would draw all."""
        return self._phi_step is not None and not warmup and not self._traced(warmup)

    def record(self, state: ChainState, sweep: SweepRecord, key: Key, *, warmup: bool) -> None:
        """Keep a state; see `kept`."""
        kept, drawn = self.kept(warmup), {}
        if self._phi_step is not None and self._draws_phi(warmup):
            started, phi = time.perf_counter(), self.bound.model.names["phi"]
            drawn[phi] = self._phi(state, kept[phi], key)
            sweep.add(self._phi_step, time.perf_counter() - started, None)
        statistics = self.statistics(state, sweep)
        self.log_posterior = statistics["lp"]
        values = {name: drawn[name] if name in drawn else self._value(state, s, key) for name, s in kept.items()}
        values |= {each.name: each.value(state) for each in self._traced(warmup)}
        values["topic_share"] = state.n_k / max(1, self.bound.sizes.tokens)
        drawn |= {name: value for name, value in values.items() if name not in state.arrays and value.dtype.kind == "f"}
        check_recorded({"lp": statistics["lp"], **drawn}, key.sweep, key.chain)
        if not warmup:
            self.topics.add(state, 1.0 / (self.sink.n_draws + 1))
        self.sink.add(warmup, values, statistics)

    def statistics(self, state: ChainState, sweep: SweepRecord) -> dict[str, Any]:
        """Return what a trace says of a state, and of the sweep that led to it."""
        summary = sweep.summary
        if summary is None:
            documents = of_documents(self.bound.tokens.chunk_ptr, state)
            sizes = self.bound.sizes
            summary = summarise(sizes.docs, sizes.topics, [documents], self.topics.summarise(state))
        marginal = summary.log_marginal
        held = (
            state.arrays
            if state.sparse_topics is None
            else {**state.arrays, state.phi_name: state.sparse_topics.values}
        )
        common = {name: array for name, array in held.items() if self.bound.model.owner(name) is None}
        priors = _log_priors(common, self.bound, state)
        fit = _response_statistics(self.bound, state)
        likelihood = fit.get("log_likelihood_y", 0.0)
        for name, bound in self.bound.marginals.items():
            seen, own = self.bound.view(name).of(state), self.bound.model.marginals[name].names
            priors += _log_priors({n: array for n, array in seen.arrays.items() if n in own}, bound, seen)
            of_response = _response_statistics(bound, seen)
            likelihood += of_response["log_likelihood_y"]
            fit |= {f"{statistic.removesuffix('_y')}_{name}": value for statistic, value in of_response.items()}
        return {
            **sweep.statistics,
            **fit,
            "lp": marginal + priors + likelihood,
            "log_marginal": marginal,
            **summary.densities,
            "step_seconds": sweep.seconds,
        }

    def _value(self, state: ChainState, selection: Selection, key: Key) -> NDArray[Any]:
        variable = selection.variable
        if variable.role == "z":
            return state.z.copy()
        if state.sparse_topics is not None and variable.role in ("phi", "included"):
            return np.ascontiguousarray(state.sparse_topics.dense(variable.role, selection.words).T)
        held = state.arrays.get(variable.name)
        # What the model never holds is drawn from its full conditional: an exact draw of the posterior.
        if variable.role == "theta":
            return self._theta(state, selection, key) if held is None else held[: selection.docs].copy()
        if variable.role == "phi":
            return self._phi(state, selection, key) if held is None else _topics_first(held, selection)
        assert held is not None, f"{variable.name} is neither held nor drawn for the trace"
        if variable.role == "included":
            # Held by words, like phi.
            return _topics_first(held, selection)
        return held.copy() if selection.words is None else held[selection.words]

    def _theta(self, state: ChainState, selection: Selection, key: Key) -> Float32Array:
        docs = self.bound.sizes.docs if selection.docs is None else selection.docs
        theta = np.empty((docs, self.bound.sizes.topics), dtype=np.float32)
        doc_ptr, z = self.bound.tokens.drawn(state.z)
        draw_theta(doc_ptr[: docs + 1], z, state.document_alpha, key.reserved(Reserved.THETA_FOR_TRACE), theta)
        return theta

    def _phi(self, state: ChainState, selection: Selection, key: Key) -> Float32Array:
        words = np.arange(self.bound.sizes.words) if selection.words is None else selection.words
        phi = draw_phi_of(words, state.n_wk, state.n_k, state.beta, key.reserved(Reserved.PHI_FOR_TRACE))
        return np.ascontiguousarray(phi.T)


def _topics_first(by_word: NDArray[Any], selection: Selection) -> NDArray[Any]:
    """Return what is kept of an array of shape (V, K), topics first."""
    kept = by_word if selection.words is None else by_word[selection.words]
    # Always a copy: with one topic, the transposed array would be the chain's own, which the next sweep changes.
    return np.array(kept.T, order="C")


def _log_priors(arrays: Mapping[str, NDArray[Any]], bound: BoundModel, state: ChainState) -> float:
    """Return the log density of variables given what they depend on, beside p(w, z) and what observes labels."""
    blocks = bound.model.spec.blocks
    return sum(blocks[name].log_density(array, state) for name, array in arrays.items() if name in blocks)


def _response_statistics(bound: BoundModel, state: ChainState) -> dict[str, float]:
    """Return the log (pseudo-)likelihood of the targets, the augmentation summed over, and the training loss.

    Of exclusive classes also their log likelihood normalised over classes, which DOLDA's authors monitor
    (Magnusson, Jonsson, Villani 2020).
    """
    block, response, observed = bound.model.label_block, bound.response, state.observed
    if block is None or observed is None:
        return {}
    if response is None:
        return {"log_likelihood_y": block.log_density(observed.targets, state)}
    names, response = bound.model.names, response.at(state.arrays)
    features = features_of(state.tokens, state.z, state.sizes.supervised, observed.design)
    fitted = scores(features, state.arrays[names["eta"]])
    augmentation = state.arrays[names["augmentation"]]
    result = {"log_likelihood_y": response.log_joint(observed.targets, fitted, augmentation)}
    if observed.classes and response.probabilistic and not response.apart:
        result["log_likelihood_class"] = response.class_log_likelihood(observed.targets, fitted)
    if not np.isnan(observed.targets).all():
        scaling, targets = observed.target_scaling, observed.targets
        if scaling is not None:
            targets, fitted = scaling.undo(targets), scaling.undo(fitted)
        result["training_loss"] = response.loss(targets, fitted)
    return result
