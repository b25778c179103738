"""Stored runs of groups that do not fit together, most of them in memory alone."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml
from mutation import mutated_tree
from trace_reading import use_fit
from trace_targets import Traces

import ppl_topics as pt
from ppl_topics.fit import Fit
from ppl_topics.results import store
from ppl_topics.results.validation import check_groups
from ppl_topics.spec.shipped import shipped


class TraceGroupsTarget(Traces):
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
