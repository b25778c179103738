"""Blocks: dims, constants, starting values, draws and densities.

Tests of moments are two-sided z-tests over fixed seeds; their total false-alarm rate over seeds is below 1e-6.
"""

import numpy as np
import pydantic
import pytest
from scipy import stats

from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.engine.bind import index_tokens
from ppl_topics.errors import SpecError
from ppl_topics.models.assignments import Assignments, draw_rows
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.models.gamma import Gamma
from ppl_topics.models.words import Words
from ppl_topics.spec.shipped import shipped

SIZES = Sizes(docs=3, words=4, topics=2, tokens=6)
BOUND = stats.norm.isf(1e-9)
THETA = {"over": "topic", "per": "doc"}
PHI = {"over": "word", "per": "topic"}


def make_state(concentrations=None):
    words = np.array([0, 1, 0, 3, 3, 3], dtype=np.uint32)
    doc_ptr = np.array([0, 2, 2, 6])
    tokens = index_tokens(doc_ptr, words, 4)
    z, n_wk, n_k = np.zeros(6, dtype=np.uint8), np.zeros((4, 2), dtype=np.int32), np.zeros(2, dtype=np.int64)
    concentrations = concentrations or {"alpha": np.array([0.5, 1.5]), "beta": np.full(4, 0.25)}
    state = ChainState(tokens, SIZES, z, n_wk, n_k, {}, concentrations)
    state.set_z([0, 1, 1, 0, 1, 1])
    return state


def agrees(sample, mean, deviation):
    """Whether the mean of independent draws agrees with the distribution's, element by element."""
    error = np.abs(sample.mean(axis=0) - mean) / (deviation / np.sqrt(len(sample)))
    return bool((error < BOUND).all())


def test_dims():
    theta, phi = Dirichlet(**THETA, concentration=1.0), Dirichlet(**PHI, concentration=1.0)
    assert theta.dims("theta") == ("doc", "topic")
    assert phi.dims("phi") == ("topic", "word")
    assert Assignments(prior="theta").dims("z") == ("token",)
    assert Words(topics="phi", assignments="z").dims("w") is None
    assert Gamma(shape=1.0, rate=1.0).dims("alpha") == ()
    assert Gamma(shape=1.0, rate=1.0, per="topic").dims("alpha") == ("topic",)


@pytest.mark.parametrize(
    ("concentration", "expected"),
    [
        (0.5, [0.5, 0.5]),
        (2, [2.0, 2.0]),
        ({"sum": 3.0}, [1.5, 1.5]),
        ([0.25, 4.0], [0.25, 4.0]),
    ],
)
def test_constants(concentration, expected):
    constants = Dirichlet(**THETA, concentration=concentration).constants("theta", SIZES)
    assert list(constants) == ["alpha"]
    assert constants["alpha"].dtype == np.float64
    np.testing.assert_array_equal(constants["alpha"], expected)
    assert Dirichlet(**PHI, concentration=0.5).constants("phi", SIZES)["beta"].shape == (4,)


def test_constants_that_do_not_fit():
    with pytest.raises(SpecError, match="concentration over topic has 3 values, but there are 2 topics; give 2 values"):
        Dirichlet(**THETA, concentration=[1.0, 1.0, 1.0]).constants("theta", SIZES)
    with pytest.raises(SpecError, match="a concentration over topic is 0; give at least 1e-100"):
        Dirichlet(**THETA, concentration={"sum": 5e-324}).constants("theta", SIZES)
    with pytest.raises(SpecError, match=r"a concentration over topic is 1e\+300; give at most 1e\+12"):
        Dirichlet(**THETA, concentration=1e300).constants("theta", SIZES)
    assert Dirichlet(**THETA, concentration="alpha").constants("theta", SIZES) == {}
    assert Gamma(shape=1.0, rate=1.0).constants("alpha", SIZES) == {}
    assert Assignments(prior="theta").constants("z", SIZES) == {}


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), True, [], [1.0, 0.0], {"sum": 0.0}, None])
def test_wrong_concentrations(value):
    with pytest.raises(pydantic.ValidationError):
        Dirichlet(**THETA, concentration=value)


