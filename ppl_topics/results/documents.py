"""What one chain of a trace says about the training documents: the topics of their tokens, and their topic shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.core.alpha import LogLinear
from ppl_topics.core.observed import Design
from ppl_topics.corpus.covariates import columns_from_json
from ppl_topics.corpus.formulas import FittedFormula
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.scaling import Scaling
from ppl_topics.errors import TraceError
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.response_topics import check_chain, chosen_response
from ppl_topics.spec import Model, load_spec

__all__ = [
    "DocumentTopics",
    "Estimate",
    "Part",
    "checked_topics",
    "concentration",
    "document_lengths",
    "document_topics",
    "last_topics",
    "mean_phi",
    "name_of",
    "part_of",
    "recorded",
    "recorded_words",
    "topic_labels_of",
    "topic_numbers",
    "words_of_tokens",
]


Estimate = Literal["auto", "draws", "z_last"]
"""Source of topic shares: the recorded draws of theta, or the last assignments z."""


class Part(NamedTuple):
    """A chain, with a response if each response has its own topics."""

    chain: int
    response: str | None

    def of(self, array: xr.DataArray) -> xr.DataArray:
        """Select the part of an array of the trace."""
        selected = array.sel(chain=self.chain)
        return selected if self.response is None else selected.sel(response=self.response)


@dataclass(frozen=True)
class DocumentTopics:
    """Topic shares of training documents, from one chain.

    Attributes
    ----------
    part : Part
        Whose topics.
    estimate : str
        ``draws``, the mean over recorded draws of theta, or ``z_last``, E[theta | z, alpha] at the last state.
    docs : ndarray of object, shape (D,)
        Ids of the documents: all, or the first ones, for which theta was recorded.
    lengths : ndarray of int64, shape (D,)
        Number of tokens of each; -1 if unknown.
    topics : ndarray of int64, shape (K,)
        Topic numbers.
    theta : ndarray of float64, shape (D, K)
        Rows sum to 1.
    """

    part: Part
    estimate: str
    docs: NDArray[Any]
    lengths: IntArray
    topics: IntArray
    theta: FloatArray


def part_of(groups: Mapping[str, xr.Dataset], chain: int = 0, response: str | None = None) -> Part:
    """Return a chain of a trace, with a response if each has its own topics."""
    constants = groups.get("constant_data", xr.Dataset())
    holder = constants if "chain" in constants.coords else groups["posterior"]
    return Part(check_chain(chain, holder["chain"].values.tolist()), chosen_response(groups, response))


def name_of(groups: Mapping[str, xr.Dataset], role: str) -> str:
    """Return the name of the variable with a role, such as ``theta``, in the model of a trace; the role if unknown."""
    model = _model(groups)
    return role if model is None else model.names.get(role, role)


def recorded(groups: Mapping[str, xr.Dataset], role: str) -> xr.DataArray | None:
    """Return the draws of the variable with a role, such as ``theta``, whatever its name; None if not recorded."""
    found = groups["posterior"].get(name_of(groups, role))
    # Another program's trace may use this name for something else.
    of_documents = found is None or role != "theta" or {"chain", "draw", "doc", "topic"} <= set(found.dims)
    return found if of_documents else None


def recorded_words(groups: Mapping[str, xr.Dataset], draws: xr.DataArray) -> IntArray:
    """Return the position of each word of the vocabulary in draws of some words, -1 if it is not there, shape (V,)."""
    place_of = {str(word): place for place, word in enumerate(draws["word"].values)}
    return np.array([place_of.get(str(word), -1) for word in groups["constant_data"]["word"].values], dtype=np.int64)


def _model(groups: Mapping[str, xr.Dataset]) -> Model | None:
    """Return the model of a trace, None of another program's."""
    attributes = groups["posterior"].attrs
    return Model.of(load_spec(attributes["model_yaml"])) if "model_yaml" in attributes else None


def topic_labels_of(groups: Mapping[str, xr.Dataset]) -> Labels:
    """Return the labels of the training documents that say which topics these may have.

    Raises
    ------
    TraceError
        If the trace holds none.
    """
    observed = groups.get("observed_data", xr.Dataset())
    if "topic_labels" not in observed:
        raise TraceError("the trace lacks `topic_labels` in `observed_data`; it was not written by ppl-topics")
    found = observed["topic_labels"]
    return Labels(found.attrs["kind"], found.values, observed["topic_label"].values)


