"""Bugs planted in the package, at least one for each kind of fault: a trial of that kind must fail then."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from ppl_topics.errors import RunError, TraceError
from ppl_topics.results.run_folder import checkpoint
from ppl_topics.results.run_folder.draws import ChainStream
from ppl_topics.results.run_folder.lazy import _Stored

made, read = ChainStream.__init__, _Stored._read


def forget_the_last_draw(self: Any, place: Any, counts: Any = (0, 0), names: Any = ()) -> None:
    """A resumed run forgets the last draw before its checkpoint."""
    made(self, place, (counts[0], max(0, counts[1] - 1)), names)


def read_zeros(self: Any, key: Any) -> Any:
    """What cannot be read is replaced by zeros, without an error."""
    try:
        return read(self, key)
    except Exception:
        return np.zeros(self.shape, self.dtype)[key]


def stop_at_once(self: Any, number: int, frame: Any) -> None:
    """The first Ctrl-C acts as the second one."""
    raise KeyboardInterrupt


def lose_draws(fit: Any, out: Any) -> Any:
    """Draws that cannot be written are lost without an error."""
    with contextlib.suppress(TraceError):
        fit.save(out)
    return out


def nothing(*given: Any) -> None:
    """Leave out a check, or the state of a checkpoint."""


def no_context(*given: Any) -> Any:
    """Lock nothing, or leave errors as they are."""
    return contextlib.nullcontext()


def begin_without_topics(self: Any, state: Any, memories: Any, seed: int, chain: int, number: int) -> None:
    """When a worker was lost, the others begin without topics."""
    if self._open.get(chain) is not state:
        begun = state.copy()
        if self.deals > 1:
            begun.z[:] = 0
        self._begin(chain, begun)
        self._open[chain] = state


ZEROS = {"results.run_folder.lazy._Stored._read": read_zeros}
OTHER_EXIT_CODES = {"errors.RunError.exit_code": 2, "errors.TraceError.exit_code": 1}

PLANTED: dict[str, dict[str, Any]] = {
    "kills": {"results.run_folder.draws.ChainStream.__init__": forget_the_last_draw},
    "writes": {"engine.checkpointing._put_state": nothing},
    "stops": {"engine.interrupt.GracefulStop._handle": stop_at_once},
    "workers": {"engine.processes._Worker._death": lambda self: RunError("something went wrong")},
    "cluster": {"engine.cluster.sharded.ShardedExecutor._catch_up": begin_without_topics},
    "two": {"engine.checkpointing.locked": no_context, "results.run_folder.folder.locked": no_context},
    "checkpoints": {"results.run_folder.checkpoint._Checksum.digest": lambda self: bytes(checkpoint.DIGEST)},
    "chunks": ZEROS,
    "constants": ZEROS,
    "lost": OTHER_EXIT_CODES,
    "full": {"engine.chains._named": no_context},
    "file": {"api.sampling.save_somewhere": lose_draws},
    "read-only": OTHER_EXIT_CODES,
    "memory": {"engine.run.check_memory": nothing},
}
"""By kind of fault; a command that is killed runs in another interpreter, where nothing can be planted."""


def plant(kind: str) -> None:
    """Plant the bugs of a kind in this process."""
    for where, broken in PLANTED[kind].items():
        pytest.MonkeyPatch().setattr(f"ppl_topics.{where}", broken)
