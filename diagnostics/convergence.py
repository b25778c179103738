"""The numbers behind the verdict on convergence: paths of the log posterior, R-hat and effective draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import chi2

from ppl_topics._util.arrays import BoolArray, FloatArray
from ppl_topics.diagnostics.alignment import Alignment, aligned
from ppl_topics.diagnostics.alignment.agreement import top_word_draws
from ppl_topics.diagnostics.efficiency import all_statistics
from ppl_topics.results.mean_topics import MEANS
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["ESS_WANTED", "Quantity", "Walk", "density_walks", "ess_by_chain", "quantities"]


ESS_WANTED = 400
"""Effective draws that make R-hat and quantiles reliable: 100 for each of four chains (Vehtari et al. 2021)."""

GAP = 3.0
"""Means of chains in different modes differ by more standard deviations within chains; see `verdict`."""

DRIFT = 1.0
"""Halves of a chain that drifts differ by more standard deviations within halves; split R-hat is then above 1.2."""

FEWEST = 4
"""Draws that each half needs for a standard deviation."""

TOP_WORDS = 10
"""Words that people read a topic by."""

MOST_SCALARS = 20_000
"""Scalars of one variable; if there are more, evenly spaced documents represent all."""

PROBABILITY = 0.05
"""Share of a variable's scalars that may be worse than the reported value: among thousands, the worst is an outlier."""


@dataclass(frozen=True)
class Walk:
    """The paths of the log posterior of C chains."""

    chains: list[int]
    mean: FloatArray  # (C,): means of the second halves
    shift: FloatArray  # (C,): those less the means of the first halves
    half_sd: FloatArray  # (C,): standard deviations within halves
    sd: float  # median over chains, within the second half, so that a drifting chain does not inflate it
    where: str  # the response in words, if each has its own chains

    def modes(self) -> list[list[int]]:
        """Return groups of positions of chains, the highest first, that are more than `GAP` apart."""
        order = [int(c) for c in np.argsort(-self.mean, kind="stable")]
        groups = [[order[0]]]
        for before, c in pairwise(order):
            if self.sd > 0.0 and self.mean[before] - self.mean[c] > GAP * self.sd:
                groups.append([])
            groups[-1].append(c)
        return [sorted(group) for group in groups]

    def drifting(self) -> list[int]:
        """Return the positions of the chains whose halves differ by more than `DRIFT`."""
        return [c for c in range(len(self.chains)) if 0.0 < DRIFT * self.half_sd[c] < abs(self.shift[c])]


def density_walks(groups: Mapping[str, xr.Dataset]) -> list[Walk]:
    """Return the path of `lp`, or one for each response if each has its own chains.

    Paths that are too short for a standard deviation or hold values that are not finite are left out.
    """
    statistics = groups.get("sample_stats", xr.Dataset())
    if "lp" not in statistics:
        return []
    lp = statistics["lp"]
    responses = [None] if "response" not in lp.dims else lp["response"].values
    walks = []
    for response in responses:
        one = lp if response is None else lp.sel(response=response)
        values = one.transpose("chain", "draw").values.astype(np.float64)
        half = values.shape[1] // 2
        if half < FEWEST or not np.isfinite(values).all() or not len(values):
            continue
        first, second = values[:, :half], values[:, -half:]
        walks.append(
            Walk(
                chains=[int(chain) for chain in one["chain"].values],
                mean=second.mean(axis=1),
                shift=second.mean(axis=1) - first.mean(axis=1),
                half_sd=np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 2.0),
                sd=float(np.median(second.std(axis=1, ddof=1))),
                where="" if response is None else f" for response {str(response)!r}",
            )
        )
    return walks


class Quantity(NamedTuple):
    """How well a variable was sampled."""

    name: str
    title: str
    scalars: int
    rhat: float  # 95% quantile over scalars, of chains in one mode and topics that chains agree on; NaN if undefined
    chance: float  # R-hat that chains of one distribution exceed once in a thousand with so few effective draws
    ess: float  # 5% quantile of the bulk effective draws, added up over chains; NaN if undefined


def ess_by_chain(draws: NDArray[Any], method: str = "ess_bulk") -> FloatArray:
    """Return the sum over chains of the effective draws of each chain, for draws of shape (chain, draw, ...)."""
    parts = [np.asarray(all_statistics(draws[c : c + 1], [method])[method]) for c in range(len(draws))]
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def quantities(groups: Mapping[str, xr.Dataset], alignment: Alignment | None, kept: Sequence[int]) -> list[Quantity]:
    """Return how well the log posterior and each variable were sampled, with topics aligned.

    ``groups`` are not aligned. R-hat compares the chains at the positions ``kept``, or all chains if there are fewer
    than two.
    """
    chains = list(kept) if len(kept) > 1 else list(range(groups["posterior"].sizes["chain"]))
    result = []
    statistics = groups.get("sample_stats", xr.Dataset())
    for name in ("lp", "log_marginal"):
        if name in statistics:
            values = statistics[name].transpose("chain", "draw", ...).values
            result.append(_quantity(name, name, values, None, chains))
    after = _needed(groups)
    if alignment is not None:
        after = aligned(after, alignment)
    for key, array in after["posterior"].data_vars.items():
        name = str(key)
        extra = set(map(str, array.dims)) - {"chain", "draw"}
        if not {"chain", "draw"} <= set(array.dims) or array.dtype.kind != "f":
            continue
        if name == "phi" and alignment is not None:
            reference = alignment.chains.index(alignment.reference)
            draws = top_word_draws(after, after, reference, TOP_WORDS)
            if draws is not None:
                agrees = _agrees(alignment, chains).reshape(draws.shape[2:4])
                of = np.broadcast_to(agrees[..., None], draws.shape[2:])
                result.append(_quantity(name, "phi of top words", draws, of, chains))
            continue
        if extra & {"token", "word"}:
            continue
        result.append(_variable(name, array, alignment, chains))
    return result


