"""What runs before the first kept draw, where it is not the schedule: other kernels, annealed or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ppl_topics.errors import ScheduleError
from ppl_topics.schedule.rules import check_warmup, variables_of
from ppl_topics.schedule.tree import Node, parse, steps
from ppl_topics.spec.model import Model
from ppl_topics.spec.model_file import MAX_TEMPERATURE
from ppl_topics.spec.source import short_repr

__all__ = ["Annealing", "Warmup", "make_warmup", "parse_warmup"]


TEMPERATURE = 20.0
"""Of the first sweep where the model says nothing: in `benchmarks/modes.py` no other does better on all corpora."""
ANNEALED = "annealed, since chains then end in better modes; `warmup: {temperature: 1}` turns it off"


class Annealing(NamedTuple):
    """The temperature of the first of some sweeps, and how many there are."""

    temperature: float
    sweeps: int

    def temperature_at(self, sweep: int) -> float:
        """Return the temperature of a sweep, numbered from 0: T^(1 - sweep / sweeps)."""
        return float(self.temperature ** (1.0 - sweep / self.sweeps))


@dataclass(frozen=True)
class Warmup:
    """What runs before the first kept draw.

    Attributes
    ----------
    schedule : Node
        Its kernels, which need not leave the posterior invariant.
    temperature : float
        Of the first sweep; 1 if it is not annealed. At temperature T the concentrations are T times those of the model.
    waiting : tuple of str
        Variables that stay where they start, since no kernel updates them.
    reason : str
        Why, if the model does not ask for it.
    """

    schedule: Node
    temperature: float = 1.0
    waiting: tuple[str, ...] = ()
    reason: str = ""

    @property
    def inexact(self) -> tuple[str, ...]:
        """What does not leave the posterior invariant: kernels by their names, and the temperature."""
        kernels = sorted({step.kernel.name for step in steps(self.schedule) if not step.kernel.exact})
        return (*kernels, *([f"temperature {self.temperature:g}, falling to 1"] if self.temperature != 1.0 else []))

    @property
    def remarks(self) -> Iterator[str]:
        """What there is to say of it beside its kernels."""
        if self.reason:
            yield self.reason
        if self.waiting:
            yield f"stays where it starts until then: {', '.join(self.waiting)}"
        what = f"inexact, before the first kept draw only: {', '.join(self.inexact)}"
        yield what if self.inexact else "exact"


def make_warmup(model: Model, schedule: Node) -> Warmup | None:
    """Return what a model runs before its schedule, checked or chosen; None if nothing else."""
    if model.spec.warmup is None:
        return Warmup(schedule, TEMPERATURE, reason=ANNEALED) if _anneals(model) else None
    node, temperature = parse_warmup(model, schedule)
    if node is None:
        return Warmup(schedule, temperature) if temperature != 1.0 else None
    drawn = {
        n for s in steps(node) for n in variables_of(s.variable, s.kernel.updates + s.kernel.integrates_out, model)
    }
    return Warmup(node, temperature, tuple(name for name in model.latent if name not in drawn))


def parse_warmup(model: Model, schedule: Node | None = None) -> tuple[Node | None, float]:
    """Return the kernels that a model runs before its schedule, None if they are those of it, and their temperature.

    Without a schedule, all is checked that does not depend on it.
    """
    data, temperature = model.spec.warmup, 1.0
    if isinstance(data, Mapping) and "temperature" in data:
        temperature = _checked(data["temperature"], model)
        data = {key: value for key, value in data.items() if key != "temperature"} or None
    if data is None:
        return None, temperature
    node = parse(data, model, "warmup")
    check_warmup(node, model, schedule)
    return node, temperature


def _anneals(model: Model) -> bool:
    """Return whether a model can be annealed, and its words alone say what the topics are: no label or keyword does."""
    known = model.supervised or model.topic_names or model.weights.labels_above
    return not (known or model.spec.given or _sampled(model))


def _sampled(model: Model) -> list[str]:
    """Return the names of the concentrations that are variables."""
    return [name for name, variable in model.variables.items() if variable.role in ("alpha", "beta")]


def _checked(value: Any, model: Model) -> float:
    """Return a temperature, and refuse one that is no number or has nothing to multiply."""
    place = f"{model.spec.locate('warmup', 'temperature')}: warmup: temperature"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 1.0 <= value <= MAX_TEMPERATURE:
        raise ScheduleError(f"{place}: must be a number from 1 to {MAX_TEMPERATURE:g}, got {short_repr(value)}")
    sampled = _sampled(model)
    if sampled and value != 1.0:
        number = "concentration" in model.spec.blocks[sampled[0]].seams
        raise ScheduleError(
            f"{place}: multiplies concentrations that are fixed, and {sampled[0]} is a variable of this model; "
            f"{f'give {sampled[0]} a number, or ' if number else ''}leave temperature out"
        )
    return float(value)
