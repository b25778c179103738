"""Simulated corpora follow the model, with the values that they were drawn with."""

from typing import Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, ndtr

import ppl_topics as pt
from ppl_topics.api.simulating import prepare_simulation
from ppl_topics.core import registry
from ppl_topics.core.keys import Key
from ppl_topics.models.assignments import Assignments
from ppl_topics.models.words import Words
from ppl_topics.spec.shipped import shipped

SMALL = {"documents": 12, "lengths": 9, "words": 15, "topics": 3, "seed": 1}
LOSSES = {"medlda", "medlda_binary", "medlda_light", "medlda_one_vs_all", "medlda_horseshoe", "medlda_regression"}
GIVEN = {
    "slda_logistic": {"c": 1.0},
    "slda_logistic_one_vs_all": {"c": 1.0},
    "keyword_lda": {"keywords": {"first": ["1", "2"], "second": ["5", "6"]}},
    "seeded_lda": {"keywords": {"first": ["1", "2"], "second": ["5", "6"]}},
    "dmr_time": {"covariates": [{"year": str(2001 + i % 3)} for i in range(12)]},
}
KINDS = {"slda_gaussian": "real", "slda_counts": "count"}


def n_dk(simulation):
    docs = np.repeat(np.arange(simulation.corpus.n_docs), simulation.corpus.doc_lengths)
    counts = np.zeros((simulation.corpus.n_docs, simulation.values.sizes["topic"]))
    np.add.at(counts, (docs, simulation.values["z"].values), 1)
    return counts


@pytest.mark.parametrize("model", sorted(shipped()))
def test_every_shipped_model_is_simulated_or_says_why_not(model):
    if model in LOSSES:
        with pytest.raises(pt.SpecError, match=r"block 'y' .* cannot be simulated: it is a pseudo-likelihood"):
            pt.simulate(model, **SMALL)
        return
    simulation = pt.simulate(model, **SMALL, **GIVEN.get(model, {}))
    corpus, values = simulation.corpus, simulation.values
    assert (corpus.n_docs, corpus.n_tokens, corpus.n_words) == (12, 108, 15)
    assert corpus.name == f"simulated, {model}"
    drawn = {name: v.dims for name, v in pt.Model.of(pt.load_spec(model)).variables.items()}
    per_document = {name for name, dims in drawn.items() if name in ("omega", "a", "xi") and "doc" in dims}
    assert {name: array.dims for name, array in values.items()} == {
        name: dims for name, dims in drawn.items() if name not in per_document
    }
    np.testing.assert_allclose(values["phi"].sum("word"), 1.0)
    assert values["word"].values.tolist() == corpus.vocabulary.tolist()
    # Each word is one that its topic has, in the order of the corpus.
    assert (values["phi"].values[values["z"].values, corpus.words] > 0.0).all()
    assert all(np.all(np.diff(corpus.tokens(d).astype(int)) >= 0) for d in range(12))
    if "eta" in values:
        assert corpus.labels.kind == KINDS.get(model, "class")
        assert corpus.labels.n_responses == (1 if model in KINDS else 3 if model == "slda_ordinal" else 2)
        assert not corpus.labels.missing.any()


def test_a_fit_has_the_dims_and_coordinates_of_the_values():
    simulation = pt.simulate("slda_gaussian", **SMALL, responses=2, standardise=False)
    how = {"topics": 3, "standardise": False, "draws": 2, "warmup": 1, "chains": 1, "seed": 1, "progress": False}
    posterior = pt.sample("slda_gaussian", simulation.corpus, record={"z": "all"}, **how).posterior
    for name, value in simulation.values.items():
        drawn = posterior[name].isel(chain=0, draw=0, drop=True)
        assert drawn.dims == value.dims
        for dim in value.dims:
            assert drawn[dim].values.tolist() == value[dim].values.tolist()


