"""Fits that plots are drawn of; figures are closed after each test."""

import pytest
from plot_helpers import FAST, corpus

import ppl_topics as pt

try:
    import matplotlib
except ImportError:
    collect_ignore_glob = ["test_*.py"]
else:
    matplotlib.use("Agg")


@pytest.fixture(scope="session")
def plain():
    """LDA with all draws recorded."""
    record = {"theta": "all", "phi": "all", "z": "all"}
    return pt.sample("lda", corpus(), topics=4, chains=2, record=record, **FAST)


@pytest.fixture(scope="session")
def bare():
    """LDA without draws of theta and phi."""
    record = {"theta": "none", "phi": "none"}
    return pt.sample("lda", corpus(), topics=4, chains=1, record=record, **FAST)


@pytest.fixture(scope="session")
def supervised():
    return pt.sample("slda_logistic", corpus(), topics=4, chains=2, **FAST)


@pytest.fixture(scope="session")
def apart():
    return pt.sample("slda_logistic_one_vs_all", corpus(), topics=2, chains=1, **FAST)


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")
