"""The likelihood of documents against exact enumeration, its error, its averages over draws and chains, its edges."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import ppl_topics as pt
from ppl_topics._util.compiled import specialised
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.errors import CorpusError, PplTopicsError, TraceError
from ppl_topics.prediction.likelihood import _of_replicates, ratio_error
from ppl_topics.samplers.held_out import completion, left_to_right
from ppl_topics.samplers.held_out.completion import estimate_completion, mean_theta, split_tokens
from ppl_topics.samplers.held_out.left_to_right import estimate_left_to_right
from ppl_topics.samplers.held_out.replicates import REPLICATES, count, draw_topic

FALSE_ALARM = 1e-5
"""Of each statistical test, over all of its comparisons together."""

LEFT_TO_RIGHT = Key(1, 0, 0).reserved(Reserved.LEFT_TO_RIGHT)
COMPLETION = Key(1, 0, 0).reserved(Reserved.COMPLETION)

FAST = {"topics": 3, "draws": 6, "warmup": 10, "chains": 2, "seed": 1, "threads": 1, "progress": False}

TEXTS = ["red orange yellow red", "blue green teal blue", "red blue", "orange yellow", "teal green blue"] * 4


def exact(words, phi, alpha):
    """p(w | phi, alpha), a sum over all z."""
    total = 0.0
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        value, counts = 1.0, np.zeros(len(alpha))
        for n, (word, k) in enumerate(zip(words, z, strict=True)):
            value *= float(phi[word, k]) * (counts[k] + alpha[k]) / (n + alpha.sum())
            counts[k] += 1
        total += value
    return total


CASES = [(2, 1), (2, 6), (3, 4), (3, 8)]
"""Numbers of topics, and of tokens."""


def make_case(k, n):
    rng = np.random.default_rng([k, n])
    phi = rng.dirichlet(np.full(5, 0.4), k).T.astype(np.float32).copy()
    # An asymmetric alpha, of which a half is easily told from a whole.
    alpha = np.linspace(0.2, 1.1, k)
    return np.sort(rng.integers(0, 5, n)).astype(np.uint32), phi, alpha


def copies(words, number):
    return np.arange(number + 1, dtype=np.int64) * len(words), np.tile(words, number)


def deviates(estimate, n_copies=1500):
    """Two-sided p values of the mean estimate of p(w) against the exact one, one for each case.

    The estimates of all copies and replicates are independent; there are 6,000, so their mean is near enough normal.
    """
    values = []
    for case in CASES:
        words, phi, alpha = make_case(*case)
        ptr, many = copies(words, n_copies)
        ratio = np.exp(estimate(ptr, many, phi, alpha)).ravel() / exact(words, phi, alpha)
        if len(words) == 1:
            # Nothing is drawn, so nothing may be off.
            values.append(0.0 if np.allclose(ratio, 1.0, rtol=1e-6) else np.inf)
            continue
        values.append((ratio.mean() - 1.0) / (ratio.std(ddof=1) / math.sqrt(ratio.size)))
    return 2.0 * stats.norm.sf(np.abs(values))


def left(particles, moves, seed=1):
    key = Key(seed, 0, 0).reserved(Reserved.LEFT_TO_RIGHT)
    return lambda ptr, words, phi, alpha: estimate_left_to_right(ptr, words, phi, alpha, particles, moves, key)


@pytest.mark.parametrize(("particles", "moves"), [(1, 0), (1, 8), (3, 2), (6, 32)])
def test_left_to_right_is_unbiased_for_any_number_of_particles_and_moves(particles, moves):
    values = deviates(left(particles, moves))
    assert values.min() * len(values) > FALSE_ALARM


def test_moves_and_particles_make_the_estimate_better():
    words, phi, alpha = make_case(3, 8)
    ptr, many = copies(words, 1500)
    spread = {how: np.exp(left(*how)(ptr, many, phi, alpha)).std() for how in ((2, 0), (2, 8), (8, 8))}
    # By simulation 0.41, 0.34 and 0.17 of the mean.
    assert spread[2, 8] < 0.93 * spread[2, 0]
    assert spread[8, 8] < 0.6 * spread[2, 8]


def build(moves=8, **faults):
    """Compile the estimator with some of its functions replaced by faulty ones."""

    run = specialised(left_to_right.run_particles.py_func, "faulty", cached=False, **faults)
    whole = specialised(left_to_right.left_to_right.py_func, "faulty", cached=False, run_particles=run)

    def estimate(ptr, words, phi, alpha):
        every = np.ones(len(phi), dtype=bool)
        entropy = left_to_right.word_entropies(phi, alpha, every)
        result = np.zeros((len(ptr) - 1, REPLICATES))
        tokens = TokensByDocument(np.array([0, len(ptr) - 1]), ptr, words, every)
        whole(tokens, phi, alpha, entropy, 4, moves, LEFT_TO_RIGHT, result)
        return result

    return estimate


def counts_the_token(row, mass, given, particle):
    """The counts are those of after the token: its most probable topic is counted in."""
    factors, alpha, counts, weight = given.phi, given.alpha, particle.counts, particle.weight
    best, total = 0, 0.0
    for k in range(alpha.size):
        if weight[k] * factors[row, k] > weight[best] * factors[row, best]:
            best = k
    for k in range(alpha.size):
        total += (counts[k] + alpha[k] + (1.0 if k == best else 0.0)) * factors[row, k]
    return math.log(total / (mass + 1.0))


def forgets_alpha(row, mass, given, particle):
    """The predictive probability is by counts alone, where there are any."""
    factors, alpha, counts = given.phi, given.alpha, particle.counts
    total, number = 0.0, 0.0
    for k in range(alpha.size):
        total += counts[k] * factors[row, k]
        number += counts[k]
    if number == 0.0 or total == 0.0:
        total, number = 0.0, mass
        for k in range(alpha.size):
            total += (counts[k] + alpha[k]) * factors[row, k]
    return math.log(total / number)


def counts_itself(stream, rows, position, turn, number, given, particle):
    """A token's own topic stays in the counts when it is drawn again."""
    token = turn
    for _ in range(number):
        if token >= position:
            token = 0
        new = draw_topic(stream, rows[token], given, particle)
        count(particle.z[token], -1, given, particle)
        particle.z[token] = new
        count(new, 1, given, particle)
        token += 1


