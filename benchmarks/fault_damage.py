"""Runs whose files are cut short, changed in one bit, or removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fault_checks import check_readable, difference, flat, resumed
from fault_runs import Case, Child, go_on, turns

import ppl_topics as pt
from ppl_topics.results.run_folder.checkpoint import read_checkpoint
from ppl_topics.results.run_folder.draws import STREAMED

__all__ = ["checkpoints", "chunks", "constants", "lost"]

RESUMED = (0, 1)
"""Of every eight damaged checkpoints, those that are not only read, but the run resumed."""

REMEDY = "Remove "

Damage = Callable[[Path, np.random.Generator], None]


def cut_short(path: Path, rng: np.random.Generator) -> None:
    """Cut a file to a random length."""
    data = path.read_bytes()
    path.write_bytes(data[: int(rng.integers(len(data)))])


def flip(path: Path, rng: np.random.Generator) -> None:
    """Change one random bit of a file."""
    data = bytearray(path.read_bytes())
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(data))


def remove(path: Path, rng: np.random.Generator) -> None:
    """Remove a file, or a folder with all that is in it."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


KINDS: dict[str, Damage] = {"cut short": cut_short, "a bit changed": flip, "removed": remove}


def checkpoints(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Cut checkpoints short, or change a bit, by turns; the newest one, or both of a chain."""
    original = half_way(case, folder)
    chains = len(list(original.glob("checkpoints/*")))
    for turn in turns(case.model, number):
        run = copied(original, folder)
        chain = run / "checkpoints" / f"chain-{rng.integers(chains)}"
        found = sorted(chain.glob("*.ckpt"), reverse=True)
        both = turn % 12 >= 10
        what = ("cut short", "a bit changed")[turn % 2]
        damaged = found if both else found[:1]
        for path in damaged:
            KINDS[what](path, rng)
            for mapped in (False, True):
                try:
                    read_checkpoint(path, mapped=mapped)
                except pt.TraceError:
                    continue
                raise AssertionError(f"{path}: the damage was not seen")
        if turn % 8 in RESUMED or both:
            said = resumed(case, run, folder / "resume.txt", draws=case.draws).said
            expected = "begins anew, with the same draws" if both else "goes on from the one before"
            for path in damaged:
                assert f"{path}: the checkpoint is damaged or cut short" in said, said
            assert expected in said, said
            outcome = f"seen; the run {expected}, and says so; resumed, equal"
        else:
            check_readable(case, run, folder / "read.txt", damaged=damaged)
            said = (folder / "read.txt").read_text()
            assert f"warning: {damaged[0]}: the checkpoint is damaged or cut short" in said, said
            outcome = "seen; reading takes the one before, and says so"
        yield {"fault": f"checkpoint: {what}", "when": "both of a chain" if both else "the newest", "outcome": outcome}


def chunks(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Cut chunks of draws short, change a bit in them, or remove them."""
    original = half_way(case, folder)
    for turn in turns(case.model, number):
        run = copied(original, folder)
        # Of draws; what else the store holds is not made again.
        found = sorted(path for path in run.glob("draws.zarr/*/*/c/*/*/**/*") if path.is_file())
        found += sorted(path for path in run.glob("draws.zarr/*/*/c/*/*") if path.is_file())
        path = found[int(rng.integers(len(found)))]
        what = list(KINDS)[turn % len(KINDS)]
        KINDS[what](path, rng)
        array = path.relative_to(run / "draws.zarr").parts[1]
        read_all(case, run, folder / "read.txt", array)
        refused_then_remade(case, run, folder, array)
        outcome = "one error that names it and what to remove; that removed: resumed, equal"
        yield {"fault": f"chunk of draws: {what}", "when": "any", "outcome": outcome}


def constants(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Damage what the store holds beside draws: the data and constants; or what describes any of its arrays."""
    original = half_way(case, folder)
    for turn in turns(case.model, number):
        run = copied(original, folder)
        arrays = sorted(run.glob("draws.zarr/*/*/zarr.json"))
        described = turn % 2 == 0
        found = arrays if described else [file for path in arrays if not _drawn(path) for file in _files(path.parent)]
        path = found[int(rng.integers(len(found)))]
        what = list(KINDS)[turn // 2 % len(KINDS)]
        KINDS[what](path, rng)
        # What is read as JSON is refused as a whole.
        group = str(path.relative_to(run).parents[1])
        seen = _refused_or_equal(case, run, folder, group)
        outcome = "one error that names it (exit code 2)" if seen else "of no consequence: read and resumed, equal"
        fault = "description of an array" if described else "data or constants in the store"
        yield {"fault": f"{fault}: {what}", "when": "any", "outcome": outcome, "path": str(path.relative_to(run))}


def _drawn(description: Path) -> bool:
    """Tell whether an array is of draws, which are made again; that is known by the files of its chunks."""
    return (description.parent / "c" / "1" / "0").exists() and description.parts[-3] in STREAMED


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("c/**/*") if path.is_file())


def _refused_or_equal(case: Case, run: Path, folder: Path, name: str) -> bool:
    """Read, resume and read a run; False if all was as it should be, True where an error that names something said no.

    It fails if draws or data are others, or if anything else happens.
    """
    resume, read = partial(go_on, run, draws=case.draws), partial(_read_all, case, run)
    refused = False
    for step, work in enumerate((read, resume, partial(read, begun=False))):
        result = Child(work, folder / f"{step}.txt").result()
        if result.code == 2 and str(run) in result.error and name in result.error:
            refused = True
            if step > 0:
                break
        elif result.code != 0 or (step != 1 and "equal" not in result.said.splitlines()):
            raise AssertionError(f"{name}, step {step}: ended with {result.code}: {result.said}")
    return refused


def lost(case: Case, number: int, folder: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Remove whole parts of a run, or damage its small files."""
    original = half_way(case, folder)
    for turn in turns(case.model, number):
        run = copied(original, folder)
        what, name = LOST[turn % len(LOST)]
        if name == "checkpoints":
            remove(run / name, rng)
            assert check_readable(case, run, folder / "read.txt") == "no draw yet"
            resumed(case, run, folder / "resume.txt", draws=case.draws)
            outcome = "reading says that there is none yet; begins anew, equal"
        else:
            path = run / name
            if path.is_dir() and what != "removed":
                found = sorted(path.iterdir())
                path = found[int(rng.integers(len(found)))]
            KINDS[what](path, rng)
            seen = _refused_or_equal(case, run, folder, name.partition(".")[0])
            assert seen or what == "a bit changed", f"{path}: {what}, and not seen"
            outcome = "one error that names it (exit code 2)" if seen else "of no consequence: read and resumed, equal"
        yield {"fault": f"{name}: {what}", "when": "", "outcome": outcome}


LOST = [
    ("removed", "draws.zarr"),
    ("removed", "checkpoints"),
    *((what, name) for name in ("run.json", "model.yaml", "corpus") for what in KINDS),
]
"""What is done to what."""


def half_way(case: Case, folder: Path) -> Path:
    """Make a run that has half of the draws, in several chunks, and two checkpoints."""
    run, half = folder / "original", case.draws // 2

    def work() -> None:
        from ppl_topics.results.run_folder import draws

        draws.CHUNK_DRAWS = max(2, half // 3)
        case.sample(run, draws=half, checkpoint_sweeps=case.warmup)

    Child(work, folder / "log.txt").result().expect(0)
    return run


def copied(original: Path, folder: Path) -> Path:
    """Return a copy that may be damaged."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(original, run))


def read_all(case: Case, run: Path, log: Path, array: str) -> None:
    """Read all of a run, which must fail with one error that names an array."""
    result = Child(partial(_read_all, case, run), log).result()
    if result.code != 2 or array not in result.error:
        raise AssertionError(f"ended with {result.code}: {result.said}")


def _read_all(case: Case, run: Path, *, begun: bool = True) -> None:
    fit = pt.load_fit(run)
    for group in fit.groups.values():
        # Those too that are not compared.
        group.load()
    wrong = difference(flat(fit), case.whole, begun=begun)
    print(f"{wrong} differs" if wrong else "equal")


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
