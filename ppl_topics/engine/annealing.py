"""Concentrations at a temperature, which the sweeps of an annealed warmup have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ppl_topics.core.alpha import Alpha
from ppl_topics.core.state import ChainState
from ppl_topics.schedule.warmup import Annealing

__all__ = ["tempered"]


@contextmanager
def tempered(state: ChainState, annealing: Annealing | None, sweep: int) -> Iterator[None]:
    """Let a state have the concentrations of a sweep: those of the model, times its temperature if it is annealed."""
    fixed = state.concentrations
    if annealing is not None:
        factor = annealing.temperature_at(sweep)
        state.concentrations = {role: _times(factor, value) for role, value in fixed.items()}
    try:
        yield
    finally:
        state.concentrations = fixed


def _times(factor: float, value: Any) -> Any:
    """Return what holds fixed concentrations, these times a factor."""
    if isinstance(value, Alpha):
        return value._replace(rows=factor * value.rows, typical=factor * value.typical)
    return factor * value if isinstance(value, np.ndarray) else value
