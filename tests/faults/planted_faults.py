"""Bugs planted in the package, one for each kind of fault: a trial of that kind must fail then.

python tests/faults --plant --kinds KIND --results faults.jsonl
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np


def lose_a_draw() -> None:
    """A resumed run forgets the last draw before its checkpoint."""
    from ppl_topics.results.run_folder.draws import ChainStream

    made = ChainStream.__init__

    def broken(self: Any, place: Any, counts: Any = (0, 0), names: Any = ()) -> None:
        made(self, place, (counts[0], max(0, counts[1] - 1)), names)

    ChainStream.__init__ = broken  # type: ignore[method-assign]


def forget_the_state() -> None:
    """A resumed run continues from its first state."""
    from ppl_topics.engine import checkpointing

    checkpointing._put_state = lambda executor, state, arrays: None


def stop_at_once() -> None:
    """The first Ctrl-C acts as the second one."""
    from ppl_topics.engine.interrupt import GracefulStop

    def broken(self: Any, number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    GracefulStop._handle = broken  # type: ignore[method-assign]


def say_nothing_of_a_death() -> None:
    from ppl_topics.engine.processes import _Worker
    from ppl_topics.errors import RunError

    _Worker._death = lambda self: RunError("something went wrong")  # type: ignore[method-assign]


def lock_nothing() -> None:
    from ppl_topics.engine import checkpointing
    from ppl_topics.results.run_folder import folder

    for module in (checkpointing, folder):
        module.locked = lambda *given: contextlib.nullcontext()  # type: ignore[attr-defined]


def check_no_digest() -> None:
    """All checkpoints have the same digest."""
    from ppl_topics.results.run_folder import checkpoint

    checkpoint._Checksum.digest = lambda self: bytes(checkpoint.DIGEST)  # type: ignore[method-assign]


def take_nothing_for_zeros() -> None:
    """What cannot be read is replaced by zeros, without an error."""
    from ppl_topics.results.run_folder import lazy

    read = lazy._Stored._read

    def broken(self: Any, key: Any) -> Any:
        try:
            return read(self, key)
        except Exception:
            return np.zeros(self.shape, self.dtype)[key]

    lazy._Stored._read = broken  # type: ignore[method-assign]
    lazy._check = lambda *given: None


def other_exit_codes() -> None:
    from ppl_topics.errors import RunError, TraceError

    RunError.exit_code, TraceError.exit_code = 2, 1


def leave_errors_of_disks_as_they_are() -> None:
    """They do not name the last checkpoint, nor say how to continue."""
    from ppl_topics.engine import chains

    chains._named = lambda chain: contextlib.nullcontext()


def lose_what_cannot_be_written() -> None:
    from ppl_topics.api import sampling
    from ppl_topics.errors import TraceError

    def broken(fit: Any, out: Any) -> Any:
        with contextlib.suppress(TraceError):
            fit.save(out)
        return out

    sampling.save_somewhere = broken


def check_no_memory() -> None:
    from ppl_topics.engine import run

    run.check_memory = lambda demand: None


PLANTED: dict[str, Callable[[], None]] = {
    "kills": lose_a_draw,
    "writes": forget_the_state,
    "stops": stop_at_once,
    "workers": say_nothing_of_a_death,
    "two": lock_nothing,
    "checkpoints": check_no_digest,
    "chunks": take_nothing_for_zeros,
    "constants": take_nothing_for_zeros,
    "lost": other_exit_codes,
    "full": leave_errors_of_disks_as_they_are,
    "file": lose_what_cannot_be_written,
    "read-only": other_exit_codes,
    "memory": check_no_memory,
}
"""By kind of fault; a command that is killed starts in an interpreter of its own, where nothing can be planted."""
