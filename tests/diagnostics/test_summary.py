"""The efficiency of a run: of the same topics in all chains, where they can be told."""

import numpy as np
import pandas as pd
import pytest
from topic_traces import ORDERS, base, renumbered

import ppl_topics as pt
from ppl_topics.diagnostics.alignment import align, aligned
from ppl_topics.diagnostics.efficiency import efficiency_table
from ppl_topics.diagnostics.summary import efficiency
from ppl_topics.errors import TraceError


@pytest.fixture(scope="module")
def groups():
    return renumbered(base(), ORDERS)


def test_topics_are_numbered_alike(groups):
    table = efficiency(groups)
    found = align(groups)
    assert table.attrs == {"aligned_to_chain": found.reference}
    after = aligned(groups, found)["posterior"]
    names = [str(name) for name in groups["posterior"].data_vars]
    pd.testing.assert_frame_equal(table.drop("lp"), efficiency_table(after, names), check_index_type=False)
    # The planted fault, topics as each chain numbers them: R-hat compares different topics.
    raw = efficiency_table(groups["posterior"])
    for name in ("phi", "topic_share", "eta"):
        assert raw.loc[name, "rhat_max"] > 1.5 > 1.2 > table.loc[name, "rhat_max"]
    assert table.loc["beta"].equals(raw.loc["beta"])


def test_one_variable_has_the_numbers_that_it_has_in_the_whole_table(groups):
    whole = efficiency(groups)
    for name in ("eta", "theta", "lp"):
        one = efficiency(groups, [name])
        assert list(one.index) == [name]
        assert one.loc[name].equals(whole.loc[name])
    assert efficiency(groups, ["lp"]).attrs == {"aligned_to_chain": None}


def test_what_is_aligned_is_left_as_it_is(groups, monkeypatch):
    fit = pt.Fit(groups).aligned()
    expected = efficiency(groups)

    def refuse(groups):
        raise AssertionError("aligned again")

    monkeypatch.setattr("ppl_topics.diagnostics.summary.align", refuse)
    table = fit.efficiency()
    pd.testing.assert_frame_equal(table, expected)
    assert table.attrs == expected.attrs


def test_topics_that_cannot_be_told_are_as_each_chain_numbers_them(groups):
    bare = {"posterior": groups["posterior"].drop_vars(["phi", "included"])}
    with pytest.raises(TraceError, match="cannot be aligned"):
        align(bare)
    table = efficiency(bare)
    assert table.attrs == {"aligned_to_chain": None}
    pd.testing.assert_frame_equal(table, efficiency_table(bare["posterior"]))
    assert np.isfinite(table.loc["theta", "rhat_max"])
