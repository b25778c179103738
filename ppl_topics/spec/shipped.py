"""The YAML models that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["shipped"]


def shipped() -> dict[str, Path]:
    """Return the YAML file of each shipped model by name."""
    return {path.stem: path for path in sorted(Path(str(files("ppl_topics.models"))).glob("*.yaml"))}
