"""Time the efficiency statistics of a simulated phi, and ArviZ on a few of its scalars.

Example: ``python benchmarks/efficiency.py --topics 50 --words 20000 --threads 2`` (needs 8 GB of memory).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import xarray as xr
from common import Results, parser

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.diagnostics.efficiency import all_statistics

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import arviz as az

TASKS = {
    "ess mean": ["ess_mean"],
    "ess bulk": ["ess_bulk"],
    "ess tail": ["ess_tail"],
    "rhat": ["rhat"],
    "ess bulk, ess tail, rhat": ["ess_bulk", "ess_tail", "rhat"],
    "ess spectral": ["ess_spectral"],
}


def simulate(chains: int, draws: int, topics: int, words: int, correlation: float) -> Float32Array:
    """Log-normal autoregressions of shape (chains, draws, topics, words), each row of a draw summing to one."""
    rng = np.random.default_rng(1)
    phi = np.empty((chains, draws, topics, words), np.float32)
    noise_scale = np.float32(np.sqrt(1 - correlation**2))
    for chain in range(chains):
        level = rng.standard_normal((topics, words), np.float32)
        for draw in range(draws):
            level *= np.float32(correlation)
            level += noise_scale * rng.standard_normal((topics, words), np.float32)
            np.exp(level, out=phi[chain, draw])
            phi[chain, draw] /= phi[chain, draw].sum(axis=1, keepdims=True)
    return phi


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Shortest wall time of several runs, and least processor time (which neighbours disturb less)."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return min(walls), min(processors)


def arviz(draws: xr.Dataset, names: list[str]) -> list[FloatArray]:
    """ArviZ's values of the named statistics."""
    results = []
    for name in names:
        if name == "rhat":
            results.append(az.rhat(draws)["phi"].values)
        elif name == "ess_tail":
            results.append(az.ess(draws, method="tail", prob=(0.05, 0.95))["phi"].values)
        else:
            results.append(az.ess(draws, method=name.removeprefix("ess_"))["phi"].values)
    return results


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--chains", type=int, default=4)
    arguments.add_argument("--draws", type=int, default=500)
    arguments.add_argument("--topics", type=int, default=50)
    arguments.add_argument("--words", type=int, default=2000)
    arguments.add_argument("--correlation", type=float, default=0.3, help="lag-1 correlation of the logarithm")
    arguments.add_argument("--threads", type=int, default=numba.get_num_threads())
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--arviz-scalars", type=int, default=300)
    options = arguments.parse_args()
    numba.set_num_threads(options.threads)
    phi = simulate(options.chains, options.draws, options.topics, options.words, options.correlation)
    few = phi[:, :, 0, : options.arviz_scalars].astype(np.float64)
    dataset = xr.Dataset({"phi": (("chain", "draw", "word"), few)})
    all_statistics(few[:, :, :1])
    arviz(dataset.isel(word=slice(1)), TASKS["ess bulk, ess tail, rhat"])
    scalars = phi[0, 0].size
    about = {"threads": options.threads, "million scalars": scalars / 1e6}
    results = Results(options.results, "efficiency", "How fast are ESS and R-hat?", **about)
    print(f"phi {phi.shape}, {phi.dtype}, {options.threads} threads, ArviZ {az.__version__}")
    print(f"{'statistics':26s} {'wall s':>8s} {'CPU s':>8s} {'CPU us/scalar':>14s} {'ArviZ':>8s} {'times':>6s}")
    for task, names in TASKS.items():
        wall, processor = seconds(lambda names=names: all_statistics(phi, names), options.repeats)
        rate = processor / scalars * 1e6
        ratios = {}
        line = f"{task:26s} {wall:8.2f} {processor:8.2f} {rate:14.2f}"
        if "ess_spectral" not in names:
            _, theirs = seconds(lambda names=names: arviz(dataset, names), options.repeats)
            own = all_statistics(few, names)
            for name, values in zip(names, arviz(dataset, names), strict=True):
                np.testing.assert_allclose(own[name], values, rtol=1e-7, err_msg=name)
            their_rate = theirs / few.shape[2] * 1e6
            ratios["ArviZ"] = their_rate / rate
            line += f" {their_rate:8.1f} {their_rate / rate:6.0f}"
        print(line)
        results.add(task, "seconds", wall, ratios)


if __name__ == "__main__":
    main()
