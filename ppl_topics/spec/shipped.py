"""The YAML models that are known by name: those that come with this package, and those of others."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from ppl_topics._util.importing import load_entry_point
from ppl_topics.errors import SpecError

__all__ = ["GROUP", "known_models", "shipped"]

GROUP = "ppl_topics.models"
"""Entry points whose values are packages with models, a file ``NAME.yaml`` for each."""


def shipped() -> dict[str, Path]:
    """Return the YAML file of each shipped model by name."""
    return _models_in("ppl_topics.models")


def known_models() -> dict[str, Path]:
    """Return the YAML file of each shipped model, and of each model of other packages, by name.

    Raises
    ------
    SpecError
        If an entry point fails to load or has no models, or two packages have a model of the same name.
    """
    found = shipped()
    owners = dict.fromkeys(found, "ppl-topics")
    for point in _entry_points(tuple(sys.path)):
        package, owner = load_entry_point(point), _owner(point)
        models = _models_in(package) if hasattr(package, "__path__") else {}
        if not models:
            raise SpecError(
                f"package {owner!r}: entry point {point.name!r} of group {GROUP!r} ({point.value}) must name a package "
                "with models, a file NAME.yaml for each; fix or uninstall it"
            )
        for name, path in models.items():
            if found.get(name, path) != path:
                raise SpecError(
                    f"the packages {owners[name]!r} and {owner!r} both have a model named {name!r}; "
                    "rename one of them, or uninstall one of the packages"
                )
            found[name], owners[name] = path, owner
    return found


@cache
def _entry_points(path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points of all packages in these folders, which takes a hundredth of a second to find out."""
    return entry_points(group=GROUP)


def _models_in(package: str | ModuleType) -> dict[str, Path]:
    return {path.stem: path for path in sorted(Path(str(files(package))).glob("*.yaml"))}


def _owner(point: EntryPoint) -> str:
    """Return what a package is installed as."""
    return point.dist.name if point.dist is not None else point.module
