"""How messages name an argument: ``min_df`` in Python, ``--min-df`` on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "are_options",
    "argument",
    "arguments",
    "arguments_are_options",
    "parameter",
    "recording",
    "set_parameter",
    "setting",
    "spelled",
]

OTHERWISE = {"n_words": "words", "var_names": "var"}
"""Arguments that are options of another name."""

_OPTIONS = ContextVar("arguments are options of the command line", default=False)


@contextmanager
def arguments_are_options() -> Iterator[None]:
    """Let messages name arguments as options, as whoever typed a command knows them."""
    token = _OPTIONS.set(True)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def are_options() -> bool:
    """Tell whether messages name arguments as options."""
    return _OPTIONS.get()


def argument(name: str) -> str:
    """Return the name of an argument as the user wrote it.

    Examples
    --------
    >>> argument("min_df")
    'min_df'
    >>> with arguments_are_options():
    ...     argument("min_df"), argument("n_words")
    ('--min-df', '--words')
    """
    return "--" + OTHERWISE.get(name, name).replace("_", "-") if are_options() else name


def arguments(*names: str) -> str:
    """Return the names of arguments as the user wrote them: "a", or "a, b and c"."""
    *others, last = map(argument, names)
    return f"{', '.join(others)} and {last}" if others else last


def setting(name: str, value: object) -> str:
    """Return an argument with a value as the user would write it.

    Examples
    --------
    >>> setting("out", "FOLDER"), setting("overwrite", True)
    ("out='FOLDER'", 'overwrite=True')
    >>> with arguments_are_options():
    ...     setting("out", "FOLDER"), setting("overwrite", True)
    ('--out FOLDER', '--overwrite')
    """
    if not are_options():
        return f"{name}={value!r}"
    return argument(name) if value is True else f"{argument(name)} {value}"


def recording(rules: Mapping[str, str]) -> str:
    """Return what to record of some variables as the user would write it."""
    return " ".join(f"--record {name}={rule}" for name, rule in rules.items()) if are_options() else f"record={rules}"


def parameter(name: str) -> str:
    """Return the name of a parameter of a model as the user set it."""
    return f"--set {name}" if are_options() else f"argument {name}"


def set_parameter(name: str, value: object) -> str:
    """Return a parameter of a model with a value as the user would write it."""
    return f"--set {name}={value}" if are_options() else f"{name}={value!r}"


def spelled(python: str, command: str) -> str:
    """Return what to write in Python, or on the command line, whichever the user does.

    Examples
    --------
    >>> spelled("pt.plan", "`ppl-topics plan`")
    'pt.plan'
    """
    return command if are_options() else python
