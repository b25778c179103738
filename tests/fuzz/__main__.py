"""``python tests/fuzz``: each target for some minutes, and a table of what came of it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# Before anything that starts threads: a worker is a fork, which keeps none of them.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> int:
    """Fuzz the targets that were named, or all, one after another."""
    from harness import fuzz
    from outcomes import read, table
    from targets import TARGETS

    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--minutes", type=float, default=20.0, help="of each target")
    parser.add_argument("--cases", type=int, help="stop each target after this many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=Path("build/fuzz"), help="folder for outcomes, and the inputs of findings"
    )
    parser.add_argument("--table", type=Path, help="run nothing; print the last outcomes of a file like results.jsonl")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    names = given.targets or list(TARGETS)
    if given.table is not None:
        print(table(read(given.table), names), end="")
        return 0
    outcomes = [
        fuzz(TARGETS[name](), seconds=60 * given.minutes, seed=given.seed, folder=given.out, cases=given.cases)
        for name in names
    ]
    print(table(outcomes, names), end="")
    return int(any(outcome.findings for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
