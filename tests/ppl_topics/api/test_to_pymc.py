"""PyMC models have the density of ours, all assignments of topics summed out one by one."""

import itertools
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from two_responses import BOTH

import ppl_topics as pt
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.engine.encode_observed import encode_observed
from ppl_topics.engine.simulation import document_features, state_without_words
from ppl_topics.models.scale_mixture import ScaleMixture

# Of PyTensor, about the speed of a machine without BLAS or a compiler.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PyTensor could not link:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pytensor|pymc"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pytensor|pymc"),
]

TEXTS = ["red green red", "green blue", "blue blue red green", "", "red"]
CLASSES, NUMBERS, COUNTS = ["a", "b", "c", "a", None], [0.3, -1.2, None, 0.5, 2.0], [3, 0, 1, None, 7]
TWO = {"labels": CLASSES, "rating": NUMBERS}
COVARIATES = np.array([[0.2], [1.5], [-0.7], [0.1], [-2.0]])


def shrunk(prior, response, **options):
    eta = {"block": prior, "per": "response", "scale": 0.7, "intercept_variance": 5.0, **options}
    blocks = {"eta": eta, "y": {"intercept": True}}
    return {"name": "shrunk", "extends": response, "parameters": {"variance": None}, "blocks": blocks}


def errors(response, **options):
    eta = {"block": "normal", "per": "response", "variance": 2.4}
    y = {"block": response, "coefficients": "eta", "features": ["z"], "observed": "labels", **options}
    return {"name": "errors", "extends": "lda", "blocks": {"eta": eta, "y": y}}


RATING = {**BOTH["blocks"]["rating"], "rate": "$error_rate"}
TWO_RESPONSES = {
    **BOTH,
    "parameters": {**BOTH["parameters"], "error_rate": 1.0},
    "blocks": {**BOTH["blocks"], "rating": RATING},
}
FIXED = {"topics": 2, "alpha": [0.7, 1.4], "beta": 0.6}
CASES = {
    "lda": ("lda", None, FIXED),
    "lda_collapsed": ("lda_collapsed", None, FIXED),
    "lda_learned": ("lda_learned", None, {"topics": 2, "alpha_shape": 1.7, "alpha_rate": 2.4, "beta_rate": 3.0}),
    "slda_gaussian": ("slda_gaussian", NUMBERS, {**FIXED, "variance": 2.4, "error_shape": 2.8, "error_rate": 0.8}),
    "slda_logistic": ("slda_logistic", CLASSES, {**FIXED, "variance": 2.4, "c": 3.0}),
    "slda_multinomial": ("slda_multinomial", CLASSES, {**FIXED, "topics": 3, "alpha": 0.8, "variance": 2.4}),
    "slda_counts": ("slda_counts", COUNTS, {**FIXED, "variance": 2.4, "dispersion": 2.6}),
    "slda_covariates": ("slda_covariates", CLASSES, {**FIXED, "variance": 2.4}),
    "slda_counts with priors": (
        "slda_counts",
        COUNTS,
        {
            **FIXED,
            "variance": {"block": "inverse_gamma", "shape": 2.6, "rate": 1.9},
            "dispersion": {"block": "gamma", "shape": 1.7, "rate": 2.4},
        },
    ),
    "horseshoe with a prior of its scale": (
        shrunk("horseshoe", "slda_gaussian", scale={"block": "half_cauchy", "scale": 0.7}),
        NUMBERS,
        FIXED,
    ),
    "slda_gaussian with a prior of the rate": (
        "slda_gaussian",
        NUMBERS,
        {**FIXED, "variance": 2.4, "error_shape": 2.8, "error_rate": {"block": "gamma", "shape": 1.7, "rate": 2.4}},
    ),
    "dolda": ("dolda", CLASSES, FIXED),
    "medlda": ("medlda", CLASSES, {**FIXED, "margin": 0.7}),
    "medlda_regression": ("medlda_regression", NUMBERS, {**FIXED, "cost": 1.4, "epsilon": 0.3}),
    "horseshoe": (shrunk("horseshoe", "slda_gaussian"), NUMBERS, FIXED),
    "student_t": (errors("student_t", sigma={"block": "half_cauchy", "scale": 0.7}), NUMBERS, FIXED),
    "quantile": (errors("quantile", sigma=0.4, quantile=0.8), NUMBERS, FIXED),
    "laplace": (shrunk("laplace", "slda_gaussian"), NUMBERS, FIXED),
    "student_t_coefficients": (
        shrunk("student_t_coefficients", "slda_logistic", df=3.0, scale={"block": "gamma", "shape": 1.7, "rate": 2.4}),
        CLASSES,
        FIXED,
    ),
    "two responses": (TWO_RESPONSES, TWO, {**FIXED, "error_rate": 0.8}),
    "regularised_horseshoe": (
        shrunk("regularised_horseshoe", "slda_logistic", slab_scale=1.4, slab_df=3.0),
        CLASSES,
        FIXED,
    ),
}


