"""Drawings of factor graphs are legible: nothing overlaps, whatever the model."""

import random
from itertools import combinations, pairwise
from typing import ClassVar, Literal

import pytest

import ppl_topics as pt
from ppl_topics.core import registry
from ppl_topics.core.block import Block
from ppl_topics.diagnostics.graph import layout
from ppl_topics.diagnostics.graph.drawing import Box
from ppl_topics.diagnostics.graph.layout import lay_out
from ppl_topics.diagnostics.graph.structure import FactorGraph, FactorNode, VariableNode
from ppl_topics.spec.shipped import shipped


def check_legible(graph):
    """Assert that nodes, labels and plates are where they belong, and that edges cross neither nodes nor labels."""
    drawing = lay_out(graph)
    nodes = (*drawing.nodes, *drawing.legend)
    labels = [label.box for label in [*(n.label for n in nodes), *(p.label for p in drawing.plates)] if label.lines]
    marks = [node.shape for node in nodes] + labels
    for one, other in combinations(marks, 2):
        assert not one.overlaps(other)
    page = Box(0, 0, drawing.width, drawing.height)
    assert all(page.holds(box) for box in [*marks, *(plate.box for plate in drawing.plates)])
    assert {node.of.name for node in drawing.nodes} == {each.name for each in (*graph.variables, *graph.factors)}
    for plate in drawing.plates:
        assert plate.box.holds(plate.label.box)
        for node in drawing.nodes:
            inside = node.of.plates[: len(plate.path)] == plate.path
            boxes = [node.shape] + [node.label.box] * bool(node.label.lines)
            assert all(plate.box.holds(box) if inside else not plate.box.overlaps(box) for box in boxes)
    for one, other in combinations(drawing.plates, 2):
        outer, inner = sorted((one, other), key=lambda plate: len(plate.path))
        nested = inner.path[: len(outer.path)] == outer.path
        assert outer.box.holds(inner.box) if nested else not outer.box.overlaps(inner.box)
    assert len(drawing.edges) == sum(len(f.parents) + len(f.children) for f in graph.factors)
    for edge in drawing.edges:
        for (x, y), (to_x, to_y) in pairwise(edge.points):
            assert to_y >= y
            swept = Box(min(x, to_x) - 0.5, y, max(x, to_x) + 0.5, to_y)
            assert not any(swept.overlaps(mark) for mark in marks)


@pytest.mark.parametrize("model", shipped())
def test_nothing_overlaps_in_shipped_models(model):
    check_legible(pt.graph(model))


def random_graph(rng):
    """Return a graph of factors that depend on any variables of those before them, in any plates."""
    dims = ["doc", "token", "a_dim_with_a_long_name", "d"]
    variables, factors = [], []

    def add(kind):
        kernels = tuple("k" * rng.randint(1, 30) for _ in range(rng.randint(0, 3)))
        plates = tuple(rng.sample(dims, rng.randint(0, 3)))
        variables.append(
            VariableNode(f"v{len(variables)}" * rng.randint(1, 4), kind, "x" * rng.randint(1, 12), plates, kernels)
        )
        return variables[-1].name

    for number in range(rng.randint(1, 8)):
        known = [variable.name for variable in variables]
        parents = rng.sample(known, rng.randint(0, min(3, len(known)))) + [
            add("fixed") for _ in range(rng.randint(0, 2))
        ]
        children = [add(rng.choice(["latent", "observed", "integrated out"])) for _ in range(rng.randint(1, 3))]
        numbers = tuple("n = 1" for _ in range(rng.randint(0, 4)))
        plates = next(variable.plates for variable in variables if variable.name == children[0])
        factors.append(FactorNode(f"f{number}", "kind", plates, tuple(parents), tuple(children), numbers))
    return FactorGraph("random", tuple(variables), tuple(factors), dict(zip(dims, dims, strict=True)))


@pytest.mark.parametrize("seed", range(50))
def test_nothing_overlaps_in_random_graphs(seed):
    check_legible(random_graph(random.Random(seed)))


class Weights(Block):
    """Topic weights that depend on covariates, which the response reads as well: a long edge."""

    seams: ClassVar = frozenset({"topic_weights"})
    references: ClassVar = {"effects": "effects", "features": "features"}
    block: Literal["weights"] = "weights"
    over: Literal["topic"] = "topic"
    effects: str | float
    features: str
    a_number_with_a_very_long_name: float = 1.0

    def reference_role(self, key, own_role):
        return key

    def dims(self, role):
        return ("doc", "topic")

    def auxiliaries(self):
        return {"noise": ("noise", ("doc",)), "wiggle": ("wiggle", ("doc", "topic"))}


class Effects(Block):
    """Effects over dims that no block of ours has."""

    seams: ClassVar = frozenset({"effects"})
    block: Literal["effects"] = "effects"

    def dims(self, role):
        return ("time <&> slice", "covariate")


@pytest.fixture
def plugged_in(monkeypatch):
    known = registry._Registry(registry.blocks(), registry.kernels(), loaded=True)
    monkeypatch.setattr(registry, "_registry", known)
    registry.block("weights")(Weights)
    registry.block("effects")(Effects)
    theta = {"block": "weights", "effects": "effects", "features": "x", "a_number_with_a_very_long_name": 1e-30}
    return {
        "name": "plugged_in",
        "extends": "slda_covariates",
        "parameters": {"alpha": None},
        "blocks": {"theta": theta, "effects": {"block": "effects"}},
    }


def test_blocks_of_plug_ins_are_drawn_without_kernels_where_no_kernel_handles_them(plugged_in):
    graph = pt.graph(plugged_in)
    found = {variable.name: variable for variable in graph.variables}
    assert found["effects"].plates == ("time <&> slice", "covariate")
    assert (found["noise"].plates, found["wiggle"].plates) == (("doc",), ("doc", "topic"))
    assert not any(variable.kernels for variable in graph.variables)
    check_legible(graph)


@pytest.mark.parametrize(("constant", "value"), [("GAP", -30.0), ("BAND", 4.0), ("BOTTOM", 2.0)])
def test_a_drawing_that_is_not_legible_is_noticed(monkeypatch, constant, value):
    monkeypatch.setattr(layout, constant, value)
    with pytest.raises(AssertionError):
        check_legible(pt.graph("dolda_covariates"))
