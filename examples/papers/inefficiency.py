"""Inefficiency factors of theta and phi under several kernels of z, after Tables 3 and 4 of Magnusson et al. 2018.

    python examples/papers/inefficiency.py --data train.svmlight.gz --vocabulary vocab.txt --out inefficiency.csv

A long common run of the first kernel comes first, so that all chains explore the same mode with the same topic numbers.
Each kernel continues from its last state. With every kept draw of z, theta is drawn for 1,000 random documents, and phi
for the 1,000 top words of each topic (those with the largest mean at the end of the common run). Phi is drawn given z
if the kernel integrates it out; otherwise it is the phi of the chain. IF is the number of draws divided by coda's
effective sample size. The table has its mean and standard deviation over all scalars that vary, the seconds of a sweep,
and the product of these seconds and the mean IF: seconds for an effective draw. The draws of one chain take 4 bytes for
each scalar, 1.6 GB for K = 100 and 2,000 draws. The paper's setting is `--common 10000 --threads 1`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from studies import parser, plan, read, save

import ppl_topics as pt
from ppl_topics.diagnostics.efficiency import inefficiency

PILOT = 100
"""Sweeps at the end of the common run that the top words are chosen from."""


def states(
    plan: pt.Plan, corpus: pt.Corpus, sweeps: int, seed: int, chain: int, z: NDArray[Any] | None = None
) -> Iterator[tuple[pt.ChainState, float]]:
    """Yield the state of a chain after each sweep, with the sweep's seconds; it starts at z, or in random topics."""
    run = pt.Chain(plan.model.spec, corpus, seed=seed, chain=chain, init=None if z is None else {"z": z})
    for _ in range(sweeps):
        run.sweep()
        yield run.state, float(run.statistics()["step_seconds"].sum())


class Draws:
    """Draws of theta for some documents, shape (L, docs, K), and of phi for some words of each topic, (L, words, K)."""

    def __init__(self, corpus: pt.Corpus, docs: NDArray[np.int64], words: NDArray[np.int64], draws: int) -> None:
        self.words, self.topics, self.docs = words, words.shape[1], len(docs)
        self.theta = np.empty((draws, len(docs), self.topics), dtype=np.float32)
        self.phi = np.empty((draws, *words.shape), dtype=np.float32)
        self.tokens = np.concatenate([np.arange(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]) for d in docs])
        self.owner = np.repeat(np.arange(len(docs)), corpus.doc_lengths[docs])

    def record(self, number: int, state: pt.ChainState, rng: np.random.Generator) -> None:
        """Draw theta given z, and phi given z where the chain does not hold it."""
        cells = self.owner * self.topics + state.z[self.tokens]
        counts = np.bincount(cells, minlength=self.docs * self.topics).reshape(self.docs, self.topics)
        weights = rng.standard_gamma(counts + state.alpha)
        self.theta[number] = weights / weights.sum(axis=1, keepdims=True)
        topic = np.arange(self.topics)
        if "phi" in state.arrays:
            self.phi[number] = state.arrays["phi"][self.words, topic]
        else:
            # Each scalar's own distribution, a Beta; how scalars go together does not enter their inefficiency.
            own = state.n_wk[self.words, topic] + state.beta[self.words]
            self.phi[number] = rng.beta(own, state.n_k + state.beta.sum() - own)


def compare(
    corpus: pt.Corpus,
    kernels: Sequence[str],
    topics: int,
    *,
    common: int,
    warmup: int,
    draws: int,
    top_words: int = 1000,
    docs: int = 1000,
    seed: int = 1,
) -> pd.DataFrame:
    """Return a row for each kernel."""
    plans = {kernel: plan(kernel, topics) for kernel in kernels}
    rng = np.random.default_rng(seed)
    mean_phi = np.zeros((corpus.n_words, topics))
    for sweep, (state, _) in enumerate(states(plans[kernels[0]], corpus, common, seed, 0)):
        if sweep >= common - PILOT:
            mean_phi += (state.n_wk + state.beta[:, None]) / (state.n_k + state.beta.sum())
    words = np.argsort(-mean_phi, axis=0, kind="stable")[:top_words]
    filled = np.flatnonzero(corpus.doc_lengths)
    some_docs = np.sort(rng.choice(filled, size=min(docs, len(filled)), replace=False))
    rows = {}
    for chain, (kernel, chosen) in enumerate(plans.items(), start=1):
        kept, seconds = Draws(corpus, some_docs, words, draws), np.empty(draws)
        run = states(chosen, corpus, warmup + draws, seed, chain, state.z.copy())
        for sweep, (current, elapsed) in enumerate(run, start=-warmup):
            if sweep >= 0:
                seconds[sweep] = elapsed
                kept.record(sweep, current, rng)
        row = {"seconds a sweep": np.median(seconds)}
        for name, values in (("theta", kept.theta), ("phi", kept.phi)):
            factors = np.asarray(inefficiency(values[None], "spectral"))
            moving = factors[np.isfinite(factors)]
            row[f"IF {name}"], row[f"sd {name}"] = moving.mean(), moving.std()
            row[f"constant {name}"] = factors.size - moving.size
            row[f"s/effective {name}"] = row["seconds a sweep"] * row[f"IF {name}"]
        rows[topics, kernel, seed] = row
        print(f"K = {topics}, {kernel}: IF of theta {row['IF theta']:.2f}, of phi {row['IF phi']:.2f}", flush=True)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["topics", "kernel", "seed"])


if __name__ == "__main__":
    arguments = parser(__doc__, topics=[20, 100], kernels=["collapsed_gibbs", "sparse_partially_collapsed"])
    arguments.add_argument("--common", type=int, default=2000, help="sweeps of the common run (2000)")
    arguments.add_argument("--warmup", type=int, default=100, help="sweeps of each kernel that are not kept (100)")
    arguments.add_argument("--draws", type=int, default=2000, help="kept sweeps of each kernel (2000)")
    options = arguments.parse_args()
    corpus = read(options, ".csv")
    sizes = {"common": options.common, "warmup": options.warmup, "draws": options.draws}
    chains = itertools.product(options.topics, range(1, options.seeds + 1))
    table = pd.concat([compare(corpus, options.kernels, k, seed=seed, **sizes) for k, seed in chains])
    print(table.groupby(["topics", "kernel"], sort=False).mean().round(4).to_string())
    save(table, options.out)
