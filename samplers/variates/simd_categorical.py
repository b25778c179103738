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
    "add_single",
    "core_share",
    "draw_cell",
    "draw_entry",
    "find_cell",
    "find_entry",
    "is_safe",
    "new_sums",
    "point_bound",
    "running_sums_of_counts",
    "running_sums_of_counts_abreast",
    "running_sums_of_list",
    "running_sums_of_products",
]

EIGHTS = ir.Constant(INTEGERS, [LANES] * LANES)

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
    """Allocate the running sums of a distribution with `size` cells: rows of lanes, totals, and the totals before."""
    return np.zeros(LANES * ((size + LANES - 1) // LANES + 2), dtype=np.float32)


def emit_running_sums(builder: Any, size: Any, parts: list[tuple[Any, Callable[[Any, Any], Any]]]) -> list[Any]:
    """Emit the running sums by lane of distributions of at least eight cells, and return their totals.

    A part is where the sums go, and `term(cell, cells)`, which emits the weights of eight cells that begin at `cell`
    and have the numbers `cells`. The last row, where it is not whole, is the last eight cells without those that had
    their turn before.
    """
    last = builder.sub(size, word(LANES))
    before = builder.block
    body, rest = builder.append_basic_block("rows"), builder.append_basic_block("rest")
    builder.branch(body)

    builder.position_at_end(body)
    cell, cells = builder.phi(WORD), builder.phi(INTEGERS)
    reached = [builder.phi(FLOATS) for _ in parts]
    totals = [builder.fadd(so_far, term(cell, cells)) for so_far, (_, term) in zip(reached, parts, strict=True)]
    for total, (sums, _) in zip(totals, parts, strict=True):
        emit_store(builder, total, sums, cell)
    following, next_cells = builder.add(cell, word(LANES)), builder.add(cells, EIGHTS)
    ends = [(cell, word(0), following), (cells, IOTA, next_cells)]
    for phi, start, value in ends + [(so_far, ZEROS, total) for so_far, total in zip(reached, totals, strict=True)]:
        phi.add_incoming(start, before)
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<=", following, last), body, rest)

    builder.position_at_end(rest)
    done = builder.trunc(builder.sub(following, last), INTEGER)
    fresh = builder.icmp_signed(">=", IOTA, spread(builder, done))
    cells = builder.add(IOTA, spread(builder, builder.trunc(last, INTEGER)))
    whole = builder.icmp_signed("==", following, size)
    place = builder.select(whole, following, builder.add(following, word(LANES)))
    result = []
    for total, (sums, term) in zip(totals, parts, strict=True):
        more = builder.select(fresh, term(last, cells), ZEROS)
        total_with_rest = builder.fadd(total, more)
        # Where all rows are whole this overwrites the place of the totals, which come next.
        emit_store(builder, total_with_rest, sums, following)
        result.append((builder.select(whole, total, total_with_rest), sums))
    return [emit_totals(builder, total, sums, place) for total, sums in result]


def emit_totals(builder: Any, totals: Any, sums: Any, place: Any) -> Any:
    """Emit the running sums over the lanes, in three steps, and return the last."""
    for shift in (1, 2, 4):
        totals = builder.fadd(totals, emit_shift(builder, totals, shift))
    emit_store(builder, totals, sums, place)
    emit_store(builder, emit_shift(builder, totals, 1), sums, builder.add(place, word(LANES)))
    return builder.extract_element(totals, integer(LANES - 1))


def emit_shift(builder: Any, numbers: Any, shift: int) -> Any:
    """Emit a vector whose lanes are those `shift` before, and zero."""
    moved = [LANES] * shift + list(range(LANES - shift))
    return builder.shuffle_vector(numbers, ZEROS, ir.Constant(INTEGERS, moved))


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_counts_abreast(
    typingctx: Any, weights: Any, counts: Any, rows: Any, priors: Any, lefts: Any, left_weights: Any, sums: Any
) -> Any:
    """Do as `running_sums_of_counts` for rows of the same counts, and return their totals; of at least eight cells.

    All but the counts are tuples: one for each distribution.
    """
    abreast = len(weights)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix = context.make_array(signature.args[1])(context, builder, arguments[1])
        size = builder.extract_value(matrix.shape, 1)

        def part(each: int) -> tuple[Any, Callable[[Any, Any], Any]]:
            weight, row, prior, left, left_weight, out = (
                builder.extract_value(arguments[index], each) for index in (0, 2, 3, 4, 5, 6)
            )
            weight, out = (
                context.make_array(kind.dtype)(context, builder, value).data
                for kind, value in ((signature.args[0], weight), (signature.args[6], out))
            )
            number = builder.gep(matrix.data, [builder.mul(row, size)])
            priors, left_weights = spread(builder, prior), spread(builder, left_weight)
            lefts = spread(builder, builder.trunc(left, INTEGER))

            def term(cell: Any, cells: Any) -> Any:
                is_left = builder.icmp_signed("==", cells, lefts)
                count = builder.add(emit_load(builder, number, cell, INTEGERS), builder.sext(is_left, INTEGERS))
                share = builder.fadd(builder.sitofp(count, FLOATS), priors)
                return builder.fmul(
                    builder.select(is_left, left_weights, emit_load(builder, weight, cell, FLOATS)), share
                )

            return out, term

        totals = emit_running_sums(builder, size, [part(each) for each in range(abreast)])
        return context.make_tuple(builder, signature.return_type, totals)

    whole, real = types.UniTuple(types.int64, abreast), types.UniTuple(types.float32, abreast)
    return real(weights, counts, whole, real, whole, real, sums), codegen


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_products_by_rows(typingctx: Any, weight: Any, factors: Any, row: Any, sums: Any) -> Any:
    """See `running_sums_of_products`; for at least eight cells."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, out = (data_of(context, builder, signature, arguments, i) for i in (0, 3))
        right = row_of(context, builder, signature, arguments, 1, arguments[2])
        size = size_of(context, builder, signature, arguments, 0)

        def term(cell: Any, cells: Any) -> Any:
            return builder.fmul(emit_load(builder, left, cell, FLOATS), emit_load(builder, right, cell, FLOATS))

        return emit_running_sums(builder, size, [(out, term)])[0]

    return types.float32(weight, factors, types.int64, sums), codegen


@intrinsic  # type: ignore[untyped-decorator]
def count_lanes_below(typingctx: Any, sums: Any, place: Any, target: Any) -> Any:
    """Return how many of the seven running sums that begin at `place` are at most `target`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        totals = emit_load(builder, data, arguments[1], FLOATS)
        passed = builder.fcmp_ordered("<=", totals, spread(builder, arguments[2]))
        mask = builder.zext(builder.bitcast(passed, ir.IntType(LANES)), WORD)
        return builder.ctpop(builder.and_(mask, word(2 ** (LANES - 1) - 1)))

    return types.int64(sums, types.int64, types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def count_rows_below(typingctx: Any, sums: Any, rows: Any, lane: Any, target: Any) -> Any:
    """Return how many of a lane's first `rows` running sums are at most `target`: a search without branches."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        rows, lane, target = arguments[1:]
        targets, before = spread(builder, target), builder.block
        body, done = builder.append_basic_block("search"), builder.append_basic_block("found")
        nothing = ir.Constant(INTEGERS, [0] * LANES)
        builder.cbranch(builder.icmp_signed(">", rows, word(0)), body, done)

        # All lanes are compared, since that is as fast as one.
        builder.position_at_end(body)
        row, passed = builder.phi(WORD), builder.phi(INTEGERS)
        below = builder.fcmp_ordered("<=", emit_load(builder, data, builder.mul(row, word(LANES)), FLOATS), targets)
        more = builder.add(passed, builder.zext(below, INTEGERS))
        following = builder.add(row, word(1))
        for phi, start, value in ((row, word(0), following), (passed, nothing, more)):
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", following, rows), body, done)

        builder.position_at_end(done)
        counts = builder.phi(INTEGERS)
        counts.add_incoming(nothing, before)
        counts.add_incoming(more, body)
        return builder.zext(builder.extract_element(counts, lane), WORD)

    return types.int64(sums, types.int64, types.int64, types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_of_list(
    typingctx: Any, weights: Any, row: Any, topics: Any, counts: Any, begin: Any, size: Any, sums: Any
) -> Any:
    """Compute the running sums by lane of ``counts[j] * weights[row, topics[j]]`` over a list of topics.

    The seven numbers after the list's end are read as topics, too.
    """

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
        cell, cells, reached = builder.phi(WORD), builder.phi(INTEGERS), builder.phi(FLOATS)
        place = builder.add(begin, cell)
        inside, factors = builder.icmp_signed("<", cells, sizes), NOTHING
        # Loaded one by one, since it takes longer to take a vector of names apart.
        for lane in range(LANES):
            name = builder.zext(builder.load(builder.gep(listed, [builder.add(place, word(lane))])), WORD)
            factors = builder.insert_element(factors, builder.load(builder.gep(weights, [name])), integer(lane))
        if isinstance(signature.args[3].dtype, types.Float):
            count = emit_load(builder, number, place, FLOATS)
        else:
            count = builder.sitofp(emit_load(builder, number, place, INTEGERS), FLOATS)
        total = builder.fadd(reached, builder.select(inside, builder.fmul(count, factors), ZEROS))
        emit_store(builder, total, sums, cell)
        following, next_cells = builder.add(cell, word(LANES)), builder.add(cells, EIGHTS)
        for phi, start, value in ((cell, word(0), following), (cells, IOTA, next_cells), (reached, ZEROS, total)):
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", following, size), body, rest)
        builder.position_at_end(rest)
        return emit_totals(builder, total, sums, following)

    return types.float32(weights, types.int64, topics, counts, types.int64, types.int64, sums), codegen


@inlined
def add_single(sums: Float32Array, cell: Integer, value: Real, total: Real) -> Any:
    """Write the sums of a distribution with less than eight cells, which has one in each lane; return the new total."""
    sums[2 * LANES + cell] = total
    total += value
    sums[cell] = value
    sums[LANES + cell] = total
    return total


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
        return running_sums_of_counts_abreast(  # type: ignore[no-any-return]
            (weight,), counts, (row,), (np.float32(prior),), (left,), (np.float32(left_weight),), (sums,)
        )[0]
    total = np.float32(0.0)
    for cell in range(LANES):
        value = np.float32(0.0)
        if cell == left:
            value = np.float32(left_weight) * (np.float32(counts[row, cell] - 1) + np.float32(prior))
        elif cell < weight.size:
            value = weight[cell] * (np.float32(counts[row, cell]) + np.float32(prior))
        total = add_single(sums, cell, value, total)
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
        total = add_single(sums, cell, value, total)
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
    rest = np.float32(point - np.float64(sums[totals + LANES + lane]))
    inside = min(rest, sums[totals - LANES + lane] * share - TINY)
    # No branch here depends on the draw: half of a bisection's would be guessed wrong.
    place = lane + LANES * count_rows_below(sums, rows - 1, lane, inside)
    # Nearly always true, so that the processor does not wait for it.
    return place if np.float32(0.0) <= rest < sums[place] * share else np.int64(-1)
