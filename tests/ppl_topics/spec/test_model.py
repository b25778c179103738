"""Models: roles, references, factors, what is recorded."""

from typing import ClassVar, Literal

import pytest

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core import registry
from ppl_topics.core.block import Block
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import block, blocks, kernels
from ppl_topics.core.state import ChainState
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import SpecError
from ppl_topics.models.targets import encode_counts
from ppl_topics.spec import Model, load_spec
from ppl_topics.spec.shipped import shipped

PARTS = {
    "theta": {"block": "dirichlet", "over": "topic", "per": "doc", "concentration": 0.1},
    "phi": {"block": "dirichlet", "over": "word", "per": "topic", "concentration": 0.1},
    "z": {"block": "assignments", "prior": "theta"},
    "w": {"block": "words", "topics": "phi", "assignments": "z"},
}


def model(record=None, **changes):
    parts = {name: PARTS.get(name, {}) | (changes.get(name) or {}) for name in [*PARTS, *changes]}
    parts = {name: part for name, part in parts.items() if changes.get(name, {}) is not None}
    return Model.of(load_spec({"name": "m", "parameters": {"topics": 2}, "blocks": parts, "record": record or {}}))


def refused(record=None, **changes):
    with pytest.raises(SpecError) as failure:
        model(record, **changes)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_roles_and_factors():
    gamma = {"block": "gamma", "shape": 1.0, "rate": 1.0}
    built = model(alpha=gamma, theta={"concentration": "alpha", "integrate_out": True})
    assert dict(built.names) == {"theta": "theta", "phi": "phi", "z": "z", "w": "w", "alpha": "alpha"}
    assert {n: (v.role, v.dims) for n, v in built.variables.items()} == {
        "theta": ("theta", ("doc", "topic")),
        "phi": ("phi", ("topic", "word")),
        "z": ("z", ("token",)),
        "alpha": ("alpha", ()),
    }
    assert set(built.latent) == {"phi", "z", "alpha"}
    assert {f.name: set(f.touches) for f in built.factors} == {
        "theta": {"theta", "alpha"},
        "phi": {"phi"},
        "z": {"z", "theta"},
        "w": {"z", "phi"},
        "alpha": {"alpha"},
    }


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped(name):
    built = Model.of(load_spec(name))
    assert built.variables["theta"].integrated_out
    assert built.spec.doc


def test_names_are_free():
    parts = {
        "weights": PARTS["theta"],
        "topics": PARTS["phi"] | {"concentration": "smooth"},
        "smooth": {"block": "gamma", "shape": 1.0, "rate": 1.0},
        "assigned": {"block": "assignments", "prior": "weights"},
        "seen": {"block": "words", "topics": "topics", "assignments": "assigned"},
    }
    built = Model.of(load_spec({"name": "m", "parameters": {"topics": 2}, "blocks": parts}))
    roles = {"theta": "weights", "phi": "topics", "beta": "smooth", "z": "assigned", "w": "seen"}
    assert dict(built.names) == roles


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"z": {"prior": "thetta"}}, "z: prior: 'thetta' is not a block of this model; did you mean 'theta'?"),
        ({"z": {"prior": "z"}}, "prior: 'z' is of kind 'assignments', which cannot serve as prior; valid kinds: diri"),
        ({"w": {"assignments": "phi"}}, "'phi' is of kind 'dirichlet', which cannot serve as assignments"),
        ({"theta": {"concentration": "alpha"}}, "'alpha' is not a block of this model; add a block of kind gamma"),
        ({"theta": {"concentration": "phi"}}, "'phi' is of kind 'dirichlet', which cannot serve as concentration"),
        ({"extra": PARTS["phi"]}, "block 'extra' is used by no other block; refer to it, or remove it"),
        ({"w": None}, "block 'phi' is used by no other block"),
        ({"z": None, "w": None}, "block 'theta' is used by no other block"),
        ({"z2": PARTS["z"]}, "both 'z' and 'z2' would be the z of this model; remove one, or"),
        ({"w2": PARTS["w"] | {"topics": "phi2"}, "phi2": PARTS["phi"]}, "both 'w' and 'w2' would be the w of this"),
        ({"w": {"topics": "theta"}, "phi": None}, "'theta' is theta for 'z' and phi for 'w'; give each its own block"),
        ({"theta": {"per": "topic"}}, "block 'theta' (dirichlet): used as the prior of assignments, it must be `over:"),
        ({"phi": {"over": "topic"}}, "used as the topics of words, it must be `over: word, per: topic`"),
        (
            {
                "theta": {"concentration": "a"},
                "phi": {"concentration": "a"},
                "a": {"block": "gamma", "shape": 1, "rate": 1},
            },
            "'a' is alpha for 'theta' and beta for 'phi'; give each its own block",
        ),
        (
            {"phi": {"concentration": "b"}, "b": {"block": "gamma", "shape": 1, "rate": 1, "per": "topic"}},
            "block 'b' (gamma): phi has one concentration for all topics; drop `per: topic`, or use it for theta",
        ),
    ],
)
def test_references(changes, expected):
    message = refused(**changes)
    assert expected in message.replace("block 'z': ", "z: ")
    assert message.startswith("m: ")


