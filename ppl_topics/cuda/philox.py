"""Philox4x64-10 on a device: each block of four words by its number, with no state between.

The blocks are those of `ppl_topics.samplers.variates.philox`. A lane that needs random numbers computes the block whose
number belongs to what it works on, so nothing depends on which lane that is.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw (2011). Parallel random numbers: as easy as 1, 2, 3. SC'11.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ppl_topics.core.keys import Key
from ppl_topics.cuda.compiling import on_device
from ppl_topics.cuda.warp import SIMULATED
from ppl_topics.samplers.variates.philox import MULTIPLIERS, ROUNDS, WEYL

__all__ = ["DeviceKey", "device_key", "philox", "standard_normal", "uniform", "uniform_open"]

M0, M1 = (np.uint64(each) for each in MULTIPLIERS)
W0, W1 = (np.uint64(each) for each in WEYL)
SHIFT_53, SHIFT_52 = np.uint64(11), np.uint64(12)
BITS = 2**64 - 1


class DeviceKey(NamedTuple):
    """A `Key` as unsigned words, of which the arithmetic is modulo 2^64."""

    seed: np.uint64
    chain: np.uint64
    sweep: np.uint64
    kernel: np.uint64
    first: np.uint64


def device_key(key: Key) -> DeviceKey:
    """Return a key as functions on a device take it."""
    return DeviceKey(*(np.uint64(part & BITS) for part in (key.seed, key.chain, key.sweep, key.kernel, key.first)))


if SIMULATED:

    def product(first: Any, second: Any) -> Any:
        """Return the high and the low word of a product."""
        whole = int(first) * int(second)
        return np.uint64(whole >> 64), np.uint64(whole & BITS)

    def plus(first: Any, second: Any) -> Any:
        """Return a sum modulo 2^64."""
        return np.uint64((int(first) + int(second)) & BITS)

else:

    @on_device
    def product(first: Any, second: Any) -> Any:
        """Return the high and the low word of a product."""
        return np.uint64(cuda.libdevice.umul64hi(first, second)), first * second

    @on_device
    def plus(first: Any, second: Any) -> Any:
        """Return a sum modulo 2^64."""
        return first + second


@on_device
def philox(key: DeviceKey, unit: Any, number: Any) -> Any:
    """Return the four words of a block of a unit's sequence; blocks are numbered from 1."""
    a, b, c, d = np.uint64(number), plus(key.first, np.uint64(unit)), key.sweep, key.kernel
    k0, k1 = key.seed, key.chain
    for _ in range(ROUNDS):
        high_a, low_a = product(M0, a)
        high_c, low_c = product(M1, c)
        a, b, c, d = high_c ^ b ^ k0, low_c, high_a ^ d ^ k1, low_a
        k0, k1 = plus(k0, W0), plus(k1, W1)
    return a, b, c, d


@on_device
def uniform(word: Any) -> Any:
    """Return the number of [0, 1) that a random word stands for, a multiple of 2^-53."""
    return np.float64(np.int64(word >> SHIFT_53)) * 2.0**-53


@on_device
def uniform_open(word: Any) -> Any:
    """Return the number of (0, 1) that a random word stands for, an odd multiple of 2^-53."""
    return (np.float64(np.int64(word >> SHIFT_52)) + 0.5) * 2.0**-52


@on_device
def standard_normal(first: Any, second: Any) -> Any:
    """Return the standard normal number that two random words stand for (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(uniform_open(first)))
    return radius * math.cos(2.0 * math.pi * uniform(second))
