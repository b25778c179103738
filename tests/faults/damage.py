"""Files of a run that are cut short, changed in one bit, or removed: which ones, and what must hold then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from runs import DRAWS, WARMUP, Outcome, Trial

from ppl_topics.results.run_folder.draws import STREAMED


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


def passed_over(trial: Trial, damaged: list[Path], way: str) -> str:
    """A damaged checkpoint is passed over for the one before; without one, the chain starts again."""
    trial.check_readable(damaged)
    read, resumed = (trial.folder / "read.txt").read_text(), trial.resume_to_end().said
    for path, said in ((damaged[0], read), *((path, resumed) for path in damaged)):
        assert f"{path}: the checkpoint is damaged or cut short" in said, said
    expected = "continues from the one before" if len(damaged) == 1 else "starts again, with the same draws"
    assert expected in resumed, resumed
    return f"seen; the run {expected}, and says so; resumed, equal"


def starts_again(trial: Trial, damaged: list[Path], way: str) -> str:
    """Without any checkpoint there is no draw, and the run starts again."""
    assert trial.check_readable() == 0
    trial.resume_to_end()
    return "reading says that there is no draw yet; starts again, equal"


def made_again(trial: Trial, damaged: list[Path], way: str) -> str:
    """One error names the array and what to remove; the run, resumed after that, makes the same draws."""
    array = damaged[0].relative_to(trial.run / "draws.zarr").parts[1]
    trial.read().expect(2, array)
    result, folder = trial.resume(), trial.run / "checkpoints"
    if result.code == 0:
        # Full chunks are not read when a run continues; reading reports them.
        trial.read().expect(2, array)
    else:
        _, _, remedy = result.expect(2, array, "Remove ").said.partition("Remove ")
        folder = Path(remedy.partition(", then")[0])
        assert trial.run in folder.parents, folder
    shutil.rmtree(folder)
    trial.resume_to_end()
    return "one error that names it and what to remove; after that: resumed, equal"


def refused(trial: Trial, damaged: list[Path], way: str) -> str:
    """Reading and resuming end with one error that names it; only a changed bit may be harmless."""
    place = damaged[0].relative_to(trial.run)
    # An array's description is read with those of its group.
    name = str(place.parents[1]) if len(place.parts) > 2 else place.parts[0].partition(".")[0]
    results = [trial.read(), trial.resume()]
    if results[1].code == 0:
        results.append(trial.read(ended=True))
    errors = [result.expect(2, trial.run, name) for result in results if result.code != 0]
    assert errors or way == "a bit changed", f"{damaged[0]}: {way}, and not seen"
    return "one error that names it (exit code 2)" if errors else "harmless: read and resumed, equal"


class Damage(NamedTuple):
    """What is damaged, where, how, and what must hold: one of the files, or folders, that patterns name."""

    fault: str
    when: str
    ways: dict[str, Callable[[Path, np.random.Generator], None]]
    patterns: tuple[str, ...]
    holds: Callable[[Trial, list[Path], str], str]


NEWEST = (f"checkpoints/*/*{WARMUP + DRAWS // 2}.ckpt",)
DRAWN = tuple(f"draws.zarr/{group}/*/c/*/*{deeper}" for group in STREAMED for deeper in ("", "/**/*"))
CONSTANT = ("draws.zarr/constant_data/*/c/**/*", "draws.zarr/observed_data/*/c/**/*", "draws.zarr/*/*/c/0")

CHECKPOINTS = (
    *(Damage("checkpoint", "the newest", CHANGED, NEWEST, passed_over),) * 5,
    Damage("checkpoint", "both of a chain", CHANGED, NEWEST, passed_over),
)
CHUNKS = (Damage("chunk of draws", "any", ANY, DRAWN, made_again),)
CONSTANTS = (
    Damage("description of an array", "any", ANY, ("draws.zarr/*/*/zarr.json",), refused),
    Damage("data or constants in the store", "any", ANY, CONSTANT, refused),
)
PARTS = (
    Damage("draws.zarr", "", REMOVED, ("draws.zarr",), refused),
    Damage("checkpoints", "", REMOVED, ("checkpoints",), starts_again),
    Damage("run.json", "", ANY, ("run.json",), refused),
    Damage("model.yaml", "", ANY, ("model.yaml",), refused),
    Damage("corpus", "", REMOVED, ("corpus",), refused),
    Damage("corpus", "", CHANGED, ("corpus/*",), refused),
)


def strike_files(damages: tuple[Damage, ...], trial: Trial) -> list[Outcome]:
    """Damage files of a run that has half of its draws; the variants take turns."""
    variants = [(damage, way) for damage in damages for way in damage.ways]
    damage, way = variants[trial.turn % len(variants)]
    shutil.copytree(trial.half(), trial.run)
    found = [path for pattern in damage.patterns for path in sorted(trial.run.glob(pattern))]
    chosen = found if damage.ways is REMOVED else [path for path in found if path.is_file()]
    damaged = [chosen[int(trial.rng.integers(len(chosen)))]]
    if damage.when == "both of a chain":
        damaged += [path for path in damaged[0].parent.glob("*.ckpt") if path != damaged[0]]
    for path in damaged:
        damage.ways[way](path, trial.rng)
    return [Outcome(f"{damage.fault}: {way}", damage.when, damage.holds(trial, damaged, way))]
