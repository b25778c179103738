"""How messages name an argument: ``min_df`` in Python, ``--min-df`` on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["argument", "arguments_are_options", "parameter"]

_OPTIONS = ContextVar("arguments are options of the command line", default=False)


@contextmanager
def arguments_are_options() -> Iterator[None]:
    """Let messages name arguments as options, as whoever typed a command knows them."""
    token = _OPTIONS.set(True)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def argument(name: str) -> str:
    """Return the name of an argument as the user wrote it.

    Examples
    --------
    >>> argument("min_df")
    'min_df'
    >>> with arguments_are_options():
    ...     argument("min_df")
    '--min-df'
    """
    return "--" + name.replace("_", "-") if _OPTIONS.get() else name


def parameter(name: str) -> str:
    """Return the name of a parameter of a model as the user set it."""
    return f"--set {name}" if _OPTIONS.get() else f"argument {name}"
