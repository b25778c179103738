"""What the functions that are written as LLVM code compute, as plain loops: the same results, bit for bit.

Nothing calls these but the tests that compare both, and readers who want to know what the LLVM code does. All numbers
are of 32 bits where those of the LLVM code are. `docs/kernels.md` says why there is LLVM code at all.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import (
    Float32Array,
    FloatArray,
    Int32Array,
    IntegerArray,
    RealArray,
    UInt8Array,
    UInt16Array,
    UInt64Array,
)
from ppl_topics.samplers.variates.philox import BUFFER, POSITION
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.simd_exponential_weights import (
    EXPONENT_BIAS,
    FRACTION_BITS,
    LEAST_EXPONENT,
    LN_2_HIGH,
    LN_2_LOW,
    LOG2_E,
    NEAREST,
    POLYNOMIAL,
)
from ppl_topics.samplers.variates.simd_particles import BLOCK, GROUP
from ppl_topics.samplers.variates.streams import FULL, uint64

__all__ = [
    "compare_bytes",
    "count_lanes_below",
    "count_rows_below",
    "draw_by_particle",
    "eight_positive",
    "eight_set",
    "exponential",
    "find_number",
    "lowest_bit",
    "running_sums",
    "running_sums_of_counts",
    "running_sums_of_exponentials",
    "running_sums_of_list",
    "running_sums_of_products",
    "totals_by_particle",
]

ZERO = np.float32(0.0)


def running_sums(terms: Float32Array, sums: Float32Array) -> np.float32:
    """Write the running sums of each lane, one row of eight after another, then those over the lanes; return the total.

    See `simd_categorical.emit_running_sums`. There are at least eight terms. Cell k is in lane k % 8; where the last
    row is not whole, it is the last eight cells, of which those that an earlier row has added count as 0.
    """
    size = terms.size
    reached = np.zeros(LANES, np.float32)
    whole = LANES * (size // LANES)
    for cell in range(0, whole, LANES):
        for lane in range(LANES):
            reached[lane] = reached[lane] + terms[cell + lane]
            sums[cell + lane] = reached[lane]
    if whole < size:
        for lane in range(LANES):
            cell = size - LANES + lane
            reached[lane] = reached[lane] + (terms[cell] if cell >= whole else ZERO)
            sums[whole + lane] = reached[lane]
        whole += LANES
    return sums_over_lanes(reached, sums, whole)


def sums_over_lanes(totals: Float32Array, sums: Float32Array, place: int) -> np.float32:
    """Write the running sums over eight totals, added in three steps, and return the last."""
    for shift in (1, 2, 4):
        before = totals.copy()
        for lane in range(LANES):
            totals[lane] = before[lane] + (before[lane - shift] if lane >= shift else ZERO)
    for lane in range(LANES):
        sums[place + lane] = totals[lane]
        sums[place + LANES + lane] = totals[lane - 1] if lane > 0 else ZERO
    total: np.float32 = totals[LANES - 1]
    return total


def running_sums_of_counts(
    weight: Float32Array,
    counts: IntegerArray,
    row: int,
    prior: float,
    left: int,
    left_weight: float,
    sums: Float32Array,
) -> np.float32:
    """Compute the running sums of ``weight[k] * (counts[row, k] + prior)``; see `simd_categorical`."""
    terms = np.empty(weight.size, np.float32)
    for cell in range(weight.size):
        of_cell = np.float32(left_weight) if cell == left else weight[cell]
        terms[cell] = of_cell * (np.float32(counts[row, cell] - (cell == left)) + np.float32(prior))
    return running_sums(terms, sums)


def running_sums_of_products(weight: Float32Array, factors: Float32Array, row: int, sums: Float32Array) -> np.float32:
    """Compute the running sums of ``weight[k] * factors[row, k]``; see `simd_categorical`."""
    terms = np.empty(weight.size, np.float32)
    for cell in range(weight.size):
        terms[cell] = weight[cell] * factors[row, cell]
    return running_sums(terms, sums)


def running_sums_of_list(
    weights: Float32Array,
    row: int,
    topics: UInt16Array,
    counts: RealArray | IntegerArray,
    begin: int,
    size: int,
    sums: Float32Array,
) -> np.float32:
    """Compute the running sums of ``counts[j] * weights[row, topics[j]]``; see `simd_categorical`.

    The last row, where it is not whole, ends with zeros; of an empty list it is all zeros.
    """
    terms = np.zeros(LANES * max(1, -(-size // LANES)), np.float32)
    for entry in range(size):
        terms[entry] = np.float32(counts[begin + entry]) * weights[row, topics[begin + entry]]
    return running_sums(terms, sums)


def running_sums_of_exponentials(
    weight: Float32Array,
    factors: Float32Array,
    row: int,
    exponents: Float32Array,
    slopes: Float32Array,
    left: int,
    scale: float,
    sums: Float32Array,
) -> np.float32:
    """Compute the running sums of ``weight[k] factors[row, k] exp(exponents[k] + scale slopes[left, k])``."""
    terms = np.empty(weight.size, np.float32)
    for cell in range(weight.size):
        exponent = exponents[cell] + np.float32(scale) * slopes[left, cell]
        terms[cell] = (weight[cell] * factors[row, cell]) * exponential(exponent)
    return running_sums(terms, sums)


def exponential(exponent: np.float32) -> np.float32:
    """Compute exp(x) = 2^n exp(x - n log 2), the second factor by a polynomial: see `emit_exp`."""
    x = exponent if exponent > np.float32(LEAST_EXPONENT) else np.float32(LEAST_EXPONENT)
    power = (x * np.float32(LOG2_E) + np.float32(NEAREST)) - np.float32(NEAREST)
    rest = (x - power * np.float32(LN_2_HIGH)) - power * np.float32(LN_2_LOW)
    value = np.float32(POLYNOMIAL[0])
    for coefficient in POLYNOMIAL[1:]:
        value = value * rest + np.float32(coefficient)
    value = (value * rest * rest + rest) + np.float32(1.0)
    # The float32 whose bits are those of the shifted exponent is 2^power.
    scale = np.array([(int(power) + EXPONENT_BIAS) << FRACTION_BITS], np.int32).view(np.float32)[0]
    result: np.float32 = value * scale
    return result


def count_lanes_below(sums: Float32Array, place: int, target: float) -> int:
    """Count the seven running sums that begin at `place` and are at most `target`."""
    return sum(bool(sums[place + lane] <= np.float32(target)) for lane in range(LANES - 1))


def count_rows_below(sums: Float32Array, rows: int, lane: int, target: float) -> int:
    """Count those of a lane's first `rows` running sums that are at most `target`."""
    return sum(bool(sums[LANES * row + lane] <= np.float32(target)) for row in range(rows))


