"""Stored runs: bytes of the file, and what stands in it, damaged; then read as users do, and by the command line."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
import yaml
from harness import SECRET
from mutation import mutated_bytes, mutated_text, mutated_tree
from spec_targets import check_exit

import ppl_topics as pt
from ppl_topics.fit import Fit
from ppl_topics.models import shipped
from ppl_topics.trace import opening, store
from ppl_topics.trace.validation import check_groups

__all__ = [
    "TraceFileTarget",
    "TraceGroupsTarget",
    "TraceTarget",
    "read_in_all_ways",
    "small_corpus",
    "use_command",
    "use_fit",
]

RUNS: dict[str, dict[str, Any]] = {
    "lda": {"record": {"z": "all"}},
    "medlda": {},
    "slda_covariates": {},
    "lda_spike_slab": {},
    "medlda_one_vs_all": {},
    "medlda_regression": {"record": {"phi": {"top_words": 3}, "theta": {"docs": 2}}},
}
"""Models whose traces are damaged, and how they are run."""

TEXTS = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"], ["red"]] * 2
LABELS = ["a", "b", "a", "c", "b"] * 2
NUMBERS = [0.5, 1.5, None, 2.0, -1.0] * 2


def small_corpus(model: str) -> pt.Corpus:
    """Return the corpus that a model is run on, of a few documents."""
    real = model in ("medlda_regression", "slda_gaussian")
    covariates = [[i, i % 3] for i in range(len(TEXTS))] if "covariates" in model or "dolda" in model else None
    return pt.Corpus.from_tokens(TEXTS, labels=NUMBERS if real else LABELS, covariates=covariates)


def _reading(rng: random.Random, place: Path) -> list[tuple[str, Callable[[Fit], Any]]]:
    new = ["red green blue", "vote law unseen"]
    exported = place / f"out{rng.choice(('.csv', '.tsv.gz', '.json', '.gz'))}"
    what = rng.choice(("topics", "theta", "eta", "state", "json"))
    phi: Any = rng.choice(("mean", "draws"))
    options: dict[str, Any] = {"warmup": 1, "draws": 2, "seed": 1, "threads": 1}
    return [
        ("topics", lambda fit: fit.topics(rng.choice((1, 10)), chain=rng.choice((0, 1)))),
        ("efficiency", lambda fit: fit.efficiency()),
        ("verdict", lambda fit: str(fit.verdict())),
        ("aligned", lambda fit: repr(fit.aligned())),
        ("coefficients", lambda fit: fit.coefficients()),
        ("topic_relevance", lambda fit: fit.topic_relevance()),
        ("signal_topics", lambda fit: fit.signal_topics()),
        ("effective_coefficients", lambda fit: fit.effective_coefficients()),
        ("zeros_in_phi", lambda fit: fit.zeros_in_phi()),
        ("report", lambda fit: fit.report(place / "page.html")),
        ("export", lambda fit: fit.export(what, exported)),
        ("to_frame", lambda fit: fit.to_frame(rng.choice(("topics", "theta", "eta")))),
        ("topic_model", lambda fit: fit.topic_model()),
        ("transform", lambda fit: fit.transform(new, **options)),
        ("predict", lambda fit: fit.predict(new, **options)),
        ("predict_proba", lambda fit: fit.predict_proba(new, **options)),
        ("decision_function", lambda fit: fit.decision_function(new, **options)),
        ("predictive", lambda fit: fit.predictive(new, **options)),
        ("classes", lambda fit: fit.classes),
        ("held_out", lambda fit: fit.held_out(new, particles=2, seed=1, threads=1, phi=phi)),
        ("spec", lambda fit: fit.spec),
        ("exact", lambda fit: fit.exact),
        ("idata", lambda fit: repr(fit.idata)),
        ("topic_quality", lambda fit: fit.topic_quality()),
        ("frex_words", lambda fit: fit.frex_words()),
        ("topic_diversity", lambda fit: fit.topic_diversity()),
        ("relevance_terms", lambda fit: fit.relevance_terms()),
        ("to_pyldavis", lambda fit: fit.to_pyldavis()),
        ("predictive_checks", lambda fit: fit.predictive_checks(replications=2)),
        ("save", lambda fit: fit.save(place / "again.nc")),
    ]


def use_fit(fit: Fit, rng: random.Random, place: Path, times: int = 4) -> None:
    """Read a fit in some ways; each may refuse what it cannot read."""
    repr(fit)
    refused = None
    for _, read in rng.sample(_reading(rng, place), times):
        try:
            read(fit)
        except pt.PplTopicsError as error:
            if "\n" in str(error):
                raise
            refused = error
    if refused is not None:
        raise refused


def read_in_all_ways(fit: Fit, place: Path) -> None:
    """Read a sound fit, so that what is compiled and imported is there before the first case."""
    for _, read in _reading(random.Random(0), place):
        with contextlib.suppress(pt.PplTopicsError):
            read(fit)


def use_command(rng: random.Random, run: Path, place: Path, data: Path, sound: Path) -> None:
    """Read a run by the command line."""
    out = ["--out", str(place / "out.csv")]
    check_exit(
        rng.choice(
            (
                ["diagnose", str(run)],
                ["diagnose", str(run), "--align", "--json"],
                ["topics", str(run), "--chain", rng.choice("01")],
                ["topics", str(run), "--quality", "--json"],
                ["report", str(run), "--out", str(place / "page.html")],
                ["compare", str(run), str(sound)],
                ["compare", str(sound), str(run), "--json"],
                ["coefficients", str(run)],
                ["export", str(run), "--what", rng.choice(("topics", "theta", "eta")), *out],
                ["predict", str(run), "--data", str(data)],
                ["predict", str(run), "--data", str(data), "--json", "--eta", rng.choice(("last", "draws", "0"))],
            )
        )
    )


def _used() -> int:
    return int(sum(os.times()[:2])) + 1


def _probe_by_fork(path: Path) -> list[str]:
    """Do what `probe` does in a copy of this process, which need not start Python anew."""
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


class _Traces:
    """What both targets share: sound traces, and the way they are read."""

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


class TraceFileTarget(_Traces):
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


class TraceTarget(_Traces):
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
    group = file[rng.choice(list(file))]
    if not isinstance(group, h5py.Group) or not len(group):
        return
    name = rng.choice(list(group))
    dataset = group[name]
    action = rng.randrange(14)
    if action <= 3:
        # What a link leads to is not of this file, and is written all the same.
        if _own(group, name):
            _change_values(rng, dataset)
    elif action == 4:
        del group[name]
    elif action == 5:
        del file[group.name]
    elif action == 6:
        other = file[rng.choice(list(file))]
        group.move(name, rng.choice((f"{name}x", f"/{name}", f"{other.name}/{name}", "z_last", "topic")))
    elif action <= 8:
        item = rng.choice((group, dataset, file["posterior"], file["posterior"]))
        # What a link leads to may be of another file.
        if item.file.filename == file.filename:
            _change_attributes(rng, item)
    elif action == 9:
        _change_links(rng, group, name, files, secret)
    elif action == 10:
        with h5py.File(rng.choice(files), "r") as other:
            source = other[rng.choice(list(other))]
            chosen = rng.choice(list(source))
            if chosen in group:
                del group[chosen]
            source.copy(chosen, group, chosen)
    else:
        _replace(rng, group, name)


def _change_values(rng: random.Random, dataset: h5py.Dataset) -> None:
    values = np.array(dataset[()])
    if not values.size:
        return
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
        text = item.attrs["model_yaml"]
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


def _own(group: h5py.Group, name: str) -> bool:
    """Tell whether a dataset stands in the file."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink) or not isinstance(group[name], h5py.Dataset):
        return False
    return not group[name].external and not group[name].is_virtual


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