def test_the_same_seed_gives_the_same_bits():
    one, two = (pt.simulate("slda_covariates", **SMALL, responses=2, covariates=3) for _ in range(2))
    assert one.corpus.fingerprint == two.corpus.fingerprint
    assert one.values.identical(two.values)
    other = pt.simulate("slda_covariates", **SMALL | {"seed": 2}, responses=2, covariates=3)
    assert other.corpus.fingerprint != one.corpus.fingerprint
    drawn = pt.simulate("lda", **SMALL | {"seed": None})
    again = pt.simulate("lda", **SMALL | {"seed": drawn.values.attrs["seed"]})
    assert again.corpus.fingerprint == drawn.corpus.fingerprint
    assert pt.load_spec("lda", {"topics": 3}).to_yaml() == drawn.values.attrs["model_yaml"]
    assert repr(drawn).startswith("Simulation of lda: theta, phi, z; Corpus 'simulated, lda': 12 documents")


def test_topics_and_words_follow_the_model():
    """Counts of topics are Dirichlet-multinomial; words given their topics have the probabilities phi."""
    alpha, topics, n = [0.4, 0.9, 2.0], 3, 4000
    simulation = pt.simulate("lda", documents=n, lengths=5, words=4, topics=topics, alpha=alpha, beta=0.7, seed=3)
    first = np.bincount(n_dk(simulation)[:, 0].astype(int), minlength=6)
    expected = n * stats.betabinom(5, alpha[0], sum(alpha[1:])).pmf(np.arange(6))
    assert stats.chisquare(first, expected).pvalue > 1e-4
    phi, z = simulation.values["phi"].values, simulation.values["z"].values
    seen = np.zeros((topics, 4))
    np.add.at(seen, (z, simulation.corpus.words), 1)
    expected = seen.sum(axis=1, keepdims=True) * phi
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, topics * 3) > 1e-4


def test_parameters_have_their_priors():
    simulator = prepare_simulation("lda_learned", {"topics": 3, "alpha_shape": 2.0}, 4, 3, 5)
    draws = [simulator.draw(1, number).values for number in range(200)]
    alpha = np.concatenate([values["alpha"].values for values in draws])
    beta = np.array([float(values["beta"]) for values in draws])
    assert stats.kstest(alpha, stats.gamma(2.0).cdf).pvalue > 1e-4
    assert stats.kstest(beta, stats.gamma(1.0, scale=0.1).cdf).pvalue > 1e-4


def scores(simulation):
    shares = n_dk(simulation) / simulation.corpus.doc_lengths[:, None]
    eta = simulation.values["eta"].values
    rest = np.ones((len(shares), eta.shape[1] - shares.shape[1]))
    return np.hstack([shares, rest]) @ eta.T


@pytest.mark.parametrize(
    ("model", "settings", "probability"),
    [("slda_logistic", {"c": 1.0}, expit), ("dolda_normal", {"variance": 1.0}, ndtr)],
)
@pytest.mark.parametrize("responses", [1, 2])
def test_labels_follow_the_response(model, settings, probability, responses):
    how = {"documents": 3000, "lengths": 4, "words": 5, "topics": 2, "alpha": 0.5, "seed": 5}
    simulation = pt.simulate(model, responses=responses, **how, **settings)
    labels = simulation.corpus.labels
    assert labels.kind == ("class" if responses == 1 else "multi_label")
    p = probability(scores(simulation))
    error = labels.values.reshape(p.shape) - p
    # By thirds of the probability: a factor would show in the outer ones.
    for column in range(responses):
        for third in np.array_split(np.argsort(p[:, column]), 3):
            noise = np.sqrt((p * (1 - p))[third, column].sum())
            assert abs(error[third, column].sum()) < 4.5 * noise


def test_exclusive_classes_break_a_stick():
    how = {"documents": 4000, "lengths": 4, "words": 5, "topics": 2, "alpha": 0.5, "seed": 7}
    simulation = pt.simulate("slda_multinomial", responses=2, **how)
    s = scores(simulation)
    p = np.stack([expit(s[:, 0]), expit(-s[:, 0]) * expit(s[:, 1]), expit(-s[:, 0]) * expit(-s[:, 1])])
    seen = np.bincount(simulation.corpus.labels.values, minlength=3)
    assert (np.abs(seen - p.sum(axis=1)) < 4.5 * np.sqrt((p * (1 - p)).sum(axis=1))).all()


