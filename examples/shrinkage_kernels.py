"""Two samplers of the horseshoe's scales, compared by the effective draws that each gives a second.

    python examples/shrinkage_kernels.py                 # simulated documents, a minute
    python examples/shrinkage_kernels.py --newsgroups    # a subset of 20 Newsgroups, with more topics

The slice sampler of Scott (2010), in DOLDA (Magnusson, Jonsson, Villani 2020), and the inverse-gamma variables of
Makalic and Schmidt (2016). Both chains leave out of the trace what the comparison does not need. Printed are the median
effective sample size (bulk) of all scalars of a variable, that over the seconds of the whole run, and the seconds that
the kernels of lambda and of tau take in a sweep.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import ppl_topics as pt

KERNELS = {
    "slice": ("slice_lambda", "slice_tau"),
    "inverse gamma": ("inverse_gamma_lambda", "inverse_gamma_tau"),
}
RECORD = {"phi": "none", "z": "none", "a": "none"}


def simulated(n_docs: int = 400, n_words: int = 200, topics: int = 20, classes: int = 6, seed: int = 1) -> pt.Corpus:
    """Return documents whose class depends on one topic each, and not on the other topics."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_words, 0.05), size=topics)
    theta = rng.dirichlet(np.full(topics, 0.3), size=n_docs)
    counts = rng.multinomial(50, theta @ phi)
    scores = 8.0 * theta[:, :classes] + rng.normal(size=(n_docs, classes))
    return pt.Corpus.from_matrix(counts, labels=[f"class {c}" for c in scores.argmax(axis=1)])


def schedule(of_lambda: str, of_tau: str) -> object:
    """Return the default sweep of `dolda` with these kernels of the scales."""
    return pt.cycle(
        pt.step("lambda", of_lambda),
        pt.step("tau", of_tau),
        pt.step("a", "truncated_normal"),
        pt.step("eta", "joint_normal"),
        pt.step("z", "block_collapsed"),
        pt.step("phi", "dirichlet_rows"),
    )


def compare(corpus: pt.Corpus, topics: int, warmup: int, draws: int, chains: int = 2, threads: int = 1) -> pd.DataFrame:
    """Return a table with a row for each pair of kernels."""
    rows = {}
    for name, kernels in KERNELS.items():
        fit = pt.sample(
            "dolda", corpus, topics=topics, schedule=schedule(*kernels), warmup=warmup, draws=draws, chains=chains,
            threads=threads, seed=1, record=RECORD, progress=False,
        )  # fmt: skip
        table = fit.efficiency()
        step_seconds = fit.groups["sample_stats"]["step_seconds"]
        seconds = float(step_seconds.sum())
        row: dict[str, float] = {"seconds": seconds}
        for variable in ("lambda", "tau", "eta"):
            effective = table.loc[variable, "ess_bulk_median"]
            row |= {f"ESS {variable}": effective, f"{variable} / s": effective / seconds}
        # The first two steps of the schedule.
        milliseconds = 1e3 * step_seconds.mean(("chain", "draw")).to_numpy()
        rows[name] = row | {"ms of lambda": milliseconds[0], "ms of tau": milliseconds[1]}
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--newsgroups", action="store_true")
    arguments.add_argument("--topics", type=int, default=20)
    arguments.add_argument("--warmup", type=int, default=300)
    arguments.add_argument("--draws", type=int, default=1000)
    given = arguments.parse_args()
    documents = simulated()
    if given.newsgroups:
        documents = pt.load_20newsgroups(
            subset="train", remove=("headers", "footers", "quotes"), stop_words="english", min_count=10
        )
    print(compare(documents, given.topics, given.warmup, given.draws).round(3).to_string())