class TraceGroupsTarget(_Traces):
    """Groups that do not fit together: names, dims, coordinates, types, models; most of them are never in a file."""

    name = "trace_groups"

    def prepare(self, folder: Path) -> None:
        """Keep the groups of the sound traces too."""
        super().prepare(folder)
        self.groups = [pt.load_fit(path).groups for path in self.files]
        self.models = [path.read_text() for _, path in sorted(shipped().items())]

    def make(self, rng: random.Random, place: Path) -> None:
        """Put a trace together wrongly, and now and then write it."""
        self.made = groups = dict(rng.choice(self.groups))
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            try:
                self._damage(rng, groups)
            except (ValueError, TypeError, KeyError, IndexError, OverflowError):
                # What xarray does not let one build.
                continue
        if rng.random() < 0.1:
            # What is too wrong to be written is read from memory.
            with contextlib.suppress(Exception):
                store.save_groups(groups, place / "run.nc")

    def run(self, rng: random.Random, place: Path) -> None:
        """Check it as a file's contents are, and read it."""
        if (place / "run.nc").exists():
            super().run(rng, place)
            return
        check_groups(self.made, "run.nc")
        use_fit(Fit(self.made), rng, place)

    def _damage(self, rng: random.Random, groups: dict[str, xr.Dataset]) -> None:
        where = rng.choice(list(groups))
        group = groups[where]
        action = rng.randrange(12)
        if action == 0:
            groups[where] = self._with_text(rng, group)
        elif action == 1:
            # Along one dim, in one group or in all of them.
            dim = rng.choice([str(dim) for dim in group.sizes])
            keep = _kept(rng, group.sizes[dim])
            for name in [where] if rng.random() < 0.5 else list(groups):
                if groups[name].sizes.get(dim) == group.sizes[dim]:
                    groups[name] = groups[name].isel({dim: keep})
        elif action == 2:
            dim = rng.choice([str(dim) for dim in group.coords])
            values = _other_names(rng, group[dim].values)
            for name in [where] if rng.random() < 0.5 else list(groups):
                if groups[name].sizes.get(dim) == len(values):
                    groups[name] = groups[name].assign_coords({dim: values})
        elif action == 3:
            group = groups[where] = group.drop_vars(rng.choice([str(name) for name in group.variables]))
        elif action == 4:
            del groups[rng.choice([name for name in groups if name != "posterior"])]
        elif action == 5:
            others = rng.choice((groups, rng.choice(self.groups)))
            other = others[rng.choice(list(others))]
            chosen = rng.choice([str(name) for name in other.data_vars])
            name = rng.choice((chosen, chosen, rng.choice([str(name) for name in group.data_vars]), "alpha", "beta"))
            groups[where] = group.drop_vars(name, errors="ignore").assign({name: other[chosen].drop_vars(other.coords)})
        else:
            name = rng.choice([str(name) for name in group.data_vars])
            groups[where] = group.drop_vars(name).assign({name: _other_array(rng, group[name])})

    def _with_text(self, rng: random.Random, group: xr.Dataset) -> xr.Dataset:
        """Give the group another model, or other attributes."""
        text = rng.choice((str(group.attrs["model_yaml"]), rng.choice(self.models)))
        if rng.random() < 0.7:
            tree = mutated_tree(rng, yaml.safe_load(text))
            text = yaml.safe_dump(tree, sort_keys=False)
        return group.assign_attrs(model_yaml=text)


