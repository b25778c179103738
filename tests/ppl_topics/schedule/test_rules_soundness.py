"""No sweep of a schedule that the rules accept reads or records what is stale, by a second account of staleness."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import (
    ALPHA,
    BETA,
    LEARNED_HELD,
    PHI,
    THETA,
    Z_IN,
    Z_OUT,
    plan,
)

from ppl_topics.core.registry import kernels
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule import cycle, mixture


class Truth:
    """A second account of staleness: run every sweep that a schedule may take, and watch each variable."""

    def __init__(self):
        self.broken = False

    def run(self, node, stale):
        """Return all sets that may be stale after ``node``, given all that may be before."""
        body = next(key for key in node if key not in ("repeat", "every", "weight"))
        states = stale
        for _ in range(node.get("repeat", 1)):
            states = self.body(body, node[body], states)
        return states | stale if "every" in node else states

    def body(self, key, value, states):
        if key == "cycle":
            for child in value:
                states = self.run(child, states)
            return states
        if key == "mixture":
            return frozenset().union(*(self.run(child, states) for child in value))
        spec = kernels()[value["kernel"]]
        after = set()
        for stale in states:
            reads = set(spec.reads) | (set() if spec.full_conditional else set(spec.updates))
            self.broken |= bool(reads & stale)
            after.add((stale - set(spec.updates)) | (set(spec.integrates_out) & {"phi", "theta"}))
        return frozenset(after)


leaves = st.sampled_from([Z_OUT, Z_IN, PHI, THETA, ALPHA, BETA])
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4).map(lambda x: {"cycle": x})
        | st.lists(inner, min_size=1, max_size=3).map(lambda x: mixture(*x))
        | inner.map(lambda x: {"every": 2, "cycle": [x]})
        | inner.map(lambda x: {"repeat": 2, "cycle": [x]})
    ),
    max_leaves=10,
)


@given(st.lists(trees, min_size=1, max_size=4))
@settings(max_examples=250, deadline=None)
def test_no_sweep_of_an_accepted_schedule_reads_or_records_what_is_stale(entries):
    tail = [ALPHA, BETA, Z_OUT, PHI, THETA] if len(entries) % 2 else []
    schedule = cycle(*entries, *tail)
    truth, states = Truth(), frozenset({frozenset()})
    for _ in range(3):
        states |= truth.run(schedule, states)
    ends = truth.run(schedule, states)
    try:
        plan(LEARNED_HELD, schedule)
    except ScheduleError as error:
        # Nothing else can be wrong with these kernels, beyond the rule that the branches of a mixture agree.
        if "rule 3" in str(error) and "branch of the mixture" not in str(error):
            assert truth.broken or any(ends)
    else:
        assert not truth.broken
        assert not any(ends)