def made_corpus(labels):
    kind = {id(NUMBERS): "real", id(COUNTS): "count"}.get(id(labels))
    if labels is TWO:
        return made_corpus(CLASSES).with_labels(NUMBERS, name="rating", kind="real")
    options = {"covariates": COVARIATES} if labels is not None else {}
    if labels is not None:
        options |= {"labels": labels, "label_kind": kind or "class"}
    return pt.Corpus.from_texts(TEXTS, **options)


def densities(made, points=4):
    """Return the log densities of a PyMC model at random points, and the values of its variables there."""
    variables = [*made.free_RVs, *made.deterministics]
    outputs = [made.logp(jacobian=False), *made.replace_rvs_by_values(variables)]
    function = made.compile_fn(outputs, inputs=made.value_vars, point_fn=True, mode="FAST_COMPILE")
    rng, start = np.random.default_rng(5), made.initial_point()
    for _ in range(points):
        density, *values = function({name: rng.normal(size=np.shape(value)) for name, value in start.items()})
        yield float(density), dict(zip([variable.name for variable in variables], values, strict=True))


def our_density(spec, corpus, values):
    """Return the log density by the blocks' own formulas, a sum over z written out."""
    model = pt.Model.of(spec)
    total, responses, done = 0.0, [], set()
    for each in model.by_response.values():
        observed = encode_observed(each.model, corpus)
        state = state_without_words(each.model, corpus.doc_ptr, corpus.n_words, observed)
        wholes = {name: each.whole_name(name) for name in each.model.variables}
        state.arrays.update({name: values[whole] for name, whole in wholes.items() if whole in values})
        for name, block in each.model.spec.blocks.items():
            if name not in done:
                total += of_prior(name, block, state, wholes, values)
        done.update(each.model.spec.blocks)
        if each.model.response is not None:
            sigma2 = state.arrays.get("sigma2", np.ones(1))
            response = each.model.response.at(state.arrays)
            if "sigma2" in state.arrays:
                total += stats.invgamma.logpdf(sigma2, response.shape, scale=response.rate).sum()
            responses.append((response, observed, state, state.arrays[each.model.names["eta"]], sigma2))
    total += sum(stats.dirichlet.logpdf(row, state.alpha) for row in values["theta"])
    total += sum(stats.dirichlet.logpdf(row, state.beta) for row in values["phi"])
    topics = spec.topics
    for doc in range(corpus.n_docs):
        words, terms = corpus.tokens(doc), []
        for z in itertools.product(range(topics), repeat=len(words)):
            z = np.array(z, dtype=int)
            term = np.log(values["theta"][doc, z]).sum() + np.log(values["phi"][z, words]).sum()
            counts = np.zeros((corpus.n_docs, topics))
            counts[doc] = np.bincount(z, minlength=topics)
            for response, observed, state, eta, sigma2 in responses:
                scores = document_features(counts, state)[[doc]] @ eta.T
                term += response.log_likelihood(observed.targets[[doc]], scores, sigma2).sum()
            terms.append(term)
        total += logsumexp(terms)
    return total


