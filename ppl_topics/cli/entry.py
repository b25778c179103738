"""The entry point: every outcome of a command becomes an exit code and, if it failed, one line.

Exit codes: 0 done, 1 ran and failed (or `verify` refused), 2 bad input or usage.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ppl_topics._util.argument_names import arguments_are_options
from ppl_topics.errors import PplTopicsError

__all__ = ["main"]

FAILED = 1
INTERRUPTED_BY_SHELL_CODE = 130
OUTPUT_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
TRACEBACK = "PPL_TOPICS_TRACEBACK"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _never_fail_to_print()
    try:
        # Here, so that an interrupt of these slow imports is caught too.
        from ppl_topics.cli.app import app

        with warnings.catch_warnings(), arguments_are_options():
            warnings.showwarning = _showing_each_once()
            # Ours are of this category. All of them are shown: they have no line in a program of the user.
            warnings.simplefilter("always", UserWarning)
            code = app(given or ["--help"], prog_name="ppl-topics", standalone_mode=False)
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        return _exit_code(error)
    if code == INTERRUPTED_BY_SHELL_CODE:
        return _exit_code(KeyboardInterrupt())
    if not given:
        return PplTopicsError.exit_code
    return code if isinstance(code, int) else 0


def _exit_code(error: BaseException) -> int:
    """Print what went wrong, and return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        return _fail("interrupted; nothing more was done", FAILED)

    import typer

    if isinstance(error, typer.Abort):
        return _exit_code(KeyboardInterrupt())
    if isinstance(error, PplTopicsError):
        return _fail(error, error.exit_code)
    if isinstance(error, MemoryError):
        return _fail(
            "out of memory; record less (--record theta=none), thin more (--thin), use fewer --chains, fewer topics, "
            "or fewer words (--min-count)",
            FAILED,
        )
    if isinstance(error, BrokenPipeError):
        # The reader of our output has left, as in `ppl-topics kernels | head -1`: leave quietly.
        _discard_output()
        return FAILED
    if isinstance(error, OSError) and error.errno in OUTPUT_FULL and error.filename is None:
        _discard_output()
        return _fail(f"the output cannot be written ({error.strerror})", FAILED)
    return _unexpected(error)


def _fail(message: object, code: int) -> int:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    print(f"error: {_one_line(message)}", file=sys.stderr)
    return code


def _unexpected(error: BaseException) -> int:
    # Usage errors: their class has moved between versions of typer, their methods have not.
    describe = getattr(error, "format_message", None)
    if callable(describe):
        message = _one_line(describe())
        context: Any = getattr(error, "ctx", None)
        hint = f"; try: {context.command_path} --help" if context is not None else ""
        return _fail(f"{message.rstrip('.')}{hint}", PplTopicsError.exit_code)
    more = "" if os.environ.get(TRACEBACK) else f" (set {TRACEBACK}=1 to see where, and please report it)"
    return _fail(f"internal error: {type(error).__name__}: {error}{more}", FAILED)


def _discard_output() -> None:
    """Keep Python from failing again when it empties its buffers at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _never_fail_to_print() -> None:
    """Print what the terminal's encoding lacks as escapes, and nothing if a stream was closed (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def _showing_each_once() -> Callable[..., None]:
    """Return what shows warnings, each text once, for a command may run several models."""
    shown: set[str] = set()

    def show(message: Warning | str, *place: object, **more: object) -> None:
        text = _one_line(message)
        if text not in shown:
            shown.add(text)
            print(f"warning: {text}", file=sys.stderr)

    return show
