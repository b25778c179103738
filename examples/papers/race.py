"""Log posterior against seconds for kernels of z, exact and not, after section 4 of Magnusson et al. 2018 (JCGS).

    python examples/papers/race.py --data train.svmlight.gz --vocabulary vocab.txt --topics 100 --out race.csv race.png

All kernels of z in the registry start from the same random topics and run one after another for as many seconds (or
`--sweeps`, if that is less): figures 4.4 and 4.5. Several `--threads` make figure 4.6 and table 5, several `--alpha`
and `--beta` figure 4.1. Prints for each chain the seconds of a sweep, log p(w, z) / N at the end, and the seconds until
it came within 1% of the best exact chain's end, which the paper calls the region of the mode; the draws of phi and all
tables count. A figure needs matplotlib (`pip install 'ppl-topics[examples]'`).
"""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator, Sequence

import pandas as pd
from studies import LOG, draw, parser, path, plan, read, save, use

import ppl_topics as pt

CLOSE = 0.01
"""The paper calls log posteriors within 1% of the best the region of the mode (section 4.3)."""
PRIOR = ["alpha", "beta"]
CHAIN = ["topics", *PRIOR, "threads", "kernel", "seed"]
"""What tells chains apart."""


def race(corpus: pt.Corpus, options: Namespace) -> Iterator[pd.DataFrame]:
    """Yield the paths of all chains, a row for each sweep."""
    settings = itertools.product(
        options.topics, options.alpha, options.beta, options.threads, range(1, options.seeds + 1), options.kernels
    )
    varied = {name for name in ("alpha", "beta", "threads") if len(getattr(options, name)) > 1}
    for topics, alpha, beta, threads, seed, kernel in settings:
        prior = {"alpha": alpha, "beta": beta}
        chain = {"topics": topics, **prior, "threads": use(threads), "kernel": kernel, "seed": seed}
        chosen = plan(kernel, topics, prior)
        run = path(chosen, corpus, seed=seed, sweeps=options.sweeps, seconds=options.seconds)
        sampler = ", ".join([kernel, *(f"{name} = {chain[name]:g}" for name in chain if name in varied)])
        yield run.assign(**chain, sampler=sampler, exact=chosen.exact)
        print(f"K = {topics}, {sampler}, seed {seed}: {run[LOG].iloc[-1]:.4f} after {len(run) - 1} sweeps", flush=True)


def results(paths: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each chain."""
    rows = {}
    for chain, run in paths.groupby(CHAIN, sort=False):
        at = dict(zip(CHAIN, chain, strict=True))
        same = paths[(paths[["topics", *PRIOR]] == [at[name] for name in ("topics", *PRIOR)]).all(axis=1)]
        rivals = same[same["exact"] | ~same["exact"].any()]
        best = rivals.groupby(CHAIN)[LOG].last().max()
        near = run[run[LOG] >= best * (1 + CLOSE)]
        rows[chain] = {
            "exact": "yes" if run["exact"].all() else "no",
            "sweeps": run["sweep"].max(),
            "seconds a sweep": run["seconds"].diff().median(),
            LOG: run[LOG].iloc[-1],
            "seconds to 1%": near["seconds"].min(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(CHAIN)


def kernels_of_z() -> Sequence[str]:
    """Return the registered kernels of the topics of tokens for a model without labels or sparse topics."""
    handled = {"assignments", "words"}
    found = [name for name, kernel in pt.kernels().items() if "z" in kernel.updates and handled <= set(kernel.handles)]
    # Without labels the full conditionals are what `collapsed_gibbs` and `partially_collapsed` draw from, in more time.
    return [name for name in found if not name.startswith("full_")]


if __name__ == "__main__":
    arguments = parser(__doc__, topics=[100], kernels=kernels_of_z())
    arguments.add_argument("--alpha", type=float, nargs="+", default=[0.1], help="for each topic (0.1)")
    arguments.add_argument("--beta", type=float, nargs="+", default=[0.01], help="for each word (0.01)")
    arguments.add_argument("--seconds", type=float, default=60.0, help="of sampling, for each chain (60)")
    arguments.add_argument("--sweeps", type=int, default=1000, help="at most (1000)")
    options = arguments.parse_args()
    corpus = read(options, ".csv", ".png")
    paths = pd.concat(race(corpus, options), ignore_index=True)
    table = results(paths)
    print(table.groupby(CHAIN[:-1], sort=False).mean(numeric_only=True).round(4).to_string())
    save(table, options.out)
    draw(paths, options.out, "seconds", [LOG])
