"""A plug-in of one's own: a copy of the example in ``examples/plugin`` under another name."""

from __future__ import annotations

import os
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

import ppl_topics
from ppl_topics.corpus.names import NAME
from ppl_topics.errors import PplTopicsError

__all__ = ["new_plugin"]

EXAMPLE = "robust_topics"
"""Name of the example, in its files and in their paths."""

FILES = ("pyproject.toml", "README.md", "src/*/*.py", "src/*/*.yaml", "tests/*.py")


def new_plugin(name: str) -> list[Path]:
    """Write a package with a model, kernels and blocks into a new folder of its name, and return its files.

    Parameters
    ----------
    name : str
        Of the package; also the beginning of the names of its parts.

    Raises
    ------
    PplTopicsError
        If the name is not that of a Python package, or is taken, or the folder exists or cannot be written.
    """
    if not NAME.match(name) or iskeyword(name):
        raise PplTopicsError(
            f"{name!r} cannot be the name of a Python package; use lower-case letters, digits and _, a letter first, "
            "such as my_topics"
        )
    if os.path.lexists(name):
        raise PplTopicsError(f"{name}: exists already; choose another name, or work in another folder")
    if find_spec(name) is not None:
        raise PplTopicsError(f"a package named {name!r} is installed already; choose another name")
    example = _example()
    written = []
    for path in sorted(path for pattern in FILES for path in example.glob(pattern)):
        target = Path(name, str(path.relative_to(example)).replace(EXAMPLE, name))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text(encoding="utf-8").replace(EXAMPLE, name), encoding="utf-8")
        except OSError as error:
            raise PplTopicsError(f"{target}: cannot be written ({error.strerror})") from None
        written.append(target)
    return written


def _example() -> Path:
    """Return the folder of the example: beside this package in a checkout, inside it once installed."""
    homes = [Path(home, "examples", "plugin") for home in ppl_topics.__path__]
    return next(home for home in homes if home.is_dir())
