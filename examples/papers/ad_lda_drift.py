"""How AD-LDA drifts from the posterior with its number of shards, after Figures 4.2 and 4.3 of Magnusson et al. 2018.

    python examples/papers/ad_lda_drift.py --data train.svmlight.gz --vocabulary vocab.txt --out drift.csv drift.png

Runs `ad_lda` with 1, 2, 8 and 32 shards, and exact kernels, from the same random topics. With one shard it is collapsed
Gibbs sampling. Prints log p(w, z) / N and the shares of nonzero counts of topics in documents (n_dk) and of words in
topics (n_wk), as means over the last tenth of the sweeps; `--out` has them for every sweep. With more shards, more
counts are nonzero in n_wk and fewer in n_dk: each shard finds its own topics. A figure, which leaves out the first
tenth, needs matplotlib (`pip install 'ppl-topics[examples]'`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd
from studies import DENSITY_DOCS, DENSITY_WORDS, LOG, draw, parser, path, plan, read, save

import ppl_topics as pt

MEASURES = [LOG, DENSITY_DOCS, DENSITY_WORDS]


def drift(
    corpus: pt.Corpus, kernels: Sequence[str], shards: Sequence[int], topics: int, sweeps: int, seed: int = 1
) -> pd.DataFrame:
    """Return the paths of all samplers, a row for each sweep."""
    plans = {f"ad_lda, P = {p}": plan("ad_lda", topics, shards=p) for p in shards}
    plans |= {kernel: plan(kernel, topics) for kernel in kernels}
    paths = []
    for name, chosen in plans.items():
        paths.append(path(chosen, corpus, seed=seed, sweeps=sweeps).assign(sampler=name, seed=seed))
        print(f"K = {topics}, {name}, seed {seed}: {paths[-1][LOG].iloc[-1]:.4f}", flush=True)
    return pd.concat(paths, ignore_index=True)


def ends(paths: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the last tenth of each path."""
    last = paths[paths["sweep"] >= 0.9 * paths["sweep"].max()]
    return last.groupby(["topics", "sampler", "seed"], sort=False)[MEASURES].mean()


if __name__ == "__main__":
    arguments = parser(__doc__, topics=[20, 100], kernels=["sparse_partially_collapsed"])
    arguments.add_argument("--shards", type=int, nargs="+", default=[1, 2, 8, 32], metavar="P")
    arguments.add_argument("--sweeps", type=int, default=1000)
    options = arguments.parse_args()
    corpus = read(options, ".csv", ".png")
    chains = itertools.product(options.topics, range(1, options.seeds + 1))
    runs = [drift(corpus, options.kernels, options.shards, k, options.sweeps, seed) for k, seed in chains]
    paths = pd.concat(runs, ignore_index=True)
    table = ends(paths)
    print(table.groupby(["topics", "sampler"], sort=False).mean().round(4).to_string())
    save(table, options.out)
    draw(paths, options.out, "sweep", MEASURES, skip=0.1)