def copies_half(stream, position, every):
    """The heaviest particle takes the place of all others, whatever the weights."""
    log_weight = every.log_weight
    largest = log_weight.max()
    total = 0.0
    best = 0
    for particle in range(log_weight.size):
        total += math.exp(log_weight[particle] - largest)
        if log_weight[particle] > log_weight[best]:
            best = particle
    for particle in range(log_weight.size):
        every.z[particle] = every.z[best]
        every.counts[particle] = every.counts[best]
        every.weight[particle] = every.weight[best]
        log_weight[particle] = 0.0
    return largest + math.log(total / log_weight.size)


def averages_by_position(stream, position, every):
    """As Wallach et al.: the mean over particles at each position, with the particles never weighted."""
    log_weight = every.log_weight
    total = 0.0
    for particle in range(log_weight.size):
        total += math.exp(log_weight[particle])
        log_weight[particle] = 0.0
    return math.log(total / log_weight.size)


FAULTS = {
    "the token itself is counted": ("log_predictive", counts_the_token),
    "alpha is forgotten": ("log_predictive", forgets_alpha),
    "moved tokens count themselves": ("move_earlier", counts_itself),
    "the heaviest particle takes all": ("resample", copies_half),
    "means are taken by position": ("resample", averages_by_position),
}

QUICK = ("the token itself is counted",)


@pytest.mark.slow
def test_the_estimator_built_anew_is_the_estimator():
    assert deviates(build()).min() > FALSE_ALARM


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[] if fault in QUICK else pytest.mark.slow) for fault in FAULTS]
)
def test_planted_bugs_are_caught(fault):
    name, body = FAULTS[fault]
    compiled = specialised(body, "planted", cached=False)
    # Moves hide what goes wrong with the weights.
    moves = 0 if name == "resample" else 8
    assert deviates(build(moves, **{name: compiled})).min() * len(CASES) < FALSE_ALARM


