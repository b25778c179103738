"""What happens to runs when they are killed, stopped, run out of disk, or find their files damaged.

    python tests/faults faults.jsonl                                # an hour or two
    python tests/faults faults.jsonl --write docs/run-folders.md    # then put the table into a page
    python tests/faults faults.jsonl --models lda --times 1         # a minute or two

Each shipped model runs on eight short documents, in two chains, and each fault strikes at random moments or places.
After each, the folder must hold the start of the trace of a run that was never disturbed, in every bit, and the resumed
run must end with all of it. Each trial is a line in the file of results; trials that it already holds are not repeated.
Faults of disks mount a small file system in memory, which takes an administrator on Linux; elsewhere they are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from disks import can_mount
from faults import FAULTS, Fault
from planted_faults import plant
from processes import Child
from runs import Case, Outcome, Trial

from ppl_topics.spec.shipped import shipped

HEAD = "| Fault | When or where | Times | Models | What happened |"
TRIES = 12
"""Runs for each trial, at most: a run may end before the fault strikes."""

Record = dict[str, Any]


def read(results: Path) -> list[Record]:
    """Read the results so far."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def try_model(model: str, options: argparse.Namespace) -> None:
    """Try the faults that were not tried yet on runs of one model, and add what happened to the results."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--dirty=+"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    done = Counter(record["kind"] for record in read(options.results) if record["model"] == model)
    times = {f: (f.times if options.times is None else options.times) - done[f.name] for f in options.faults}
    if max(times.values()) <= 0:
        return
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        place = Path(name)
        # Faults of permissions are tried by another user.
        place.chmod(0o755)
        if options.plant:
            plant(options.kinds[0])
        case = Case(model, place)
        for fault in (fault for fault, number in times.items() if number > 0):
            about = {"kind": fault.name, "model": model, "commit": commit}
            try:
                outcomes = strike(fault, case, times[fault], place / fault.name)
                found = [{**about, **outcome._asdict()} for outcome in outcomes]
            except Exception:
                found = [{**about, **Outcome(fault.name, "", "FAILED")._asdict(), "said": traceback.format_exc()}]
            with options.results.open("a") as file:
                file.writelines(f"{json.dumps(record)}\n" for record in found)


def strike(fault: Fault, case: Case, times: int, folder: Path) -> list[Outcome]:
    """Let a fault strike runs of one model a number of times."""
    folder.mkdir()
    first = sorted(shipped()).index(case.model) * times
    rng = np.random.default_rng(zlib.crc32(f"{case.model} {fault.name}".encode()))
    found: list[Outcome] = []
    for _ in range(TRIES * times):
        if len(found) < times:
            found += fault.strike(Trial(case, folder, rng, turn=first + len(found), most=times - len(found)))
    assert len(found) == times, f"{fault.name}: of {TRIES * times} runs all but {len(found)} ended before it struck"
    return found


def table(records: list[Record]) -> str:
    """Say how often each fault was tried, on how many models, and what happened, as a table in Markdown."""
    order = [fault.name for fault in FAULTS]
    rows = sorted(records, key=lambda record: (order.index(record["kind"]), record["fault"], record["when"]))
    lines = [HEAD, "|---|---|---:|---:|---|"]
    for (fault, when), group in itertools.groupby(rows, lambda record: (record["fault"], record["when"])):
        found = list(group)
        outcomes = Counter(record["what"] for record in found).most_common()
        what = "; ".join(f"{n:,} times: {outcome}" if len(outcomes) > 1 else outcome for outcome, n in outcomes)
        lines.append(f"| {fault} | {when} | {len(found):,} | {len({r['model'] for r in found})} | {what} |")
    commits = " and ".join(f"commit {name}" for name in sorted({record["commit"] for record in records}))
    killed = sum(record["fault"].startswith("SIGKILL") for record in records)
    failed = sum(record["what"] == "FAILED" for record in records)
    lines += ["", f"Tried at {commits}: {len(records):,} faults, {killed:,} of them SIGKILL; {failed:,} failed."]
    return "\n".join(lines) + "\n"


def write_table(page: Path, records: list[Record]) -> None:
    """Replace the table at the end of a page in Markdown."""
    before, found, _ = page.read_text().partition(HEAD)
    if not found or not records:
        raise SystemExit(f"{page}: found {'no results' if found else 'no table of faults'}")
    page.write_text(before + table(records))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [fault.name for fault in FAULTS]
    parser.add_argument("results", type=Path, help="file of JSON lines that trials are added to")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table of all results into a page")
    parser.add_argument("--kinds", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=sorted(shipped()), default=sorted(shipped()))
    parser.add_argument("--times", type=int, help="of each kind on each model; by default each kind has its own")
    parser.add_argument("--plant", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.faults = [fault for fault in FAULTS if fault.name in given.kinds]
    return given


def main() -> None:
    """Try each model in a process of its own, for only one without threads can fork; then make the table."""
    options = parse()
    if any(fault.needs_disk for fault in options.faults) and not can_mount():
        print("faults of disks are left out: no file system can be mounted here", file=sys.stderr)
        options.faults = [fault for fault in options.faults if not fault.needs_disk]
    with tempfile.TemporaryDirectory() as place:
        for model in options.models if options.faults else []:
            child = Child(lambda model=model: try_model(model, options), Path(place) / model)
            child.ends_before(seconds=float("inf"))
            child.expect(0)
            print(f"{model}: done", file=sys.stderr, flush=True)
    if options.write is None:
        print(table(read(options.results)), end="")
    else:
        write_table(options.write, read(options.results))


if __name__ == "__main__":
    main()