def _needed(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the groups without unused large arrays: mean topics, topics of tokens, and surplus documents."""
    posterior = groups["posterior"]
    posterior = posterior.drop_vars([name for name, array in posterior.data_vars.items() if "token" in array.dims])
    cells = [
        array.size // (array.sizes["chain"] * array.sizes["draw"])
        for array in posterior.data_vars.values()
        if {"chain", "draw", "doc"} <= set(array.dims) and array.size
    ]
    if cells and max(cells) > MOST_SCALARS:
        posterior = posterior.isel(doc=slice(None, None, -(-max(cells) // MOST_SCALARS)))
    constants = groups.get("constant_data")
    if constants is None:
        return {"posterior": posterior}
    return {"posterior": posterior, "constant_data": constants.drop_vars(("z_last", *MEANS), errors="ignore")}


def _agrees(alignment: Alignment, chains: Sequence[int]) -> BoolArray:
    """Return True for the topics that the chains agree on, shape (K,) or (R, K)."""
    return np.asarray(alignment.agrees_in[list(chains)].all(axis=0))


def _variable(name: str, array: xr.DataArray, alignment: Alignment | None, chains: Sequence[int]) -> Quantity:
    """Return how well a variable was sampled; topics that the chains do not agree on are left out of R-hat."""
    named = {kind_of_dim(dim): str(dim) for dim in array.dims}
    dim = next((named[kind] for kind in ("topic", "coefficient", "slope") if kind in named), None)
    if dim is None or (alignment is None and array.sizes["chain"] == 1):
        return _quantity(name, name, array.transpose("chain", "draw", ...).values, None, chains)
    lead = ["chain", "draw", *([named["response"]] if "response" in named else [])]
    ordered = array.transpose(*lead, ..., dim)
    if alignment is None:
        # Chains number their topics independently, so R-hat has nothing to compare.
        return _quantity(name, name, ordered.values, np.zeros(ordered.shape[2:], dtype=bool), chains)
    agrees = _agrees(alignment, chains)
    n = agrees.shape[-1]
    if dim != "topic":
        n = sum(str(each) == f"topic {k}" for k, each in enumerate(array[dim].values))
    of = np.ones((*agrees.shape[:-1], array.sizes[dim]), dtype=bool)
    of[..., :n] = agrees[..., :n]
    if alignment.responses is not None:
        of = of.reshape(len(of), *[1] * (ordered.ndim - 4), of.shape[-1])
    return _quantity(name, name, ordered.values, np.broadcast_to(of, ordered.shape[2:]), chains)


def _quantity(name: str, title: str, draws: NDArray[Any], of: BoolArray | None, chains: Sequence[int]) -> Quantity:
    """Return how well a variable was sampled; R-hat covers only the scalars where ``of`` is true."""
    compared = np.ascontiguousarray(draws[list(chains)])
    rhat = np.asarray(all_statistics(compared, ["rhat"])["rhat"])
    rhat = rhat.reshape(-1) if of is None else rhat[of]
    ess = ess_by_chain(draws).reshape(-1)
    rhat, ess = rhat[~np.isnan(rhat)], ess[~np.isnan(ess)]
    fewest = float(np.quantile(ess, PROBABILITY)) if ess.size else float("nan")
    return Quantity(
        name,
        title,
        draws[0, 0].size if of is None else int(of.sum()),
        float(np.quantile(rhat, 1.0 - PROBABILITY, method="higher")) if rhat.size else float("nan"),
        rhat_by_chance(fewest * len(chains) / len(draws), len(chains)),
        fewest,
    )


def rhat_by_chance(ess: float, chains: int) -> float:
    """Return the R-hat that chains of one distribution exceed once in a thousand, given their total effective draws.

    The variance of the m half-chain means, times (m - 1) and relative to its expected value, is chi-squared with m - 1
    degrees of freedom; R-hat is the square root of 1 plus that variance relative to the variance within chains.
    """
    halves = 2 * chains
    factor = float(chi2.isf(0.001, halves - 1)) / (halves - 1)
    return float(np.sqrt(1.0 + factor * halves / max(ess, halves)))