def complete(estimate=estimate_completion, particles=2, n_copies=40):
    """p values of the mean estimates of p(w_n | first half) against the exact ones, a case each."""
    values = []
    for case in CASES:
        words, phi, alpha = make_case(*case)
        ptr, _ = copies(words, n_copies)
        # All copies are split alike, so that there is one exact value.
        order = np.random.default_rng(case).permutation(len(words))
        half = len(words) // 2
        shuffled = np.tile(words[order], n_copies)
        found = estimate(ptr, shuffled, phi, alpha, particles, COMPLETION).reshape(REPLICATES, n_copies, len(words))
        assert (found[:, :, :half] == 1.0).all()
        first, second = words[order][:half], words[order][half:]
        each = [exact([*first, word], phi, alpha) / exact(first, phi, alpha) for word in second]
        if not half:
            values.append(0.0 if np.allclose(found, each, rtol=1e-6) else np.inf)
            continue
        # The tokens of a document share their draws: one number for each chain of draws.
        mean = (found[:, :, half:] / each).mean(axis=2).ravel()
        # What does not vary at all is off by infinitely many standard errors.
        values.append((mean.mean() - 1.0) / max(mean.std(ddof=1) / math.sqrt(mean.size), 1e-9))
    return 2.0 * stats.t.sf(np.abs(values), REPLICATES * n_copies - 1)


def test_document_completion_agrees_with_enumeration():
    values = complete()
    assert values.min() * len(values) > FALSE_ALARM


def levels_alpha(stream, words, phi, alpha, particles):
    """All topics have the same concentration."""
    return mean_theta(stream, words, phi, np.full(alpha.size, alpha.mean()), particles)


def forgets_the_half(stream, words, phi, alpha, particles):
    """The prior mean, whatever the first half says."""
    return alpha / alpha.sum()


@pytest.mark.parametrize("fault", [forgets_the_half, pytest.param(levels_alpha, marks=pytest.mark.slow)])
def test_planted_bugs_of_document_completion_are_caught(fault):
    faulty = specialised(fault, "planted", cached=False)
    whole = specialised(completion.complete.py_func, "planted", cached=False, mean_theta=faulty)

    def estimate(ptr, shuffled, phi, alpha, particles, key):
        result = np.ones((REPLICATES, len(shuffled)))
        whole(np.array([0, len(ptr) - 1]), ptr, shuffled, phi, alpha, particles, key, result)
        return result

    assert complete(estimate).min() * len(CASES) < FALSE_ALARM


def test_halves_are_random_and_the_same_for_every_model():
    ptr = np.array([0, 0, 1, 21, 41], dtype=np.int64)
    words = np.concatenate([[7], np.arange(20), np.arange(20)]).astype(np.uint32)
    shuffled = split_tokens(ptr, words, Key(3, 0, 0).reserved(Reserved.SPLITTING))
    assert shuffled[0] == 7
    assert sorted(shuffled[1:21]) == sorted(shuffled[21:]) == list(range(20))
    assert (shuffled[1:21] != shuffled[21:]).any()
    assert (split_tokens(ptr, words, Key(3, 0, 0).reserved(Reserved.SPLITTING)) == shuffled).all()
    assert (split_tokens(ptr, words, Key(4, 0, 0).reserved(Reserved.SPLITTING)) != shuffled).any()


def test_words_without_a_topic_and_tiny_concentrations():
    phi = np.array([[0.5, 0.5], [0.5, 0.0], [0.0, 0.5], [0.0, 0.0]], dtype=np.float32)
    ptr = np.array([0, 2, 4, 4], dtype=np.int64)
    words = np.array([1, 3, 1, 2], dtype=np.uint32)
    found = estimate_left_to_right(ptr, words, phi, np.array([1e-40, 1e-40]), 2, 32, LEFT_TO_RIGHT)
    assert (found[0] == -np.inf).all()
    # (1 / 4) (a / 2) / (1 + 2 a).
    np.testing.assert_allclose(found[1], math.log(1e-40 / 8.0), rtol=1e-6)
    assert (found[2] == 0.0).all()


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS, labels=["warm", "cold", "both", "warm", "cold"] * 4)


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda", corpus, record={"phi": "all"}, **FAST)


NEW = ["red red yellow blue", "teal", "", "green violet green teal orange"]


