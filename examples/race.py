"""Log posterior against seconds for all kernels of z, exact and not, after Figure 4.4 of Magnusson et al. 2018.

    python examples/race.py --data train.svmlight.gz --vocabulary vocab.txt --topics 100 --out race.csv race.png

All kernels of z in the registry start from the same random topics and run one after another for as many seconds (or
`--sweeps`, if that is less). Prints for each the seconds of a sweep, log p(w, z) / N at the end, and the seconds until
it came within 1% of the best exact kernel's end; the draws of phi and all tables count. A figure needs matplotlib
(`pip install 'ppl-topics[examples]'`).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from studies import LOG, parser, path, plan, read, write

import ppl_topics as pt

CLOSE = 0.01
"""The paper calls log posteriors within 1% of the best the region of the mode (section 4.3)."""


def race(
    corpus: pt.Corpus, kernels: Sequence[str], topics: int, seconds: float, sweeps: int, seed: int = 1
) -> pd.DataFrame:
    """Return the paths of all kernels, a row for each sweep."""
    plans = {kernel: plan(kernel, topics) for kernel in kernels}
    paths = []
    for kernel, chosen in plans.items():
        run = path(chosen, corpus, seed=seed, sweeps=sweeps, seconds=seconds)
        paths.append(run.assign(sampler=kernel, exact=chosen.exact))
        print(f"K = {topics}, {kernel}: {run[LOG].iloc[-1]:.4f} after {len(run) - 1} sweeps", flush=True)
    return pd.concat(paths, ignore_index=True)


def results(paths: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each kernel."""
    rows = {}
    for (topics, kernel), run in paths.groupby(["topics", "sampler"], sort=False):
        rivals = paths[(paths["topics"] == topics) & (paths["exact"] | ~paths["exact"].any())]
        best = rivals.groupby("sampler")[LOG].last().max()
        near = run[run[LOG] >= best * (1 + CLOSE)]
        rows[topics, kernel] = {
            "exact": "yes" if run["exact"].all() else "no",
            "sweeps": run["sweep"].max(),
            "seconds a sweep": run["seconds"].diff().median(),
            LOG: run[LOG].iloc[-1],
            "seconds to 1%": near["seconds"].min(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["topics", "kernel"])


def kernels_of_z() -> list[str]:
    """Return the registered kernels of z, but for those of sparse topics."""
    return [name for name, kernel in pt.kernels().items() if "z" in kernel.updates and "words" in kernel.handles]


if __name__ == "__main__":
    arguments = parser(__doc__, topics=[100], kernels=kernels_of_z())
    arguments.add_argument("--seconds", type=float, default=60.0, help="of sampling, for each kernel (60)")
    arguments.add_argument("--sweeps", type=int, default=1000, help="at most (1000)")
    options = arguments.parse_args()
    corpus = read(options, ".csv", ".png")
    runs = [race(corpus, options.kernels, k, options.seconds, options.sweeps, options.seed) for k in options.topics]
    result = pd.concat(runs, ignore_index=True)
    print(results(result).round(4).to_string())
    write(result, options.out, "seconds", [LOG])
