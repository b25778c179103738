"""Zeros in phi under the spike-and-slab prior, after appendix B of Magnusson, Jonsson, Villani, Broman 2018 (JCGS).

    python examples/papers/spike_slab_zeros.py --data train.svmlight.gz --vocabulary vocab.txt --sweeps 1000 \
        --out zeros.csv zeros.png

Runs a chain for each probability of inclusion. Records the share of zeros in phi (table 6, over the last part of the
sweeps), and log p(w, z | I) and log p(w, z, I), theta and phi integrated out, after each sweep (figure B.1). The paper
runs 20,000 sweeps on PubMed and NIPS, without words that occur fewer than 10 times, and finds 0.88, 0.50 and 0.00
zeros.
"""

from __future__ import annotations

import argparse
import itertools

import pandas as pd
from studies import draw, parser, read, save

import ppl_topics as pt

CHAIN = ["kernel", "topics", "inclusion", "seed"]
ZEROS, LOG, JOINT = "zeros in phi", "log p(w, z | I)", "log p(w, z, I)"


def run(
    corpus: pt.Corpus, kernel: str, topics: int, inclusion: float, seed: int, options: argparse.Namespace
) -> pd.DataFrame:
    """Return a row for each sweep of one chain."""
    steps = pt.step("z", kernel), pt.step("included", "indicator_scan"), pt.step("phi", "included_rows")
    nothing = {"phi": "none", "theta": "none"}
    settings = {"warmup": 0, "draws": options.sweeps, "chains": 1, "seed": seed, "progress": False}
    model = {"topics": topics, "inclusion": inclusion, "schedule": pt.cycle(*steps), "record": nothing}
    fit = pt.sample("lda_spike_slab", corpus, **model, **settings)
    statistics = fit.idata.sample_stats.isel(chain=0)
    return pd.DataFrame(
        {
            "kernel": kernel,
            "topics": topics,
            "inclusion": inclusion,
            "seed": seed,
            "sampler": f"pi = {inclusion:g}",
            "sweep": range(1, options.sweeps + 1),
            ZEROS: 1.0 - statistics["density_phi"].values,
            LOG: statistics["log_marginal"].values,
            JOINT: statistics["lp"].values,
            "seconds": statistics["step_seconds"].sum("kernel").values,
        }
    )


def main() -> None:
    """Print table 6; write it, or the figure."""
    arguments = parser(__doc__, (100,), ("partially_collapsed",))
    arguments.add_argument("--inclusion", type=float, nargs="+", default=[0.1, 0.5, 1.0], metavar="PI")
    arguments.add_argument("--sweeps", type=int, default=200, help="of each chain (200)")
    arguments.add_argument(
        "--last", type=float, default=0.05, help="share of the sweeps that the table averages (0.05)"
    )
    options = arguments.parse_args()
    corpus = read(options, ".csv", ".png")
    seeds = range(1, options.seeds + 1)
    chains = itertools.product(options.kernels, options.topics, options.inclusion, seeds)
    rows = pd.concat([run(corpus, *chain, options) for chain in chains], ignore_index=True)
    last = rows[rows["sweep"] > (1.0 - options.last) * options.sweeps]
    table = last.groupby(CHAIN)[[ZEROS, LOG, JOINT, "seconds"]].mean()
    print(table.groupby(CHAIN[:-1]).mean().round(3).to_string())
    save(table, options.out)
    draw(rows, options.out, "sweep", [ZEROS, LOG, JOINT], skip=0.1)


if __name__ == "__main__":
    main()
