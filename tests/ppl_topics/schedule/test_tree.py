"""The schedule algebra: parsing, Python constructors, round trips, messages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppl_topics.core.registry import kernels
from ppl_topics.errors import ScheduleError, SpecError
from ppl_topics.schedule import cycle, every, mixture, repeat, step
from ppl_topics.schedule.plan import make_plan, to_data
from ppl_topics.schedule.tree import Cycle, Every, Mixture, Repeat, Step, parse, steps
from ppl_topics.spec import Model, load_spec

MODEL = Model.of(load_spec("lda_learned"))


def read(data):
    return parse(MODEL.spec.with_schedule(data, "argument schedule").schedule, MODEL)


def refused(text):
    """Return the message for a schedule in YAML, placed in the file."""
    with pytest.raises(SpecError) as failure:
        make_plan(load_spec(f"extends: lda_learned\nschedule:\n{text}\n"))
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_the_example_of_the_module():
    data = load_spec(
        """\
extends: lda_learned
schedule:
  cycle:
    - z: {kernel: partially_collapsed, words: {min_count: 10}}
    - mixture:
        - {weight: 3, z: collapsed_gibbs}
        - z: partially_collapsed
    - {every: 5, alpha: slice_alpha}
    - {repeat: 2, every: 3, phi: dirichlet_rows}
"""
    ).schedule
    node = parse(data, MODEL)
    assert isinstance(node, Cycle)
    first, mixed, rare, often = node.children
    assert isinstance(first, Step)
    assert first.label == "z:partially_collapsed"
    assert first.options.words.min_count == 10
    assert isinstance(mixed, Mixture)
    assert mixed.weights == (3.0, 1.0)
    assert [s.kernel.name for s in mixed.children] == ["collapsed_gibbs", "partially_collapsed"]
    assert isinstance(rare, Every)
    assert rare.n == 5
    assert isinstance(often, Every)
    assert often.n == 3
    assert isinstance(often.child, Repeat)
    assert often.child.times == 2
    assert [s.variable for s in steps(node)] == ["z", "z", "z", "alpha", "phi"]
    assert first.path == ("schedule", "cycle", 0, "z")


def test_a_list_is_a_cycle():
    entries = [{"z": "collapsed_gibbs"}, {"phi": "dirichlet_rows"}]
    assert read(entries) == read({"cycle": entries})
    in_mixture = read({"mixture": [entries, {"z": "collapsed_gibbs", "weight": 2}]})
    assert isinstance(in_mixture, Mixture)
    assert in_mixture.weights == (1.0, 2.0)
    assert isinstance(in_mixture.children[0], Cycle)


def test_constructors_equal_yaml():
    z, phi, alpha = step("z", "collapsed_gibbs", words={"min_count": 2}), step("phi", "dirichlet_rows"), "slice_alpha"
    made = cycle(
        z,
        mixture(z, cycle(z, phi), weights=[2, 0.5]),
        mixture(z, z),
        repeat(3, phi),
        every(2, repeat(3, phi)),
        repeat(2, every(3, step("alpha", alpha))),
    )
    text = """\
extends: lda_learned
schedule:
  cycle:
    - &z {z: {kernel: collapsed_gibbs, words: {min_count: 2}}}
    - mixture:
        - {weight: 2, z: {kernel: collapsed_gibbs, words: {min_count: 2}}}
        - weight: 0.5
          cycle: [*z, {phi: dirichlet_rows}]
    - mixture: [*z, *z]
    - {repeat: 3, phi: dirichlet_rows}
    - {every: 2, repeat: 3, phi: dirichlet_rows}
    - repeat: 2
      cycle: [{every: 3, alpha: slice_alpha}]