def mean_phi(groups: Mapping[str, xr.Dataset], part: Part) -> Float32Array:
    """Return the mean topics, shape (K, V)."""
    mean = mean_topics(groups, part.chain)
    own = mean if part.response is None else mean.sel(response=part.response)
    return np.asarray(own.transpose("topic", "word").values, dtype=np.float32)


def topic_numbers(groups: Mapping[str, xr.Dataset]) -> list[int]:
    """Return the topic numbers."""
    constants = groups.get("constant_data", xr.Dataset())
    holder = constants if "topic" in constants.sizes else groups["posterior"]
    return [int(number) for number in _numbers(holder, holder.sizes.get("topic", 0))]


def concentration(groups: Mapping[str, xr.Dataset], role: str, part: Part, draw: int | None) -> FloatArray:
    """Return the concentrations ``alpha`` of the topics (K,) or ``beta`` of the words (V,).

    If they were sampled, those at a position ``draw``, or their mean over draws for None. Where those of the topics
    depend on covariates or labels, their shape is (D, K).
    """
    constants = groups.get("constant_data", xr.Dataset())
    dim = "topic" if role == "alpha" else "word"
    size = constants.sizes.get(dim, groups["posterior"].sizes.get(dim, 1))
    model = _model(groups)
    above = None if model is None or role != "alpha" else model.weights
    if above is not None and above.labels_above is not None:
        return above.document_alpha(topic_labels_of(groups), size).by_doc
    if role in constants:
        return np.array(np.broadcast_to(constants[role].values, (size,)), dtype=np.float64)
    draws = recorded(groups, role)
    if draws is None:
        raise TraceError(f"the trace does not hold {role}; run the model without record: {{{role}: none}}")
    # An alpha without the dimension `response` is shared by all responses.
    own = part if "response" in draws.dims else Part(part.chain, None)
    values = own.of(draws)
    values = values.mean("draw") if draw is None else values.isel(draw=draw)
    if "prevalence" in values.dims:
        return _of_covariates(constants, values)
    return np.array(np.broadcast_to(values.values, (size,)), dtype=np.float64)


def _of_covariates(constants: xr.Dataset, coefficients: xr.DataArray) -> FloatArray:
    """Return exp(x_d . gamma_k), shape (D, K)."""
    if "covariates" not in constants:
        raise TraceError("the trace does not hold the covariates of the training documents, for they were too many")
    covariates = constants["covariates"].transpose("doc", "covariate").values
    features = np.hstack([np.asarray(covariate_scaling(constants).apply(covariates)), np.ones((len(covariates), 1))])
    return LogLinear.on("", Design.of(features)).of(coefficients.transpose("topic", "prevalence").values).by_doc


def covariate_scaling(constants: xr.Dataset) -> Scaling:
    """Return how the covariates of training were centred and scaled, and the formula that was made of them."""
    dim, formula = "covariate", None
    if "covariate_formula" in constants:
        columns = columns_from_json(str(constants["covariate_columns"].item()))
        dim, formula = "feature", FittedFormula.from_json(str(constants["covariate_formula"].item()), columns)
    if not {f"{dim}_mean", f"{dim}_scale"} <= set(constants.data_vars):
        raise TraceError("the trace lacks the scales of the covariates; it was not written by ppl-topics")
    return Scaling(constants[f"{dim}_mean"].values, constants[f"{dim}_scale"].values, formula)


def document_lengths(groups: Mapping[str, xr.Dataset]) -> IntArray:
    """Return the number of tokens of each document, shape (D,)."""
    return _stored(groups, "constant_data", "doc_length")


def last_topics(groups: Mapping[str, xr.Dataset], part: Part) -> IntArray:
    """Return the topic of each token in the last state of a chain, shape (N,)."""
    return _stored(groups, "constant_data", "z_last", part)


def checked_topics(z: NDArray[Any], topics: int) -> NDArray[Any]:
    """Return draws of the topics of tokens, and refuse numbers without a topic, which compiled code would count by.

    The last draw is checked when a trace is loaded, but recorded draws may be many and are checked when they are read.
    """
    if z.size and (z.dtype.kind not in "iu" or not 0 <= int(z.min()) <= int(z.max()) < topics):
        raise TraceError(f"the trace is damaged: it holds draws of z that are not topics from 0 to {topics - 1:,}")
    return z


