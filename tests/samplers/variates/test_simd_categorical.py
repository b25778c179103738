"""Running sums by lane: bits against plain NumPy, and the shares of the cells that points fall into."""

import numba
import numpy as np
import pytest

from ppl_topics.samplers.variates.simd_categorical import (
    find_cell,
    find_entry,
    new_sums,
    point_bound,
    running_sums_of_counts,
    running_sums_of_list,
    running_sums_of_products,
)

LANES = 8
SIZES = [*range(1, 41), 100, 1000]
LIST_SIZES = [0, 1, 7, 8, 9, 16, 30, 100]


@numba.njit
def products(weight, factors, row, sums):
    return running_sums_of_products(weight, factors, row, sums)


@numba.njit
def counted(weight, counts, row, prior, left, left_weight, sums):
    return running_sums_of_counts(weight, counts, row, prior, left, left_weight, sums)


@numba.njit
def listed(weights, row, topics, counts, begin, size, sums):
    return running_sums_of_list(weights, row, topics, counts, begin, size, sums)


@numba.njit
def bound_of(total, size):
    return point_bound(total, size)


@numba.njit
def find_all(sums, size, targets, in_list):
    found = np.empty(targets.size, dtype=np.int64)
    for index in range(targets.size):
        found[index] = find_entry(sums, size, targets[index]) if in_list else find_cell(sums, size, targets[index])
    return found


def rows_of(cells, size):
    """The order in which cells are dealt to lanes: the last row is the last eight, without those before."""
    whole = size // LANES * LANES
    rows = cells[:whole].reshape(-1, LANES)
    if whole < size:
        last = np.zeros(LANES, dtype=np.float32)
        last[LANES - (size - whole) :] = cells[whole:]
        rows = np.vstack([rows, last])
    return rows


def emulate(rows):
    """Running sums of each lane, and of the lanes' totals by doubling steps, all in float32."""
    sums = np.empty_like(rows)
    reached = np.zeros(LANES, dtype=np.float32)
    for index, row in enumerate(rows):
        reached = reached + row
        sums[index] = reached
    totals = reached
    for shift in (1, 2, 4):
        totals = totals + np.concatenate([np.zeros(shift, np.float32), totals[: LANES - shift]])
    return np.concatenate([sums.ravel(), totals])


def cells_of(size, seed, pattern):
    cells = np.random.default_rng(seed).gamma(0.5, size=size).astype(np.float32)
    if pattern == "zero ends":
        cells[: size // 3] = cells[size - size // 4 :] = 0.0
    if pattern == "zero lanes":
        cells[np.isin(np.arange(size) % LANES, [0, 3, 7])] = 0.0
    if pattern == "half zero":
        cells[::2] = 0.0
    if not cells.any():
        cells[size // 2] = 1.0
    return cells


@pytest.mark.parametrize("size", SIZES)
def test_bits_are_those_of_the_order_of_lanes(size):
    weight = cells_of(size, 1, "all")
    factors = np.random.default_rng(2).random((3, size)).astype(np.float32)
    counts = np.random.default_rng(3).integers(1, 50, (3, size)).astype(np.int32)
    sums = new_sums(size)
    for row in range(3):
        assert_bits(products(weight, factors, row, sums), sums, weight * factors[row])
        for left in {0, size // 2, size - 1}:
            total = counted(weight, counts, row, 0.25, left, np.float32(0.7), sums)
            without, changed = counts[row].astype(np.float32), weight.copy()
            without[left] -= 1.0
            changed[left] = 0.7
            assert_bits(total, sums, changed * (without + np.float32(0.25)))


def assert_bits(total, sums, cells):
    if cells.size >= LANES:
        expected = emulate(rows_of(cells, cells.size))
        assert np.array_equal(sums[: expected.size], expected)
    else:
        expected = np.cumsum(cells, dtype=np.float32)
        assert np.array_equal(sums[: cells.size], cells)
        assert np.array_equal(sums[LANES : LANES + cells.size], expected)
    assert total == expected[-1]


@pytest.mark.parametrize("size", LIST_SIZES)
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_bits_of_lists(size, dtype):
    generator = np.random.default_rng(4)
    weights = generator.random((3, 200)).astype(np.float32)
    begin = 5
    topics = np.full(begin + size + LANES, 65535, dtype=np.uint16)
    topics[begin : begin + size] = generator.permutation(200)[:size]
    counts = generator.integers(1, 9, topics.size).astype(dtype)
    sums = new_sums(max(size, 1))
    for row in range(3):
        total = listed(weights, row, topics, counts, begin, size, sums)
        cells = np.zeros(-(-max(size, 1) // LANES) * LANES, dtype=np.float32)
        used = slice(begin, begin + size)
        cells[:size] = counts[used].astype(np.float32) * weights[row, topics[used]]
        expected = emulate(cells.reshape(-1, LANES))
        assert total == expected[-1]
        assert np.array_equal(sums[: expected.size], expected)
        if size:
            targets = np.linspace(0.0, 1.0, 5000, endpoint=False) * total
            found = find_all(sums, size, targets, True)
            shares = np.bincount(found[found >= 0], minlength=size) / targets.size
            assert np.abs(shares - cells[:size] / total).max() < 2e-3


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pattern", ["all", "zero ends", "zero lanes", "half zero"])
def test_shares_of_the_interval(size, pattern):
    """Points spread evenly over the interval fall into each cell as often as its share; into empty cells, never."""
    cells = cells_of(size, 5, pattern)
    sums = new_sums(size)
    total = products(np.ones(size, np.float32), cells[None].copy(), 0, sums)
    assert total == pytest.approx(cells.sum(dtype=float), rel=1e-5)
    n_points = 40_000
    edge = np.array([0.0, np.nextafter(np.float32(total), np.float32(0.0)), total, bound_of(total, size)])
    for targets in ((np.arange(n_points) + 0.5) / n_points * total, edge):
        found = find_all(sums, size, targets, False)
        settled = found[found >= 0]
        assert found.min() >= -1
        assert found.max() < size
        assert (cells[settled] > 0.0).all()
        if targets is not edge:
            assert settled.size > 0.999 * n_points
            shares = np.bincount(settled, minlength=size) / n_points
            assert np.abs(shares - cells / total).max() <= 1.5 / n_points + 1e-4
