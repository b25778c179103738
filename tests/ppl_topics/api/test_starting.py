"""Chains that start somewhere, and posteriors given some of the variables."""

import itertools
import operator

import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.schedule.tree import steps

ARGUMENTS = {"topics": 3, "draws": 4, "warmup": 2, "seed": 11, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 9, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    return pt.Corpus.from_tokens(documents, labels=rng.normal(size=8))


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda", corpus, **ARGUMENTS)


def z_last(fit):
    return fit.groups["constant_data"]["z_last"].values


def test_a_start_is_not_annealed(corpus, fit):
    """As the same model is by default, and as this one if it is asked for."""
    plain, cold, hot = (
        pt.sample("lda", corpus, init=fit, warmup_schedule=tree, **ARGUMENTS)
        for tree in (None, {"temperature": 1}, {"temperature": 20})
    )
    np.testing.assert_array_equal(z_last(plain), z_last(cold))
    assert not np.array_equal(z_last(plain), z_last(hot))
    assert fit.posterior.attrs["warmup_inexact"] == "temperature 20, falling to 1"
    assert "warmup_inexact" not in plain.posterior.attrs
    assert pt.Chain("lda", corpus, topics=3, init=fit).plan.warmup is None


class TestGivenPhi:
    """The posterior of z given phi, enumerated: documents of 4 and 3 tokens, 2 topics."""

    PHI = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    WORDS = ((0, 0, 1, 2), (2, 2, 1))
    ALPHA = 0.4
    DRAWS = 20_000
    # Of 3 means, each within 4.9 standard errors: a false alarm with probability 3e-6.
    ERRORS = 4.9

    def expected(self):
        """Return the expected number of tokens in topic 1 in each document, and their product's."""
        means = []
        for words in self.WORDS:
            weights, numbers = [], []
            for z in itertools.product((0, 1), repeat=len(words)):
                n = np.bincount(z, minlength=2)
                rising = [np.prod(self.ALPHA + np.arange(k)) for k in n]
                weights.append(np.prod(rising) * np.prod([self.PHI[k, w] for k, w in zip(z, words, strict=True)]))
                numbers.append(n[1])
            means.append(np.average(numbers, weights=weights))
        # Given phi, the documents are independent.
        return np.array([*means, means[0] * means[1]])

    def drawn(self, phi):
        corpus = pt.Corpus.from_tokens([[f"w{i}" for i in words] for words in self.WORDS])
        phi = xr.DataArray(phi, dims=("topic", "word"), coords={"word": ["w0", "w1", "w2"]})
        fit = pt.sample(
            "lda",
            corpus,
            topics=2,
            alpha=self.ALPHA,
            given={"phi": phi},
            record={"z": "all", "phi": "all"},
            draws=self.DRAWS,
            warmup=100,
            thin=3,
            chains=1,
            seed=3,
            progress=False,
        )
        assert (fit.posterior["phi"] == fit.posterior["phi"].isel(draw=0)).all()
        z = fit.posterior["z"].values[0]
        numbers = np.stack([z[:, :4].sum(axis=1), z[:, 4:].sum(axis=1)])
        values = np.stack([*numbers, numbers[0] * numbers[1]])
        # Batch means, for draws depend on each other.
        batches = values.reshape(3, 100, -1).mean(axis=2)
        return batches.mean(axis=1), batches.std(axis=1, ddof=1) / 10

    def test_the_draws_have_the_moments_of_the_posterior(self):
        means, errors = self.drawn(self.PHI)
        assert (abs(means - self.expected()) < self.ERRORS * errors).all()

    def test_other_topics_are_noticed(self):
        means, errors = self.drawn(np.array([[0.55, 0.35, 0.1], [0.1, 0.3, 0.6]]))
        assert (abs(means - self.expected()) > self.ERRORS * errors).any()


def test_the_log_posterior_is_that_given_phi(corpus, fit):
    chain = pt.Chain("lda_learned", corpus, topics=3, seed=1, given={"phi": fit, "beta": 0.1})
    phi, z = chain.state.arrays["phi"], chain.state.z
    before, first = chain.log_posterior(), int(z[0])
    chain.state.set_z(np.r_[np.uint8((first + 1) % 3), z[1:]])
    word, alpha = corpus.words[0], chain.state.alpha
    in_doc = np.bincount(z[1 : corpus.doc_lengths[0]], minlength=3)
    weights = phi[word].astype(float) * (in_doc + alpha)
    assert chain.log_posterior() - before == pytest.approx(np.log(weights[z[0]] / weights[first]))


def test_topics_of_an_old_fit_on_a_new_corpus(fit, corpus):
    words = [*reversed(corpus.vocabulary.tolist())]
    new = pt.Corpus.from_tokens([["w1", "w3", "w3"], ["w2"] * 5]).with_vocabulary(words)
    held = pt.sample("lda", new, **ARGUMENTS, given={"phi": fit})
    assert held.groups["posterior"].attrs["schedule"].count("phi is given") == 1
    for old, now in zip(fit.topics(), held.topics(), strict=False):
        assert old == now
    fewer = new.with_vocabulary(["w1", "w2", "w3"])
    assert pt.sample("lda", fewer, **ARGUMENTS, given={"phi": fit}).posterior.sizes["draw"] == 4
    strange = pt.Corpus.from_tokens([["w1", "unheard"]])
    with pytest.raises(pt.PplTopicsError, match=r"given: phi: has no value for the word 'unheard' of the corpus"):
        pt.sample("lda", strange, **ARGUMENTS, given={"phi": fit})


def test_coefficients_given(corpus):
    eta = np.array([[1.0, -2.0, 0.5]])
    fit = pt.sample("slda_gaussian", corpus, **ARGUMENTS, given={"eta": eta})
    assert fit.posterior["eta"].dims == ("chain", "draw", "response", "coefficient")
    np.testing.assert_array_equal(fit.posterior["eta"], np.broadcast_to(eta, (2, 4, 1, 3)))
    assert len(fit.predict(corpus)) == 8


def test_concentrations_given(corpus):
    fit = pt.sample("lda_learned", corpus, **ARGUMENTS, given={"alpha": np.array([0.1, 0.2, 0.3])})
    np.testing.assert_allclose(fit.posterior["alpha"].values[0, 0], [0.1, 0.2, 0.3])
    assert fit.posterior["beta"].std() > 0


def test_z_given_draws_topics_only(corpus, fit):
    z = z_last(fit)[0]
    held = pt.sample("lda", corpus, **ARGUMENTS, given={"z": z})
    np.testing.assert_array_equal(z_last(held), np.stack([z, z]))


@pytest.mark.parametrize("how", [{}, {"processes": 2}, {"debug": True}])
def test_a_start_is_where_chains_start(corpus, fit, how):
    """Of no warmup and one draw, the state is that of a chain in the hand after one sweep."""
    one = ARGUMENTS | {"warmup": 0, "draws": 1}
    begun = pt.sample("lda", corpus, **one, init=fit, **how)
    for number in (0, 1):
        chain = pt.Chain("lda", corpus, topics=3, seed=11, chain=number, init={"z": z_last(fit)[number]})
        np.testing.assert_array_equal(chain.state.z, z_last(fit)[number])
        chain.sweep()
        np.testing.assert_array_equal(chain.state.z, z_last(begun)[number])


def test_the_last_state_of_a_supervised_fit(corpus):
    fit = pt.sample("slda_gaussian", corpus, **ARGUMENTS)
    chain = pt.Chain("slda_gaussian", corpus, topics=3, init=fit)
    np.testing.assert_array_equal(chain.state.arrays["eta"], fit.posterior["eta"].values[0, -1])


def test_a_start_at_topics_draws_z_given_them(corpus):
    phi = np.full((3, 9), 1e-9)
    for topic in range(3):
        phi[topic, 3 * topic : 3 * topic + 3] = 1 / 3
    phi /= phi.sum(axis=1, keepdims=True)
    chain = pt.Chain("lda_collapsed", corpus, topics=3, seed=1, init={"z": np.zeros(corpus.n_tokens, int)})
    assert chain.state.n_k.tolist() == [corpus.n_tokens, 0, 0]
    chain = pt.Chain("lda", corpus, topics=3, seed=1, init={"phi": phi})
    np.testing.assert_array_equal(chain.state.z, corpus.words // 3)


@pytest.mark.parametrize("begin", ["given", "init"])
def test_a_run_in_a_folder_is_resumed_from_its_start(corpus, fit, tmp_path, begin):
    values = {begin: {"phi": fit}}
    whole = pt.sample("lda", corpus, **ARGUMENTS | {"draws": 8}, **values)
    pt.sample("lda", corpus, **ARGUMENTS, **values, out=tmp_path / "run")
    for checkpoint in (tmp_path / "run" / "checkpoints").rglob("*.npz"):
        checkpoint.unlink()
    resumed = pt.resume(tmp_path / "run", draws=8, progress=False)
    np.testing.assert_array_equal(z_last(resumed), z_last(whole))
    (tmp_path / "run" / "start.npz").write_bytes(b"other")
    with pytest.raises(pt.TraceError, match=r"start\.npz: has changed since the run started"):
        pt.resume(tmp_path / "run", draws=9, progress=False)


def model_given(name):
    spec = pt.load_spec("lda").to_dict()
    return {**spec, "given": [name]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"given": 3}, r"given: expected a mapping from variables to values, such as \{'phi': fit\}, got 3"),
        ({"init": 3}, r"init: expected a fit, or a mapping from variables to values, such as \{'z': array\}, got 3"),
        ({"given": {"phy": 1}}, "given: phy: 'phy' is not a variable of model 'lda'; did you mean 'phi'"),
        ({"init": {"phy": 1}}, "init: phy: model 'lda' holds no such variable; did you mean 'phi'"),
        ({"given": {"theta": 1}}, "given: theta: model 'lda' integrates theta out"),
        ({"given": {"phi": np.ones((2, 9))}}, r"phi: has shape \(2, 9\), expected \(3, 9\) \(topic 3, word 9\)"),
        ({"given": {"phi": np.ones((3, 9))}}, "given: phi: expected probabilities that sum to 1 over 'word'"),
        ({"given": {"phi": np.full((3, 9), np.nan)}}, "given: phi: holds what is not a finite number"),
        ({"given": {"phi": np.eye(9)[:3]}}, "no topic gives the word 'w3' a probability above 0, and the corpus has"),
        ({"init": {"z": np.full(210, 3)}}, "init: z: expected topics, whole numbers from 0 to 2"),
        ({"init": {"phi": xr.DataArray(np.ones((3, 9)) / 9, dims=("topic", "w"))}}, "phi: has the dims .* expected"),
        ({"model": model_given("phi")}, "model 'lda' holds phi at a value that is given; give phi a value"),
        ({"model": model_given("phy")}, "lda: 'phy' is not a variable of model 'lda'; did you mean 'phi'"),
        ({"model": "lda_learned", "init": {"alpha": -1.0}}, r"alpha: has shape \(\), expected \(3,\)"),
        ({"model": "lda_learned", "init": {"alpha": -np.ones(3)}}, "the log posterior density is .* at the values of"),
        ({"model": "slda_logistic_one_vs_all", "init": {"z": 0}}, "each response of model .* has chains of its own"),
    ],
)
def test_errors(corpus, arguments, message):
    model = arguments.get("model", "lda")
    data = corpus.with_labels(list("abcdabcd")) if "one_vs_all" in str(model) else corpus
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.sample(model, data, **ARGUMENTS, **{k: v for k, v in arguments.items() if k != "model"})


