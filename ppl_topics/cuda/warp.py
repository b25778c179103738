"""A group of lanes that work on one document together: a warp, or in numba's CUDA simulator a few threads.

The simulator runs each thread by itself and has no instructions that pass numbers between lanes; there they go through
shared memory. So tests run the same kernels, on four lanes, where there is no device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, cuda

from ppl_topics.cuda.compiling import on_device

__all__ = [
    "LANES",
    "SIMULATED",
    "ballot",
    "first_lane",
    "from_lane",
    "largest",
    "last_lane",
    "running_sum",
    "sync",
    "without_lane",
    "word_from_lane",
]

SIMULATED = bool(config.ENABLE_CUDASIM)
LANES = 4 if SIMULATED else 32
EVERY = np.uint32(0xFFFFFFFF)
STEPS = (1, 2) if SIMULATED else (1, 2, 4, 8, 16)

if SIMULATED:
    # The simulator runs one block, of one warp, at a time.
    numbers, words = np.zeros(LANES, np.float64), np.zeros(LANES, np.uint64)

    @on_device
    def sync() -> None:
        """Wait for the other lanes, whose writes to shared memory are then seen."""
        cuda.syncthreads()

    @on_device
    def from_lane(value: Any, lane: Any) -> Any:
        """Return the value that another lane has."""
        numbers[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = type(value)(numbers[int(lane)])
        cuda.syncthreads()
        return found

    @on_device
    def word_from_lane(value: Any, lane: Any) -> Any:
        """Return the 64 bits that another lane has."""
        words[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = words[int(lane)]
        cuda.syncthreads()
        return found

    @on_device
    def ballot(predicate: Any) -> Any:
        """Return a mask of the lanes in which something holds."""
        numbers[cuda.threadIdx.x] = bool(predicate)
        cuda.syncthreads()
        mask = sum(1 << lane for lane in range(LANES) if numbers[lane])
        cuda.syncthreads()
        return np.uint32(mask)

    @on_device
    def first_lane(mask: Any) -> int:
        """Return the first lane of a mask, -1 if there is none."""
        return (int(mask) & -int(mask)).bit_length() - 1

    @on_device
    def last_lane(mask: Any) -> int:
        """Return the last lane of a mask, -1 if there is none."""
        return int(mask).bit_length() - 1

    @on_device
    def from_below(value: Any, distance: Any) -> Any:
        """Return the value of the lane that is so far below; one's own if there is none."""
        return from_lane(value, max(cuda.threadIdx.x - distance, cuda.threadIdx.x % distance))

    @on_device
    def from_across(value: Any, distance: Any) -> Any:
        """Return the value of the lane whose number differs in one bit."""
        return from_lane(value, cuda.threadIdx.x ^ distance)

else:

    @on_device
    def sync() -> None:
        """Wait for the other lanes, whose writes to shared memory are then seen."""
        cuda.syncwarp()

    @on_device
    def from_lane(value: Any, lane: Any) -> Any:
        """Return the value that another lane has."""
        return cuda.shfl_sync(EVERY, value, lane)

    @on_device
    def word_from_lane(value: Any, lane: Any) -> Any:
        """Return the 64 bits that another lane has."""
        return np.uint64(cuda.shfl_sync(EVERY, np.int64(value), lane))

    @on_device
    def ballot(predicate: Any) -> Any:
        """Return a mask of the lanes in which something holds."""
        return cuda.ballot_sync(EVERY, predicate)

    @on_device
    def first_lane(mask: Any) -> Any:
        """Return the first lane of a mask, -1 if there is none."""
        return np.int32(cuda.ffs(mask)) - np.int32(1)

    @on_device
    def last_lane(mask: Any) -> Any:
        """Return the last lane of a mask, -1 if there is none."""
        return np.int32(31) - np.int32(cuda.clz(mask))

    @on_device
    def from_below(value: Any, distance: Any) -> Any:
        """Return the value of the lane that is so far below; one's own if there is none."""
        return cuda.shfl_up_sync(EVERY, value, distance)

    @on_device
    def from_across(value: Any, distance: Any) -> Any:
        """Return the value of the lane whose number differs in one bit."""
        return cuda.shfl_xor_sync(EVERY, value, distance)


@on_device
def without_lane(mask: Any, lane: Any) -> Any:
    """Return a mask without one of its lanes."""
    return np.uint32(mask & ~(np.uint32(1) << np.uint32(lane)))


@on_device
def running_sum(value: Any, lane: Any) -> Any:
    """Return the sum of a value over the lanes up to this one."""
    for step in STEPS:
        below = from_below(value, step)
        if lane >= step:
            value += below
    return value


@on_device
def largest(value: Any) -> Any:
    """Return the largest of the lanes' values."""
    for step in STEPS:
        value = max(value, from_across(value, step))
    return value