def test_a_result(fit):
    found = fit.held_out(NEW, seed=1)
    assert found.tokens.tolist() == [4, 1, 0, 4]
    assert (found.unknown_tokens, found.empty_documents, found.averaged) == (1, 1, 2)
    assert found.values[2] == 0.0
    assert (found.values[[0, 1, 3]] < 0.0).all()
    assert found.log_likelihood == found.values.sum()
    assert found.error == pytest.approx(np.sqrt(np.sum(found.errors**2)))
    assert found.bias == pytest.approx(np.sum(found.biases))
    assert found.perplexity == pytest.approx(np.exp(-found.values.sum() / 9))
    frame = found.to_frame()
    assert list(frame) == ["id", "tokens", "log_likelihood", "error"]
    assert frame["id"].tolist() == ["0", "1", "2", "3"]
    assert found.summary()["perplexity"] == found.perplexity
    assert "perplexity" in repr(found)


def test_chains_are_averaged_in_likelihood(fit):
    # Of a document with one word nothing is estimated: p(w) = sum_k phi_kw alpha_k / sum of alpha.
    found = fit.held_out(["teal"])
    phi = fit.groups["constant_data"]["phi_mean"].sel(word="teal").values
    alpha = fit.groups["constant_data"]["alpha"].values
    assert found.values[0] == pytest.approx(np.log((phi @ alpha / alpha.sum()).mean()), rel=1e-5)
    assert found.errors[0] == pytest.approx(0.0, abs=1e-6)
    same = fit.held_out(["teal"], method="document_completion")
    assert same.values[0] == pytest.approx(found.values[0], rel=1e-5)


def test_draws_are_averaged_in_likelihood(fit):
    found = fit.held_out(["teal"], phi="draws", draws=100)
    assert found.averaged == 12
    phi = fit.posterior["phi"].sel(word="teal").values
    alpha = fit.groups["constant_data"]["alpha"].values
    assert found.values[0] == pytest.approx(np.log((phi @ alpha / alpha.sum()).mean()), rel=1e-5)
    few = fit.held_out(["teal"], phi="draws", draws=2)
    assert few.averaged == 4
    expected = (phi[:, [0, 5]] @ alpha / alpha.sum()).mean()
    assert few.values[0] == pytest.approx(np.log(expected), rel=1e-5)


def test_a_sampled_alpha_goes_with_its_draw(corpus):
    fit = pt.sample("lda_learned", corpus, record={"phi": "all"}, **FAST)
    phi = fit.posterior["phi"].sel(word="teal").values
    alpha = np.broadcast_to(fit.posterior["alpha"].values.reshape(2, 6, -1), phi.shape)
    share = alpha / alpha.sum(axis=-1, keepdims=True)
    found = fit.held_out(["teal"], phi="draws", draws=6)
    assert found.values[0] == pytest.approx(np.log((phi * share).sum(axis=-1).mean()), rel=1e-5)


@pytest.mark.parametrize("method", ["left_to_right", "document_completion"])
def test_the_same_bits_at_any_number_of_threads(fit, corpus, method):
    one = fit.held_out(corpus, method=method, seed=5, threads=1)
    two = fit.held_out(corpus, method=method, seed=5, threads=2)
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.errors, two.errors)
    assert (fit.held_out(corpus, method=method, seed=6, threads=2).values != one.values).any()


def test_stated_errors_are_those_of_repetitions(fit, corpus):
    found = [fit.held_out(corpus, particles=20, seed=seed) for seed in range(30)]
    spread = np.std([one.log_likelihood for one in found], ddof=1)
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    # 29 times the ratio squared is chi-square with 29 degrees of freedom, where the stated error is right.
    ratio = 29 * (spread / stated) ** 2
    assert 2 * min(stats.chi2.cdf(ratio, 29), stats.chi2.sf(ratio, 29)) > FALSE_ALARM


def test_error_and_bias_of_noisy_replicates():
    # Log-normal estimates, whose error and bias are known by simulation.
    rng = np.random.default_rng(1)
    for sigma in (0.3, 1.5):
        values, errors, biases = _of_replicates(rng.normal(-0.5 * sigma**2, sigma, (20_000, REPLICATES)))
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.05)
        assert biases.mean() == pytest.approx(values.mean(), abs=0.03 * sigma)
    values, errors, biases = _of_replicates(np.array([[-np.inf] * 4, [-2.0] * 4]))
    np.testing.assert_allclose([values, errors, biases], [[-np.inf, -2.0], [0.0, 0.0], [0.0, 0.0]], atol=1e-12)


