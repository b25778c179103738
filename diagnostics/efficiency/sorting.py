"""Sort one scalar's draws by radix on the leading bits of their order-preserving integer keys."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, UInt32Array, UInt64Array
from ppl_topics._util.compiled import compiled

__all__ = ["BUCKETS", "argsort_draws"]

SIGN = np.uint64(1 << 63)
DIGIT_BITS = 11
BUCKETS = 1 << DIGIT_BITS
DIGIT_MASK = np.uint32(BUCKETS - 1)
REPAIRS_PER_DRAW = 16


@compiled
def _leading_bits(values: FloatArray, keys: UInt64Array, leading: UInt32Array) -> None:
    """Fill ``leading`` with the 22 most significant bits of each draw's key, counted from the smallest key.

    A double read as an integer with its sign bit flipped (all bits if it is negative) sorts like the doubles. With both
    signs and all exponents in use, 22 bits still hold ten bits of the mantissa.
    """
    n = values.size
    for i in range(n):
        keys.view(np.float64)[i] = values[i] + 0.0
    lowest = ~np.uint64(0)
    highest = np.uint64(0)
    for i in range(n):
        bits = keys[i]
        key = ~bits if bits & SIGN else bits | SIGN
        keys[i] = key
        lowest = min(lowest, key)
        highest = max(highest, key)
    span = highest - lowest
    shift = np.uint64(0)
    while (span >> shift) >= np.uint64(BUCKETS * BUCKETS):
        shift += np.uint64(1)
    for i in range(n):
        leading[i] = np.uint32((keys[i] - lowest) >> shift)


@compiled
def _scatter_twice(
    leading: UInt32Array,
    counts: Int32Array,
    halfway: Int32Array,
    order: Int32Array,
) -> None:
    """Make ``order`` sort ``leading``, by two stable counting passes of 11 bits each."""
    n = leading.size
    counts[:] = 0
    for i in range(n):
        counts[leading[i] & DIGIT_MASK] += 1
        counts[BUCKETS + (leading[i] >> np.uint32(DIGIT_BITS))] += 1
    low = 0
    high = 0
    for digit in range(BUCKETS):
        size = counts[digit]
        counts[digit] = low
        low += size
        size = counts[BUCKETS + digit]
        counts[BUCKETS + digit] = high
        high += size
    for i in range(n):
        bucket = leading[i] & DIGIT_MASK
        halfway[counts[bucket]] = i
        counts[bucket] += 1
    for position in range(n):
        i = halfway[position]
        bucket = BUCKETS + (leading[i] >> np.uint32(DIGIT_BITS))
        order[counts[bucket]] = i
        counts[bucket] += 1


@compiled
def argsort_draws(
    values: FloatArray,
    keys: UInt64Array,
    leading: UInt32Array,
    counts: Int32Array,
    halfway: Int32Array,
    order: Int32Array,
    ordered: FloatArray,
) -> None:
    """Fill ``order`` and ``ordered`` so that ``ordered[r] = values[order[r]]`` ascends; values have no NaN.

    The radix passes leave only draws with equal leading bits out of order, which insertion repairs. If that takes more
    than a few moves per draw (a tight cluster beside a far outlier), the whole keys are sorted. Scratch: keys and
    leading (n,), counts (4096,), halfway (n,).
    """
    n = values.size
    _leading_bits(values, keys, leading)
    _scatter_twice(leading, counts, halfway, order)
    for r in range(n):
        ordered[r] = values[order[r]]
    budget = REPAIRS_PER_DRAW * n
    for r in range(1, n):
        value = ordered[r]
        if ordered[r - 1] <= value:
            continue
        index = order[r]
        position = r
        while position > 0 and ordered[position - 1] > value:
            ordered[position] = ordered[position - 1]
            order[position] = order[position - 1]
            position -= 1
        ordered[position] = value
        order[position] = index
        budget -= r - position
        if budget < 0:
            order[:] = np.argsort(keys, kind="mergesort")
            for k in range(n):
                ordered[k] = values[order[k]]
            return
