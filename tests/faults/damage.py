"""Files of a run that are cut short, changed in one bit, or removed: which ones, and what must hold then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trials import NO_DRAW, Record, Trial

import ppl_topics as pt
from ppl_topics.results.run_folder.checkpoint import read_checkpoint
from ppl_topics.results.run_folder.draws import STREAMED

REMEDY, SEEN = "Remove ", "one error that names it (exit code 2)"


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
    """Remove a file, or a folder with all its content."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


CHANGED = {"cut short": cut_short, "a bit changed": flip}
REMOVED = {"removed": remove}
ANY = CHANGED | REMOVED

# --- which files


def files(run: Path, *patterns: str) -> list[Path]:
    """Return the files that patterns name."""
    return [path for pattern in patterns for path in sorted(run.glob(pattern)) if path.is_file()]


def descriptions(run: Path) -> list[Path]:
    """Return what describes the arrays of the store."""
    return files(run, "draws.zarr/*/*/zarr.json")


def constants(run: Path) -> list[Path]:
    """Return the files of arrays that do not hold draws: data and constants."""
    arrays = [path.parent for path in descriptions(run)]
    return [
        file
        for array in arrays
        if array.parent.name not in STREAMED or not (array / "c" / "1" / "0").exists()
        for file in files(array, "c/**/*")
    ]


def newest(run: Path) -> list[Path]:
    """Return the newest checkpoint of each chain."""
    return [files(chain, "*.ckpt")[-1] for chain in sorted(run.glob("checkpoints/*"))]


def pairs(run: Path) -> list[list[Path]]:
    """Return all checkpoints of each chain, the newest first."""
    return [files(chain, "*.ckpt")[::-1] for chain in sorted(run.glob("checkpoints/*"))]


def chunks(run: Path) -> list[Path]:
    """Return the chunks of draws, which can be made again."""
    return files(run, "draws.zarr/*/*/c/*/*/**/*", "draws.zarr/*/*/c/*/*")


# --- what must hold


def passed_over(trial: Trial, damaged: list[Path], way: str) -> str:
    """A damaged checkpoint is passed over for the one before; without one, the chain begins anew."""
    for path in damaged:
        for mapped in (False, True):
            try:
                read_checkpoint(path, mapped=mapped)
            except pt.TraceError:
                continue
            raise AssertionError(f"{path}: the damage was not seen")
    trial.check_readable(damaged)
    read = (trial.folder / "read.txt").read_text()
    assert f"warning: {damaged[0]}: the checkpoint is damaged or cut short" in read, read
    resumed = trial.resume_to_end(draws=trial.case.draws).said
    for path in damaged:
        assert f"{path}: the checkpoint is damaged or cut short" in resumed, resumed
    expected = "continues from the one before" if len(damaged) == 1 else "starts again, with the same draws"
    assert expected in resumed, resumed
    return f"seen; the run {expected}, and says so; resumed, equal"


def begun_anew(trial: Trial, damaged: list[Path], way: str) -> str:
    """Without any checkpoint there is no draw, and the run begins anew."""
    assert trial.check_readable() == NO_DRAW
    trial.resume_to_end(draws=trial.case.draws)
    return "reading says that there is no draw yet; begins anew, equal"


def made_again(trial: Trial, damaged: list[Path], way: str) -> str:
    """One error names the array and what to remove; the run, resumed after that, makes the same draws."""
    array = damaged[0].relative_to(trial.run / "draws.zarr").parts[1]
    trial.read().expect(2, array)
    result, folder = trial.resume(draws=trial.case.draws), trial.run / "checkpoints"
    if result.code == 0:
        # Full chunks are not read when a run continues; reading reports them.
        trial.read().expect(2, array)
    else:
        folder = Path(result.expect(2, array, REMEDY).said.partition(REMEDY)[2].partition(", then")[0])
        assert trial.run in folder.parents, folder
    shutil.rmtree(folder)
    trial.resume_to_end(draws=trial.case.draws)
    return "one error that names it and what to remove; after that: resumed, equal"


def refused_or_equal(trial: Trial, damaged: list[Path], way: str) -> str:
    """Reading and resuming end with one error that names it, or with nothing but the right draws."""
    place = damaged[0].relative_to(trial.run)
    # An array's description is read with those of its group.
    name = str(place.parents[1]) if len(place.parts) > 2 else place.parts[0].partition(".")[0]
    outcome = "harmless: read and resumed, equal"
    if (result := trial.read()).code != 0:
        result.expect(2, trial.run, name)
        outcome = SEEN
    for step in (partial(trial.resume, draws=trial.case.draws), partial(trial.read, begun=False)):
        if (result := step()).code != 0:
            result.expect(2, trial.run, name)
            return SEEN
    return outcome


def refused(trial: Trial, damaged: list[Path], way: str) -> str:
    """Damage ends reading and resuming with one error; only a changed bit may be harmless."""
    outcome = refused_or_equal(trial, damaged, way)
    assert outcome == SEEN or way == "a bit changed", f"{damaged[0]}: {way}, and not seen"
    return outcome


class Damage(NamedTuple):
    """What is damaged, where, how, and what must hold; one of the files, or lists of files, of a run is chosen."""

    fault: str
    when: str
    ways: dict[str, Callable[[Path, np.random.Generator], None]]
    files: Callable[[Path], list[Path]] | Callable[[Path], list[list[Path]]]
    holds: Callable[[Trial, list[Path], str], str]


DAMAGES: dict[str, tuple[Damage, ...]] = {
    "checkpoints": (
        *(Damage("checkpoint", "the newest", CHANGED, newest, passed_over),) * 5,
        Damage("checkpoint", "both of a chain", CHANGED, pairs, passed_over),
    ),
    "chunks": (Damage("chunk of draws", "any", ANY, chunks, made_again),),
    "constants": (
        Damage("description of an array", "any", ANY, descriptions, refused_or_equal),
        Damage("data or constants in the store", "any", ANY, constants, refused_or_equal),
    ),
    "lost": (
        Damage("draws.zarr", "", REMOVED, lambda run: [run / "draws.zarr"], refused),
        Damage("checkpoints", "", REMOVED, lambda run: [run / "checkpoints"], begun_anew),
        Damage("run.json", "", ANY, lambda run: [run / "run.json"], refused),
        Damage("model.yaml", "", ANY, lambda run: [run / "model.yaml"], refused),
        Damage("corpus", "", REMOVED, lambda run: [run / "corpus"], refused),
        Damage("corpus", "", CHANGED, lambda run: files(run, "corpus/*"), refused),
    ),
}
"""By kind; the variants of a kind take turns."""


def strike_files(damages: tuple[Damage, ...], trial: Trial) -> list[Record]:
    """Damage files of a run that has half of its draws."""
    variants = [(damage, way) for damage in damages for way in damage.ways]
    damage, way = variants[trial.turn % len(variants)]
    trial.make_half()
    found = damage.files(trial.run)
    chosen = found[int(trial.rng.integers(len(found)))]
    damaged = chosen if isinstance(chosen, list) else [chosen]
    for path in damaged:
        damage.ways[way](path, trial.rng)
    place = str(damaged[0].relative_to(trial.run))
    outcome = damage.holds(trial, damaged, way)
    return [{"fault": f"{damage.fault}: {way}", "when": damage.when, "outcome": outcome, "path": place}]
