"""Run folders: manifest, model, draws and checkpoints, damaged, with checksums that may be put right."""

from __future__ import annotations

import json
import random
import shutil
import warnings
from pathlib import Path

import numpy as np
from harness import SECRET
from mutation import mutated_bytes, mutated_text, mutated_tree
from sealing import content_of_chunk, seal_corpus, seal_manifest, sealed_chunk
from trace_reading import read_in_all_ways, small_corpus, use_command, use_fit

import ppl_topics as pt
from ppl_topics.results.run_folder.checkpoint import DIGEST, digest_of


def _other_numbers(rng: random.Random, content: bytes) -> bytes:
    """Change numbers among those of a chunk, which stays as long as it is."""
    kind = rng.choice((np.float64, np.float32, np.int64, np.int32))
    values = np.frombuffer(content[: len(content) // 8 * 8], kind).copy()
    for _ in range(rng.choice((1, 2)) if len(values) else 0):
        number = rng.choice((0, -1, 1, 2, 3, 10**6, 2**31 - 1, 0.5, -0.5, 1e30))
        values[rng.randrange(len(values))] = number if kind in (np.float64, np.float32) else int(number) % 2**31
    return values.tobytes() + content[values.nbytes :]


class RunFolderTarget:
    """Folders that ``ppl-topics run --out`` writes, read and resumed."""

    name = "run_folder"

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def prepare(self, folder: Path) -> None:
        """Run two models, and read and resume what they left."""
        self.secret = folder / SECRET
        self.secret.write_text("{}")
        self.data = folder / "new.jsonl"
        self.data.write_text('{"text": "red green blue"}\n{"text": "vote law unseen"}\n')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model in ("lda", "medlda"):
                self.folders.append(folder / model)
                options = {"topics": 3, "draws": 5, "warmup": 2, "chains": 2, "seed": 1, "progress": False}
                pt.sample(model, small_corpus(model), out=folder / model, checkpoint_sweeps=3, **options)
                read_in_all_ways(pt.load_fit(folder / model), folder)
            shutil.copytree(self.folders[0], folder / "again")
            pt.resume(folder / "again", draws=6, progress=False)

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged folder."""
        folder = place / "run"
        shutil.copytree(rng.choice(self.folders), folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        kinds = ("run.json", "model.yaml", ".ckpt", "zarr.json", "meta.json", "0", "")
        for _ in range(rng.choice((1, 1, 2))):
            kind = rng.choice(kinds)
            path = rng.choice([path for path in files if path.name.endswith(kind)] or files)
            # What was made a link leads elsewhere.
            if path.exists() and not path.is_symlink():
                self._damage(rng, path)
        if rng.random() < 0.5:
            seal_corpus(folder / "corpus")
            seal_manifest(folder)

    def _damage(self, rng: random.Random, path: Path) -> None:
        data = path.read_bytes()
        action = rng.random()
        if action < 0.05:
            path.unlink()
        elif action < 0.08:
            path.unlink()
            path.symlink_to(rng.choice(("/dev/zero", str(self.secret), "run.json")))
        elif path.suffix == ".json" and action < 0.8:
            try:
                path.write_text(json.dumps(mutated_tree(rng, json.loads(data))))
            except (ValueError, RecursionError):
                # Damaged before.
                path.write_bytes(mutated_text(rng, data))
        elif path.suffix == ".ckpt" and action < 0.8:
            content = mutated_text(rng, data[:-DIGEST]) if rng.random() < 0.5 else mutated_bytes(rng, data[:-DIGEST])
            path.write_bytes(content + digest_of(content))
        elif path.name.isdecimal() and action < 0.8:
            content = content_of_chunk(data)
            damaged = mutated_text(rng, content) if rng.random() < 0.5 else _other_numbers(rng, content)
            path.write_bytes(sealed_chunk(damaged, times=rng.choice((1, 1, 1, 1, 1, 2, 300))))
        else:
            path.write_bytes(mutated_text(rng, data))

    def run(self, rng: random.Random, place: Path) -> None:
        """Load and read it, or go on with it."""
        folder = place / "run"
        how = rng.random()
        if how < 0.15:
            use_command(rng, folder, place, self.data, self.folders[0])
        elif how < 0.4:
            pt.resume(folder, draws=6, progress=False)
        else:
            use_fit(pt.load_fit(folder), rng, place)
