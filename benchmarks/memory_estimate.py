r"""How near the memory that is worked out before a run is to what the run takes.

    python benchmarks/memory_estimate.py --data train.svmlight.gz --vocabulary vocab.txt --topics 100 --draws 20
    python benchmarks/memory_estimate.py

Each model runs in its own processes, in memory and in a folder, with two chains and phi recorded whole. There a run
of a few documents comes first, so that all is compiled and loaded. "estimated" is what `ppl-topics plan` says that the
run takes beside its corpus, "measured" the growth of the largest resident memory over that before the run. Without
--data it runs small, on simulated documents.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import Results, default_threads, load, name_of, parser, print_table, reset_peak, resident
from supervised import simulate

import ppl_topics as pt
from ppl_topics.api.run_arguments import run_settings
from ppl_topics.engine.model_sizes import Demand
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes

MODELS = ["lda", "slda_logistic", "dolda", "lda_spike_slab", "lda_spike_slab:storage=sparse"]
WHERE = ("memory", "folder")


def measure(corpus: pt.Corpus, model: str, where: str, given: argparse.Namespace) -> dict[str, float]:
    """Return the estimate for a run, and what it took, in bytes."""
    how: dict[str, Any] = {"chains": 2, "threads": given.threads, "seed": 1, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        name, _, option = model.partition(":")
        parameters = {"topics": given.topics, **dict(pair.split("=") for pair in option.split(",") if pair)}
        spec = pt.load_spec(name, parameters, record={"phi": "all"})
        pt.sample(spec, simulate(30, 2), warmup=1, draws=2, out=_out(where, folder, "few"), **how)
        settings = run_settings(
            draws=given.draws,
            warmup=given.warmup,
            chains=2,
            thin=1,
            seed=1,
            threads=given.threads,
            processes=1,
        )
        sizes = CorpusSizes.of(corpus)
        plan = make_plan(spec, sizes)
        demand = Demand(plan, sizes, settings, streamed=where == "folder")
        gc.collect()
        before = resident("VmRSS")
        reset_peak()
        out = _out(where, folder, "run")
        pt.sample(spec, corpus, warmup=given.warmup, draws=given.draws, out=out, **how)
        return {"estimate": demand.more, "measured": resident("VmHWM") - before}


def _out(where: str, folder: str, name: str) -> Path | None:
    return Path(folder) / name if where == "folder" else None


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the arguments."""
    result = parser(__doc__)
    result.add_argument("--data")
    result.add_argument("--vocabulary")
    result.add_argument("--models", nargs="+", default=MODELS)
    result.add_argument("--topics", type=int, default=20)
    result.add_argument("--warmup", type=int, default=3)
    result.add_argument("--draws", type=int, default=5)
    result.add_argument("--threads", type=int, default=default_threads()[-1])
    result.add_argument("--one", nargs=2, metavar=("MODEL", "WHERE"), help=argparse.SUPPRESS)
    return result.parse_args(words)


def main() -> None:
    """Measure one run, or start a process for each and print the table."""
    given = arguments()
    if given.one is not None:
        corpus = simulate(400, 1) if given.data is None else load(given.data, given.vocabulary)
        print(json.dumps(measure(corpus, *given.one, given)))
        return
    about = {"corpus": name_of(given.data, "simulated"), "K": given.topics}
    results = Results(given.results, "memory_estimate", "How good are the forecasts of memory?", **about)
    found = []
    for model in given.models:
        for where in WHERE:
            command = [sys.executable, __file__, *sys.argv[1:], "--one", model, where]
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
            found.append({"model": model, "where": where, **json.loads(said.splitlines()[-1])})
    rows = [
        [
            row["model"],
            row["where"],
            f"{row['estimate'] / 1e6:,.1f}",
            f"{row['measured'] / 1e6:,.1f}",
            f"{row['estimate'] / row['measured']:.2f}",
        ]
        for row in found
    ]
    print_table(["model", "draws in", "MB estimated", "MB measured", "ratio"], rows)
    for row in found:
        ratio = row["estimate"] / row["measured"]
        results.add(f"{row['model']}, draws in {row['where']}", "forecast / measured MB", ratio)


if __name__ == "__main__":
    main()