def draw_by_particle(
    stream: UInt64Array,
    weight: FloatArray,
    group: int,
    factors: Float32Array,
    row: int,
    sums: FloatArray,
    z: Int32Array,
    token: int,
) -> None:
    """Draw a cell for each particle of a group: how many running sums are at most a point, a multiple of 2^-52.

    `sums` are overwritten with those before each block of four cells.
    """
    running = np.zeros((weight.shape[1] + 1, GROUP))
    for cell in range(weight.shape[1]):
        running[cell + 1] = running[cell] + weight[group, cell] * np.float64(factors[row, cell])
    sums[:] = running[:-1:BLOCK]
    stream[POSITION] = FULL
    for lane in range(GROUP):
        point = int(uint64(stream) >> np.uint64(12)) * 2.0**-52 * running[-1, lane]
        z[token, group * GROUP + lane] = sum(bool(reached <= point) for reached in running[1:-1, lane])


def totals_by_particle(weight: FloatArray, group: int, factors: Float32Array, row: int, totals: FloatArray) -> None:
    """Compute the sum over k of ``weight[group, k] * factors[row, k]`` into the first row of `totals`."""
    totals[0] = 0.0
    for cell in range(weight.shape[1]):
        totals[0] += weight[group, cell] * np.float64(factors[row, cell])


def compare_bytes(stream: UInt64Array, level: int) -> tuple[int, int]:
    """Return two masks of 64 bits: which bytes of a stream's buffer are below `level`, and which are equal to it."""
    cells = stream[BUFFER : BUFFER + LANES].astype("<u8").view(np.uint8)
    below = equal = 0
    for bit, cell in enumerate(cells.tolist()):
        below |= (cell < level) << bit
        equal |= (cell == level) << bit
    return below, equal


def eight_positive(counts: IntegerArray, row: int, cell: int) -> int:
    """Return a mask of eight bits: which of the eight counts of a row from `cell` on are positive."""
    return sum(bool(counts[row, cell + bit] > 0) << bit for bit in range(LANES))


def eight_set(flags: UInt8Array, row: int, cell: int) -> int:
    """Return a mask of eight bits: which of the eight bytes of a row from `cell` on are not zero."""
    return sum(bool(flags[row, cell + bit] != 0) << bit for bit in range(LANES))


def find_number(numbers: UInt16Array, begin: int, end: int, number: int) -> int:
    """Return the first place from `begin` on of a number; `end` if it is not before that."""
    return next((place for place in range(begin, end) if numbers[place] == number), end)


def lowest_bit(mask: int) -> int:
    """Return the place of the lowest bit of a mask that is not zero."""
    return next(bit for bit in range(64) if mask >> bit & 1)