def test_numbers_have_the_variance_that_was_drawn():
    how = {"documents": 3000, "lengths": 4, "words": 5, "topics": 2, "seed": 9}
    simulation = pt.simulate("slda_gaussian", responses=2, **how)
    errors = simulation.corpus.labels.values - scores(simulation)
    ratio = (errors**2).mean(axis=0) / simulation.values["sigma2"].values
    assert np.abs(ratio - 1.0).max() < 4.5 * np.sqrt(2 / 3000)
    given = pt.simulate("slda_gaussian", **how, given={"sigma2": [1e-6], "eta": [[1.0, 3.0]]})
    assert np.abs(given.corpus.labels.values - scores(given)[:, 0]).max() < 0.01


def test_covariates_are_given_or_standard_normal():
    drawn = pt.simulate("slda_covariates", **SMALL | {"documents": 2000}, covariates=2).corpus.covariates.toarray()
    assert drawn.shape == (2000, 2)
    assert stats.kstest(drawn.ravel(), stats.norm.cdf).pvalue > 1e-4
    frame = pd.DataFrame({"year": np.arange(12), "source": ["AP", "BBC"] * 6})
    simulation = pt.simulate("slda_covariates", **SMALL, covariates=frame)
    names = simulation.values["coefficient"].values.tolist()
    assert names == ["topic 0", "topic 1", "topic 2", "year", "source[AP]", "source[BBC]", "intercept"]
    assert len(pt.simulate("slda_covariates", covariates=frame, topics=2, lengths=4, words=3).corpus) == 12


def test_given_values_are_kept_and_give_the_sizes():
    phi = pt.simulate("lda", **SMALL | {"words": ["a", "b", "c"]}).values["phi"]
    given = {"phi": phi.transpose("word", "topic"), "theta": np.eye(3)[[0, 2, 2, 1]]}
    simulation = pt.simulate("lda", topics=3, lengths=7, given=given, seed=1)
    assert simulation.corpus.vocabulary.tolist() == ["a", "b", "c"]
    assert simulation.values["z"].values.tolist() == [0] * 7 + [2] * 14 + [1] * 7
    np.testing.assert_array_equal(simulation.values["phi"], phi)
    eta = np.zeros((3, 4))
    assert pt.simulate("slda_multinomial", **SMALL, given={"eta": eta}).corpus.labels.n_responses == 4
    z = np.repeat([0, 1, 2], 36)
    held = pt.simulate("lda", **SMALL, given={"z": z})
    assert held.values["z"].values.tolist() == z.tolist()


