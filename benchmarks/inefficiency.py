r"""Inefficiency factors of theta and phi by kernel of z, in the form of tables 3 and 4 of Magnusson et al. (2018).

    python benchmarks/inefficiency.py --data train.svmlight.gz --vocabulary vocab.txt --stop-words --min-count 10 \
        --models lda medlda dolda --topics 50 --threads 2

Each model runs with each kernel of z, the rest of its schedule being its own; phi is drawn after z in every one, also
where z is drawn with phi integrated out. As in the paper the factors are those of 1,000 random documents and of the
1,000 most probable words of each topic, here among the most frequent of the corpus. The paper starts all chains from
the state that 10,000 sweeps of the collapsed sampler had led to; here each has its own warm-up.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from common import Results, name_of, parser, print_table
from supervised import simulate

import ppl_topics as pt
from ppl_topics.diagnostics.comparison import inefficiency_table
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.tree import steps

TITLES = {"theta": "Theta: mean inefficiency factor (standard deviation)", "phi": "Phi: the same"}


def main() -> None:
    arguments = parse()
    corpus = read(arguments)
    about = {"corpus": name_of(arguments.data, "simulated"), "threads": arguments.threads}
    results = Results(arguments.results, "inefficiency", "How inefficient are draws of each kernel?", **about)
    print(f"{corpus}; {arguments.chains} x {arguments.draws} draws after {arguments.warmup} sweeps")
    tables = []
    for model in arguments.models:
        for topics in arguments.topics:
            fits = {kernel: run(model, corpus, kernel, topics, arguments) for kernel in arguments.kernels}
            table = inefficiency_table({name: fit.groups for name, fit in fits.items()}, list(TITLES), top_words=1000)
            tables.append(table.assign(model=model))
    table = pd.concat(tables, ignore_index=True)
    for variable, title in TITLES.items():
        print(f"\n{title}")
        show(table[table["variable"] == variable], arguments.kernels)
    for row in table.to_dict("records"):
        results.add(row["run"], f"IF of {row['variable']}", row["mean"], model=row["model"], K=row["topics"])


def parse() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="by default simulated documents of three classes")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--stop-words", action="store_true", help="drop scikit-learn's list of English stop words")
    arguments.add_argument("--min-count", type=int, default=1)
    arguments.add_argument("--models", nargs="+", default=["lda"])
    arguments.add_argument("--kernels", nargs="+", default=["block_collapsed", "partially_collapsed"], help="of z")
    arguments.add_argument("--topics", type=int, nargs="+", default=[5])
    arguments.add_argument("--documents", type=int, default=1000, help="at random, whose theta is recorded")
    arguments.add_argument("--words", type=int, default=5000, help="most frequent, whose phi is recorded")
    arguments.add_argument("--chains", type=int, default=2)
    arguments.add_argument("--warmup", type=int, default=200)
    arguments.add_argument("--draws", type=int, default=200)
    arguments.add_argument("--threads", type=int, default=1)
    return arguments.parse_args()


def read(arguments: argparse.Namespace) -> pt.Corpus:
    """Read the corpus, its documents in a random order: theta is recorded of the first."""
    if arguments.data is None:
        corpus = simulate(300, 1)
    else:
        stop_words = "english" if arguments.stop_words else None
        how = {"vocabulary": arguments.vocabulary, "stop_words": stop_words, "min_count": arguments.min_count}
        corpus = pt.read_corpus(arguments.data, **how)
    return corpus.select(np.random.default_rng(1).permutation(corpus.n_docs))


def run(model: str, corpus: pt.Corpus, kernel: str, topics: int, arguments: argparse.Namespace) -> pt.Fit:
    """Run a model with a kernel of z, and else as its own schedule would be."""
    how: dict[str, Any] = {"draws": arguments.draws, "warmup": arguments.warmup, "chains": arguments.chains}
    plan = make_plan(pt.load_spec(model, {"topics": topics}), CorpusSizes.of(corpus))
    named = {step.variable: step.kernel.name for step in steps(plan.schedule)} | {"z": kernel, "phi": "dirichlet_rows"}
    return pt.sample(
        model,
        corpus,
        topics=topics,
        schedule={"cycle": [{variable: name} for variable, name in named.items()]},
        record={"theta": {"docs": arguments.documents}, "phi": {"top_words": arguments.words}},
        threads=arguments.threads,
        seed=1,
        progress=False,
        **how,
    )


def show(table: pd.DataFrame, kernels: list[str]) -> None:
    """Print a row for each model and number of topics, a column for each kernel, and ratios to the first."""
    rows = []
    for (model, topics), found in table.groupby(["model", "topics"], sort=False):
        by_kernel = found.set_index("run")
        cells = [f"{by_kernel.loc[name, 'mean']:.2f} ({by_kernel.loc[name, 'sd']:.1f})" for name in kernels]
        ratios = [f"{by_kernel.loc[name, 'ratio']:.2f}" for name in kernels[1:]]
        rows.append([str(model), str(topics), *cells, *ratios])
    header = ["model", "K", *kernels, *(["IF ratio"] if len(kernels) == 2 else [f"ratio {n}" for n in kernels[1:]])]
    print_table(header, rows)


if __name__ == "__main__":
    main()