@pytest.mark.parametrize("name", ["shape", "rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), True, "1"])
def test_wrong_gamma(name, value):
    with pytest.raises(pydantic.ValidationError):
        Gamma(**({"shape": 1.0, "rate": 1.0} | {name: value}))


def test_roles():
    theta = Dirichlet(**THETA, concentration=1.0)
    assert theta.check("theta", 3) is None
    assert "must be `over: word, per: topic`" in theta.check("phi", 3)
    assert (theta.reference_role("concentration", "theta"), theta.reference_role("concentration", "phi")) == (
        "alpha",
        "beta",
    )
    assert "drop `per: topic`" in Gamma(shape=1.0, rate=1.0, per="topic").check("beta", 3)
    assert Gamma(shape=1.0, rate=1.0, per="topic").check("alpha", 3) is None
    assert Assignments(prior="a").reference_role("prior", "z") == "theta"
    words = Words(topics="a", assignments="b")
    assert (words.reference_role("topics", "w"), words.reference_role("assignments", "w")) == ("phi", "z")


def test_starting_values():
    state = make_state()
    theta = Dirichlet(**THETA, concentration=1.0).init("theta", state)
    np.testing.assert_allclose(theta, [[1.5 / 4, 2.5 / 4], [0.25, 0.75], [1.5 / 6, 4.5 / 6]], rtol=1e-6)
    phi = Dirichlet(**PHI, concentration=1.0).init("phi", state)
    expected = (state.n_wk + 0.25) / (state.n_k + 1.0)
    np.testing.assert_allclose(phi, expected, rtol=1e-6)
    for array in (theta, phi):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
    assert Gamma(shape=3.0, rate=2.0).init("beta", state) == 1.5
    np.testing.assert_array_equal(Gamma(shape=3.0, rate=2.0, per="topic").init("alpha", state), [1.5, 1.5])


def test_dirichlet_draws():
    rng, state, alpha = np.random.default_rng(1), make_state(), np.array([0.5, 1.5])
    block = Dirichlet(**THETA, concentration=1.0)
    draws = np.array([block.simulate("theta", {"alpha": alpha}, state, rng) for _ in range(2000)])
    assert draws.shape == (2000, 3, 2)
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    distribution = stats.dirichlet(alpha)
    assert agrees(draws.reshape(-1, 2), distribution.mean(), np.sqrt(distribution.var()))

    beta = np.array([0.1, 0.2, 0.3, 0.4])
    block = Dirichlet(**PHI, concentration=1.0)
    draws = np.array([block.simulate("phi", {"beta": beta}, state, rng) for _ in range(2000)])
    assert draws.shape == (2000, 4, 2)
    np.testing.assert_allclose(draws.sum(axis=1), 1)
    distribution = stats.dirichlet(beta)
    assert agrees(draws[:, :, 1], distribution.mean(), np.sqrt(distribution.var()))


def test_gamma_draws_and_density():
    rng, state = np.random.default_rng(2), make_state()
    block = Gamma(shape=2.5, rate=4.0, per="topic")
    draws = np.array([block.simulate("alpha", {}, state, rng) for _ in range(4000)])
    assert draws.shape == (4000, 2)
    distribution = stats.gamma(2.5, scale=1 / 4.0)
    assert agrees(draws, distribution.mean(), distribution.std())
    assert agrees(draws**2, distribution.moment(2), np.sqrt(distribution.moment(4) - distribution.moment(2) ** 2))
    value = np.array([0.3, 1e-5])
    by_hand = 2.5 * np.log(4.0) - float(np.log(stats.gamma(2.5).pdf(1) * np.e) * -1)
    by_hand += 1.5 * np.log(value) - 4.0 * value
    assert block.log_density(value, None) == pytest.approx(distribution.logpdf(value).sum(), rel=1e-12)
    assert block.log_density(value, None) == pytest.approx(by_hand.sum(), rel=1e-9)
    scalar = Gamma(shape=2.5, rate=4.0)
    assert scalar.simulate("beta", {}, state, rng).shape == ()
    assert scalar.log_density(np.array(0.3), None) == pytest.approx(distribution.logpdf(0.3), rel=1e-12)


def test_tokens_are_drawn_from_their_rows():
    rng, state = np.random.default_rng(3), make_state()
    theta = np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    z = np.array([Assignments(prior="theta").simulate("z", {"theta": theta}, state, rng) for _ in range(3000)])
    assert z.shape == (3000, 6)
    assert agrees(z[:, :2], 0.8, np.sqrt(0.8 * 0.2))
    assert not z[:, 2:].any()

    phi = np.array([[0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.4, 1.0]])
    block = Words(topics="phi", assignments="z")
    draws = np.array([block.simulate("w", {"phi": phi, "z": state.z}, state, rng) for _ in range(3000)])
    for word in range(4):
        p = phi[word, 0]
        assert agrees(draws[:, state.z == 0] == word, p, np.sqrt(p * (1 - p)))
    assert (draws[:, state.z == 1] == 3).all()


def test_rows_need_no_normalising():
    rng = np.random.default_rng(4)
    drawn = draw_rows(np.tile([0.0, 3.0, 0.0, 1.0], (4000, 1)), rng)
    assert set(drawn) == {1, 3}
    assert agrees(drawn[:, None] == 3, 0.25, np.sqrt(0.25 * 0.75))


def test_shipped():
    assert set(shipped()) >= {"lda", "lda_collapsed", "lda_learned"}
    assert all(path.is_file() for path in shipped().values())