def _kept(rng: random.Random, size: int) -> Any:
    return rng.choice(
        ([], [0], [size - 1], list(range(size - 1)), list(range(size))[::-1], [*range(size), 0], [0] * size)
    )


def _other_names(rng: random.Random, values: Any) -> Any:
    """Return other names or numbers along a dim."""
    numbers = np.arange(len(values))
    texts = np.array([f"name {number}" for number in numbers], dtype=object)
    return rng.choice((values[::-1], numbers, numbers + 7, numbers * 1.5, texts, np.roll(values, 1), numbers % 2 == 0))


def _other_array(rng: random.Random, array: xr.DataArray) -> xr.DataArray:
    """Return a variable with other dims, another type or other values."""
    dims = [str(dim) for dim in array.dims]
    action = rng.randrange(8)
    if action == 0:
        return array.transpose(*rng.sample(dims, len(dims)))
    if action == 1:
        return array.isel({rng.choice(dims): 0}, drop=True)
    if action == 2:
        new = rng.choice(("response", "chain", "draw", "topic", "doc", "word", "class", "coefficient", "x"))
        return array.expand_dims(new, axis=rng.randrange(len(dims) + 1))
    if action == 3:
        new = rng.choice(("response", "topic", "doc", "word", "token", "class", "coefficient", "slope", "x"))
        return array.drop_vars(array.coords).rename({rng.choice(dims): new})
    if action == 4:
        return array.astype(rng.choice(("f8", "f4", "i8", "i4", "u1", "i1", "u8", bool)))
    if action == 5:
        return array.isel({rng.choice(dims): slice(0, rng.choice((0, 1)))}).drop_vars(array.coords, errors="ignore")
    values = array.values.copy()
    flat = values.reshape(-1)
    if action == 6 and values.dtype.kind == "f":
        flat[:: rng.choice((1, 2, max(1, flat.size)))] = rng.choice((0.0, np.nan, np.inf, -1.0, 1e300, 1e-300))
    else:
        flat[:: rng.choice((1, 2, max(1, flat.size)))] = rng.choice((0, 1, 2, 3, 100))
    return array.copy(data=values)
