r"""What happens to runs when they are killed, stopped, run out of disk, or find their files damaged.

    python benchmarks/faults.py --results faults.jsonl
    python benchmarks/faults.py --results faults.jsonl --write docs/run-folders.md

Without --results it runs small: one trial of each kind, on one model.

Each shipped model runs on documents of some tokens, in two chains, and each fault is tried at random moments or places
until it was tried so often in all as is asked for. After each, what the folder holds must be the beginning of the trace
of a run that was never stopped, in every bit, and the resumed run must end with all of it. Each trial is a line in the
file of results, which later calls add to; the table is that of the whole file. Faults of disks need to mount a small
file system in memory, which takes an administrator on Linux; elsewhere they are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before numba is imported: a forked process can go on with these threads, and with no others.
os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
os.environ.setdefault("NUMBA_NUM_THREADS", str(min(2, os.cpu_count() or 1)))

import numpy as np
from common import describe, machine
from fault_checks import save_flat
from fault_damage import checkpoints, chunks, constants, lost
from fault_disks import can_mount, full, full_at_the_end, read_only
from fault_kills import commands, kills, writes
from fault_runs import Case, made_case
from fault_stops import memory, stops, two_at_once, workers

import ppl_topics.cli.app
import ppl_topics.cli.run
import ppl_topics.results.run_folder.reading
from ppl_topics.spec.shipped import shipped

Fault = Callable[[Case, int, Path, np.random.Generator], Iterator[dict[str, Any]]]

FAULTS: dict[str, tuple[Fault, int]] = {
    "kills": (kills, 216),
    "writes": (writes, 216),
    "commands": (commands, 36),
    "stops": (stops, 72),
    "workers": (workers, 18),
    "two": (two_at_once, 36),
    "checkpoints": (checkpoints, 216),
    "chunks": (chunks, 72),
    "constants": (constants, 144),
    "lost": (lost, 198),
    "full": (full, 72),
    "file": (full_at_the_end, 18),
    "read-only": (read_only, 36),
    "memory": (memory, 18),
}
"""Each kind of fault, and how often it is tried in all."""

MOUNTED = ("full", "file", "read-only")


def run_model(model: str, asked: dict[str, int], options: argparse.Namespace) -> None:
    """Try faults on runs of one model; must be called in a process that has no threads yet."""
    with tempfile.TemporaryDirectory(prefix="faults-", dir=options.folder) as place:
        folder = Path(place)
        # Faults of permissions are tried by another user.
        folder.chmod(0o755)
        case = made_case(model, options.draws, options.warmup, options.seed, folder, save_flat)
        for kind, number in asked.items():
            tried = sum(record["model"] == model and record["kind"] == kind for record in read(options.results))
            rng = np.random.default_rng([options.seed, zlib.crc32(f"{model} {kind}".encode()), tried])
            work = folder / kind
            work.mkdir()
            started, about = time.monotonic(), {"kind": kind, "model": model, "commit": options.commit}
            try:
                for record in FAULTS[kind][0](case, number, work, rng):
                    add(options.results, {**about, **record})
            except Exception as error:
                said = "".join(traceback.format_exception(error))
                add(options.results, {**about, "fault": kind, "outcome": "FAILED", "said": said})
            print(f"{model}: {kind}, {number} trials, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def commit() -> str:
    """Return the commit of these scripts, with a + where they, or the package that is tried, have been changed."""
    place = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(place), *words], capture_output=True, text=True, check=True).stdout

    try:
        name, tree = git("rev-parse", "--short", "HEAD").strip(), git("ls-tree", "-r", "--full-tree", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    known = {line.split()[2] for line in tree.splitlines()}
    files = [*Path(ppl_topics.__file__).parent.rglob("*.py"), *place.glob("fault*.py")]
    return name if all(_git_hash(path.read_bytes()) in known for path in files) else f"{name}+"


def _git_hash(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def add(results: Path, record: dict[str, Any]) -> None:
    """Add a line to the results, in one write."""
    with results.open("a") as file:
        file.write(json.dumps(record) + "\n")


def read(results: Path) -> list[dict[str, Any]]:
    """Read the results so far."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def table(records: list[dict[str, Any]]) -> str:
    """Say how often each fault was tried, on how many models, and what happened, as a table in Markdown."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        rows.setdefault((record["fault"], record.get("when", "")), []).append(record)
    lines = [HEAD, "|---|---|---:|---:|---|"]
    for (fault, when), of_row in sorted(rows.items(), key=lambda row: (KIND_ORDER.index(row[1][0]["kind"]), row[0])):
        found = Counter(record["outcome"] for record in of_row).most_common()
        what = found[0][0] if len(found) == 1 else "; ".join(f"{n:,} times: {outcome}" for outcome, n in found)
        models = len({record["model"] for record in of_row})
        lines.append(f"| {fault} | {when} | {len(of_row):,} | {models} | {what} |")
    commits = " and ".join(f"commit {name}" for name in sorted({record["commit"] for record in records}))
    killed = sum(record["fault"].startswith("SIGKILL") for record in records)
    failed = sum(record["outcome"] == "FAILED" for record in records)
    lines += ["", f"Tried at {commits}: {len(records):,} faults, {killed:,} of them SIGKILL; {failed:,} failed."]
    return "\n".join(lines) + "\n"


def write_table(path: Path, records: list[dict[str, Any]]) -> None:
    """Put the table at the end of a file in Markdown, in the place of the one there."""
    before, found, _ = path.read_text().partition(HEAD)
    if not found:
        raise SystemExit(f"{path}: has no table of faults")
    path.write_text(before + table(records))


HEAD = "| Fault | When or where | Times | Models | What happened |"
KIND_ORDER = [*FAULTS, "size"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="file of JSON lines that trials are added to")
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table of the results into a file")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--models", nargs="+", choices=sorted(shipped()), default=sorted(shipped()))
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the runs go; by default the system's temporary folder")
    for name, (_, number) in FAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=number, metavar="N", help=f"over all models ({number})")
    options = parser.parse_args()
    if options.write is not None:
        write_table(options.write, read(options.results))
        return
    options.commit = commit()
    if options.results is None:
        options.models, options.draws, options.warmup = ["lda"], 60, 20
        for name in FAULTS:
            setattr(options, name.replace("-", "_"), 1)
        with tempfile.TemporaryDirectory() as place:
            options.results = Path(place) / "results.jsonl"
            try_all(options)
    else:
        try_all(options)


def try_all(options: argparse.Namespace) -> None:
    """Try what is asked for, in addition to what was tried already, and print what happened."""
    if not options.table:
        print(describe(machine()), file=sys.stderr)
        kinds = [kind for kind in options.kinds if kind not in MOUNTED or can_mount(options.folder)]
        for kind in sorted(set(options.kinds) - set(kinds)):
            print(f"{kind}: left out; no file system can be mounted here", file=sys.stderr)
        for model in options.models:
            done = Counter(r["kind"] for r in read(options.results) if r["model"] == model)
            shares = {kind: -(-getattr(options, kind.replace("-", "_")) // len(shipped())) for kind in kinds}
            asked = {kind: number - done[kind] for kind, number in shares.items() if number > done[kind]}
            if asked and (pid := os.fork()) == 0:
                run_model(model, asked, options)
                os._exit(0)
            elif asked:
                os.waitpid(pid, 0)
                print(f"{model}: {', '.join(asked)}", file=sys.stderr)
    print(table(read(options.results)), end="")


if __name__ == "__main__":
    main()