def test_words_that_training_has_not_seen_are_dropped_for_every_model(corpus):
    wider = corpus.with_vocabulary([*corpus.vocabulary, "violet"])
    fits = [pt.sample(name, wider, **FAST) for name in ("lda", "lda_spike_slab", "lda_collapsed")]
    for fit in fits:
        found = fit.held_out(NEW)
        assert found.tokens.tolist() == [4, 1, 0, 4]
        assert found.unknown_tokens == 1
        assert np.isfinite(found.values).all()


def test_one_topic_one_draw_one_document(corpus):
    fit = pt.sample("lda", corpus, **{**FAST, "topics": 1, "draws": 1, "chains": 1})
    found = fit.held_out(["red blue"])
    phi = fit.groups["constant_data"]["phi_mean"].values[0, 0]
    words = [corpus.vocabulary.tolist().index(word) for word in ("red", "blue")]
    assert found.values[0] == pytest.approx(np.log(phi[words]).sum(), rel=1e-5)
    assert np.isnan(found.per_token_spread)
    nothing = fit.held_out([""])
    assert (nothing.log_likelihood, nothing.n_tokens, nothing.empty_documents) == (0.0, 0, 1)
    assert np.isnan(nothing.perplexity)
    completed = fit.held_out(["", "red"], method="document_completion")
    assert completed.tokens.tolist() == [0, 1]
    assert completed.errors.tolist() == [0.0, 0.0]


def test_responses_with_topics_of_their_own_are_named(corpus):
    fit = pt.sample("medlda_one_vs_all", corpus, margin=1.0, **FAST)
    with pytest.raises(TraceError, match=r"each response has its own topics; name one of them .*: both, cold, warm"):
        fit.held_out(NEW)
    values = [fit.held_out(NEW, response=name).log_likelihood for name in ("warm", "cold")]
    assert values[0] != values[1]


def test_what_is_wrong_is_refused(fit, corpus):
    for options, message in (
        ({"method": "harmonic_mean"}, "method: expected left_to_right or document_completion, got 'harmonic_mean'"),
        ({"phi": "last"}, "phi: expected mean or draws"),
        ({"particles": 6}, "particles: must be a multiple of 4"),
        ({"particles": 0}, "particles: must be a whole number from 4"),
        ({"moves": -1}, "moves: must be a whole number from 0"),
        ({"draws": 0}, "draws: must be a whole number from 1"),
        ({"seed": 0.5}, "seed"),
        ({"threads": 10**6}, "threads: must be at most"),
    ):
        with pytest.raises(PplTopicsError, match=message):
            fit.held_out(NEW, **options)
    with pytest.raises(TraceError, match="omit 'warm'"):
        fit.held_out(NEW, response="warm")
    with pytest.raises(CorpusError, match="is a word of the training corpus"):
        fit.held_out(pt.Corpus.from_tokens([["violet"]]))
    bare = pt.sample("lda", corpus, record={"phi": "none"}, **FAST)
    with pytest.raises(TraceError, match="does not hold all of phi in each draw"):
        bare.held_out(NEW, phi="draws")
    groups = {**fit.groups, "constant_data": fit.groups["constant_data"].drop_vars("word_count")}
    with pytest.raises(TraceError, match="lacks `word_count`"):
        pt.Fit(groups).held_out(NEW)
    with pytest.raises(TraceError):
        pt.Fit({"posterior": xr.Dataset()}).held_out(NEW)


def test_error_of_a_ratio_over_documents():
    rng = np.random.default_rng(1)
    tokens = np.array([3, 0, 5, 9, 2])
    values = np.where(tokens > 0, -2.0 * tokens + rng.normal(size=5), 0.0)
    kept = tokens > 0
    ratio = values.sum() / 19
    expected = math.sqrt(4 / 3 * np.sum((values[kept] - ratio * tokens[kept]) ** 2)) / 19
    assert ratio_error(values, tokens) == pytest.approx(expected)
