"""The distribution of the coefficients: false-alarm rate 1e-6 a test, and planted bugs that the same tests refuse."""

import numba
import numpy as np
import pytest
from coefficient_problems import FALSE_ALARM, KEY, F, Problem, distribution_p_value, documents, fixed_columns
from scipy import linalg, stats

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.errors import RunError, SpecError
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal, conditional_normal
from ppl_topics.samplers.coefficients.coordinate_normal import draw_by_coordinate, shuffle_all
from ppl_topics.samplers.coefficients.joint_normal import draw_jointly
from ppl_topics.samplers.responses.features import features_of
from ppl_topics.schedule import make_plan


def assert_distribution(problem, draws):
    by_response = draws.reshape(problem.replicates, 3, F)
    for c in range(3):
        assert distribution_p_value(by_response[:, c], *problem.distribution(c)) > FALSE_ALARM


@pytest.mark.parametrize("shared", [False, True])
def test_distribution_of_joint_draws(shared):
    problem = Problem(replicates=4000, shared=shared)
    draws = draw_jointly(problem.repeated(), KEY)
    assert_distribution(problem, draws)


@pytest.mark.parametrize("bug", ["forgets the prior", "sign of b", "omega not used", "transposed solve"])
def test_planted_bugs_of_joint_draws(bug):
    """What the test above would say of a sampler with each bug, where targets are known."""
    problem = Problem(replicates=4000)
    draws = draw_jointly(problem.repeated(), KEY).reshape(-1, 3, F)[:, 0]
    mean, matrix = problem.distribution(0)
    if bug == "forgets the prior":
        matrix = matrix - np.diag(problem.precision[0]) + 1e-6 * np.eye(F)
        mean = np.linalg.solve(matrix, problem.dense.T @ problem.b[:, 0])
    elif bug == "sign of b":
        mean = -mean
    elif bug == "omega not used":
        matrix = np.diag(problem.precision[0]) + problem.dense.T @ problem.dense
        mean = np.linalg.solve(matrix, problem.dense.T @ problem.b[:, 0])
    else:
        lower = np.linalg.cholesky(matrix)
        noise = np.random.default_rng(3).normal(size=(F, 4000))
        draws = mean + linalg.solve_triangular(lower, noise, lower=True).T
    assert distribution_p_value(draws, mean, matrix) < FALSE_ALARM


@pytest.mark.parametrize("sweeps", [1, 3])
def test_coordinate_draws_leave_the_distribution_invariant(sweeps):
    problem = Problem(replicates=4000)
    start = problem.exact_draws()
    assert_distribution(problem, start)
    draws = draw_by_coordinate(problem.repeated(), start, sweeps, KEY)
    assert_distribution(problem, draws)
    assert (draws != start).all()


def test_coordinate_draws_reach_the_distribution():
    problem = Problem(replicates=1500)
    far = np.full((4500, F), 20.0)
    assert_distribution(problem, draw_by_coordinate(problem.repeated(), far, 300, KEY))
    one_sweep = draw_by_coordinate(problem.repeated(), far, 1, KEY).reshape(-1, 3, F)
    assert distribution_p_value(one_sweep[:, 0], *problem.distribution(0)) < FALSE_ALARM


def sweep_with_bug(problem, eta, bug, seed=7):
    """One sweep over the coefficients of the first response, many at once, in plain NumPy."""
    generator = np.random.default_rng(seed)
    x, b, omega, prior = problem.dense, problem.b[:, 0], problem.omega[:, 0], problem.precision[0]
    eta = eta.copy()
    before = eta @ x.T
    for j in generator.permutation(F):
        fitted = before if bug == "predictors not kept up to date" else eta @ x.T
        curvature = omega @ x[:, j] ** 2
        slope = (b - omega * fitted) @ x[:, j]
        if bug == "sign of b":
            slope -= 2.0 * b @ x[:, j]
        own = 0.0 if bug == "forgets its own part" else curvature * eta[:, j]
        precision = curvature + (0.0 if bug == "forgets the prior" else prior[j]) + 1e-9
        if bug == "omega not used":
            precision = prior[j] + x[:, j] @ x[:, j]
        eta[:, j] = (own + slope) / precision + generator.normal(size=len(eta)) / np.sqrt(precision)
    return eta


@pytest.mark.parametrize(
    "bug",
    [
        "none",
        "predictors not kept up to date",
        "sign of b",
        "forgets its own part",
        "forgets the prior",
        "omega not used",
    ],
)
def test_planted_bugs_of_coordinate_draws(bug):
    """What the test of invariance would say of one sweep with each bug."""
    problem = Problem(replicates=4000)
    draws = sweep_with_bug(problem, problem.exact_draws().reshape(-1, 3, F)[:, 0], bug)
    assert (distribution_p_value(draws, *problem.distribution(0)) < FALSE_ALARM) == (bug != "none")


