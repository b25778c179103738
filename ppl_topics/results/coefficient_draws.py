"""The coefficients in a trace: their draws in one chain, in all for those without a topic, the words of topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.errors import TraceError
from ppl_topics.results.one_response import check_one_response
from ppl_topics.results.response_topics import check_chain, own_topics
from ppl_topics.results.topics import top_words
from ppl_topics.spec import Model, load_spec

__all__ = ["CoefficientDraws", "TopicText", "check_probability", "coefficient_draws", "interval", "topic_texts"]


DIMS = {"chain", "draw", "response", "coefficient"}


class TopicText(NamedTuple):
    """A topic's posterior mean share of the tokens, and its most probable words."""

    share: float
    words: str


@dataclass(frozen=True)
class CoefficientDraws:
    """The M draws of F coefficients of C responses in one chain, and of those that mean the same in all chains."""

    chain: int
    draws: FloatArray  # (M, C, F): coefficients of topics first, that of the intercept last
    responses: list[str]
    names: list[str]
    n_topics: int  # number of coefficients of topics, topic 0 first
    intercept: bool  # True if the last coefficient is an intercept
    apart: bool  # True if each response has its own topics
    common: slice  # the n coefficients that mean the same in all chains: see `coefficient_draws`
    of_all: FloatArray  # (chains, M, C, n): their draws in all chains

    @property
    def n_slopes(self) -> int:
        """Number of coefficients of a response, without its intercept."""
        return len(self.names) - self.intercept

    def positions(self, response: str | None) -> list[int]:
        """Return the position of a response, or those of all responses."""
        if response is None:
            return list(range(len(self.responses)))
        if not isinstance(response, str) or response not in self.responses:
            raise TraceError(f"the trace has no response {response!r}{nearest(str(response), self.responses)}")
        return [self.responses.index(response)]


def coefficient_draws(groups: Mapping[str, xr.Dataset], chain: int = 0) -> CoefficientDraws:
    """Return the coefficients of one chain of a trace, and those that mean the same in all: of the covariates.

    The intercept is one of them if no topic has a coefficient. Else it belongs to those of the chain's topics, since
    the shares of topics add up to 1.
    """
    posterior = groups["posterior"]
    # A model has only one variable with these dimensions.
    found = [array for array in posterior.data_vars.values() if set(array.dims) == DIMS]
    if not found:
        raise TraceError(_without_coefficients(posterior))
    chain = check_chain(chain, posterior["chain"].values.tolist())
    if not posterior.sizes["draw"]:
        raise TraceError("the trace has no draws")
    if not found[0].sizes["response"]:
        raise TraceError("the trace has coefficients without a response")
    ordered = found[0].transpose("chain", "draw", "response", "coefficient")
    names = [str(name) for name in posterior["coefficient"].values]
    n_topics = next((i for i, name in enumerate(names) if name != f"topic {i}"), len(names))
    intercept = bool(names) and names[-1] == "intercept"
    common = slice(n_topics, len(names) - (intercept and n_topics > 0))
    return CoefficientDraws(
        chain,
        np.ascontiguousarray(ordered.sel(chain=chain).values, dtype=np.float64),
        [str(name) for name in posterior["response"].values],
        names,
        n_topics,
        intercept,
        bool(own_topics(groups)),
        common,
        np.ascontiguousarray(ordered.isel(coefficient=common).values, dtype=np.float64),
    )


def _without_coefficients(posterior: xr.Dataset) -> str:
    """Return the reason: the model has no response, or its coefficients were not recorded."""
    if "model_yaml" not in posterior.attrs:
        return "the trace has no coefficients: no variable with the dimensions chain, draw, response, coefficient"
    model = Model.of(load_spec(posterior.attrs["model_yaml"]))
    check_one_response(model)
    name = model.names.get("eta")
    if name is None:
        return (
            f"model {model.spec.name!r} has no response and so no coefficients; run a supervised model, such as medlda"
        )
    return f"the trace does not hold the coefficients {name}; run the model with record {name}: all"


def check_probability(probability: Any) -> float:
    """Return the probability of an interval, and refuse one that is not between 0 and 1."""
    if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 < probability < 1:
        raise TraceError(
            f"{argument('probability')}: must be a number between 0 and 1, such as 0.9, got {probability!r}"
        )
    return float(probability)


def interval(draws: FloatArray, probability: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of equal-tailed intervals over the first axis, NaN if there is only one draw."""
    if len(draws) < 2:
        missing = np.full(draws.shape[1:], np.nan)
        return missing, missing
    low, high = np.quantile(draws, [(1.0 - probability) / 2.0, (1.0 + probability) / 2.0], axis=0)
    return low, high


def topic_texts(
    groups: Mapping[str, xr.Dataset], n_words: int, coefficients: CoefficientDraws
) -> Sequence[Mapping[int, TopicText]]:
    """Return share and words of the topics of each response, by topic number."""
    table = top_words(groups, n_words, coefficients.chain)
    tables = [table] * len(coefficients.responses)
    if coefficients.apart:
        tables = [table[table["response"] == name] for name in coefficients.responses]
    if any(len(each) < coefficients.n_topics for each in tables):
        raise TraceError("the trace has coefficients of more topics than it holds")
    return [
        {
            int(topic): TopicText(float(share), str(words))
            for topic, share, words in zip(each["topic"], each["share"], each["words"], strict=True)
        }
        for each in tables
    ]
