"""Outcomes of runs, as a table: for the terminal, and for docs/hostile-input.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness import Finding, Outcome


def read(path: Path) -> list[Outcome]:
    """Return the outcomes in a file that `harness.fuzz` added to, a line each."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        data["findings"] = [Finding(**finding) for finding in data["findings"]]
        found.append(Outcome(**data))
    return found


def table(outcomes: Iterable[Outcome], names: Sequence[str]) -> str:
    """Return a row for the last outcome of each target, in the order of the names."""
    last = {outcome.target: outcome for outcome in outcomes}
    lines = ["| target | seed | minutes | cases | refused | findings |", "|---|---:|---:|---:|---:|---:|"]
    for o in (last[name] for name in names if name in last):
        lines.append(f"| `{o.target}` | {o.seed} | {o.minutes:.0f} | {o.cases:,} | {o.refused:,} | {len(o.findings)} |")
    return "\n".join(lines) + "\n"
