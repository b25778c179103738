"""The errors that ppl-topics raises on purpose.

Each has a message of one line: where it happened, what was expected, what to do. The command line prints only that
message and exits with the code of the class.
"""

from __future__ import annotations

__all__ = [
    "CorpusError",
    "DeclarationError",
    "KernelError",
    "NotFiniteError",
    "PplTopicsError",
    "RunError",
    "ScheduleError",
    "SpecError",
    "StoppedError",
    "TraceError",
    "on_one_line",
]


class PplTopicsError(Exception):
    """Base of all errors that ppl-topics raises on purpose.

    Parameters
    ----------
    message : str
        Line ends and other invisible characters, which names in files may contain, are escaped.
    *details
        Further arguments, kept as they are.
    """

    exit_code = 2

    def __init__(self, message: object = "", *details: object) -> None:
        super().__init__(on_one_line(str(message)), *details)


class CorpusError(PplTopicsError, ValueError):
    """The corpus, or a file with a corpus, is invalid."""


class SpecError(PplTopicsError, ValueError):
    """A model specification is invalid; the message names file, line and column if there is a file."""


class ScheduleError(SpecError):
    """A schedule breaks one of the rules that keep the posterior invariant."""


class TraceError(PplTopicsError, ValueError):
    """Stored draws cannot be read, or lack what was requested."""


class RunError(PplTopicsError, RuntimeError):
    """Sampling started and could not continue."""

    exit_code = 1


class StoppedError(RunError):
    """A run was stopped by its user before the first draw."""


class KernelError(RunError):
    """A kernel failed in a sweep; sweep and chain are numbered from 0, or -1 if unknown."""

    def __init__(self, message: str, kernel: str = "", sweep: int = -1, chain: int = -1) -> None:
        # Only the message is an argument of the base; pickled copies get the rest as attributes.
        super().__init__(message)
        self.kernel, self.sweep, self.chain = kernel, sweep, chain


class DeclarationError(KernelError):
    """A kernel did what its declaration excludes; `breach` says what, such as "reads phi, ..."."""

    def __init__(self, message: str, kernel: str = "", sweep: int = -1, chain: int = -1, breach: str = "") -> None:
        super().__init__(message, kernel, sweep, chain)
        self.breach = breach


class NotFiniteError(KernelError):
    """A number that was drawn, or computed from draws, is infinite or not a number.

    The kernel is empty if none was involved; `variable` names the variable or statistic.
    """

    def __init__(self, message: str, kernel: str = "", sweep: int = -1, chain: int = -1, variable: str = "") -> None:
        super().__init__(message, kernel, sweep, chain)
        self.variable = variable


def on_one_line(text: str) -> str:
    r"""Return a text with line ends and other invisible characters escaped.

    Examples
    --------
    >>> print(on_one_line("a café\nand more"))
    a café\nand more
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
