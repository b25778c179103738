"""Models and options made to do harm: what the fuzzers of tests/fuzz found in the YAML, and what they look for."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ppl_topics as pt
from ppl_topics.api.sampling import resolve
from ppl_topics.cli.model_options import RecordedModel
from ppl_topics.schedule import make_plan
from ppl_topics.spec import load_spec, parameters, yaml_source
from ppl_topics.spec.source import short_repr
from ppl_topics.spec.yaml_source import parse_source

LDA = """\
name: x
parameters: {topics: 3, alpha: 0.1, beta: 0.01}
blocks:
  theta: {block: dirichlet, over: topic, per: doc, concentration: $alpha}
  phi: {block: dirichlet, over: word, per: topic, concentration: $beta}
  z: {block: assignments, prior: theta}
  w: {block: words, topics: phi, assignments: z, observed: words}
"""


def refusal(text):
    with pytest.raises(pt.SpecError) as caught:
        make_plan(load_spec(text))
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


def test_the_model_is_accepted():
    make_plan(load_spec(LDA))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system [id]\n", "YAML tags such as"),
        ("a: !!python/name:os.system ''\n", "YAML tags such as"),
        (f"a: !{'x' * 5_000} 1\n", "YAML tags such as"),
        ("a: &a [*a]\n", "aliases nest deeper than 40 levels"),
        ("a: &a {b: *a}\n", "aliases nest deeper than 40 levels"),
        ("a: &a [1]\nb: {<<: *a}\n", "merge keys (<<) are not supported"),
        ("a: &a {<<: *a}\n", "merge keys (<<) are not supported"),
        ("a: " + "[" * 100_000 + "\n", "nested deeper than 40 levels"),
        ("? " * 100_000 + "\n", "nested deeper than 40 levels"),
        ("? [a, b]\n: 1\n", "keys must be words"),
        ("a: 1\n---\na: 1\n", "a second YAML document"),
        ('a: "\\ud800"\n', "half of a character"),
        ('a: "\\UFFFFFFFF"\n', "not valid YAML"),
        ("a: 1\n\0", "is not allowed in YAML"),
        ("extends: /dev/zero\nname: x\n", "neither a file nor a shipped model"),
        (LDA.replace("topics: 3", "topics: 999999999999"), "topics must be a whole number"),
        (LDA.replace("topics: 3", "topics: " + "9" * 400), "topics must be a whole number"),
        (LDA.replace("alpha: 0.1", "alpha: " + "9" * 400), "must be"),
        (LDA.replace("alpha: 0.1", "alpha: .nan"), "must be"),
        (LDA.replace("alpha: 0.1", "alpha: $alpha"), "in a circle"),
        (LDA.replace("$alpha", '"$al\\n\\npha"'), r"$al\n\npha is not a parameter"),
        (LDA.replace("alpha: 0.1", '"al\\npha": 0.1'), r"parameter name 'al\npha': use letters"),
        (LDA.replace("alpha: 0.1", '"": 0.1'), "parameter name '': use letters"),
        (LDA + 'record: {"a\\nb\\e[2m": 3}\n', r"record.a\nb\x1b[2m: expected 'all' or 'none' or a mapping, got 3"),
        (LDA.replace("$alpha", "$" + "a" * 600_000), "is not a parameter of this model"),
    ],
)
def test_yaml(text, message):
    assert message in refusal(text)


def test_laughs_are_counted(monkeypatch):
    monkeypatch.setattr(yaml_source, "MAX_NODES", 5_000)
    levels = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "aliases expand this file beyond" in refusal("\n".join(levels))


def test_parameters_that_multiply(monkeypatch):
    monkeypatch.setattr(parameters, "MAX_VALUES", 5_000)
    values = ["topics: 3", "a0: [1]"] + [f"a{i}: [{', '.join([f'$a{i - 1}'] * 30)}]" for i in range(1, 9)]
    text = "name: x\nparameters:\n  " + "\n  ".join(values) + "\nblocks: {z: {block: words, topics: $a8}}\n"
    assert "with parameters substituted, the model has over" in refusal(text)


def test_large_integers_survive_yaml():
    """YAML reads them as floats, so without a conversion saved draws would have another model than was run."""
    spec = load_spec("lda", {"alpha": 10**30})
    assert load_spec(spec.to_yaml()).to_dict() == spec.to_dict()


@pytest.mark.parametrize("digits", [400, 5_000])
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"sum": value}], ids=["plain", "nested"])
def test_integers_beyond_the_largest_float_are_refused(digits, wrap):
    with pytest.raises(pt.SpecError, match="is too large"):
        load_spec("lda", {"alpha": wrap(10**digits)})


def test_numbers_too_long_for_repr():
    assert short_repr(10**5_000) == "a number of 5,000 digits"


@pytest.mark.parametrize("value", ["{a: &a [*a]}", "!!python/name:os.system", "1\nb: 2", "- 1\n- 2\n: 3", "[" * 99])
@pytest.mark.parametrize("option", ["settings", "record"])
def test_options(option, value):
    given = {"settings": [f"alpha={value}"]} if option == "settings" else {"settings": [], "record": [f"z={value}"]}
    with pytest.raises(pt.SpecError) as caught:
        resolve("lda", **RecordedModel(model="lda", **given).given())
    assert "\n" not in str(caught.value)


def test_a_name_of_two_lines():
    plan = make_plan(load_spec(LDA.replace("name: x", 'name: "x\\n\\e[31my"')))
    assert str(plan).splitlines()[0] == r"model x\n\x1b[31my (topics: 3)"


def test_a_setting_of_two_lines():
    with pytest.raises(pt.SpecError, match=r"^--set al\\npha: model 'lda' has no parameter 'al\\npha'; .*$"):
        resolve("lda", **RecordedModel(model="lda", settings=["al\npha=1"]).given(), call="--set {name}")


def test_pipes_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(pt.SpecError, match="neither a file nor a shipped model"):
        load_spec(tmp_path / "pipe.yaml")


MARKS = ["a", ": ", "- ", "[", "]", "{", "}", ",", "&a ", "*a", "!x ", "|\n", ">\n", "'", '"', "#", "\n", "\n  ", "<<"]
WORDS = [
    "name",
    "blocks",
    "1",
    "-1e400",
    "~",
    "?",
    "%",
    "\t",
    "\0",
    "\u2028",
    "extends: lda",
    "---\n",
    "\\u0041",
    "$topics",
]
PIECES = st.sampled_from([*MARKS, *WORDS])


@given(pieces=st.lists(PIECES, max_size=40))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_text_is_read_or_refused_in_one_line(pieces):
    try:
        parse_source("".join(pieces), "text")
    except pt.SpecError as error:
        message = str(error)
        if "\n" in message or not message.startswith("text"):
            raise


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["words", "dirichlet", "$alpha", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "block", "theta", "z", "over", "sum", "blocks"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(tree=TREES, key=st.sampled_from(["parameters", "blocks", "schedule", "record", "name", "doc", "other"]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_tree_is_read_or_refused_in_one_line(tree, key):
    data = {**load_spec("lda").to_dict(), key: tree}
    try:
        make_plan(load_spec(data))
    except pt.SpecError as error:
        if "\n" in str(error):
            raise
