"""Runs whose files are cut short, changed in one bit, or removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fault_kills import check_readable, resumed
from fault_runs import Case, Child, difference, flat, go_on, turns

import ppl_topics as pt
from ppl_topics.storage.checkpoint import read_checkpoint

__all__ = ["checkpoints", "chunks", "lost"]

RESUMED = (0, 1)
"""Of every eight damaged checkpoints, those that are not only read, but the run resumed."""

REMEDY = "Remove "


def checkpoints(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Cut checkpoints short, or change a bit, by turns; the newest one, or both of a chain."""
    original = half_way(case, folder)
    for turn in turns(case.model, number):
        run = copied(original, folder)
        chain = run / "checkpoints" / f"chain-{rng.integers(2)}"
        found = sorted(chain.glob("*.ckpt"), reverse=True)
        both = turn % 12 >= 10
        cut = turn % 2 == 0
        for path in found if both else found[:1]:
            (cut_short if cut else flip)(path, rng)
            for mapped in (False, True):
                try:
                    read_checkpoint(path, mapped=mapped)
                except pt.TraceError:
                    continue
                raise AssertionError(f"{path}: the damage was not seen")
        outcome = "seen"
        if turn % 8 in RESUMED or both:
            said = resumed(case, run, folder / "resume.txt", draws=case.draws).said
            expected = "begins anew, with the same draws" if both else "goes on from the one before"
            assert "the checkpoint is damaged or cut short" in said, said
            assert expected in said, said
            outcome = f"seen; the run {expected}, and says so; resumed, equal"
        elif check_warned(case, run, folder / "read.txt"):
            outcome = "seen; reading takes the one before, and says so"
        what = "cut short" if cut else "a bit changed"
        yield {"fault": f"checkpoint: {what}", "when": "both of a chain" if both else "the newest", "outcome": outcome}


def check_warned(case: Case, run: Path, log: Path) -> bool:
    """Read a run, which must warn, and be the beginning of the whole one."""
    check_readable(case, run, log)
    if "warning: " not in (said := log.read_text()) or "damaged or cut short" not in said:
        raise AssertionError(f"no warning: {said}")
    return True


def chunks(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Cut chunks of draws short, change a bit in them, or remove them."""
    original = half_way(case, folder)
    kinds: list[tuple[str, Callable[[Path, np.random.Generator], None]]] = [
        ("cut short", cut_short),
        ("a bit changed", flip),
        ("removed", lambda path, rng: path.unlink()),
    ]
    for turn in turns(case.model, number):
        run = copied(original, folder)
        # Of draws; what else the store holds is not made again.
        found = sorted(path for path in run.glob("draws.zarr/*/*/c/*/*/**/*") if path.is_file())
        found += sorted(path for path in run.glob("draws.zarr/*/*/c/*/*") if path.is_file())
        path = found[int(rng.integers(len(found)))]
        what, damage = kinds[turn % len(kinds)]
        damage(path, rng)
        array = path.relative_to(run / "draws.zarr").parts[1]
        read_all(case, run, folder / "read.txt", array)
        refused_then_remade(case, run, folder, array)
        outcome = "one error that names it and what to remove; that removed: resumed, equal"
        yield {"fault": f"chunk of draws: {what}", "when": "any", "outcome": outcome}


def lost(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Remove whole parts of a run."""
    original = half_way(case, folder)
    # Of what chains add to.
    streamed = sorted(path for path in original.glob("draws.zarr/*/*/zarr.json") if (path.parent / "c/1/0").exists())
    streamed = [path for path in streamed if path.parts[-3] not in ("observed_data", "constant_data")]
    for turn in turns(case.model, number):
        run = copied(original, folder)
        kind = turn % 6
        if kind == 0:
            path = run / streamed[int(rng.integers(len(streamed)))].relative_to(original)
            path.unlink()
            read_all(case, run, folder / "read.txt", path.parts[-2])
            refused_then_remade(case, run, folder, path.parts[-2])
            what = "description of an array of draws"
            outcome = "one error that names it and what to remove; that removed: resumed, equal"
        elif kind == 1:
            shutil.rmtree(run / "checkpoints")
            assert check_readable(case, run, folder / "read.txt") == "no draw yet"
            resumed(case, run, folder / "resume.txt", draws=case.draws)
            what, outcome = "checkpoints", "reading says that there is none yet; begins anew, equal"
        else:
            name = ("draws.zarr", "corpus", "run.json", "model.yaml")[kind - 2]
            target = run / name
            shutil.rmtree(target) if target.is_dir() else target.unlink()
            works: dict[str, Callable[[], None]] = {"resume": partial(go_on, run, draws=case.draws)}
            if name in ("draws.zarr", "run.json"):
                works["read"] = partial(open_run, run)
            for title, work in works.items():
                result = Child(work, folder / f"{title}.txt").result()
                if result.code != 2 or name.partition(".")[0] not in result.error:
                    raise AssertionError(f"ended with {result.code}: {result.said}")
            what, outcome = name, "one error that names it (exit code 2)"
        yield {"fault": "lost", "when": what, "outcome": outcome}


def open_run(run: Path) -> None:
    """Open a run to be read."""
    pt.load_fit(run)


def half_way(case: Case, folder: Path) -> Path:
    """Make a run that has half of the draws, in several chunks, and two checkpoints."""
    run, half = folder / "original", case.draws // 2

    def work() -> None:
        from ppl_topics.storage import draws

        draws.CHUNK_DRAWS = max(2, half // 3)
        case.sample(run, draws=half, checkpoint_sweeps=case.warmup)

    Child(work, folder / "log.txt").result().expect(0)
    return run


def copied(original: Path, folder: Path) -> Path:
    """Return a copy that may be damaged."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(original, run))


def cut_short(path: Path, rng: np.random.Generator) -> None:
    """Cut a file to a random length."""
    data = path.read_bytes()
    path.write_bytes(data[: int(rng.integers(len(data)))])


def flip(path: Path, rng: np.random.Generator) -> None:
    """Change one random bit of a file."""
    data = bytearray(path.read_bytes())
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(data))


def read_all(case: Case, run: Path, log: Path, array: str) -> None:
    """Read all of a run, which must fail with one error that names an array."""

    def read() -> None:
        fit = pt.load_fit(run)
        for group in fit.groups.values():
            # Those too that are not compared.
            group.load()
        print("differs" if difference(flat(fit), case.whole, begun=True) else "equal")

    result = Child(read, log).result()
    if result.code != 2 or array not in result.error:
        raise AssertionError(f"ended with {result.code}: {result.said}")


def refused_then_remade(case: Case, run: Path, folder: Path, array: str) -> None:
    """Resume, do what the error says, and resume; chunks that are full are not read before the end."""
    result = Child(partial(go_on, run, draws=case.draws), folder / "resume.txt").result()
    if result.code == 0:
        # Only what was full is not looked at; then reading says so.
        read_all(case, run, folder / "read.txt", array)
        shutil.rmtree(run / "checkpoints")
    elif result.code == 2 and array in result.error and REMEDY in result.error:
        remove = Path(result.error.partition(REMEDY)[2].partition(":")[0])
        assert run in remove.parents, remove
        shutil.rmtree(remove)
    else:
        raise AssertionError(f"ended with {result.code}: {result.said}")
    resumed(case, run, folder / "again.txt", draws=case.draws)
