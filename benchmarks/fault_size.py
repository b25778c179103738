r"""A run at size that is killed, resumed, and killed again, by the command line, on a disk.

    python benchmarks/fault_size.py --data train.svmlight.gz --vocabulary vocab.txt --results faults.jsonl

The whole run, which is never stopped, goes to memory. Results are lines as those of ``faults.py``, which prints the
table of all. Without --data it runs small.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

# First: it chooses the threading layer.
import faults
import numpy as np
from common import load
from fault_checks import save_flat
from fault_kills import commands
from fault_runs import Case, Child, corpus_for

import ppl_topics as pt

RECORD = (("z", "all"), ("theta", "none"), ("phi", "none"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--vocabulary")
    parser.add_argument("--model", default="lda")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--most", type=float, default=0.5, help="longest wait, as a share of what a run still takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, help="file of JSON lines that trials are added to")
    parser.add_argument("--folder", type=Path, help="where the run goes; by default the system's temporary folder")
    options = parser.parse_args()
    if options.data is None:
        corpus, options.topics, options.kills = corpus_for(options.model), 3, 2
    else:
        corpus = load(options.data, options.vocabulary)
    with tempfile.TemporaryDirectory(prefix="faults-", dir=options.folder) as place:
        results = options.results or Path(place) / "results.jsonl"
        folder = Path(place) / "size"
        folder.mkdir()
        case = whole(corpus, folder, options)
        about = {"kind": "size", "model": options.model, "commit": faults.commit(), "tokens": corpus.n_tokens}
        rng = np.random.default_rng(options.seed)
        for record in commands(case, options.kills, folder, rng, most=options.most):
            faults.add(results, {**about, **record, "fault": f"{record['fault']}, {options.topics} topics"})
        print(faults.table(faults.read(results)), end="")


def whole(corpus: pt.Corpus, folder: Path, options: argparse.Namespace) -> Case:
    """Run in memory, and return the case with all that was drawn."""
    numbers = (options.draws, options.warmup, options.seed)
    case = Case(options.model, corpus, *numbers, {}, topics=options.topics, record=RECORD)

    def run() -> None:
        fit = pt.sample(case.model, corpus, **case.options())
        save_flat(folder / "whole.npz", fit)
        seconds = fit.groups["sample_stats"]["step_seconds"].sum("kernel").mean()
        np.save(folder / "pace.npy", float(seconds) * fit.posterior.sizes["chain"])

    Child(run, folder / "whole.log").result().expect(0)
    print(f"the whole run is made: {corpus.n_tokens:,} tokens", file=sys.stderr, flush=True)
    with np.load(folder / "whole.npz") as held:
        return replace(case, whole=dict(held), pace=float(np.load(folder / "pace.npy")))


if __name__ == "__main__":
    main()
