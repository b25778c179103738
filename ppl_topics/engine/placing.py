"""Where executors run the schedules that they are made for: in this process, or on a device as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Literal, TypeAlias

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import check_choice
from ppl_topics.core.block import sparse_topics_block
from ppl_topics.core.registry import kernels
from ppl_topics.cuda.limits import MOST_TOPICS
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import Executor
from ppl_topics.errors import RunError, ScheduleError
from ppl_topics.schedule.tree import Node, steps
from ppl_topics.spec import Model

__all__ = [
    "DEVICES",
    "Device",
    "check_device",
    "check_model",
    "check_schedule",
    "executor_of",
    "present_device",
    "using_device",
]

Device: TypeAlias = Literal["cpu", "cuda"]
DEVICES = ("cpu", "cuda")

LEAST_CAPABILITY = (7, 0)
"""Of the GPUs whose lanes can be told to wait for each other: from Volta on."""

_device: ContextVar[Device] = ContextVar("device", default="cpu")


def check_device(device: str) -> None:
    """Refuse a device that there is not, or that cannot be used, and say what to do."""
    check_choice(argument("device"), device, DEVICES)
    if device == "cpu":
        return
    what = f"{argument('device')}: cuda"
    # What numba has of its own is an older version.
    if find_spec("numba_cuda") is None:
        raise RunError(f"{what} needs the package numba-cuda, which is not installed; install ppl-topics[cuda]")
    from numba import config, cuda

    if config.ENABLE_CUDASIM:
        return
    error = cuda.cuda_error()
    if error is not None or not cuda.is_available():
        reason = " ".join(str(error).split()) if error is not None else "the driver reports none"
        raise RunError(
            f"{what} needs an NVIDIA GPU and its driver, which were not found ({reason}); look at what `nvidia-smi` "
            f"says, or leave out {argument('device')}"
        )
    found = cuda.get_current_device()
    capability = tuple(found.compute_capability)
    if capability < LEAST_CAPABILITY:
        have, need = (".".join(map(str, each)) for each in (capability, LEAST_CAPABILITY))
        name = found.name.decode() if isinstance(found.name, bytes) else found.name
        raise RunError(
            f"{what}: {name} has compute capability {have}, and {need} is needed (Volta or newer); leave out "
            f"{argument('device')}"
        )


def present_device() -> Device:
    """Return where the executors that are made run."""
    return _device.get()


@contextmanager
def using_device(device: Device) -> Iterator[None]:
    """Let executors be made for a device."""
    before = _device.set(device)
    try:
        yield
    finally:
        _device.reset(before)


def check_model(model: Model, device: str) -> None:
    """Refuse a model whose topics are sparse, or too many, for a device."""
    if device == "cpu":
        return
    if sparse_topics_block(model.spec.blocks) is not None:
        raise ScheduleError(f"storage='sparse' keeps the topics on the host; leave out {argument('device')}")
    if model.spec.topics > MOST_TOPICS:
        raise RunError(
            f"{argument('device')}: a GPU takes up to {MOST_TOPICS:,} topics, and the model has "
            f"{model.spec.topics:,}; leave out {argument('device')}"
        )


def check_schedule(schedule: Node, device: str) -> None:
    """Refuse a schedule of which nothing runs on a device; of a warmup that need not be so."""
    if device == "cpu" or any(device in step.kernel.devices for step in steps(schedule)):
        return
    names = ", ".join(dict.fromkeys(step.kernel.name for step in steps(schedule)))
    able = ", ".join(kernel.name for kernel in kernels().values() if device in kernel.devices)
    raise ScheduleError(f"{argument('device')}: none of the kernels {names} runs on a GPU; {able} do")


def executor_of(bound: BoundModel, debug: bool = False, chains: int = 1) -> Executor:
    """Return what runs the schedule of a bound model, where executors are being made for.

    On a device nothing is debugged: what a kernel declares is what it declares on the CPU.
    """
    if present_device() == "cpu":
        return Executor(bound, debug)
    check_model(bound.model, present_device())
    from ppl_topics.engine.device import DeviceExecutor

    return DeviceExecutor(bound, chains)
