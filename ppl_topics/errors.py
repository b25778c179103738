"""The errors that ppl-topics raises on purpose.

Each carries one message for a person: where it happened, what was expected, what to do. The command line
prints that message alone and exits with the code of the class.
"""

from __future__ import annotations

__all__ = ["CorpusError", "PplTopicsError", "RunError", "ScheduleError", "SpecError", "TraceError"]


class PplTopicsError(Exception):
    """Base of all errors that ppl-topics raises on purpose."""

    exit_code = 2


class CorpusError(PplTopicsError, ValueError):
    """The corpus, or a file that should hold one, is not what was expected."""


class SpecError(PplTopicsError, ValueError):
    """A model specification is wrong; the message names file, line and column where there is a file."""


class ScheduleError(SpecError):
    """A schedule breaks one of the rules that keep the posterior invariant."""


class TraceError(PplTopicsError, ValueError):
    """A stored trace cannot be read, or lacks what was asked of it."""


class RunError(PplTopicsError, RuntimeError):
    """Sampling began and could not go on."""

    exit_code = 1
