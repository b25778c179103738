"""The JSON Schema agrees with the validator on what is right, and refuses most of what is wrong."""

import json

import jsonschema
import pytest
import yaml

from ppl_topics.errors import SpecError
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec
from ppl_topics.spec.schema import json_schema
from ppl_topics.spec.shipped import shipped

BASE = {
    "name": "m",
    "parameters": {"topics": 5, "often": 2},
    "blocks": {
        "theta": {"block": "dirichlet", "over": "topic", "per": "doc", "concentration": 0.1, "integrate_out": True},
        "phi": {"block": "dirichlet", "over": "word", "per": "topic", "concentration": {"sum": 3}},
        "z": {"block": "assignments", "prior": "theta"},
        "w": {"block": "words", "topics": "phi", "assignments": "z"},
    },
    "schedule": {
        "cycle": [
            {"z": {"kernel": "partially_collapsed", "words": {"min_count": "$often"}}},
            {"mixture": [{"weight": 2, "z": "partially_collapsed"}, {"z": "partially_collapsed"}]},
            {"every": "$often", "repeat": 2, "phi": "dirichlet_rows"},
        ]
    },
    "record": {"phi": {"top_words": "$often"}, "theta": {"docs": 3}, "z": "none"},
}


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def put(path, value):
    """Return the base document with the value at a path, or without that key where it is ``...``."""
    data = json.loads(json.dumps(BASE))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return data


def accepted(data):
    try:
        make_plan(load_spec(data))
    except SpecError:
        return False
    return True


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_models_are_valid(validator, name):
    validator.validate(yaml.safe_load(shipped()[name].read_text()))
    validator.validate(load_spec(name).to_dict())


CYCLE = ("schedule", "cycle")
RIGHT = [
    BASE,
    put(("schedule",), ...),
    put(("schedule",), BASE["schedule"]["cycle"]),
    put(("record",), ...),
    put(("doc",), "A model."),
    put(("blocks", "phi", "concentration"), [1, 2.5]),
    put(("blocks", "phi", "concentration"), "$often"),
    put(("blocks", "phi", "concentration"), {"sum": "$often"}),
    put((*CYCLE, 0, "z", "words", "max_count"), None),
    put((*CYCLE, 1, "mixture", 0, "weight"), "$often"),
    {**put(("blocks", "z", "block"), "$kind"), "parameters": {"topics": 5, "often": 2, "kind": "assignments"}},
    put(("warmup",), BASE["schedule"]["cycle"]),
    put(("warmup",), {"temperature": 5, **BASE["schedule"]}),
    put(("warmup",), {"temperature": "$often"}),
    {"extends": "lda"},
    {"extends": "lda", "blocks": {"phi": {"integrate_out": True}}},
    {"extends": "lda", "blocks": {"theta": {"block": "dirichlet", "integrate_out": None}}},
    {"extends": "lda", "record": {"phi": None}},
]
WRONG = [
    put(("recrod",), {}),
    put(("name",), ...),
    put(("name",), 3),
    put(("blocks",), ...),
    put(("blocks",), []),
    put(("blocks", "phi", "block"), "dirichlett"),
    put(("blocks", "phi", "block"), ...),
    put(("blocks", "phi", "over"), "words"),
    put(("blocks", "phi", "over"), ...),
    put(("blocks", "phi", "concentration"), 0),
    put(("blocks", "phi", "concentration"), True),
    put(("blocks", "phi", "concentration"), {"summ": 1}),
    put(("blocks", "phi", "concentration"), []),
    put(("blocks", "phi", "more"), 1),
    put(("blocks", "z", "prior"), 3),
    put(("schedule",), 3),
    put(("schedule", "cycle"), []),
    put((*CYCLE, 2, "every"), 0),
    put((*CYCLE, 2, "repeat"), 1.5),
    put((*CYCLE, 1, "mixture", 0, "weight"), 0),
    put((*CYCLE, 2, "phi"), "dirichlet_row"),
    put((*CYCLE, 2, "phi"), {}),
    put((*CYCLE, 0, "z", "words"), {"min_cuont": 3}),
    put((*CYCLE, 0, "z", "words"), {"min_count": 0}),
    put((*CYCLE, 0, "z", "wrods"), {}),
    put(("warmup",), 3),
    put(("warmup",), {"temperature": 0.5}),
    put(("warmup",), {"temperature": "hot"}),
    put(("warmup",), {"phi": "dirichlet_row"}),
    put((*CYCLE, 2, "temperature"), 5),
    put(("record", "z"), "some"),
    put(("record", "phi"), {"top_words": 0}),
    put(("record", "phi"), {"top_wrods": 1}),
    put(("parameters",), []),
]


@pytest.mark.parametrize("data", RIGHT)
def test_right_documents(validator, data):
    assert accepted(data)
    validator.validate(data)


@pytest.mark.parametrize("data", WRONG)
def test_wrong_documents(validator, data):
    assert not accepted(data)
    assert not validator.is_valid(data)
