"""Models put together from all registered blocks at random: each is planned and bound, or refused in one line."""

import types
import typing
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

import ppl_topics as pt
from ppl_topics.engine.bind import bind
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec

TEXTS = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"]] * 2
COVARIATES = [{"size": i, "kind": "abc"[i % 3]} for i in range(8)]
CLASSES = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "c", "a"] * 2, covariates=COVARIATES)
NUMBERS = pt.Corpus.from_tokens(TEXTS, labels=[0, 3, 1, None] * 2, label_kind="count", covariates=COVARIATES)

BLOCKS = pt.blocks()

FORMULAS = (".", "size", "kind * poly(size, 2)", "C(size)"), ("colour", "bs(kind)", "np.log(size)", "size +", "", 5)
"""Of covariates, and those that are none or are of others."""

TAME = {float: [0.05, 0.5, 1.0, 3.0], int: [1, 2], bool: [False, True]}
WILD = {
    float: [0.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), 10**400, "x", None, True],
    int: [0, -1, 10**9, 1.5, "2"],
    bool: [None, 1, "yes"],
}
"""Values by type; those in the second table are out of range, or of another type, for most fields."""


def able(seam):
    """Kinds of block that can serve where a seam is asked for."""
    return sorted(kind for kind, cls in BLOCKS.items() if seam in cls.seams)


def of_role(role):
    """Kinds of block that have a role of their own."""
    return sorted(kind for kind, cls in BLOCKS.items() if cls.own_role == role)


