"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.dirichlet import dirichlet, dirichlet_in_log_space
from ppl_topics.samplers.variates.streams import exponential, open_stream

FALSE_ALARM = 1e-6


@numba.njit
def fill(stream, shape, rows):
    for index in range(rows.shape[0]):
        dirichlet(stream, shape, rows[index])


@numba.njit
def fill_in_log_space(stream, shape, rows):
    for index in range(rows.shape[0]):
        dirichlet_in_log_space(stream, shape, rows[index])


@numba.njit
def fill_ignoring_shape(stream, shape, rows):
    for index in range(rows.shape[0]):
        for column in range(shape.size):
            rows[index, column] = exponential(stream)
        rows[index] /= rows[index].sum()


def smallest_p_value(rows, shape):
    """Marginals are Beta: the smallest of the KS p-values, corrected for their number."""
    total = shape.sum()
    values = [
        stats.kstest(rows[:, column], stats.beta(shape[column], total - shape[column]).cdf).pvalue
        for column in range(shape.size)
    ]
    return min(values) * shape.size


@pytest.mark.parametrize("filler", [fill, fill_in_log_space])
@pytest.mark.parametrize("shape", [[0.3, 0.2, 0.4], [5.0, 0.5, 1.0, 2.0], [1e4, 3e4]])
def test_distribution(filler, shape):
    shape = np.array(shape)
    rows = np.empty((20_000, shape.size))
    filler(open_stream(seed=31), shape, rows)
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert smallest_p_value(rows, shape) > FALSE_ALARM


def test_wrong_shape_is_rejected():
    shape = np.array([0.8, 0.9, 1.1])
    rows = np.empty((20_000, 3))
    fill_ignoring_shape(open_stream(seed=32), shape, rows)
    assert smallest_p_value(rows, shape) < FALSE_ALARM


@pytest.mark.parametrize("value", [1e-300, 1e-6, 1e-3])
def test_tiny_concentrations_give_a_random_vertex(value):
    """Almost all the mass is on one cell, and the cell is uniform where the concentrations are equal."""
    rows = np.empty((20_000, 4))
    fill(open_stream(seed=33), np.full(4, value), rows)
    assert np.isfinite(rows).all()
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert stats.chisquare(np.bincount(rows.argmax(axis=1), minlength=4)).pvalue > FALSE_ALARM


def test_draws_in_place_and_a_single_cell():
    shape = np.array([2.0, 3.0])
    apart = np.empty(2)
    dirichlet(open_stream(seed=34), shape, apart)
    dirichlet(open_stream(seed=34), shape, shape)
    assert np.array_equal(apart, shape)
    single = np.array([1e-9])
    dirichlet(open_stream(seed=34), single, single)
    assert single.tolist() == [1.0]