"""
    assert read(made) == read(load_spec(text).schedule)


def test_constructors_refuse_what_is_no_entry():
    for call in (
        lambda: cycle("z"),
        lambda: mixture(["z"]),
        lambda: repeat(2, "z"),
        lambda: every(2, None),
    ):
        with pytest.raises(ScheduleError, match="expected entries made by step, cycle, mixture, repeat or every, got"):
            call()
    with pytest.raises(ScheduleError, match="mixture: 1 entries but 2 weights; give one for each"):
        mixture(step("z", "collapsed_gibbs"), weights=[1, 2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  [1]", "<text>:3:4: schedule: expected an entry such as `z: partially_collapsed` or `cycle: [...]`, got 1"),
        ("  cycle: []", "<text>:3:3: schedule: expected a list with at least one entry, got []"),
        ("  cycle: {z: collapsed_gibbs}", "<text>:3:3: schedule: expected a list with at least one entry, got {'z'"),
        ("  cycle: null", "expected a list with at least one entry, got None"),
        ("  mixture: 3", "<text>:3:3: schedule: expected a list with at least one entry, got 3"),
        ("  {}", "an entry has one of cycle, mixture or a variable, found none; write one entry a line"),
        ("  - {z: collapsed_gibbs, phi: dirichlet_rows}", "<text>:3:5: schedule: an entry has one of cycle, mixture"),
        ("  - {z: collapsed_gibbs, phi: dirichlet_rows}", "found 'z', 'phi'; write one entry a line"),
        ("  - {every: 2}", "<text>:3:5: schedule: an entry has one of cycle, mixture or a variable, found none"),
        ("  - {every: 0, z: collapsed_gibbs}", "<text>:3:6: schedule: `every` is a whole number, at least 1 (rule 4)"),
        ("  - {repeat: 1.5, z: collapsed_gibbs}", "`repeat` is a whole number, at least 1 (rule 4), got 1.5"),
        ("  - {repeat: true, z: collapsed_gibbs}", "`repeat` is a whole number, at least 1 (rule 4), got True"),
        ("  - {weight: 2, z: collapsed_gibbs}", "<text>:3:6: schedule: `weight` belongs to the entries of a mixture"),
        ("  mixture:\n  - {z: collapsed_gibbs, weight: 0}", "<text>:4:26: schedule: weights are positive numbers (ru"),
        ("  mixture:\n  - {z: collapsed_gibbs, weight: -1}", "weights are positive numbers (rule 4), got -1"),
        ("  mixture:\n  - {z: collapsed_gibbs, weight: .inf}", "weights are positive numbers (rule 4), got inf"),
        ("  mixture:\n  - {z: collapsed_gibbs, weight: .nan}", "weights are positive numbers (rule 4), got nan"),
        ("  mixture:\n  - {z: collapsed_gibbs, weight: '1'}", "weights are positive numbers (rule 4), got '1'"),
        (
            "  - zz: collapsed_gibbs",
            "<text>:3:5: schedule: 'zz' is not a variable of model 'lda_learned'; did you mean 'z'",
        ),
        (
            "  - w: collapsed_gibbs",
            "'w' is not a variable of model 'lda_learned'; valid: alpha, beta, cycle, every, mix",
        ),
        (
            "  - cylce: []",
            "<text>:3:5: schedule: 'cylce' is not a variable of model 'lda_learned'; did you mean 'cycle'?",
        ),
        ("  - z: colapsed_gibbs", "<text>:3:5: schedule: z: unknown kernel 'colapsed_gibbs'; did you mean 'collapsed"),
        ("  - z: dirichlet_rows", "kernel 'dirichlet_rows' does not update z (it updates phi); "),
        ("  - z: {}", "<text>:3:5: schedule: z: expected a kernel's name, or {kernel: NAME, ...}, got {}"),
        ("  - z: 3", "z: expected a kernel's name, or {kernel: NAME, ...}, got 3"),
        ("  - z: {kernel: 3}", "z: expected a kernel's name, or {kernel: NAME, ...}, got {'kernel': 3}"),
        (
            "  - z: {kernel: collapsed_gibbs, wrods: {}}",
            "<text>:3:34: schedule: kernel 'collapsed_gibbs' of z: unknown",
        ),
        ("  - z: {kernel: collapsed_gibbs, wrods: {}}", "unknown key 'wrods'; did you mean 'words'?"),
        (
            "  - z: {kernel: collapsed_gibbs, words: {min_cuont: 1}}",
            "<text>:3:42: schedule: kernel 'collapsed_gibbs' of z: unknown key 'words.min_cuont'; did you mean 'min_c",
        ),
        (
            "  - z: {kernel: collapsed_gibbs, words: {min_count: 0}}",
            "words.min_count: must be greater than or equal to",
        ),
        (
            "  - z: {kernel: collapsed_gibbs, words: {max_count: x}}",
            "words.max_count: expected a whole number, got 'x'",
        ),
        (
            "  - z: {kernel: collapsed_gibbs, words: {min_count: 3, max_count: 2}}",
            "<text>:3:34: schedule: kernel 'collapsed_gibbs' of z: words: max_count 2 is below min_count 3",
        ),
    ],
)
def test_messages(text, expected):
    assert expected in refused(text)


def test_values_from_parameters_are_placed_at_the_parameter():
    text = "extends: lda\nparameters: {often: 0}\nschedule:\n  - {every: $often, z: collapsed_gibbs}\n"
    with pytest.raises(SpecError, match=r"^<text>:2:14: schedule: `every` is a whole number, at least 1 \(rule 4\)"):
        make_plan(load_spec(text))


def test_plan_prints_and_lists():
    made = cycle(
        mixture(step("z", "collapsed_gibbs"), step("z", "collapsed_gibbs"), weights=[3, 1]),
        repeat(2, step("phi", "dirichlet_rows")),
    )
    spec = load_spec("lda").with_schedule(made, "argument schedule")
    plan = make_plan(spec.with_warmup({"temperature": 1}, "argument warmup_schedule"))
    assert plan.exact
    assert plan.inexact_kernels == []
    assert str(plan).splitlines() == [
        "model lda (topics: 50)",
        "  theta is integrated out by the model",
        "cycle",
        "  mixture",
        "    weight 3",
        "      z: collapsed_gibbs",
        "    weight 1",
        "      z: collapsed_gibbs",
        "  repeat 2 times",
        "    phi: dirichlet_rows",
        "exact",
    ]
    entry = plan.to_dict()["schedule"]["cycle"][1]
    assert entry == {"repeat": 2, "phi": {"kernel": "dirichlet_rows", "exact": True, "reason": "named by the model"}}


def entries():
    words = st.fixed_dictionaries({}, optional={"min_count": st.integers(1, 5), "max_count": st.integers(5, 9)})
    leaves = [
        st.just({variable: name if plain else {"kernel": name}})
        for name, spec in kernels().items()
        for variable in MODEL.latent
        for plain in (True, False)
        if MODEL.variables[variable].role in spec.updates
    ]
    selected = words.map(lambda w: {"z": {"kernel": "partially_collapsed", "words": w}})
    counts = st.fixed_dictionaries({}, optional={"repeat": st.integers(1, 4), "every": st.integers(1, 4)})

    def grown(inner):
        lists = st.lists(inner, min_size=1, max_size=3)
        weighted = st.lists(
            st.tuples(inner, st.floats(0.1, 9)).map(lambda pair: {"weight": pair[1], **pair[0]}), min_size=1, max_size=3
        )
        return lists.map(lambda x: {"cycle": x}) | weighted.map(lambda x: {"mixture": x}) | modified(inner)

    def modified(inner):
        return st.tuples(counts, inner).map(lambda pair: {**pair[0], **pair[1]})

    return st.recursive(modified(st.one_of(*leaves, selected)), grown, max_leaves=8)


@given(entries())
@settings(max_examples=200, deadline=None)
def test_random_trees_come_back(data):
    node = read(data)
    written = to_data(node)
    assert read(written) == node
    assert to_data(read(written)) == written
    spec = MODEL.spec.with_schedule(written, "argument schedule")
    assert parse(load_spec(spec.to_yaml()).schedule, MODEL) == node


def test_trees_made_by_hand_come_back():
    inner = read(step("phi", "dirichlet_rows"))
    for node in (Repeat(2, Every(3, inner)), Repeat(2, Repeat(3, inner)), Every(2, Every(3, inner))):
        again = read(to_data(node))
        assert [s.label for s in steps(again)] == ["phi:dirichlet_rows"]
        assert to_data(again) == to_data(node)
