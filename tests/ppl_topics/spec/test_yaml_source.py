"""YAML text to plain data: limits, scalars, places."""

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppl_topics.errors import SpecError
from ppl_topics.spec import load_spec, parameters, yaml_source
from ppl_topics.spec.source import plain, source_of
from ppl_topics.spec.yaml_source import dump_yaml, parse_scalar, parse_source, read_source


def message(call, *arguments):
    with pytest.raises(SpecError) as failure:
        call(*arguments)
    text = str(failure.value)
    assert "\n" not in text
    return text


def refuse(text):
    return message(parse_source, text, "m.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("010", 10),
        ("089", 89),
        ("-007", -7),
        ("9" * 30, float("9" * 30)),
        ("9" * 5000, float("inf")),
        (".inf", float("inf")),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("0o17", "0o17"),
        ("2020-01-01", "2020-01-01"),
        ("'1e-3'", "1e-3"),
        ("=", "="),
        ("<<", "<<"),
        ("[1, a, {b: 2.5}]", [1, "a", {"b": 2.5}]),
        ("é", "é"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    data = parse_source(f"a: {text}", "m.yaml").data["a"]
    assert data == value
    assert type(data) is type(value)


def test_places_are_exact():
    parsed = parse_source("name: m\nblocks:\n  phi: {block: dirichlet, concentration: [1,  2]}\n", "m.yaml")
    assert {path: (p.line, p.column) for path, p in parsed.locations.items()} == {
        (): (1, 1),
        ("name",): (1, 1),
        ("blocks",): (2, 1),
        ("blocks", "phi"): (3, 3),
        ("blocks", "phi", "block"): (3, 9),
        ("blocks", "phi", "concentration"): (3, 27),
        ("blocks", "phi", "concentration", 0): (3, 43),
        ("blocks", "phi", "concentration", 1): (3, 47),
    }
    assert str(parsed.locate(("blocks", "phi", "nothing", 3))) == "m.yaml:3:3"


@pytest.mark.parametrize("text", ["!!python/object:os.system x", "a: !!str 5", "a: !x 5", "!!map {a: 1}", "a: ! 5"])
def test_tags_are_refused(text):
    assert "tags such as" in refuse(text)
    assert refuse(text).startswith("m.yaml:1:")


def test_billion_laughs():
    levels = ["a0: &a0 [" + "x," * 10 + "]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "aliases expand this file beyond 200,000 values" in refuse("\n".join(levels))


def test_billion_laughs_of_parameters(monkeypatch):
    monkeypatch.setattr(parameters, "MAX_VALUES", 10_000)
    lines = ["p0: [" + ", ".join("1" * 10) + "]"]
    lines += [f"p{i}: [{', '.join([f'$p{i - 1}'] * 10)}]" for i in range(1, 9)]
    text = "name: m\nextends: lda\nparameters:\n" + "".join(f"  {line}\n" for line in lines) + "  alpha: $p8\n"
    assert "over 10,000 values" in message(load_spec, text)


def test_long_chain_of_parameters():
    chain = "".join(f"  p{i}: $p{i - 1}\n" for i in range(1, 2000))
    assert "40 levels" in message(load_spec, f"extends: lda\nparameters:\n  p0: 1\n{chain}  alpha: $p1999\n")


def test_aliases_are_expanded_and_placed():
    parsed = parse_source("a: &x {b: 1}\nc: *x\n", "m.yaml")
    assert parsed.data == {"a": {"b": 1}, "c": {"b": 1}}
    assert str(parsed.locate(("c",))) == "m.yaml:2:1"
    assert "m.yaml:1:4: aliases nest deeper than 40 levels" in refuse("a: &x [*x]")
    assert "m.yaml:1:4: not valid YAML: found undefined alias 'x'" in refuse("a: *x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "m.yaml:2:17: the key 'c' occurs twice; keep one"),
        ("a: 1\n'a': 2", "m.yaml:2:1: the key 'a' occurs twice; keep one"),
        ("1: 2", "m.yaml:1:1: keys must be words, got '1'; put it in quotes"),
        ("true: 2", "m.yaml:1:1: keys must be words, got 'true'; put it in quotes"),
        ("~: 2", "m.yaml:1:1: keys must be words, got '~'; put it in quotes"),
        ("? [a, b]\n: 1", "m.yaml:1:3: keys must be words, got a list or a mapping"),
        ("? {a: b}\n: 1", "m.yaml:1:3: keys must be words, got a list or a mapping"),
        ("<<: {a: 1}", "m.yaml:1:1: merge keys (<<) are not supported; use `extends` or $parameters"),
        ("a: 1\n---\nb: 2", "m.yaml:2:1: a second YAML document; a file holds one model"),
        ("- 1", "m.yaml:1:1: expected a mapping with keys such as name, parameters and blocks"),
        ("", "m.yaml:1:1: expected a mapping with keys such as name, parameters and blocks"),
        ("# empty\n", "m.yaml:1:1: expected a mapping with keys such as name, parameters and blocks"),
        ("a: 1\nb: {c", "m.yaml:2:6: not valid YAML: expected ',' or '}', but got '<stream end>'"),
        ("a: b: c", "m.yaml:1:5: not valid YAML: mapping values are not allowed here"),
        ("\ta: 1", "m.yaml:1:1: not valid YAML: found character '\\t' that cannot start any token"),
        ("a: 1\nb: \x00", "m.yaml:2:4: the character '\\x00' is not allowed in YAML; remove it"),
        ('a: "\\ud800"', "m.yaml:1:4: a \\u escape is only half of a character; write the character itself"),
    ],
)
def test_refusals_name_the_place(text, expected):
    assert refuse(text) == expected


@pytest.mark.parametrize("text", ['a: "\\UFFFFFFFF"', '"\\U00110000": 1', "%YAML 1." + "9" * 5000 + "\n---\na: 1"])
def test_what_pyyaml_cannot_convert(text):
    assert refuse(text).startswith("m.yaml: not valid YAML: a value cannot be converted")


def test_deep_nesting():
    assert "nested deeper than 40 levels" in refuse("a: " + "[" * 100_000)
    assert "nested deeper than 40 levels" in refuse("- " * 1000 + "x")
    parse_source("a: " + "[" * 39 + "]" * 39, "m.yaml")


def test_too_many_values(monkeypatch):
    monkeypatch.setattr(yaml_source, "MAX_NODES", 1_000)
    assert "more than 1,000 values; a model specification is a page or two" in refuse("a: [" + "1," * 1_010)


def test_files(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: m\r\nblocks: {}\r\n")
    read = read_source(path)
    assert read.data == {"name": "m", "blocks": {}}
    assert (read.locate(("name",)).column, read.locate(("blocks",)).line) == (1, 2)

    path.write_bytes("a: é\nb: ä".encode() + b"\xff\n")
    assert message(read_source, path) == f"{path}:2:5: not UTF-8 text; save the file as UTF-8"
    assert message(read_source, path, "x.yaml").startswith("x.yaml:2:5: ")

    path.write_bytes(b"name: " + b"x" * 1_000_000)
    assert "the file is over 1 MB" in message(read_source, path)
    assert "cannot read the file (No such file or directory)" in message(read_source, tmp_path / "none.yaml")
    assert "cannot read the file" in message(read_source, tmp_path)


def test_scalar_options():
    assert parse_scalar("1e-3", "--set a") == 0.001
    assert parse_scalar("{sum: 3}", "--set a") == {"sum": 3}
    assert parse_scalar("", "--set a") == ""
    assert message(parse_scalar, "1\nb: 2", "--set a") == "--set a: expected one value, got '1\\nb: 2'"
    assert message(parse_scalar, "[1", "--set a").startswith("--set a:1:")


def test_python_data_become_plain():
    data = {"a": np.float64(0.5), "b": np.arange(2), "c": (1, np.bool_(True)), "d": None, "e": np.str_("x")}
    result = plain(data, "model")
    assert result == {"a": 0.5, "b": [0, 1], "c": [1, True], "d": None, "e": "x"}
    assert [type(v) for v in result["b"]] == [int, int]
    assert yaml.safe_load(dump_yaml(result)) == result
    circle = {}
    circle["a"] = circle
    assert message(plain, circle, "model") == "model: nested deeper than 40 levels"
    assert message(plain, {"a": {1: 2}}, "model") == "model: keys must be words, got 1; make it a string"
    assert message(plain, {"a": {1, 2}}, "model") == "model: expected numbers, words, lists and mappings, got {1, 2}"
    assert str(source_of({"a": 1}, "model").locate(("a",))) == "model"


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False)
    | words
    | st.sampled_from(["1e-3", "no", "010", "1:30", "~", "null", "0x10", "1_000", "=", "<<", "$alpha", ".inf", "-"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(words, values, max_size=4))
@settings(max_examples=100, deadline=None)
def test_dumped_data_come_back(data):
    assert parse_source(dump_yaml(data), "m.yaml").data == data


MARKS = [
    "a",
    "b: ",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!t ",
    "\n",
    "  ",
    "'",
    '"',
    "|",
    ">",
    "? ",
    "#",
    "<<",
]
ODD = ["---", "...", "%YAML 1.2", "1e-3", "0", ",", "\\U", "ffffffff", "\t", "\ufeff", "\x85", "é", "$alpha", "~"]
KEYS = ["extends: lda", "blocks: ", "phi: ", "parameters: ", "schedule: ", "record: ", "concentration: ", "block: "]
fragments = st.sampled_from([*MARKS, *ODD, *KEYS])


def is_loaded_or_refused(model):
    try:
        load_spec(model)
    except SpecError as error:
        return "\n" not in str(error)
    return True


@given(st.binary(max_size=60) | st.lists(fragments, max_size=25).map(lambda parts: "".join(parts).encode()))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_raise_anything_but_spec_error(tmp_path, data):
    path = tmp_path / "m.yaml"
    path.write_bytes(data)
    assert is_loaded_or_refused(path)


@given(st.dictionaries(st.sampled_from(["name", "extends", "parameters", "blocks", "schedule", "record"]), values))
@settings(max_examples=200, deadline=None)
def test_no_data_raise_anything_but_spec_error(data):
    assert is_loaded_or_refused({"extends": "lda", **data})
