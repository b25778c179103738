"""Specifications: keys, types, parameters, extends, overrides, the number of topics."""

from pathlib import Path

import numpy as np
import pytest

from ppl_topics.errors import SpecError
from ppl_topics.schedule import cycle, step
from ppl_topics.spec import Model, load_spec
from ppl_topics.spec.model_file import TopWords
from ppl_topics.spec.shipped import shipped

LDA = """\
name: m
parameters: {topics: 5, alpha: 0.1}
blocks:
  theta: {block: dirichlet, over: topic, per: doc, concentration: $alpha, integrate_out: true}
  phi: {block: dirichlet, over: word, per: topic, concentration: 0.01}
  z: {block: assignments, prior: theta}
  w: {block: words, topics: phi, assignments: z}
record: {z: none}
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, parameters=None, **options):
        Path("m.yaml").write_text(text, encoding="utf-8")
        return load_spec("m.yaml", parameters, **options)

    return write


@pytest.fixture
def refuse(load):
    def message(text, parameters=None, **options):
        with pytest.raises(SpecError) as failure:
            load(text, parameters, **options)
        assert "\n" not in str(failure.value)
        return str(failure.value)

    return message


def refused(model, parameters=None, **options):
    with pytest.raises(SpecError) as failure:
        load_spec(model, parameters, **options)
    return str(failure.value)


def test_a_file(load):
    spec = load(LDA)
    assert (spec.name, spec.topics, spec.parameters) == ("m", 5, {"topics": 5, "alpha": 0.1})
    assert spec.blocks["theta"].concentration == 0.1
    assert str(spec.locate("blocks", "theta", "concentration")) == "m.yaml:2:25"
    assert load_spec(Path("m.yaml")).blocks == load_spec(LDA).blocks == spec.blocks


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("record:", "recrod:", "m.yaml:8:1: model: unknown key 'recrod'; did you mean 'record'?"),
        ("per: topic", "perr: topic", "m.yaml:5:39: block 'phi' (dirichlet): unknown key 'perr'; did you mean 'per'?"),
        ("block: words", "block: wrods", "m.yaml:7:7: block 'w': unknown block 'wrods'; did you mean 'words'?"),
        ("block: words", "block: 3", "m.yaml:7:7: block 'w': unknown block 3; valid: "),
        ("{block: words, ", "{", "m.yaml:7:3: block 'w': the key 'block' is missing; valid: assignments, background"),
        ("over: word,", "", "m.yaml:5:3: block 'phi' (dirichlet): the key 'over' is missing"),
        ("over: word", "over: words", "m.yaml:5:27: block 'phi' (dirichlet): over: expected 'topic' or 'word', got "),
        ("over: word", "over: 3", "over: expected 'topic' or 'word', got 3"),
        ("over: word", "over: [word]", "over: expected 'topic' or 'word', got ['word']"),
        ("integrate_out: true", "integrate_out: yes", "m.yaml:4:75: block 'theta' (dirichlet): integrate_out: "),
        ("integrate_out: true", "integrate_out: yes", "expected true or false, got 'yes'"),
        ("concentration: 0.01", "concentration: 0", "m.yaml:5:51: block 'phi' (dirichlet): concentration: must be"),
        ("concentration: 0.01", "concentration: -1.5", "concentration: must be greater than 0, got -1.5"),
        ("concentration: 0.01", "concentration: .inf", "concentration: must be a finite number, got inf"),
        ("concentration: 0.01", "concentration: true", "expected a number or a mapping or a list or a string, got"),
        ("concentration: 0.01", "concentration: {summ: 1}", "m.yaml:5:67: block 'phi' (dirichlet): unknown key 'conc"),
        ("concentration: 0.01", "concentration: {summ: 1}", "'concentration.summ'; did you mean 'sum'?"),
        ("concentration: 0.01", "concentration: {sum: x}", "concentration.sum: expected a number, got 'x'"),
        ("concentration: 0.01", "concentration: {sum: 0}", "m.yaml:5:67: block 'phi' (dirichlet): concentration.sum"),
        ("concentration: 0.01", "concentration: {}", "the key 'concentration.sum' is missing"),
        ("concentration: 0.01", "concentration: [1, 0]", "m.yaml:5:70: block 'phi' (dirichlet): concentration.1: "),
        ("concentration: 0.01", "concentration: []", "concentration: needs at least 1 of them, got []"),
        ("name: m", "name: 3", "m.yaml:1:1: model: name: expected a string, got 3"),
        ("name: m\n", "", "m.yaml:1:1: model: the key 'name' is missing"),
        ("{z: none}", "{z: some}", "m.yaml:8:10: model: record.z: expected 'all' or 'none' or a mapping, got 'some'"),
        ("{z: none}", "{z: 5}", "record.z: expected 'all' or 'none' or a mapping, got 5"),
        ("{z: none}", "{phi: {top_word: 5}}", "m.yaml:8:16: model: unknown key 'record.phi.top_word'; did you mean"),
        ("{z: none}", "{phi: {doc: 5}}", "unknown key 'record.phi.doc'; did you mean 'docs'?"),
        ("{z: none}", "{phi: {top_words: 0}}", "record.phi.top_words: must be greater than or equal to 1, got 0"),
        ("{z: none}", "{phi: {top_words: 2.5}}", "record.phi.top_words: expected a whole number, got 2.5"),
        ("record: {z: none}", "record: 5", "m.yaml:8:1: model: record: expected a mapping, got 5"),
        ("record: {z: none}", "schedule: 5", "m.yaml:8:1: model: schedule: expected a mapping or a list, got 5"),
        ("  z:", "  Z:", "m.yaml:6:3: variable name 'Z': use lower-case letters, digits and _, a letter first"),
        ("  z:", "  cycle:", "variable name 'cycle': use lower-case letters, digits and _, a letter first; cycle"),
        ("$alpha", "$alhpa", "m.yaml:4:52: $alhpa is not a parameter of this model; did you mean 'alpha'?"),
        ("$alpha", "0.5", "m.yaml:2:25: the parameter 'alpha' is never used; write $alpha where it belongs, or"),
        ("alpha: 0.1", "alpha: -1", "m.yaml:2:25: block 'theta' (dirichlet): concentration: must be greater than 0"),
        ("alpha: 0.1", "alpha: $beta, beta: -1", "m.yaml:2:39: block 'theta' (dirichlet): concentration: must be"),
        ("alpha: 0.1", "alpha: {sum: -1}", "m.yaml:2:33: block 'theta' (dirichlet): concentration.sum: must be"),
        (
            "alpha: 0.1",
            "alpha: $b, b: $alpha",
            "m.yaml:2:25: the parameters b -> alpha -> b refer to each other in a circle",
        ),
        ("alpha: 0.1", "alpha: $alpha", "m.yaml:2:25: the parameters alpha -> alpha refer to each other in a circle"),
        ("{topics: 5, alpha: 0.1}", "[topics]", "m.yaml:2:1: parameters: expected a mapping, got ['topics']"),
        ("topics: 5", "topics: 0", "m.yaml:2:14: topics must be a whole number from 1 to 65,535, got 0"),
        ("topics: 5", "topics: 65536", "m.yaml:2:14: topics must be a whole number from 1 to 65,535, got 65536"),
        ("topics: 5", "topics: 2.5", "whole number from 1 to 65,535, got 2.5"),
        ("topics: 5", "topics: true", "whole number from 1 to 65,535, got True"),
        ("topics: 5, ", "", "m.yaml:2:1: the parameter `topics`, the number of topics, is missing"),
    ],
)
def test_refusals(refuse, old, new, expected):
    assert old in LDA
    assert expected in refuse(LDA.replace(old, new))


def test_no_blocks(refuse):
    assert refuse("name: m\nparameters: {topics: 2}\n") == "m.yaml:1:1: model: the key 'blocks' is missing"
    expected = "m.yaml:2:1: model: blocks: needs at least 1 of them, got {}"
    assert refuse("name: m\nblocks: {}\nparameters: {topics: 2}\n") == expected


@pytest.mark.parametrize("topics", [1, 256, 257, 65_535, np.int64(7)])
def test_topics(topics):
    assert load_spec("lda", {"topics": topics}).topics == topics


def test_free_text_is_no_parameter(load):
    assert load(LDA.replace("name: m", "name: m\ndoc: $5 a document")).doc == "$5 a document"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"alpa": 1}, "parameter alpa: model 'lda' has no parameter 'alpa'; did you mean 'alpha'?"),
        (
            {"alpha": "x"},
            "parameter alpha: block 'theta': concentration: 'x' is not a block of this model; add a block",
        ),
        ({"alpha": float("nan")}, "parameter alpha: block 'theta' (dirichlet): concentration: must be a finite number"),
        ({"alpha.sum": -1}, "parameter alpha.sum: block 'theta' (dirichlet): concentration.sum: must be greater than"),
        ({"alpha": {1: 2}}, "parameter alpha: keys must be words, got 1; make it a string"),
        ({"alpha": object}, "parameter alpha: expected numbers, words, lists and mappings, got <class 'object'>"),
        ({"topics": "5"}, "parameter topics: topics must be a whole number from 1 to 65,535, got '5'"),
        ({"topics": True}, "parameter topics: topics must be a whole number from 1 to 65,535, got True"),
        ({5: 1}, "parameter 5: model 'lda' has no parameter '5'; valid: alpha, beta, topics"),
    ],
)
def test_wrong_overrides(parameters, expected):
    with pytest.raises(SpecError) as failure:
        Model.of(load_spec("lda", parameters))
    assert str(failure.value).startswith(expected)


def test_overrides():
    spec = load_spec("lda", {"alpha.sum": 6.4, "beta": np.full(3, 0.5), "topics": 7})
    assert spec.parameters == {"topics": 7, "alpha": {"sum": 6.4}, "beta": [0.5, 0.5, 0.5]}
    assert spec.blocks["theta"].concentration.sum == 6.4
    assert str(load_spec("lda", {"alpha": "$beta"}).blocks["theta"].concentration) == "0.01"
    assert refused("lda", {"alpha": 0}, call="--set {name}").startswith("--set alpha: block 'theta'")


def test_unused_override():
    model = {"extends": "lda", "name": "m", "blocks": {"theta": {"concentration": 1.0}}}
    assert refused(model, {"alpha": 2.0}) == "parameter alpha: nothing in model 'm' uses this parameter"


def test_record_argument(load, refuse):
    spec = load(LDA, record={"phi": {"top_words": 3}})
    assert spec.record == {"z": "none", "phi": TopWords(top_words=3)}
    expected = (
        "argument record: model: record.phi: expected 'all' or 'none' or a mapping, got 'al'; did you mean 'all'?"
    )
    assert refuse(LDA, record={"phi": "al"}) == expected
    assert refuse(LDA, record=["phi"]) == "argument record: expected a mapping such as {'z': 'all'}, got ['phi']"
    # The place of what is missing in the file stays with the file.
    assert refuse(LDA.replace("name: m\n", ""), record={}).startswith("m.yaml:1:1: model: the key 'name'")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("ldaa", "'ldaa' is neither a file nor a shipped model; did you mean 'lda'?"),
        (
            "no.yaml",
            "'no.yaml' is neither a file nor a shipped model; valid: background_lda, dmr, dmr_supervised",
        ),
        ("", "'' is neither a file nor a shipped model"),
        (".", "'.' is neither a file nor a shipped model"),
        ("a\0b", "'a\\x00b' is neither a file nor a shipped model"),
        ("x" * 5000, "is neither a file nor a shipped model"),
        (5, "the model is of type int; give a model's name, a file, a dict or a Spec"),
        (None, "the model is of type NoneType"),
        (["lda"], "the model is of type list"),
        ({}, "model: model: the key 'name' is missing"),
        ({1: 2}, "model: keys must be words, got 1; make it a string"),
        ({"name": "m", "blocks": {"z": {"block": "assignmets"}}, "parameters": {"topics": 2}}, "m: block 'z': unknown"),
        ({"extends": 5}, "model: extends must name a model or a file, got 5"),
        ({"extends": "ldaa"}, "model: extends: 'ldaa' is neither a file nor a shipped model; did you mean 'lda'?"),
        ({"extends": "lda", "name": "m", "parameters": [1]}, "m: parameters: expected a mapping, got [1]"),
        ({"extends": "lda", "name": "m", "blocks": {"phi": None}, "record": {}}, None),
    ],
)
def test_what_a_model_may_be(model, expected):
    if expected is None:
        assert "phi" not in load_spec(model).blocks
    else:
        assert expected in refused(model)


def test_extends_a_shipped_model(load):
    spec = load("extends: lda\nparameters: {alpha: 0.5}\nblocks:\n  phi: {integrate_out: true}\n")
    assert spec.name == "lda"
    assert (spec.blocks["theta"].concentration, spec.blocks["phi"].integrate_out) == (0.5, True)
    assert str(spec.locate("blocks", "phi", "integrate_out")) == "m.yaml:4:9"
    assert str(spec.locate("blocks", "theta", "concentration")) == "m.yaml:2:14"
    assert str(spec.locate("blocks", "phi", "concentration")) == "lda.yaml:3:38"


def test_extends_a_file_beside_it(load, refuse, tmp_path, monkeypatch):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.yaml").write_text(LDA)
    (tmp_path / "base" / "b.yaml").write_text("extends: a.yaml\nparameters: {alpha: 0}\n")
    expected = f"{Path('base', 'b.yaml')}:2:14: block 'theta' (dirichlet): concentration: must be greater than 0, got 0"
    assert refuse("extends: base/b.yaml\n") == expected
    assert load("extends: base/b.yaml\nparameters: {alpha: 3}").blocks["theta"].concentration == 3


def test_extends_errors(refuse, tmp_path):
    expected = "m.yaml:2:1: extends: 'none.yaml' is neither a file nor a shipped model"
    assert refuse("name: a\nextends: none.yaml\n").startswith(expected)
    expected = "m.yaml:1:1: extends goes in a circle: m.yaml -> m.yaml; one of them must extend nothing"
    assert refuse("extends: m.yaml\n") == expected
    (tmp_path / "a.yaml").write_text("extends: ./m.yaml\n")
    assert "extends goes in a circle: m.yaml -> a.yaml -> m.yaml" in refuse("extends: a.yaml\n")
    for i in range(12):
        (tmp_path / f"c{i}.yaml").write_text(f"extends: c{i + 1}.yaml\n")
    assert "more than 10 models extend one another" in refuse("extends: c0.yaml\n")


def test_a_file_may_have_the_name_of_the_model_it_extends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lda_collapsed.yaml").write_text("extends: lda_collapsed\nparameters: {alpha: 0.7}\n")
    assert load_spec("lda_collapsed.yaml").blocks["theta"].concentration == 0.7


def test_null_removes_and_a_new_kind_replaces(load, refuse):
    text = "extends: lda\nparameters: {alpha: null}\nblocks:\n  theta: {concentration: 2.0}\n"
    assert load(text).parameters == {"topics": 50, "beta": 0.01}
    text = "extends: lda\nblocks:\n  phi: {concentration: null}\n"
    assert refuse(text) == "m.yaml:3:3: block 'phi' (dirichlet): the key 'concentration' is missing"
    text = "extends: lda\nblocks:\n  phi: {block: gamma, shape: 1, rate: 2}\n"
    assert load(text).blocks["phi"].model_dump() == {"block": "gamma", "shape": 1, "rate": 2, "per": None}
    text = "extends: lda\nblocks:\n  phi: {block: gamma, over: word}\n"
    assert refuse(text).startswith("m.yaml:3:23: block 'phi' (gamma): unknown key 'over'")


def test_a_new_parameter_must_be_used_and_an_old_one_need_not(load, refuse):
    text = "extends: lda\nparameters: {gamma: 1}\n"
    assert refuse(text).startswith("m.yaml:2:14: the parameter 'gamma' is never used; write $gamma")
    load("extends: lda\nblocks: {theta: {concentration: 1}}\n")


@pytest.mark.parametrize("name", sorted(shipped()))
@pytest.mark.parametrize("parameters", [{}, {"topics": 3}])
def test_resolved_models_come_back(name, parameters):
    spec = load_spec(name, parameters).with_schedule(cycle(step("z", "collapsed_gibbs")), "argument schedule")
    again = load_spec(spec.to_yaml())
    for part in ("name", "doc", "blocks", "schedule", "record", "topics"):
        assert getattr(again, part) == getattr(spec, part)
    assert again.to_yaml() == spec.to_yaml()
    assert load_spec(spec.to_dict()).blocks == spec.blocks
    assert load_spec(spec).blocks == spec.blocks


def test_numpy_values_come_back():
    spec = load_spec("lda", {"alpha": np.float32(0.5), "beta": np.array([1, 2.5]), "topics": np.uint16(9)})
    again = load_spec(spec.to_yaml(), {"topics": 4})
    assert (again.blocks, again.topics) == (spec.blocks, 4)


def test_a_parameter_of_the_schedule_goes_with_it():
    model = {"extends": "lda", "name": "own", "parameters": {"times": 3}}
    schedule = {"cycle": [{"repeat": "$times", "z": "partially_collapsed"}, {"phi": "dirichlet_rows"}]}
    spec = load_spec({**model, "schedule": schedule})
    assert spec.parameters["times"] == 3
    other = spec.with_schedule(cycle(step("z", "collapsed_gibbs")), "argument schedule")
    assert other.parameters.keys() == spec.parameters.keys() - {"times"}
    assert load_spec(other.to_dict()).parameters == other.parameters


def test_a_warmup_comes_back_from_yaml(load):
    """With its own parameters, which go with it; one from Python takes its place."""
    tree = "  temperature: $hot\n  cycle: [z: ad_lda, phi: dirichlet_rows]\n"
    spec, other = load(f"extends: lda\nparameters: {{hot: 5}}\nwarmup:\n{tree}"), [step("z", "ad_lda")]
    assert spec.warmup == {"temperature": 5, "cycle": [{"z": "ad_lda"}, {"phi": "dirichlet_rows"}]}
    assert str(spec.locate("warmup", "cycle", 1)) == "m.yaml:5:22"
    assert load_spec(spec.to_yaml(), {"hot": 3}).warmup == {**spec.warmup, "temperature": 3}
    for changed, warmup in ((spec.without_warmup(), None), (spec.with_warmup(other, "w"), other)):
        assert changed.warmup == warmup
        assert "hot" not in changed.parameters
        assert load_spec(changed.to_yaml()).warmup == warmup
    assert load("extends: lda\nwarmup: null\n").warmup is None
    assert spec.with_schedule(cycle(step("z", "collapsed_gibbs")), "s").warmup == spec.warmup


def test_schedules_from_python_are_plain_and_placed():
    spec = load_spec("lda").with_schedule(({"z": "a"}, {"repeat": np.int64(2), "phi": "b"}), "argument schedule")
    assert spec.schedule == [{"z": "a"}, {"repeat": 2, "phi": "b"}]
    assert str(spec.locate("schedule", 1, "phi")) == "argument schedule[1]['phi']"
    with pytest.raises(SpecError, match="argument schedule: keys must be words, got 1"):
        load_spec("lda").with_schedule({1: 2}, "argument schedule")


def test_what_to_record_replaces_the_rule_of_the_base(load):
    assert load("extends: lda\nrecord: {theta: {docs: 3}}").record["theta"].docs == 3
    with pytest.raises(SpecError, match=r"m\.yaml:2:10: record: 'theta' has dims .*`top_words` does not apply"):
        Model.of(load("extends: lda\nrecord: {theta: {top_words: 3}}"))
