"""Stored runs in files: bytes of the file, and what stands in it, damaged; then read as users do."""

from __future__ import annotations

import json
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from harness import SECRET
from mutation import mutated_bytes, mutated_text
from trace_reading import RUNS, read_in_all_ways, small_corpus, use_command, use_fit

import ppl_topics as pt
from ppl_topics.results import opening, store


def _used() -> int:
    return int(sum(os.times()[:2])) + 1


def _probe_by_fork(path: Path) -> list[str]:
    """Do what `probe` does in a copy of this process, which need not start Python again."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        with os.fdopen(1, "w") as sys.stdout:
            opening._main(path.resolve(), _used() + 2)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    told = json.loads(text) if text else "the HDF5 library fails on it"
    if isinstance(told, str):
        raise ValueError(told)
    return list(told)


class Traces:
    """What these targets share: sound traces, and the way they are read."""

    def __init__(self) -> None:
        self.files: list[Path] = []

    def prepare(self, folder: Path) -> None:
        """Run each model, and read its trace in every way."""
        store.probe = _probe_by_fork
        opening.MEMORY = 1 << 60
        self.secret = folder / SECRET
        self.secret.write_bytes(b"secret" * 20)
        self.data = folder / "new.jsonl"
        self.data.write_text('{"text": "red green blue"}\n{"text": "vote law unseen"}\n')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model, options in RUNS.items():
                fit = pt.sample(
                    model, small_corpus(model), topics=3, draws=5, warmup=2, chains=2, seed=1, progress=False, **options
                )
                self.files.append(fit.save(folder / f"{model}.nc"))
                loaded = pt.load_fit(self.files[-1])
                read_in_all_ways(loaded, folder)
            rng = random.Random(0)
            for _ in range(20):
                use_command(rng, self.files[1], folder, self.data, self.files[1])

    def run(self, rng: random.Random, place: Path) -> None:
        """Load it, and read it."""
        path = place / "run.nc"
        if rng.random() < 0.25:
            use_command(rng, path, place, self.data, self.files[0])
        else:
            use_fit(pt.load_fit(path), rng, place)


class TraceFileTarget(Traces):
    """Bytes of the file: what HDF5 itself must bear."""

    name = "trace_file"

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged file."""
        data = rng.choice(self.files).read_bytes()
        others = [file.read_bytes() for file in self.files]
        (place / "run.nc").write_bytes(
            _same_length(rng, data) if rng.random() < 0.7 else mutated_bytes(rng, data, others)
        )


def _same_length(rng: random.Random, data: bytes) -> bytes:
    """Change bytes where they stand, so that the file stays one that HDF5 opens."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 5, 20))):
        at = rng.randrange(len(changed))
        size = rng.choice((1, 1, 2, 4, 8))
        piece = rng.choice((rng.randbytes(size), bytes(size), b"\xff" * size, (1).to_bytes(size, "little")))
        changed[at : at + size] = piece[: len(changed) - at]
    return bytes(changed)


class TraceTarget(Traces):
    """What stands in the file: groups, variables, their types, dims and values, attributes, links."""

    name = "trace"

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged file."""
        path = place / "run.nc"
        path.write_bytes(rng.choice(self.files).read_bytes())
        with h5py.File(path, "r+") as file:
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                try:
                    _damage(rng, file, self.files, self.secret)
                except (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError):
                    # Some damage is too great for HDF5 to write.
                    continue


def _damage(rng: random.Random, file: h5py.File, files: list[Path], secret: Path) -> None:
    # What a link leads to is of another file, and HDF5 touches that when it is but looked at.
    places = [name for name in file if _own(file, name, h5py.Group) and len(file[name])]
    group = file[rng.choice(places)]
    name = rng.choice(list(group))
    dataset = group[name] if _own(group, name, h5py.Dataset) else None
    action = rng.randrange(14)
    if action <= 3:
        if dataset is not None:
            _change_values(rng, dataset)
    elif action == 4:
        del group[name]
    elif action == 5:
        del file[group.name]
    elif action == 6:
        other = rng.choice(places)
        group.move(name, rng.choice((f"{name}x", f"/{name}", f"/{other}/{name}", "z_last", "topic")))
    elif action <= 8:
        main = file["posterior"] if "posterior" in places else group
        _change_attributes(rng, rng.choice((group, main if dataset is None else dataset, main, main)))
    elif action == 9:
        _change_links(rng, group, name, files, secret)
    elif action == 10:
        with h5py.File(rng.choice(files), "r") as other:
            source = other[rng.choice(list(other))]
            chosen = rng.choice(list(source))
            if chosen in group:
                del group[chosen]
            source.copy(chosen, group, chosen)
    elif dataset is not None:
        _replace(rng, group, name)


