"""Nodes, plates, edges and kernels of factor graphs."""

import pytest

import ppl_topics as pt
from ppl_topics.core.tokens import Sizes
from ppl_topics.diagnostics.graph.structure import PLATES, SAME
from ppl_topics.errors import ScheduleError, SpecError

SUPERVISED = {
    "theta": "dirichlet",
    "phi": "dirichlet",
    "z": "assignments",
    "w": "words",
    "eta": "normal",
    "y": "hinge",
}


def variables(graph):
    return {variable.name: variable for variable in graph.variables}


def factors(graph):
    return {factor.name: factor for factor in graph.factors}


def test_lda():
    graph = pt.graph("lda", topics=7)
    found = variables(graph)
    assert {name: variable.kind for name, variable in found.items()} == {
        "theta": "integrated out",
        "theta.concentration": "fixed",
        "phi": "latent",
        "phi.concentration": "fixed",
        "z": "latent",
        "w": "observed",
    }
    assert {name: variable.plates for name, variable in found.items() if variable.plates} == {
        "theta": ("doc",),
        "phi": ("topic",),
        "z": ("doc", "token"),
        "w": ("doc", "token"),
    }
    assert [found[name].label for name in ("theta", "theta.concentration", "z")] == ["θ", "α = 0.1", "z"]
    assert graph.plates == {"doc": "documents D", "topic": "topics K = 7", "token": "tokens N_d"}
    words = factors(graph)["w"]
    assert (words.kind, words.plates) == ("words", ("doc", "token"))
    assert (words.parents, words.children) == (("phi", "z"), ("w",))
    assert factors(graph)["phi"].parents == ("phi.concentration",)


def test_a_supervised_model():
    graph = pt.graph("medlda_horseshoe")
    found = variables(graph)
    assert {name: found[name].plates for name in ("eta", "tau", "lambda", "xi", "y")} == {
        "eta": ("response", "coefficient"),
        "tau": ("response",),
        "lambda": ("response", "coefficient"),
        "xi": ("doc", "response"),
        "y": ("doc", "response"),
    }
    assert {factor.name: factor.kind for factor in graph.factors} == SUPERVISED | {"eta": "horseshoe"}
    hinge = factors(graph)["y"]
    assert (hinge.parents, hinge.children) == (("eta", "z"), ("y", "xi"))
    assert hinge.numbers == ("cost = 1.6", "margin = 64")
    assert factors(graph)["eta"].children == ("eta", "tau", "lambda")


def test_covariates_are_given_and_have_no_factor():
    graph = pt.graph("slda_covariates")
    assert (variables(graph)["x"].kind, variables(graph)["x"].plates) == ("observed", ("doc", "covariate"))
    assert "x" not in factors(graph)
    assert factors(graph)["y"].parents == ("eta", "z", "x")


def test_indicators_have_a_plate_of_words_and_topics_have_not():
    found = variables(pt.graph("lda_spike_slab"))
    assert (found["phi"].plates, found["included"].plates) == (("topic",), ("topic", "word"))
    assert found["phi.inclusion"].label == "π = 0.5"


def test_where_each_response_has_its_own_model_their_plate_is_around_all():
    found = variables(pt.graph("medlda_one_vs_all"))
    assert {v.plates[0] for v in found.values() if v.kind != "fixed"} == {"response"}
    assert found["y"].plates == ("response", "doc")


def test_concentrations_with_priors():
    graph = pt.graph("lda_learned")
    found = variables(graph)
    assert (found["alpha"].kind, found["alpha"].plates, found["beta"].plates) == ("latent", ("topic",), ())
    assert factors(graph)["theta"].parents == ("alpha",)
    assert factors(graph)["beta"].numbers == ("shape = 1", "rate = 10")


@pytest.mark.parametrize(
    ("concentration", "label"),
    [(2, "α = 2"), ({"sum": 6.4}, "α = {sum: 6.4}"), ([0.5, 1, 2, 3], "α = [0.5, 1, 2, ...]")],
)
def test_fixed_numbers_are_written_as_in_yaml(concentration, label):
    assert variables(pt.graph("lda", topics=4, alpha=concentration))["theta.concentration"].label == label


def test_kernels_are_those_of_the_plan():
    steps = {"z": "block_collapsed", "phi": "dirichlet_rows"}
    schedule = {"cycle": [{name: kernel} for name, kernel in steps.items()]}
    found = variables(pt.graph("lda", schedule=schedule))
    assert {name: v.kernels for name, v in found.items() if v.kernels} == {n: (k,) for n, k in steps.items()}
    chosen = variables(pt.graph("medlda"))
    planned = pt.plan("medlda").to_dict()["schedule"]["cycle"]
    assert {name: v.kernels for name, v in chosen.items() if v.kernels} == {
        name: (entry["kernel"],) for step in planned for name, entry in step.items()
    }


def test_every_kernel_of_a_variable_is_named_once_and_approximate_ones_are_marked():
    z = [pt.step("z", "light_collapsed"), pt.step("z", "collapsed_gibbs"), pt.step("z", "collapsed_gibbs", words={})]
    found = variables(pt.graph("lda", schedule=pt.cycle(*z, pt.step("phi", "dirichlet_rows"))))
    assert found["z"].kernels == ("light_collapsed (not exact)", "collapsed_gibbs")


def test_what_is_wrong_with_a_model_or_its_schedule_is_an_error():
    with pytest.raises(SpecError, match="did you mean 'topics'"):
        pt.graph("lda", topcs=3)
    with pytest.raises(ScheduleError, match="rule 1: no kernel updates phi"):
        pt.graph("lda", schedule={"z": "partially_collapsed"})


def test_what_a_run_is_given_is_observed():
    model = {**pt.load_spec("lda").to_dict(), "given": ["phi"]}
    found = variables(pt.graph(model))
    assert (found["phi"].kind, found["phi"].kernels) == ("observed", ())
    assert found["z"].kernels


def test_every_dim_of_the_program_has_a_label_in_words():
    for dim in Sizes(docs=1, words=1, topics=1, tokens=1).by_dim:
        assert dim == "topic" or SAME.get(dim, dim) in PLATES