def words_of_tokens(groups: Mapping[str, xr.Dataset]) -> IntArray:
    """Return the position in the vocabulary of each token's word, shape (N,)."""
    return _stored(groups, "observed_data", "words")


def document_topics(
    groups: Mapping[str, xr.Dataset], chain: int = 0, response: str | None = None, estimate: Estimate = "auto"
) -> DocumentTopics:
    """Return the topic shares of the training documents.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain : int
        Chains number their topics independently, so they are not combined.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    estimate : {"auto", "draws", "z_last"}
        ``draws``: the mean over the recorded draws of theta, for the documents that have them. ``z_last``: for all
        documents, E[theta_d | z, alpha] = (n_dk + alpha_k) / (N_d + sum of alpha) at the last state of the chain, which
        is one draw of z and alpha. ``auto``: ``draws`` if theta was recorded for all documents, else ``z_last``.

    Returns
    -------
    DocumentTopics

    Raises
    ------
    TraceError
        If there is no such chain or response, or the trace lacks what the estimate needs.
    """
    if not isinstance(estimate, str) or estimate not in get_args(Estimate):
        expected = ", ".join(get_args(Estimate))
        raise TraceError(f"{argument('estimate')}: expected one of {expected}, got {str(estimate)[:40]!r}")
    part = part_of(groups, chain, response)
    theta = recorded(groups, "theta")
    lengths = document_lengths(groups) if "doc_length" in groups.get("constant_data", xr.Dataset()) else None
    if estimate == "draws" and theta is None:
        raise TraceError("the trace does not hold draws of theta; run the model with record theta: all, or use z_last")
    if theta is not None and theta.sizes["draw"]:
        whole = lengths is None or theta.sizes["doc"] == len(lengths)
        if estimate == "draws" or (estimate == "auto" and whole):
            return _mean_theta(part, theta, lengths)
    return _smoothed(groups, part, document_lengths(groups))


def _mean_theta(part: Part, theta: xr.DataArray, lengths: IntArray | None) -> DocumentTopics:
    """Return the mean of the recorded draws of theta."""
    mean = part.of(theta).transpose("draw", "doc", "topic").astype(np.float64).mean("draw")
    values = mean.values / mean.values.sum(axis=1, keepdims=True)
    n_docs = len(values)
    # Another program's trace may lack the lengths.
    known = np.full(n_docs, -1, dtype=np.int64) if lengths is None else lengths[:n_docs]
    return DocumentTopics(part, "draws", _names(theta["doc"]), known, _numbers(theta, values.shape[1]), values)


def _smoothed(groups: Mapping[str, xr.Dataset], part: Part, lengths: IntArray) -> DocumentTopics:
    """Return E[theta | z, alpha] at the last state."""
    z = last_topics(groups, part)
    alpha = concentration(groups, "alpha", part, draw=-1)
    n_docs, n_topics = len(lengths), alpha.shape[-1]
    if len(z) != int(lengths.sum()):
        raise TraceError(f"the trace has {len(z):,} topics of tokens for {int(lengths.sum()):,} tokens")
    cells = np.repeat(np.arange(n_docs), lengths) * n_topics + z
    n_dk = np.bincount(cells, minlength=n_docs * n_topics).reshape(n_docs, n_topics)
    model = _model(groups)
    drawn = np.minimum(n_dk, 1) if model is not None and model.whole_documents else n_dk
    theta = (drawn + alpha) / (drawn.sum(axis=1) + alpha.sum(axis=-1))[:, None]
    constants = groups["constant_data"]
    return DocumentTopics(part, "z_last", _names(constants["doc"]), lengths, _numbers(constants, n_topics), theta)


def _stored(groups: Mapping[str, xr.Dataset], group: str, name: str, part: Part | None = None) -> IntArray:
    """Return whole numbers that every trace of ours holds."""
    if name not in groups.get(group, xr.Dataset()):
        raise TraceError(f"the trace holds no `{name}` in `{group}`; it was not written by ppl-topics")
    found = groups[group][name]
    return np.asarray((found if part is None else part.of(found)).values, dtype=np.int64)


def _names(values: xr.DataArray) -> NDArray[Any]:
    names = np.empty(values.size, dtype=object)
    names[:] = [str(value) for value in values.values.tolist()]
    return names


def _numbers(holder: xr.DataArray | xr.Dataset, n_topics: int) -> IntArray:
    return np.asarray(holder["topic"].values) if "topic" in holder.coords else np.arange(n_topics)
