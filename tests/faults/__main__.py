r"""What happens to runs when they are killed, stopped, run out of disk, or find their files damaged.

    python tests/faults                                   # small: one trial of each kind, on one model
    python tests/faults --results faults.jsonl            # all of them, an hour or two
    python tests/faults --results faults.jsonl --write docs/run-folders.md
    python tests/faults --results faults.jsonl --kinds commands --models lda --data train.svmlight.gz --topics 100

Each shipped model runs on eight short documents, in two chains, and each fault strikes at random moments or places.
After each, the folder must hold the beginning of the trace of a run that was never disturbed, in every bit, and the
resumed run must end with all of it. Each trial is a line in the file of results, which later calls add to; the table is
that of the whole file. Faults of disks need to mount a small file system in memory, which takes an administrator on
Linux; elsewhere they are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import planted_faults
from disks import can_mount
from faults import FAULTS
from runs import Case, corpus_for
from trials import Fault, Record, Trial

import ppl_topics as pt
from ppl_topics.spec.shipped import shipped

HEAD = "| Fault | When or where | Times | Models | What happened |"
TRIES = 12
"""Runs for each trial, at most: a run may end before the fault strikes."""


def try_model(case: Case, wanted: dict[Fault, int], results: Path, options: argparse.Namespace) -> None:
    """Try faults on runs of one model; must be called in a process that has no threads yet."""
    with tempfile.TemporaryDirectory(prefix="faults-", dir=options.folder) as place:
        # Faults of permissions are tried by another user.
        Path(place).chmod(0o755)
        case = case.with_whole(Path(place))
        for fault, number in wanted.items():
            started, about = time.monotonic(), {"kind": fault.name, "model": case.model, "commit": options.commit}
            (Path(place) / fault.name).mkdir()
            try:
                for record in strike(fault, case, number, Path(place) / fault.name, options.seed):
                    add(results, about | record)
            except Exception as error:
                said = "".join(traceback.format_exception(error))
                add(results, {**about, "fault": fault.name, "outcome": "FAILED", "said": said})
            print(f"{case.model}: {fault.name}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def strike(fault: Fault, case: Case, number: int, folder: Path, seed: int) -> list[Record]:
    """Let a fault strike runs of one model so often in all."""
    first = sorted(shipped()).index(case.model) * number
    rng = np.random.default_rng([seed, zlib.crc32(f"{case.model} {fault.name}".encode())])
    records: list[Record] = []
    shared: Record = {}
    while len(records) < number:
        turn, left = first + len(records), number - len(records)
        found = (fault.strike(Trial(case, folder, rng, turn, left, shared)) for _ in range(TRIES))
        records += next(filter(None, found), []) or _never(fault)
    return records


def _never(fault: Fault) -> list[Record]:
    raise AssertionError(f"{fault.name}: {TRIES} runs ended before the fault struck")


def add(results: Path, record: Record) -> None:
    """Add a line to the results, in one write."""
    with results.open("a") as file:
        file.write(json.dumps(record) + "\n")


def read(results: Path) -> list[Record]:
    """Read the results so far."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def table(records: list[Record]) -> str:
    """Say how often each fault was tried, on how many models, and what happened, as a table in Markdown."""
    order = {fault.name: number for number, fault in enumerate(FAULTS)}
    rows = sorted(records, key=lambda record: (order[record["kind"]], record["fault"], record.get("when", "")))
    lines = [HEAD, "|---|---|---:|---:|---|"]
    for (fault, when), group in itertools.groupby(rows, lambda record: (record["fault"], record.get("when", ""))):
        found = list(group)
        outcomes = Counter(record["outcome"] for record in found).most_common()
        what = "; ".join(f"{n:,} times: {outcome}" if len(outcomes) > 1 else outcome for outcome, n in outcomes)
        lines.append(f"| {fault} | {when} | {len(found):,} | {len({r['model'] for r in found})} | {what} |")
    commits = " and ".join(f"commit {name}" for name in sorted({record["commit"] for record in records}))
    killed = sum(record["fault"].startswith("SIGKILL") for record in records)
    failed = sum(record["outcome"] == "FAILED" for record in records)
    lines += ["", f"Tried at {commits}: {len(records):,} faults, {killed:,} of them SIGKILL; {failed:,} failed."]
    return "\n".join(lines) + "\n"


def write_table(path: Path, records: list[Record]) -> None:
    """Replace the table at the end of a page in Markdown."""
    before, found, _ = path.read_text().partition(HEAD)
    if not found or not records:
        raise SystemExit(f"{path}: found {'no results' if found else 'no table of faults'}")
    path.write_text(before + table(records))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [fault.name for fault in FAULTS]
    parser.add_argument("--results", type=Path, help="file of JSON lines that trials are added to")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="only put the table of the results into a page")
    parser.add_argument("--kinds", nargs="+", choices=names, default=names)
    parser.add_argument("--times", type=int, help="of each kind over all models; by default each has its own")
    parser.add_argument("--models", nargs="+", choices=sorted(shipped()), default=sorted(shipped()))
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--topics", type=int, default=3)
    parser.add_argument("--data", help="a corpus instead of the small one, for models that take its labels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the runs go; by default the system's temporary folder")
    parser.add_argument("--plant", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.results is None:
        options.models, options.draws, options.warmup, options.times = ["lda"], 60, 20, 1
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--dirty=+"]
    options.commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    return options


def try_all(options: argparse.Namespace, results: Path) -> None:
    """Try what is asked for and was not tried yet, and print what happened."""
    chosen = [fault for fault in FAULTS if fault.name in options.kinds]
    if any(fault.needs_disk for fault in chosen) and not can_mount(options.folder):
        print("faults of disks are left out: no file system can be mounted here", file=sys.stderr)
        chosen = [fault for fault in chosen if not fault.needs_disk]
    for model in options.models:
        done = Counter(record["kind"] for record in read(results) if record["model"] == model)
        shares = {fault: -(-(options.times or fault.times) // len(shipped())) - done[fault.name] for fault in chosen}
        wanted = {fault: number for fault, number in shares.items() if number > 0}
        if wanted and (pid := os.fork()) == 0:
            corpus = pt.read_corpus(options.data) if options.data else corpus_for(model)
            sizes = (options.draws, options.warmup, options.seed, options.topics)
            if options.plant:
                planted_faults.PLANTED[options.kinds[0]]()
            try_model(Case(model, corpus, *sizes), wanted, results, options)
            os._exit(0)
        elif wanted:
            os.waitpid(pid, 0)
    print(table(read(results)), end="")


if __name__ == "__main__":
    given = parse()
    if given.write is not None:
        write_table(given.write, read(given.results or Path("faults.jsonl")))
    elif given.results is not None:
        try_all(given, given.results)
    else:
        with tempfile.TemporaryDirectory() as place:
            try_all(given, Path(place) / "results.jsonl")
