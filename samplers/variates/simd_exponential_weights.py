"""Running sums, eight at a time, of weights times exponentials: for draws from conditionals of a response.

The exponential function is that of Cephes in float32, by a polynomial on an interval about zero and a shift of the
exponent: two units in the last place from the true value. It is written out, since a compiler would call a library for
one number after another, and libraries differ in their bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ppl_topics._util.arrays import Float32Array
from ppl_topics._util.compiled import inlined
from ppl_topics.samplers.variates.simd import FLOATS, INTEGERS, LANES, data_of, emit_load, row_of, size_of, spread
from ppl_topics.samplers.variates.simd_categorical import Integer, Real, add_single, emit_running_sums

__all__ = ["LARGEST_EXPONENT", "running_sums_of_exponentials"]


LARGEST_EXPONENT, LEAST_EXPONENT = 80.0, -87.0
"""Callers keep exponents below the first; of those below the second, the exponential is 1.6e-38."""

LOG2_E = math.log2(math.e)
LN_2_HIGH, LN_2_LOW = 0.693359375, -2.12194440e-4
NEAREST = 1.5 * 2.0**23
"""A float32 this large has no digits after the point: to add and subtract it rounds."""

POLYNOMIAL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of (exp(r) - 1 - r) / r^2 for abs(r) <= log(2) / 2, the highest power first (S. L. Moshier, Cephes, expf)."""

FRACTION_BITS, EXPONENT_BIAS = 23, 127


def constant(value: float) -> Any:
    """Return a vector that holds a number in each lane, rounded to float32."""
    return ir.Constant(FLOATS, [float(np.float32(value))] * LANES)


def integers(value: int) -> Any:
    """Return a vector that holds an integer of 32 bits in each lane."""
    return ir.Constant(INTEGERS, [value] * LANES)


def emit_exp(builder: Any, exponent: Any) -> Any:
    """Emit the exponentials of eight numbers, none above `LARGEST_EXPONENT`."""
    least = constant(LEAST_EXPONENT)
    exponent = builder.select(builder.fcmp_ordered(">", exponent, least), exponent, least)
    nearest = constant(NEAREST)
    power = builder.fsub(builder.fadd(builder.fmul(exponent, constant(LOG2_E)), nearest), nearest)
    rest = builder.fsub(exponent, builder.fmul(power, constant(LN_2_HIGH)))
    rest = builder.fsub(rest, builder.fmul(power, constant(LN_2_LOW)))
    value = constant(POLYNOMIAL[0])
    for coefficient in POLYNOMIAL[1:]:
        value = builder.fadd(builder.fmul(value, rest), constant(coefficient))
    value = builder.fadd(builder.fadd(builder.fmul(builder.fmul(value, rest), rest), rest), constant(1.0))
    bits = builder.shl(builder.add(builder.fptosi(power, INTEGERS), integers(EXPONENT_BIAS)), integers(FRACTION_BITS))
    return builder.fmul(value, builder.bitcast(bits, FLOATS))


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_exponentials_by_rows(
    typingctx: Any, weight: Any, factors: Any, exponents: Any, slopes: Any, rows: Any, scale: Any, sums: Any
) -> Any:
    """See `running_sums_of_exponentials`, with ``rows = (row, left)``; for at least eight cells."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, exponent, out = (data_of(context, builder, signature, arguments, i) for i in (0, 2, 6))
        factor = row_of(context, builder, signature, arguments, 1, builder.extract_value(arguments[4], 0))
        slope = row_of(context, builder, signature, arguments, 3, builder.extract_value(arguments[4], 1))
        size = size_of(context, builder, signature, arguments, 0)
        scales = spread(builder, arguments[5])

        def term(cell: Any, cells: Any) -> Any:
            scaled = builder.fmul(scales, emit_load(builder, slope, cell, FLOATS))
            raised = emit_exp(builder, builder.fadd(emit_load(builder, exponent, cell, FLOATS), scaled))
            product = builder.fmul(emit_load(builder, weights, cell, FLOATS), emit_load(builder, factor, cell, FLOATS))
            return builder.fmul(product, raised)

        return emit_running_sums(builder, size, [(out, term)])[0]

    rows_type = types.UniTuple(types.int64, 2)
    return types.float32(weight, factors, exponents, slopes, rows_type, types.float32, sums), codegen


@inlined
def running_sums_of_exponentials(
    weight: Float32Array,
    factors: Float32Array,
    row: Integer,
    exponents: Float32Array,
    slopes: Float32Array,
    left: Integer,
    scale: Real,
    sums: Float32Array,
) -> Any:
    """Compute running sums by lane of ``weight[k] factors[row, k] exp(exponents[k] + scale slopes[left, k])``."""
    if weight.size >= LANES:
        rows = np.int64(row), np.int64(left)
        return running_sums_of_exponentials_by_rows(weight, factors, exponents, slopes, rows, np.float32(scale), sums)
    total = np.float32(0.0)
    for cell in range(LANES):
        value = np.float32(0.0)
        if cell < weight.size:
            exponent = exponents[cell] + np.float32(scale) * slopes[left, cell]
            value = weight[cell] * factors[row, cell] * np.float32(math.exp(exponent))
        total = add_single(sums, cell, value, total)
    return total
