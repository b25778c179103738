"""Counter-based random streams: Philox4x64-10, keyed by (seed, chain, sweep, kernel, unit).

A stream is a uint64 array of 15 words: counter (4), key (2), buffer (two blocks of 4), position in it (1).
Allocate it once per thread with `new_stream`, position it with `start`, then draw. Since the key names the
unit (document, word, topic, class), the draws do not depend on threads, chunks or machines.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw (2011). Parallel random numbers: as easy as 1, 2, 3. SC'11.
D. Lemire (2019). Fast random integer generation in an interval. ACM TOMACS 29(1).
G. Marsaglia, W. W. Tsang (2000). The ziggurat method for generating random variables. JSS 5(8).
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.arrays import UInt64Array
from ppl_topics._util.compiled import compiled
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.philox import BUFFER, KEY, POSITION, WORDS, multiply, refill
from ppl_topics.samplers.variates.ziggurat import TAIL_START, normal_tables

__all__ = [
    "Stream",
    "exponential",
    "integer",
    "new_stream",
    "normal",
    "open_stream",
    "start",
    "uint64",
    "uniform",
    "uniform_open",
]

Stream = UInt64Array

ZERO, ONE, FULL = np.uint64(0), np.uint64(1), np.uint64(8)
FIRST = np.uint64(BUFFER)
SHIFT_53, SHIFT_52 = np.uint64(11), np.uint64(12)
LAYER_MASK, LAYER_SHIFT = np.uint64(255), np.uint64(8)
INSIDE, SCALE, HEIGHT = normal_tables()


@compiled
def new_stream() -> Stream:
    """Allocate a stream; `start` must position it before the first draw."""
    return np.zeros(WORDS, dtype=np.uint64)


@compiled
def start(stream: Stream, key: Key, unit: int) -> None:
    """Position a stream at the start of the sequence that a key and a unit name.

    The Philox key is (seed, chain) and the counter (0, first + unit, sweep, kernel), so that, where ``key.first`` is 0,
    ``numpy.random.Philox(counter=[0, unit, sweep, kernel], key=[seed, chain])`` gives the same bits.
    """
    stream[0] = ZERO
    stream[1] = np.uint64(key.first + unit)
    stream[2] = np.uint64(key.sweep)
    stream[3] = np.uint64(key.kernel)
    stream[KEY] = np.uint64(key.seed)
    stream[KEY + 1] = np.uint64(key.chain)
    stream[POSITION] = FULL


def _signed(number: int) -> int:
    """Return the signed 64-bit integer that equals a number modulo 2^64."""
    return (number + 2**63) % 2**64 - 2**63


def open_stream(seed: int, chain: int = 0, sweep: int = 0, kernel: int = 0, unit: int = 0) -> Stream:
    """Allocate and position a stream from Python, with keys of any size modulo 2^64.

    Examples
    --------
    >>> from ppl_topics.samplers.variates.streams import open_stream, uniform
    >>> stream = open_stream(seed=1)
    >>> 0.0 <= uniform(stream) < 1.0
    True
    """
    stream: Stream = new_stream()
    start(stream, Key(*map(_signed, (seed, chain, sweep, kernel))), _signed(unit))
    return stream


@compiled
def uint64(stream: Stream) -> np.uint64:
    """Draw 64 random bits."""
    position = stream[POSITION]
    if position >= FULL:
        refill(stream)
        position = ZERO
    stream[POSITION] = position + ONE
    word: np.uint64 = stream[FIRST + position]
    return word


@compiled
def uniform(stream: Stream) -> float:
    """Draw from the uniform distribution on [0, 1), a multiple of 2^-53."""
    return int(np.int64(uint64(stream) >> SHIFT_53)) * 2.0**-53


@compiled
def uniform_open(stream: Stream) -> float:
    """Draw from the uniform distribution on (0, 1), an odd multiple of 2^-53: its logarithm is finite."""
    return (int(np.int64(uint64(stream) >> SHIFT_52)) + 0.5) * 2.0**-52


@compiled
def integer(stream: Stream, n: int) -> int:
    """Draw an integer from 0, ..., n - 1, each with the same probability (Lemire 2019)."""
    bound = np.uint64(n)
    high, low = multiply(uint64(stream), bound)
    if low < bound:
        surplus = (ZERO - bound) % bound
        while low < surplus:
            high, low = multiply(uint64(stream), bound)
    return int(np.int64(high))


@compiled
def exponential(stream: Stream) -> float:
    """Draw from the exponential distribution of mean 1, by inversion."""
    return -math.log(uniform_open(stream))


@compiled
def normal(stream: Stream) -> float:
    """Draw from the standard normal distribution by the ziggurat (Marsaglia and Tsang 2000), without cached state.

    One word gives layer, sign and fraction; 98.8% of the draws end there. The tail is Marsaglia's (1964).
    """
    value = 0.0
    while True:
        word = uint64(stream)
        layer = word & LAYER_MASK
        sign = 1.0 - 2.0 * int(np.int64((word >> LAYER_SHIFT) & ONE))
        fraction = word >> SHIFT_52
        value = int(np.int64(fraction)) * float(SCALE[layer])
        if fraction < INSIDE[layer]:
            break
        if layer == ZERO:
            value = TAIL_START + exponential(stream) / TAIL_START
            while 2.0 * exponential(stream) <= (value - TAIL_START) ** 2:
                value = TAIL_START + exponential(stream) / TAIL_START
            break
        low, high = HEIGHT[layer], HEIGHT[layer + ONE]
        if low + (high - low) * uniform(stream) < math.exp(-0.5 * value * value):
            break
    return sign * value
