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
    from harness import Outcome, fuzz
    from targets import TARGETS

    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--minutes", type=float, default=20.0, help="of each target")
    parser.add_argument("--cases", type=int, help="stop a target after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for inputs of findings")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    outcomes: list[Outcome] = []
    for name in given.targets or TARGETS:
        seconds = 60 * given.minutes
        outcomes.append(fuzz(TARGETS[name](), seconds=seconds, seed=given.seed, folder=given.out, cases=given.cases))
    print("| target | seed | minutes | cases | refused | findings left |")
    print("|---|---:|---:|---:|---:|---:|")
    for o in outcomes:
        print(f"| {o.target} | {o.seed} | {o.minutes:.1f} | {o.cases:,} | {o.refused:,} | {len(o.findings)} |")
    return int(any(outcome.findings for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