def values(annotation, wild):
    """A strategy of values for the type of a field."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return values(parts[0], wild)
    if origin is typing.Literal:
        return st.sampled_from([*parts, "other"] if wild else parts)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values(part, wild) for part in parts])
    if annotation in TAME:
        return st.sampled_from(WILD[annotation] if wild else TAME[annotation])
    if isinstance(annotation, type) and issubclass(annotation, str):
        return st.sampled_from(["z", "eta", "none"])
    return st.none()


@st.composite
def block(draw, kind, given, wild):
    """A block of a kind: what is given, and any of the other fields, one of them perhaps wild."""
    fields = {name: field for name, field in BLOCKS[kind].model_fields.items() if name not in given}
    made = {"block": kind, **given}
    strange = draw(st.sampled_from(sorted(fields))) if wild and fields else None
    for name, field in sorted(fields.items()):
        if name in BLOCKS[kind].references and name != strange:
            # A number, or the name of a block that the model may not have.
            continue
        if name == "formula":
            made[name] = draw(st.sampled_from(FORMULAS[name == strange]))
        elif name != "block" and (field.is_required() or name == strange or draw(st.booleans())):
            made[name] = draw(values(field.annotation, name == strange))
    return made


@st.composite
def models(draw):
    """A model: topics of any kind, fixed or sampled concentrations, and perhaps a response, with covariates or not."""
    wild = draw(st.sampled_from([None, None, "phi", "alpha", "beta", "pi", "eta", "x", "y", "more", "less"]))
    blocks = {}
    concentrations = {}
    for name in ("alpha", "beta"):
        concentrations[name] = draw(st.sampled_from([0.1, 2.0, {"sum": 5.0}, name, name]))
        if concentrations[name] == name:
            blocks[name] = draw(block(draw(st.sampled_from(able("concentration"))), {}, wild == name))
    weights = draw(st.sampled_from(["dirichlet", *able("topic_weights")]))
    theta = {"block": weights, "over": "topic", "per": "doc"}
    if weights == "dirichlet_regression":
        theta |= {"features": ["x"], "coefficients": "gamma"}
        over = draw(st.sampled_from([{"block": "normal"}, {"block": "random_walk", "over": "kind"}]))
        blocks["gamma"] = draw(block(over["block"], {"per": "topic", **over}, wild == "alpha"))
        blocks["x"] = draw(block("covariates", {}, wild == "x"))
    else:
        theta["concentration"] = concentrations["alpha"]
    blocks["theta"] = theta
    phi = {"over": "word", "per": "topic", "concentration": concentrations["beta"]}
    kind = draw(st.sampled_from(able("topics")))
    if phi["concentration"] == "beta" and "concentration" not in BLOCKS[kind].references and wild != "beta":
        phi["concentration"] = 0.1
        del blocks["beta"]
    if "inclusion" in BLOCKS[kind].model_fields:
        phi["inclusion"] = draw(st.sampled_from([0.3, "pi"]))
        if phi["inclusion"] == "pi":
            blocks["pi"] = draw(block(draw(st.sampled_from(able("probability"))), {}, wild == "pi"))
    if "keywords" in BLOCKS[kind].model_fields:
        phi["keywords"] = {"all": ["*"]}
    blocks["phi"] = draw(block(kind, phi, wild == "phi"))
    blocks["z"] = {"block": draw(st.sampled_from(able("assignments"))), "prior": "theta"}
    blocks["w"] = {"block": "words", "topics": "phi", "assignments": "z", "observed": "words"}
    if draw(st.booleans()):
        features = ["z"]
        if draw(st.booleans()):
            features.append("x")
            blocks["x"] = draw(block(draw(st.sampled_from(of_role("x"))), {}, wild == "x"))
        prior = draw(st.sampled_from([kind for kind in able("coefficients") if kind != "random_walk"]))
        blocks["eta"] = draw(block(prior, {"per": "response"}, wild == "eta"))
        response = {"coefficients": "eta", "features": features}
        kind = draw(st.sampled_from(of_role("y")))
        if "cutpoints" in BLOCKS[kind].model_fields:
            response["cutpoints"] = draw(st.sampled_from([[0.5, 1.5], {"block": "ordered_half_normal"}]))
        blocks["y"] = draw(block(kind, response, wild == "y"))
        for name in ("eta", "y"):
            for key, seam in BLOCKS[blocks[name]["block"]].references.items():
                if seam == "positive" and draw(st.booleans()):
                    blocks[name][key] = draw(block(draw(st.sampled_from(able(seam))), {}, wild == key))
    if wild == "more":
        kind = draw(st.sampled_from(sorted(BLOCKS)))
        blocks[draw(st.sampled_from(["more", "", "topic", *blocks]))] = draw(block(kind, {}, True))
    if wild == "less":
        del blocks[draw(st.sampled_from(sorted(blocks)))]
    return {"name": "made", "parameters": {"topics": 3}, "blocks": blocks}


def became(model):
    """What became of a model, ``planned``, ``unbound`` or ``refused``, and the message of an error."""
    done = "refused"
    response = BLOCKS.get(model["blocks"].get("y", {}).get("block"))
    corpus = NUMBERS if getattr(response, "numeric", False) else CLASSES
    try:
        spec = load_spec(model)
        assert load_spec(spec.to_yaml()).to_yaml() == spec.to_yaml()
        plan = make_plan(spec, CorpusSizes.of(corpus))
        assert str(plan)
        done = "unbound"
        bind(plan, corpus)
    except pt.PplTopicsError as error:
        return done, str(error)
    return "planned", ""


def test_every_composition_is_planned_or_refused():
    seen, planned = Counter(), set()

    @given(model=models())
    @settings(max_examples=900, deadline=None, derandomize=True, database=None)
    def try_one(model):
        what, message = became(model)
        assert "\n" not in message
        assert (what == "planned") == (message == "")
        assert len(message) < 600
        seen[what] += 1
        if what != "refused":
            inside = [each for made in model["blocks"].values() for each in made.values() if isinstance(each, dict)]
            planned.update(made["block"] for made in [*model["blocks"].values(), *inside] if "block" in made)

    try_one()
    # The test would say nothing if nearly all were refused, or nearly none.
    assert min(seen["planned"], seen["refused"]) > 100, seen
    assert planned == set(BLOCKS)
