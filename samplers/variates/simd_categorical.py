"""Draws from categorical distributions with many cells, eight at a time.

Cell k belongs to lane k % 8 of a vector, and each lane has its own running sums: so eight sums advance with one
instruction, in an order that does not depend on the machine. A draw finds its lane among eight totals, then its place
in that lane by comparisons without branches. `docs/kernels.md` says why this is written as LLVM code, and `plain_simd`
has the same as plain loops.

Sums in float32 do not give each cell its weight: a small one is lost in a large sum. So a point settles a draw only if
it is in the core of a cell, which is never longer than the cell's weight. Otherwise, a few times in a million draws,
`ppl_topics.samplers.variates.remainder` draws from what the cores leave out, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ppl_topics._util.arrays import Float32Array, Int32Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.samplers.variates.simd import (
    FLOATS,
    INTEGER,
    INTEGERS,
    IOTA,
    LANES,
    NOTHING,
    WORD,
    ZEROS,
    data_of,
    emit_load,
    emit_store,
    integer,
    row_of,
    size_of,
    spread,
    unlikely,
    word,
)
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = [
    "ROUNDINGS",
    "SAFE_TOTAL",
    "core_share",
    "draw_cell",
    "draw_entry",
    "find_cell",
    "find_entry",
    "is_safe",
    "new_sums",
    "point_bound",
    "running_sums_of_counts",
    "running_sums_of_list",
    "running_sums_of_products",
]

BITS = ir.VectorType(ir.IntType(1), LANES)
PROBES = 16
FEW_ROWS = 3

ROUNDINGS = 16
"""More than there are roundings in a weight, in the sums over the lanes and in a comparison."""

HALF_ULP = 2.0**-24
TINY = np.float32(1e-44)

SAFE_TOTAL = 1e-30
"""A float32 total from here on has lost no more to underflow than to rounding."""

Integer = int | np.integer[Any]
Real = float | np.floating[Any]


@compiled
def new_sums(size: int) -> Float32Array:
    """Allocate the running sums of a distribution with `size` cells: whole rows of lanes, and one for the totals."""
    return np.zeros(LANES * ((size + LANES - 1) // LANES + 1), dtype=np.float32)


def emit_running_sums(builder: Any, sums: Any, size: Any, term: Callable[[Any, Any], Any]) -> Any:
    """Emit the running sums by lane of a distribution of at least eight cells, and return its total.

    `term(cell, kind)` emits the weights of eight cells that begin at `cell`. The last row, where it is not whole,
    is the last eight cells without those that had their turn before.
    """
    last = builder.sub(size, word(LANES))
    before = builder.block
    body, rest = builder.append_basic_block("rows"), builder.append_basic_block("rest")
    builder.branch(body)

    builder.position_at_end(body)
    cell, reached = builder.phi(WORD), builder.phi(FLOATS)
    total = builder.fadd(reached, term(cell, FLOATS))
    emit_store(builder, total, sums, cell)
    following = builder.add(cell, word(LANES))
    for phi, start, value in ((cell, word(0), following), (reached, ZEROS, total)):
        phi.add_incoming(start, before)
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<=", following, last), body, rest)

    builder.position_at_end(rest)
    done = builder.trunc(builder.sub(following, last), INTEGER)
    fresh = builder.icmp_signed(">=", IOTA, spread(builder, done))
    more = builder.select(fresh, term(last, FLOATS), ZEROS)
    total_with_rest = builder.fadd(total, more)
    # Where all rows are whole this overwrites the place of the totals, which come next.
    emit_store(builder, total_with_rest, sums, following)
    whole = builder.icmp_signed("==", following, size)
    totals = builder.select(whole, total, total_with_rest)
    place = builder.select(whole, following, builder.add(following, word(LANES)))
    return emit_totals(builder, totals, sums, place)


def emit_totals(builder: Any, totals: Any, sums: Any, place: Any) -> Any:
    """Emit the running sums over the lanes, in three steps, and return the last."""
    for shift in (1, 2, 4):
        moved = [LANES] * shift + list(range(LANES - shift))
        totals = builder.fadd(totals, builder.shuffle_vector(totals, ZEROS, ir.Constant(INTEGERS, moved)))
    emit_store(builder, totals, sums, place)
    return builder.extract_element(totals, integer(LANES - 1))


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_counts_by_rows(
    typingctx: Any, weight: Any, counts: Any, row: Any, prior: Any, left: Any, left_weight: Any, sums: Any
) -> Any:
    """See `running_sums_of_counts`; for at least eight cells."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, out = (data_of(context, builder, signature, arguments, i) for i in (0, 6))
        number = row_of(context, builder, signature, arguments, 1, arguments[2])
        size = size_of(context, builder, signature, arguments, 0)
        priors, left_weights = spread(builder, arguments[3]), spread(builder, arguments[5])
        lefts = spread(builder, builder.trunc(arguments[4], INTEGER))

        def term(cell: Any, kind: Any) -> Any:
            cells = builder.add(IOTA, spread(builder, builder.trunc(cell, INTEGER)))
            is_left = builder.icmp_signed("==", cells, lefts)
            count = builder.add(emit_load(builder, number, cell, INTEGERS), builder.sext(is_left, INTEGERS))
            share = builder.fadd(builder.sitofp(count, FLOATS), priors)
            return builder.fmul(builder.select(is_left, left_weights, emit_load(builder, weights, cell, kind)), share)

        return emit_running_sums(builder, out, size, term)

    types_of = (weight, counts, types.int64, types.float32, types.int64, types.float32, sums)
    return types.float32(*types_of), codegen


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_products_by_rows(typingctx: Any, weight: Any, factors: Any, row: Any, sums: Any) -> Any:
    """See `running_sums_of_products`; for at least eight cells."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, out = (data_of(context, builder, signature, arguments, i) for i in (0, 3))
        right = row_of(context, builder, signature, arguments, 1, arguments[2])
        size = size_of(context, builder, signature, arguments, 0)

        def term(cell: Any, kind: Any) -> Any:
            return builder.fmul(emit_load(builder, left, cell, kind), emit_load(builder, right, cell, kind))

        return emit_running_sums(builder, out, size, term)

    return types.float32(weight, factors, types.int64, sums), codegen


@intrinsic  # type: ignore[untyped-decorator]
def count_lanes_below(typingctx: Any, sums: Any, place: Any, target: Any) -> Any:
    """Return how many of the seven running sums that begin at `place` are at most `target`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        totals = emit_load(builder, data, arguments[1], FLOATS)
        passed = builder.fcmp_ordered("<=", totals, spread(builder, arguments[2]))
        not_last = ir.Constant(BITS, [True] * (LANES - 1) + [False])
        mask = builder.bitcast(builder.and_(passed, not_last), ir.IntType(LANES))
        return builder.ctpop(builder.zext(mask, WORD))

    return types.int64(sums, types.int64, types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def count_probes_below(typingctx: Any, sums: Any, place: Any, stride: Any, rows: Any, target: Any) -> Any:
    """Return how many of 16 running sums of a lane are at most `target`: a search without branches to mispredict.

    They are the last of every `stride` of the `rows` sums that begin at `place`; those beyond are the last one,
    which must exceed the target.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        place, stride, rows, target = arguments[1:]
        last = builder.sub(rows, word(1))
        probes = ir.Constant(ir.VectorType(ir.FloatType(), PROBES), ir.Undefined)
        row = builder.sub(stride, word(1))
        for probe in range(PROBES):
            inside = builder.select(builder.icmp_signed("<", row, last), row, last)
            cell = builder.add(place, builder.mul(inside, word(LANES)))
            probes = builder.insert_element(probes, builder.load(builder.gep(data, [cell])), integer(probe))
            row = builder.add(row, stride)
        targets = spread(builder, target, PROBES)
        mask = builder.bitcast(builder.fcmp_ordered("<=", probes, targets), ir.IntType(PROBES))
        return builder.ctpop(builder.zext(mask, WORD))

    return types.int64(sums, types.int64, types.int64, types.int64, types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_list(
    typingctx: Any, weights: Any, row: Any, topics: Any, counts: Any, begin: Any, size: Any, sums: Any
) -> Any:
    """Compute the running sums by lane of ``counts[j] * weights[row, topics[j]]`` over a list of topics."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        listed, number, sums = (data_of(context, builder, signature, arguments, i) for i in (2, 3, 6))
        weights = row_of(context, builder, signature, arguments, 0, arguments[1])
        begin, size = arguments[4], arguments[5]
        short = builder.trunc(size, INTEGER)
        sizes = spread(builder, short)
        before = builder.block
        body, rest = builder.append_basic_block("list"), builder.append_basic_block("list.end")
        builder.branch(body)
        builder.position_at_end(body)
        cell, reached = builder.phi(WORD), builder.phi(FLOATS)
        place = builder.add(begin, cell)
        names = emit_load(builder, listed, place, ir.VectorType(ir.IntType(16), LANES))
        factors = NOTHING
        cells = builder.add(IOTA, spread(builder, builder.trunc(cell, INTEGER)))
        inside = builder.icmp_signed("<", cells, sizes)
        # What lies after the end may name no topic: its place is taken by topic 0.
        names = builder.select(inside, builder.zext(names, INTEGERS), ir.Constant(INTEGERS, [0] * LANES))
        for lane in range(LANES):
            index = integer(lane)
            name = builder.zext(builder.extract_element(names, index), WORD)
            factors = builder.insert_element(factors, builder.load(builder.gep(weights, [name])), index)
        if isinstance(signature.args[3].dtype, types.Float):
            count = emit_load(builder, number, place, FLOATS)
        else:
            count = builder.sitofp(emit_load(builder, number, place, INTEGERS), FLOATS)
        total = builder.fadd(reached, builder.select(inside, builder.fmul(count, factors), ZEROS))
        emit_store(builder, total, sums, cell)
        following = builder.add(cell, word(LANES))
        for phi, start, value in ((cell, word(0), following), (reached, ZEROS, total)):
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", following, size), body, rest)
        builder.position_at_end(rest)
        return emit_totals(builder, total, sums, following)

    return types.float32(weights, types.int64, topics, counts, types.int64, types.int64, sums), codegen


@inlined
def running_sums_of_counts(
    weight: Float32Array,
    counts: Int32Array,
    row: Integer,
    prior: Real,
    left: Integer,
    left_weight: Real,
    sums: Float32Array,
) -> np.float32:
    """Compute the running sums by lane of ``weight[k] * (counts[row, k] + prior)``, all in float32.

    One cell is seen as if its count were one less and its weight another: that of the topic which a token leaves. To
    write these first, and read them with their neighbours at once, would make the processor wait.
    """
    if weight.size >= LANES:
        return running_sums_of_counts_by_rows(  # type: ignore[no-any-return]
            weight, counts, row, np.float32(prior), left, np.float32(left_weight), sums
        )
    total = np.float32(0.0)
    for cell in range(LANES):
        value = np.float32(0.0)
        if cell == left:
            value = np.float32(left_weight) * (np.float32(counts[row, cell] - 1) + np.float32(prior))
        elif cell < weight.size:
            value = weight[cell] * (np.float32(counts[row, cell]) + np.float32(prior))
        total += value
        sums[cell] = value
        sums[LANES + cell] = total
    return total


@inlined
def running_sums_of_products(
    weight: Float32Array, factors: Float32Array, row: Integer, sums: Float32Array
) -> np.float32:
    """Compute the running sums by lane of ``weight[k] * factors[row, k]``; see `running_sums_of_counts`."""
    if weight.size >= LANES:
        return running_sums_of_products_by_rows(weight, factors, row, sums)  # type: ignore[no-any-return]
    total = np.float32(0.0)
    for cell in range(LANES):
        value = weight[cell] * factors[row, cell] if cell < weight.size else np.float32(0.0)
        total += value
        sums[cell] = value
        sums[LANES + cell] = total
    return total


@inlined
def point_bound(total: Real, size: Integer, roundings: Integer = ROUNDINGS) -> Any:
    """Return, in float64, a bound of the sum of the weights, of which `total` is the float32 sum."""
    return np.float64(total) * (1.0 + (size // LANES + roundings) * HALF_ULP)


@inlined
def core_share(roundings: Integer) -> np.float32:
    """Return the share of a running sum at which the core of its cell ends."""
    return np.float32(1.0 - roundings * HALF_ULP)


@inlined
def is_safe(total: Real) -> Any:
    """Return whether a float32 total has neither underflowed nor overflowed; false of what is not a number."""
    return SAFE_TOTAL <= total < np.inf


@inlined
def draw_cell(stream: Stream, sums: Float32Array, size: Integer, total: Real, roundings: Integer = ROUNDINGS) -> Any:
    """Draw a cell of a row with one uniform number; -1 if that does not settle it, or the total is not safe."""
    if unlikely(not is_safe(total)):
        return np.int64(-1)
    return find_cell(sums, size, uniform(stream) * point_bound(total, size, roundings), roundings)


@inlined
def draw_entry(stream: Stream, sums: Float32Array, size: Integer, total: Real) -> Any:
    """Draw an entry of a list with one uniform number; -1 if that does not settle it, or the total is not safe."""
    if unlikely(not is_safe(total)):
        return np.int64(-1)
    return find_entry(sums, size, uniform(stream) * point_bound(total, size))


@inlined
def find_cell(sums: Float32Array, size: Integer, point: Real, roundings: Integer = ROUNDINGS) -> Any:
    """Find the cell of a row whose core holds a point, or return -1; see `find_entry`."""
    place = find_entry(sums, size, point, roundings)
    # The last row, where it is not whole, is the last eight cells.
    return min(place, size - LANES + place % LANES) if size >= LANES else place


@inlined
def find_entry(sums: Float32Array, size: Integer, point: Real, roundings: Integer = ROUNDINGS) -> Any:
    """Find the entry of a list whose core holds a point between 0 and `point_bound`; -1 if none does.

    The core of an entry is what the rounded sums leave it, but for the last millionth of the running sum. So it is
    never longer than the entry's weight, of which `roundings` numbers have been rounded.
    """
    rows = (size + LANES - 1) // LANES
    totals = LANES * rows
    share = core_share(roundings)
    lane = count_lanes_below(sums, totals, np.float32(point))
    before = np.float64(sums[totals + max(lane - 1, 0)]) * (lane > 0)
    rest = np.float32(point - before)
    inside = min(rest, sums[totals - LANES + lane] * share - TINY)
    # No branch here depends on the draw: half of a bisection's would be guessed wrong.
    place, left = lane, rows
    while left > FEW_ROWS:
        stride = (left + PROBES - 1) // PROBES
        passed = stride * count_probes_below(sums, place, stride, left, inside)
        place += LANES * passed
        left = min(stride, left - passed)
    start = place
    for row in range(left - 1):
        place += LANES * (sums[start + LANES * row] <= inside)
    # Nearly always true, so that the processor does not wait for it.
    return place if np.float32(0.0) <= rest < sums[place] * share else np.int64(-1)