def _change_values(rng: random.Random, dataset: h5py.Dataset) -> None:
    if not 0 < dataset.size < 10**6:
        # None, or what stands in no file: a dataset may promise 10^9.
        return
    values = np.array(dataset[()])
    flat = values.reshape(-1)
    for _ in range(rng.choice((1, 1, 3, flat.size))):
        at = rng.randrange(flat.size)
        if values.dtype.kind in "iu":
            info = np.iinfo(values.dtype)
            flat[at] = rng.choice((0, 1, info.min, info.max, int(flat[at]) ^ 1, min(info.max, 10**6)))
        elif values.dtype.kind == "f":
            flat[at] = rng.choice((0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1.0, 1e30))
        elif values.dtype.kind == "O":
            flat[at] = rng.choice((b"", b"\xff\xfe", b"a\x00b", b"x" * 3000, flat[0], b"red", "é\n".encode(), b"[]"))
    dataset[...] = values


def _change_attributes(rng: random.Random, item: Any) -> None:
    names = list(item.attrs)
    name = rng.choice(
        [*names, "model_yaml", "model_yaml", "kind", "units", "scale_factor", "_FillValue", "dtype", "exact"]
    )
    action = rng.randrange(4)
    if action == 0 and name in names:
        del item.attrs[name]
    elif action == 1 and "model_yaml" in names:
        text = str(item.attrs["model_yaml"])
        item.attrs["model_yaml"] = mutated_text(rng, text.encode()).decode(errors="replace").replace("\0", "")
    elif action == 2 and "model_yaml" in names:
        item.attrs["model_yaml"] = rng.choice(
            ("lda", "/etc/passwd", "extends: lda\nname: x\n", "a: &a [*a]\n", "[", "name: x\n", "- 1\n", "x\n" * 9)
        )
    else:
        item.attrs[name] = rng.choice(
            (
                0,
                -1,
                2**62,
                1.5,
                np.nan,
                "",
                "x",
                "days since 2000-01-01",
                "bool",
                [1, 2],
                ["a", "b"],
                "class",
                np.zeros((2, 2)),
            )
        )


def _own(group: h5py.Group, name: str, kind: type) -> bool:
    """Tell whether a group or dataset stands in the file, and its values too."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink) or not isinstance(group[name], kind):
        return False
    return kind is h5py.Group or (not group[name].external and not group[name].is_virtual)


def _change_links(rng: random.Random, group: h5py.Group, name: str, files: list[Path], secret: Path) -> None:
    place = rng.choice((name, "words", "new", "phi_mean"))
    if place in group:
        del group[place]
    action = rng.randrange(5)
    if action == 0:
        group[place] = h5py.SoftLink(rng.choice(("/posterior/phi", "/posterior", "/nowhere", group.name)))
    elif action == 1:
        group[place] = h5py.ExternalLink(str(rng.choice(files)), "/posterior/phi")
    elif action == 2:
        group[place] = group if rng.random() < 0.5 else group.file["posterior"]
    elif action == 3:
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(str(rng.choice(files)), "/posterior/lp", shape=(4,))
        group.create_virtual_dataset(place, layout)
    else:
        group.create_dataset(place, (100,), "u1", external=[(str(secret), 0, 100)])


def _replace(rng: random.Random, group: h5py.Group, name: str) -> None:
    """Put another dataset in the place of one, its attributes (and so its dims) kept."""
    old = group[name]
    attributes = {key: old.attrs[key] for key in old.attrs if key not in ("REFERENCE_LIST",)}
    shape, dtype = old.shape, old.dtype
    del group[name]
    kinds: list[Any] = ["f8", "f4", "f2", "i8", "u1", "i2", "u8", "S4", "c16", h5py.string_dtype(), "V4", bool, ">i4"]
    action = rng.randrange(4)
    if action == 0:
        new = group.create_dataset(name, shape, rng.choice(kinds))
    elif action == 1:
        sizes = (0, 1, 2, 3, 7, 10**4, 10**9, 2**40)
        new = group.create_dataset(name, tuple(rng.choice((n, rng.choice(sizes))) for n in shape), dtype, chunks=True)
    elif action == 2:
        new = group.create_dataset(name, rng.choice(((), (1,), (3, 3), (2, 5, 3), (1,) * 9, (10**9,))), dtype)
    else:
        new = group.create_dataset(name, (*shape, 2), dtype)
    for key, value in attributes.items():
        new.attrs[key] = value