def test_z_of_another_corpus_is_refused(fit):
    with pytest.raises(pt.PplTopicsError, match=r"init: the fit is of another corpus, .* given holds its topics phi"):
        pt.sample("lda", pt.Corpus.from_tokens([["w1", "w2"]]), **ARGUMENTS, init=fit)


class TestFunctionsOfTheState:
    """`record` takes functions, which become variables of the trace."""

    def test_they_are_in_the_trace(self, corpus):
        record = {
            "largest": largest,
            "sizes": (lambda state: state.n_k, "topic"),
            "pair": (lambda state: [1, 2], ("x",)),
        }
        fit = pt.sample("lda", corpus, **ARGUMENTS, record=record)
        assert fit.posterior["sizes"].dims == ("chain", "draw", "topic")
        assert fit.posterior["pair"].dims == ("chain", "draw", "x")
        shares = fit.posterior["topic_share"].values * corpus.n_tokens
        np.testing.assert_allclose(fit.posterior["sizes"], shares)
        np.testing.assert_array_equal(fit.posterior["largest"], fit.posterior["sizes"].max("topic"))
        assert fit.groups["warmup_posterior"]["largest"].shape == (2, 2)
        assert "largest" in fit.efficiency().index
        plain = pt.sample("lda", corpus, **ARGUMENTS)
        np.testing.assert_array_equal(plain.groups["sample_stats"]["lp"], fit.groups["sample_stats"]["lp"])

    def test_processes_give_the_same(self, corpus):
        # Not a function of this module, which worker processes cannot import.
        record = {"sizes": (operator.attrgetter("n_k"), "topic")}
        one, two = (pt.sample("lda", corpus, **ARGUMENTS, record=record, processes=number) for number in (1, 2))
        np.testing.assert_array_equal(one.posterior["sizes"], two.posterior["sizes"])

    @pytest.mark.parametrize(
        ("record", "how", "message"),
        [
            ({"x": lambda state: state.n_k}, {}, r"record: x: the function returned int64 of shape \(3,\), expected"),
            ({"x": (lambda state: [1, 2], "topic")}, {}, "expected numbers: topic 3"),
            ({"x": lambda state: 1 / 0}, {}, "record: x: the function failed: ZeroDivisionError"),
            ({"phi": lambda state: 1}, {}, "record: phi: is a variable of model 'lda'; give the function another name"),
            ({"topic": (lambda state: state.n_k, "topic")}, {}, "record: topic: is a dim of the trace; give the"),
            ({"own": (lambda state: [1, 2], "own")}, {}, "record: own: is a dim of the trace; give the"),
            ({"X y": lambda state: 1}, {}, "a function and its dims need names of lower-case letters"),
            ({"x": (lambda state: 1, 3)}, {}, "a function and its dims need names of lower-case letters"),
            ({"x": lambda state: 1}, {"processes": 2}, "define the function at the top of a module, or leave out proc"),
            ({"x": lambda state: 1}, {"out": "run"}, "a run in a folder cannot keep a function"),
        ],
    )
    def test_errors(self, corpus, record, how, message, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(pt.PplTopicsError, match=message):
            pt.sample("lda", corpus, **ARGUMENTS, record=record, **how)


def largest(state):
    return state.n_k.max()


def test_verify_takes_no_values():
    with pytest.raises(pt.SpecError, match="verify draws phi too; leave `given` out"):
        pt.verify(model_given("phi"))
    assert pt.verify("lda", schedule={"z": "partially_collapsed"}, replicates=200, long_run=2_000).passed


@pytest.mark.parametrize("kernel", ["collapsed_gibbs", "block_collapsed"])
def test_a_plan_of_given_topics_names_a_kernel_that_leaves_them_alone(kernel):
    given = {"phi": np.full((2, 3), 1 / 3)}
    assert [s.variable for s in steps(pt.plan("lda", topics=2, given=given).schedule)] == ["z"]
    with pytest.raises(pt.ScheduleError, match="integrates out phi, which is given; use `partially_collapsed` here"):
        pt.plan("lda", topics=2, given=given, schedule=[{"z": kernel}, {"phi": "dirichlet_rows"}])
    with pytest.raises(pt.SpecError, match="argument init: this is an option of `sample`, which is not taken here"):
        pt.plan("lda", topics=2, init=given)
