"""The table of docs/cluster.md: what a sweep over several machines would take, by the formulas of `ppl-topics plan`.

    python benchmarks/cluster_forecast.py [docs/cluster.md]

Nothing is run, so the table is that of any machine: seconds are those of the nominal one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.spelling import spell_bytes, spell_seconds
from ppl_topics.schedule.spread import Machines, forecast_spread
from ppl_topics.spec import load_spec

HEAD = "| tokens | words | K | 1 machine | 4 | 16 | 64 | sent by 16 | useful |\n"
NUMBERS = (4, 16, 64)
SCHEDULE = {"cycle": [{"z": "sparse_partially_collapsed"}, {"phi": "dirichlet_rows"}]}
CORES, GBITS, LENGTH = 16, 10.0, 200


def main() -> None:
    lines = [HEAD, "|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", *map(row, cases())]
    if len(sys.argv) == 1:
        print("".join(lines), end="")
        return
    page = Path(sys.argv[1])
    before, found, after = page.read_text().partition(HEAD)
    if not found:
        raise SystemExit(f"{page}: no table with the head {HEAD.strip()}")
    rest = after.splitlines(keepends=True)
    end = next((i for i, line in enumerate(rest) if not line.startswith("|")), len(rest))
    page.write_text(before + "".join(lines) + "".join(rest[end:]))


def cases() -> list[tuple[int, int, int]]:
    """Return tokens, words and topics of each row."""
    return [(tokens, words, topics) for tokens in (10**9, 10**10) for words in (10**5, 10**6) for topics in (100, 1000)]


def row(case: tuple[int, int, int]) -> str:
    """Return a row of the table."""
    tokens, words, topics = case
    share = 1.0 / (np.arange(1, words + 1) + 2.7)
    counts = np.maximum(1, np.rint(tokens * share / share.sum()))
    corpus = CorpusSizes(np.array([LENGTH]), np.array([tokens // LENGTH]), *np.unique(counts, return_counts=True))
    plan = make_plan(load_spec("lda", {"topics": topics}).with_schedule(SCHEDULE, "the table"), corpus)
    sizes = corpus.for_model(plan.model)
    found = [forecast_spread(plan.schedule, sizes, topics, Machines(n, CORES, GBITS), 1.0) for n in NUMBERS]
    seconds = [spell_seconds(each.seconds_sweep) for each in found]
    cells = [f"{tokens:.0e}", f"{words:.0e}", topics, spell_seconds(found[0].seconds_one), *seconds]
    cells += [spell_bytes(found[1].bytes_sweep), f"{found[1].machines_useful}"]
    return f"| {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    main()