def of_prior(name, block, state, wholes, values):
    """Return the log density of a block's variable, of a number or of coefficients, in the terms of the PyMC model."""
    if block.kind in ("gamma", "inverse_gamma", "half_cauchy"):
        return block.log_density(state.arrays[name], state)
    if not isinstance(block, CoefficientPrior):
        return 0.0
    if isinstance(block, ScaleMixture):
        # The PyMC model has slopes of scale 1, and no lambda.
        scale, slopes = block.at(state.arrays).scale, state.arrays[name][:, : state.sizes.slopes]
        intercepts = state.arrays[name][:, state.sizes.slopes :]
        of_slopes = block.log_likelihood_of_scale(scale, slopes) + slopes.size * np.log(scale)
        return of_slopes + stats.norm.logpdf(intercepts, scale=block.intercept_variance**0.5).sum()
    total = block.log_density(state.arrays[name], state)
    if f"{wholes[name]}_unit" in values:
        # Densities of eta and of slab, times the derivatives of the change to the variables of the PyMC model.
        total -= 0.5 * np.log(block.precision(state)).sum()
    if "slab" in state.arrays:
        total -= np.log(2.0 * state.arrays["slab"]).sum()
    return total


def differences(case, **changes):
    model, labels, parameters = CASES[case]
    corpus = made_corpus(labels)
    spec = pt.load_spec(model, {**parameters, **changes})
    made = pt.to_pymc(model, corpus, **parameters)
    return np.array([density - our_density(spec, corpus, values) for density, values in densities(made)])


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_density_is_ours_up_to_a_constant(case):
    pytest.importorskip("pymc")
    found = differences(case)
    np.testing.assert_allclose(found, found[0], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        ("slda_logistic", {"variance": 2.4**0.5}),
        ("slda_gaussian", {"error_rate": 1 / 0.8}),
        ("lda_learned", {"beta_rate": 1 / 3.0}),
        ("slda_counts", {"dispersion": 2.5}),
        ("two responses", {"error_rate": 1 / 0.8}),
    ],
)
def test_a_variance_taken_as_a_deviation_or_a_rate_as_a_scale_is_seen(case, changes):
    pytest.importorskip("pymc")
    assert np.ptp(differences(case, **changes)) > 1e-3


def test_variables_have_the_names_dims_and_coordinates_of_a_trace():
    pytest.importorskip("pymc")
    model, _, parameters = CASES["horseshoe"]
    parameters = {**parameters, "standardise": False}
    simulation = pt.simulate(model, documents=4, lengths=5, words=6, seed=1, **parameters)
    made = pt.to_pymc(model, simulation.corpus, **parameters)
    # The values that a corpus is simulated with have those of a trace.
    for name in ("phi", "theta", "eta", "tau", "lambda", "sigma2"):
        ours = simulation.values[name]
        assert made.named_vars_to_dims[name] == ours.dims
        for dim in ours.dims:
            assert list(made.coords[dim]) == ours[dim].values.tolist()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("dolda_spike_slab", r"block 'phi' \(spike_slab\) cannot be translated to PyMC: its indicators are discrete"),
        ("medlda_one_vs_all", r"block 'y' \(hinge\) cannot be translated to PyMC: with one model for each class"),
    ],
)
def test_a_block_without_translation_is_refused_by_name(model, message):
    with pytest.raises(pt.SpecError, match=message):
        pt.to_pymc(model, made_corpus(CLASSES), topics=2)


def test_a_document_with_too_many_assignments_is_refused_by_name():
    text = " ".join(f"word{number}" for number in range(15))
    corpus = pt.Corpus.from_texts(["red green", text], labels=["a", "b"])
    with pytest.raises(pt.SpecError, match=r"document '1' has 32,768 assignments of 2 topics to its 15 tokens"):
        pt.to_pymc("slda_logistic", corpus, topics=2)


def test_without_pymc_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(pt.PplTopicsError, match=r"pip install 'ppl-topics\[pymc\]'"):
        pt.to_pymc("lda", made_corpus(None), topics=2)