def test_places_of_references():
    text = "extends: lda\nblocks:\n  z:\n    prior: phi\n"
    with pytest.raises(
        SpecError, match=r"^lda\.yaml:8:3: 'phi' is theta for 'z' and phi for 'w'; give each its own block$"
    ):
        Model.of(load_spec(text))
    with pytest.raises(SpecError, match=r"^<text>:4:5: block 'z': prior: 'ph' is not a block of this model; did you"):
        Model.of(load_spec(text.replace("phi", "ph")))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"ph": "all"}, "m: record: 'ph' is not a variable of model 'm'; did you mean 'phi'?"),
        ({"w": "all"}, "m: record: 'w' is not a variable of model 'm'; valid: phi, theta, z"),
        ({"z": {"docs": 3}}, "m: record: 'z' has dims ('token',), so `docs` does not apply; use all or none"),
        ({"theta": {"top_words": 3}}, "m: record: 'theta' has dims ('doc', 'topic'), so `top_words` does not apply"),
    ],
)
def test_record_rules(record, expected):
    assert refused(record).startswith(expected)


def test_a_record_of_every_kind_is_accepted():
    model({"theta": {"docs": 3}, "phi": {"top_words": 3}, "z": "all"})


@pytest.mark.parametrize("brought", [{"sigma2": ("scale", ())}, {"scale": ("augmentation", ())}])
def test_a_variable_that_two_blocks_bring_along(monkeypatch, brought):
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))

    @block("mine")
    class Mine(CoefficientPrior):
        block: Literal["mine"] = "mine"

        def auxiliaries(self):
            return brought

        def precision(self, state):
            raise AssertionError

    spec = load_spec({"extends": "slda_gaussian", "name": "m", "blocks": {"eta": {"block": "mine"}}})
    (own, (role, _)) = next(iter(brought.items()))
    expected = {
        f"block 'y' (gaussian) brings along 'sigma2', as the augmentation of this model, and block 'eta' has {own!r}, "
        f"its {role}; replace one of these blocks",
        f"block 'eta' (mine) brings along {own!r}, as the {role} of this model, and block 'y' has 'sigma2', its "
        "augmentation; replace one of these blocks",
    }
    with pytest.raises(SpecError) as failure:
        Model.of(spec)
    assert str(failure.value).partition(": ")[2] in expected


def test_a_variable_with_a_dim_that_no_model_has(monkeypatch):
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))

    @block("mine")
    class Mine(CoefficientPrior):
        block: Literal["mine"] = "mine"

        def auxiliaries(self):
            return {"scale": ("scale", ("response", "slopes"))}

        def precision(self, state):
            raise AssertionError

    spec = load_spec({"extends": "slda_gaussian", "name": "m", "blocks": {"eta": {"block": "mine"}}})
    with pytest.raises(SpecError, match=r"has the dim 'slopes', which no model has; did you mean 'slope'"):
        Model.of(spec)


def test_a_third_party_block_without_roles(monkeypatch):
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))

    @block("mine")
    class Mine(Block):
        references: ClassVar = {"prior": "topics"}
        own_role: ClassVar = "mine"
        block: Literal["mine"] = "mine"
        prior: str

    message = refused(mine={"block": "mine", "prior": "phi"})
    assert message == "block 'mine' refers to 'prior' but gives it no role; override reference_role"


def test_a_third_party_block_of_labels_that_is_no_response(monkeypatch):
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))

    @block("mine")
    class Mine(Block):
        own_role: ClassVar = "y"
        block: Literal["mine"] = "mine"

    message = refused(mine={"block": "mine"})
    assert message == (
        "m: block 'mine' (mine): it observes labels, so its class needs the method `encode`, or must be a pt.Response"
    )

    @block("encodes")
    class Encodes(Mine):
        block: Literal["encodes"] = "encodes"

        def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
            return encode_counts(labels)

    assert "needs the method `log_density`" in refused(mine={"block": "encodes"})

    @block("forgets_z")
    class ForgetsZ(Encodes):
        block: Literal["forgets_z"] = "forgets_z"

        def log_density(self, value: FloatArray, state: ChainState) -> float:
            return 0.0

    assert "one of its `references` must name the assignments" in refused(mine={"block": "forgets_z"})