def test_order_of_coefficients_is_uniform():
    order = np.empty((24_000, 4), dtype=np.int64)
    shuffle_all(KEY, 20, order)
    assert (np.sort(order, axis=1) == np.arange(4)).all()
    codes = order @ np.array([64, 16, 4, 1])
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_bits_do_not_depend_on_threads():
    generator = np.random.default_rng(8)
    tokens, z = documents(generator.integers(0, 60, 300), 40)
    features = features_of(tokens, z, 40, fixed_columns(300, 1))
    b, omega = generator.normal(size=(300, 11)), generator.gamma(1.0, 1.0, (300, 11))
    given, eta = ConditionalNormal(features, b, omega, np.ones((11, 41))), generator.normal(size=(11, 41))
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        joint = draw_jointly(given, KEY)
        results.append((joint, draw_by_coordinate(given, eta, 2, KEY)))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def both(distribution, eta):
    return draw_jointly(distribution, KEY), draw_by_coordinate(distribution, eta, 1, KEY)


def test_without_targets_coefficients_have_their_prior():
    problem = Problem(replicates=4000)
    given = problem.repeated()
    for draws in both(given._replace(b=0.0 * given.b, omega=0.0 * given.omega), np.full((12_000, F), 1e6)):
        for c in range(3):
            assert (
                distribution_p_value(draws.reshape(-1, 3, F)[:, c], np.zeros(F), np.diag(problem.precision[c]))
                > FALSE_ALARM
            )


def test_no_documents():
    tokens, z = documents([], 4)
    features = features_of(tokens, z, 4, fixed_columns(0, 1))
    empty = np.zeros((0, 2))
    for draws in both(ConditionalNormal(features, empty, empty, np.full((2, 5), 4.0)), np.zeros((2, 5))):
        assert np.abs(draws).max() < 5.0 / 2.0


def test_extreme_precision_and_coefficients():
    problem = Problem()
    given = problem.repeated()
    for draws in both(given._replace(precision=np.full_like(given.precision, 1e300)), np.full((3, F), 1e6)):
        assert np.abs(draws).max() < 1e-148
    mixed = np.array(given.precision)
    mixed[:, 2] = 1e300
    for draws in both(given._replace(precision=mixed), np.full((3, F), -1e6)):
        assert np.isfinite(draws).all()
        assert np.abs(draws[:, 2]).max() < 1e-148
    for draws in both(given._replace(b=1e100 * given.b), np.zeros((3, F))):
        assert np.isfinite(draws).all()


def test_weights_too_large_for_the_prior_are_refused():
    """Topics add up to the intercept, and next to such weights the prior that tells them apart is lost to rounding."""
    problem = Problem()
    given = problem.repeated()
    given = given._replace(omega=given.omega * np.array([1.0, 1e300, 1.0]))
    with pytest.raises(RunError, match=r"response 2 of 3, with 6 coefficients.*coordinate_normal"):
        draw_jointly(given, KEY)
    assert np.isfinite(draw_by_coordinate(given, np.zeros((3, F)), 2, KEY)).all()


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("what", ["b", "omega"])
def test_what_is_not_finite_is_refused(what, value):
    problem = Problem()
    given = problem.repeated()
    getattr(given, what)[4, 1] = value
    with pytest.raises(RunError, match=r"response 2 of 3, with 6 coefficients.*not finite"):
        draw_jointly(given, KEY)
    with pytest.raises(RunError, match=r"response 2 of 3, with 6 coefficients.*not finite"):
        draw_by_coordinate(given, np.zeros((3, F)), 2, KEY)


def bound_model(kernel, **options):
    """MedLDA with an intercept on documents of three classes, some without words, some without a label."""
    generator = np.random.default_rng(2)
    vocabulary = ["ape", "bee", "cat", "dog", "elk", "fox"]
    words = [generator.choice(vocabulary, size=generator.integers(0, 9)) for _ in range(40)]
    labels = [None if i % 7 == 0 else "xyz"[i % 3] for i in range(40)]
    corpus = pt.Corpus.from_tokens(words, labels=labels)
    schedule = pt.cycle(
        pt.step("z", "partially_collapsed"),
        pt.step("phi", "dirichlet_rows"),
        pt.step("xi", "inverse_gaussian"),
        pt.step("eta", kernel, **options),
    )
    model = {"extends": "medlda", "name": "with_intercept", "blocks": {"y": {"intercept": True}}}
    return bind(make_plan(pt.load_spec(model, {"topics": 4}).with_schedule(schedule, "test")), corpus)


@pytest.mark.parametrize(("kernel", "options"), [("joint_normal", {}), ("coordinate_normal", {"sweeps": 3})])
def test_kernels_in_a_model(kernel, options):
    """A sweep leaves what the arrays' function gives; others are not touched, as the executor checks."""
    model = bound_model(kernel, **options)
    executor = Executor(model, debug=True)
    state = model.initial_state(seed=1, chain=0)
    memories = executor.memories(state)
    for sweep in range(3):
        before = state.arrays["eta"].copy()
        executor.sweep(state, memories, 1, 0, sweep)
    distribution = conditional_normal(model.binding("eta"))(state)
    assert distribution.precision.shape == before.shape == (3, 5)
    assert not distribution.omega[::7].any()
    key = Key(seed=1, chain=0, sweep=2, kernel=4)
    expected = (
        draw_jointly(distribution, key)
        if kernel == "joint_normal"
        else draw_by_coordinate(distribution, before, 3, key)
    )
    assert np.array_equal(state.arrays["eta"], expected)


def test_sweeps_are_at_least_one():
    with pytest.raises(SpecError, match="sweeps"):
        bound_model("coordinate_normal", sweeps=0)