def test_sizes():
    assert pt.simulate("lda", topics=2, lengths=[3, 0, 2], words=4).corpus.doc_lengths.tolist() == [3, 0, 2]
    corpus = pt.simulate("lda", topics=2).corpus
    assert (corpus.n_docs, corpus.n_tokens, corpus.n_words) == (100, 10_000, 1000)
    like = pt.Corpus.from_texts(["red green", "blue"])
    named = pt.simulate("lda", topics=2, documents=3, lengths=4, words=like).corpus
    assert named.vocabulary.tolist() == ["blue", "green", "red"]


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("lda", {"documents": 0}, "documents: must be a whole number at least 1, got 0"),
        ("lda", {"lengths": 2.5}, "lengths: expected a whole number of tokens, or one for each document"),
        ("lda", {"lengths": [1, -1]}, "lengths: expected a whole number"),
        ("lda", {"lengths": [1, 2], "documents": 3}, "lengths: there are 2 for 3 documents"),
        ("lda", {"lengths": 0}, "lengths: all documents would be empty"),
        ("lda", {"words": 0}, "words: must be a whole number"),
        ("lda", {"seed": -1}, "seed: must be a whole number"),
        ("lda", {"responses": 2}, "responses: model 'lda' has no labels; leave it out"),
        ("lda", {"covariates": 2}, "covariates: model 'lda' does not use any"),
        ("lda", {"topic": 2}, "no parameter 'topic'; did you mean 'topics'"),
        ("lda", {"given": [1]}, "given: expected values by variable"),
        ("lda", {"given": {"phy": 1}}, "given: 'phy' is not a variable that model 'lda' draws; did you mean 'phi'"),
        ("lda", {"given": {"phi": [0.5, 0.5]}}, "given: phi: expected numbers with the dims"),
        ("lda", {"given": {"phi": np.full((3, 2), 0.5)}}, r"given: phi: expected the shape \(topic 2, word 2\)"),
        ("lda", {"given": {"phi": np.ones((2, 2))}}, "given: phi: expected probabilities, each row with the sum 1"),
        ("lda_learned", {"given": {"beta": 0.0}}, "given: beta: expected numbers above 0"),
        ("lda_learned", {"given": {"beta": np.inf}}, "given: beta: expected finite numbers"),
        ("lda_spike_slab", {"given": {"phi": np.full((2, 2), 0.5)}}, "with phi, give included as well"),
        ("lda", {"given": {"z": [0.5]}, "documents": 1, "lengths": 1}, "given: z: expected whole numbers from 0 to 1"),
        ("slda_logistic", {"c": 25.0}, "block 'y' .logistic. cannot be simulated: .*; set c: 1"),
        ("slda_logistic_one_vs_all", {"c": 1.0, "responses": 2}, "with one_vs_all each response has its own topics"),
        ("slda_multinomial", {"responses": 0}, "responses: must be a whole number at least 1"),
        ("slda_covariates", {"covariates": np.ones((4, 1)), "documents": 3}, "covariates for 4 documents"),
        ("lda", {"beta": [0.1, 0.2], "words": 3}, "concentration over word has 2 values, but there are 3 words"),
        ("lda_spike_slab", {"inclusion": 1e-9, "words": 2}, "10,000 draws of the prior had a topic without words"),
    ],
)
def test_wrong_arguments(model, arguments, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.simulate(model, **{"topics": 2} | arguments)


def test_a_block_that_cannot_be_simulated_is_named(monkeypatch):
    monkeypatch.setattr(registry, "_registry", registry._Registry(pt.blocks(), pt.kernels(), loaded=True))

    @pt.block("silent")
    class Silent(pt.Block):
        block: Literal["silent"] = "silent"
        seams = frozenset({"concentration"})

        def dims(self, role):
            return ()

        def init(self, role, state):
            return np.ones(())

    blocks = {"alpha": {"block": "silent"}, "theta": {"concentration": "alpha"}}
    model = {"name": "mine", "extends": "lda", "parameters": {"alpha": None}, "blocks": blocks}
    with pytest.raises(pt.SpecError, match="block 'silent' cannot be simulated"):
        pt.simulate(model, **SMALL)


def test_words_and_topics_are_drawn_as_one_after_another():
    """Without large arrays, from the same random numbers as row by row."""
    simulation = pt.simulate("lda", documents=40, lengths=30, words=25, topics=6, alpha=0.5, beta=0.2, seed=2)
    theta, phi = simulation.values["theta"].values, simulation.values["phi"].values

    class Tokens:
        docs = np.repeat(np.arange(40), 30)

    class State:
        tokens = Tokens

    def by_rows(rows, rng):
        drawn = []
        for row in rows:
            cumulative = np.cumsum(row)
            drawn.append(min(int((cumulative <= rng.random() * cumulative[-1]).sum()), len(row) - 1))
        return drawn

    key = Key(1, 0, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ppl_topics.models.assignments.CELLS_AT_ONCE", 100)
        z = Assignments(prior="theta").simulate("z", {"theta": theta}, State, key.generator())
    assert z.tolist() == by_rows(theta[Tokens.docs], key.generator())
    block = Words(topics="phi", assignments="z")
    words = block.simulate("w", {"phi": phi.T, "z": z}, State, key.generator())
    assert words.tolist() == by_rows(phi[z], key.generator())
