"""Sparse topics: the kernels give what those of dense arrays give, and no array has a cell for all of them."""

import tracemalloc

import numba
import numpy as np
import pytest
from corpus_arrays import fixed

import ppl_topics as pt
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.engine.bind import bind, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.log_joint import log_sparse_phi_part, phi_terms
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.samplers.assignments.listed_partially_collapsed import AllGivenSparse, sweep_listed_partially_collapsed
from ppl_topics.samplers.responses.response_term import NO_RESPONSE
from ppl_topics.samplers.topics.expected import MeanCells, add_expected_sparse, update_mean_included_phi
from ppl_topics.samplers.topics.included_rows import draw_included_phi, included_mass
from ppl_topics.samplers.topics.indicator_scan import ScanGiven, log_odds, scan_indicators
from ppl_topics.samplers.topics.sparse_counts import assigned_topics, count_topics, set_mean_phi, sparse_mass
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes
from ppl_topics.samplers.topics.sparse_rows import draw_sparse_phi
from ppl_topics.samplers.topics.sparse_scan import scan_sparse
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.tree import steps
from ppl_topics.spec import load_spec

FALSE_ALARM = 1e-6
ONE_CORE = pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
WORDS, TOPICS = 60, 11
KEY = Key(1, 2, 3, 4)


@pytest.fixture(scope="module")
def tokens():
    rng = np.random.default_rng(2)
    # The last words of the vocabulary never occur.
    words = rng.integers(0, WORDS - 5, 300).astype(np.uint32)
    return index_tokens(np.arange(0, 301, 20), words, WORDS)


@pytest.fixture(scope="module")
def z():
    # The last two topics have no token.
    return np.random.default_rng(3).integers(0, TOPICS - 2, 300).astype(np.uint8)


def counts_of(tokens, z):
    n_wk = np.zeros((WORDS, TOPICS), np.int32)
    np.add.at(n_wk, (tokens.words, z), 1)
    return n_wk, n_wk.sum(axis=0, dtype=np.int64)


@pytest.fixture
def dense(tokens, z):
    """Counts, and indicators of which a third holds beyond those that must."""
    n_wk, n_k = counts_of(tokens, z)
    included = ((np.random.default_rng(4).random(n_wk.shape) < 1 / 3) | (n_wk > 0)).astype(np.uint8)
    return n_wk, n_k, included


def test_sparse_topics_of_assignments(tokens, z):
    n_wk, n_k = counts_of(tokens, z)
    sparse = assigned_topics(tokens, z, n_k)
    assert (sparse.dense("counts") == n_wk).all()
    included = sparse.dense("included")
    assert (included[:, :-2] == (n_wk > 0)[:, :-2]).all()
    # A topic without tokens has a word, of its own.
    assert (included[:, -2:].sum(axis=0) == 1).all()
    assert included[:, -2:].sum(axis=1).max() == 1
    sparse.counts[:] = -1
    count_topics(z, tokens.word_ptr, tokens.by_word, sparse, again := n_k * 0)
    assert (sparse.dense("counts") == n_wk).all()
    assert (again == n_k).all()


def test_dense_rows(dense):
    n_wk, _, included = dense
    sparse = SparseTopics.of(included, n_wk)
    chosen = np.array([7, 3, 3, WORDS - 1])
    assert (sparse.dense("included", chosen) == included[chosen]).all()
    assert (sparse.dense("counts", chosen) == n_wk[chosen]).all()
    assert sparse.dense("phi", chosen[:0]).shape == (0, TOPICS)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("pi", [0.3, "word", 1.0])
def test_scan_is_that_of_arrays(dense, equal, pi):
    n_wk, n_k, included = dense
    beta = np.full(WORDS, 0.1) if equal else np.linspace(0.05, 2.0, WORDS)
    pi = np.linspace(0.1, 0.9, WORDS)[:, None] if pi == "word" else np.array(pi)
    given = ScanGiven(n_k, beta, *log_odds(pi, *n_wk.shape))
    sparse = scan_sparse(SparseTopics.of(included, n_wk), given, KEY)
    scan_indicators(n_wk, given, KEY, included)
    assert (sparse.dense("included") == included).all()
    assert (sparse.dense("counts") == n_wk).all()


def test_scan_keeps_probabilities_of_words_that_stay(dense):
    n_wk, n_k, included = dense
    before = SparseTopics.of(included, n_wk)
    before.set_phi(np.random.default_rng(1).random(n_wk.shape))
    after = scan_sparse(before, ScanGiven(n_k, np.full(WORDS, 0.1), *log_odds(np.array(0.5), *n_wk.shape)), KEY)
    stays = (before.dense("included") & after.dense("included")) > 0
    assert 0 < stays.sum() < (after.dense("included") > 0).sum()
    assert (after.dense("phi")[stays] == before.dense("phi")[stays]).all()


def test_sums_are_those_of_arrays(dense):
    n_wk, n_k, included = dense
    beta = np.linspace(0.05, 2.0, WORDS)
    sparse = SparseTopics.of(included, n_wk)
    mass = sparse_mass(beta, sparse)
    assert mass == pytest.approx(included_mass(beta, included), rel=1e-12)
    expected = phi_terms(n_wk, n_k, beta, mass)[0]
    assert log_sparse_phi_part(sparse.pointer, sparse.counts, n_k, beta, mass) == pytest.approx(expected, rel=1e-12)
    set_mean_phi(sparse, n_k, beta)
    assert sparse.dense("phi") == pytest.approx(included * (n_wk + beta[:, None]) / (n_k + mass), rel=1e-6)


def rows(draw, replicates=1500):
    """Cells of phi over draws."""
    return np.stack([draw(Key(1, 0, step, 0)) for step in range(replicates)])


@pytest.mark.parametrize("beta", [0.02, 0.7])
def test_distribution_of_phi_is_that_of_arrays(dense, beta):
    """Each of some cells by a chi-square test of two samples, p-values corrected for their number."""
    n_wk, n_k, included = dense
    # One topic is drawn in log space, having so few tokens, the others by gamma variates.
    n_wk, beta = n_wk * np.int32(8), np.full(WORDS, beta)
    n_k, sparse = n_wk.sum(axis=0, dtype=np.int64), SparseTopics.of(included, n_wk)
    phi = np.empty(n_wk.shape, np.float32)
    cells = [(int(w), k) for k in (0, 5, TOPICS - 1) for w in np.flatnonzero(included[:, k])[:3]]
    places = tuple(np.array(cells).T)

    def listed(key, n_k=n_k):
        draw_sparse_phi(sparse, n_k, beta, key)
        return sparse.dense("phi")[places]

    def arrays(key):
        draw_included_phi(GammaShapes(n_wk, beta, included), n_k, key, phi)
        return phi[places]

    def p_value(one, other):
        p_values = []
        for a, b in zip(one.T, other.T, strict=True):
            edges = np.unique(np.quantile(b, np.arange(1, 10) / 10))
            counts = [np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (a, b)]
            share = (counts[0] + counts[1]) / (len(a) + len(b))
            # Each sample against both together: the statistic of two samples is the sum, with the same degrees.
            p_values.append(chi_square(np.concatenate(counts), np.concatenate([share, share]) / 2))
        return min(1.0, min(p_values) * len(p_values))

    drawn = rows(arrays)
    assert (listed(Key(1, 0, 0, 0)) >= 0).all()
    assert sparse.dense("phi").sum(axis=0) == pytest.approx(1.0, abs=1e-5)
    assert (sparse.dense("phi")[included == 0] == 0).all()
    assert p_value(rows(listed), drawn) > FALSE_ALARM
    # The planted bug: counts of the next entry.
    sparse.counts[:] = np.roll(sparse.counts, 1)
    assert p_value(rows(listed, 500), drawn) < FALSE_ALARM


def test_tokens_follow_their_conditional(dense):
    """A sweep of documents of one token: phi and alpha alone decide; 11 topics by chi-square, and a planted bug."""
    n_wk, _, included = dense
    word = int(included[: WORDS - 5].sum(axis=1).argmax())
    phi = np.random.default_rng(6).random(n_wk.shape) * included
    sparse = SparseTopics.of(included, n_wk)
    sparse.set_phi(phi)
    docs = 20_000
    words, alpha = fixed(np.full(docs, word, np.uint32)), np.linspace(0.1, 1.2, TOPICS)
    new = np.zeros(docs, np.uint8)
    pointer = fixed(np.arange(docs + 1))
    tokens = TokensByDocument(np.array([0, docs // 3, docs]), pointer, words, np.ones(WORDS, np.bool_))
    given = AllGivenSparse.of(Alpha.shared(alpha), sparse)
    sweep_listed_partially_collapsed(tokens, new, given, (), NO_RESPONSE, KEY)
    distribution = alpha * phi[word]
    counts = np.bincount(new, minlength=TOPICS)
    assert chi_square(counts, distribution / distribution.sum()) > FALSE_ALARM
    assert chi_square(counts, phi[word] / phi[word].sum()) < FALSE_ALARM


def test_tiny_weights_are_drawn_with_care(tokens, z, dense):
    n_wk, _, included = dense
    sparse = SparseTopics.of(included, n_wk)
    sparse.values[:] = 1e-38
    new = z.copy()
    alpha = np.full(TOPICS, 0.1)
    given = AllGivenSparse.of(Alpha.shared(alpha), sparse)
    by_document = tokens.by_document(np.ones(WORDS, np.bool_))._replace(chunk_ptr=np.array([0, 15]))
    sweep_listed_partially_collapsed(by_document, new, given, (), NO_RESPONSE, KEY)
    assert (included[tokens.words, new] == 1).all()
    assert (new != z).mean() > 0.3
    sparse.values[:] = 0.0
    kept = new.copy()
    sweep_listed_partially_collapsed(by_document, kept, given, (), NO_RESPONSE, KEY)
    assert (kept == new).all()


def test_running_mean(tokens):
    """Of cells with tokens as that of arrays; what is left of a topic goes to all words as beta has it."""
    rng, beta = np.random.default_rng(8), np.linspace(0.1, 0.6, WORDS)
    mean, before = (
        np.zeros((WORDS, TOPICS), np.float32),
        MeanCells(np.zeros(WORDS + 1, np.int64), np.zeros(0, np.uint16), np.zeros(0)),
    )
    counted = np.zeros((WORDS, TOPICS), bool)
    for number in range(1, 6):
        n_wk, n_k = counts_of(tokens, rng.integers(0, TOPICS, 300))
        sparse = SparseTopics.of((n_wk > 0) | (rng.random(n_wk.shape) < 0.2), n_wk)
        before = add_expected_sparse(sparse, n_k, beta, 1.0 / number, before)
        # Of arrays, in the draws in which a cell has tokens.
        mass = sparse_mass(beta, sparse)
        update_mean_included_phi(n_wk, n_k, beta, (n_wk > 0).astype(np.uint8), mass, 1.0 / number, mean)
        counted |= n_wk > 0
    pointer, topics, values = before
    words = np.repeat(np.arange(WORDS), np.diff(pointer))
    assert (np.stack(np.nonzero(counted)) == np.stack([words, topics])).all()
    assert values == pytest.approx(mean[words, topics], rel=1e-5)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{w:02}" for w in rng.integers(0, 13, 12) + 13 * (d % 2)) for d in range(60)]
    return pt.Corpus.from_texts(
        texts, labels=["ab"[d % 2] for d in range(60)], vocabulary=[f"w{w:02}" for w in range(30)]
    )


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample(
        "dolda_spike_slab", corpus, topics=4, storage="sparse", draws=20, warmup=40, chains=2, seed=1, progress=False,
        record={"included": "all", "phi": "all"},
    )  # fmt: skip


def test_a_fit_reads_as_others_do(fit, corpus, tmp_path):
    posterior, statistics = fit.posterior, fit.groups["sample_stats"]
    included, phi = posterior["included"].values, posterior["phi"].values
    assert phi.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert (phi[included == 0] == 0).all()
    assert statistics["density_phi"].values == pytest.approx(included.mean(axis=(2, 3)))
    mean = mean_topics(fit.groups)
    assert mean.dims == ("chain", "topic", "word")
    assert mean.sum("word").values == pytest.approx(1.0, abs=1e-5)
    # Over few draws of phi its noise stands against the mean of its expectations.
    assert abs(mean.values - phi.mean(axis=1)).max() < 0.05
    assert mean_topics(fit.groups, 1).values == pytest.approx(mean.values[1])
    assert fit.score(corpus) > 0.9
    assert {len(words.split()) for words in fit.topics(5)["words"]} == {5}
    loaded = pt.load_fit(fit.save(tmp_path / "run.nc"))
    assert mean_topics(loaded.groups).equals(mean)
    with pytest.raises(pt.TraceError, match="the trace has no chain 2; it has 0, 1"):
        mean_topics(fit.groups, 2)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=ONE_CORE)])
def test_draws_do_not_depend_on_threads(fit, corpus, threads):
    again = pt.sample(
        "dolda_spike_slab", corpus, topics=4, storage="sparse", draws=3, warmup=40, chains=1, seed=1, progress=False,
        threads=threads, record={"included": "all", "phi": "all"},
    )  # fmt: skip
    for name in ("phi", "included", "eta"):
        assert (again.posterior[name].values[0] == fit.posterior[name].values[0, :3]).all()


def test_other_kernels_are_refused_with_the_reason():
    spec = load_spec("lda_spike_slab", {"storage": "sparse"})
    for kernel in ("partially_collapsed", "light_partially_collapsed", "collapsed_gibbs"):
        with pytest.raises(pt.ScheduleError, match=r"storage: sparse.*use `listed_partially_collapsed` here"):
            make_plan(spec.with_schedule([{"z": kernel}, {"included": "listed_scan"}, {"phi": "listed_rows"}], "here"))
    made = [{"z": "partially_collapsed"}, {"included": "listed_scan"}, {"phi": "included_rows"}]
    with pytest.raises(pt.ScheduleError, match=r"does not handle the factor 'phi' \(spike_slab\)"):
        make_plan(load_spec("lda_spike_slab").with_schedule(made, "here"))


def test_no_array_has_a_cell_for_each_topic_and_word():
    """Two sweeps of 400 topics over 20,000 words, and their record, take less than phi would as an array of bytes."""
    rng = np.random.default_rng(5)
    words, topics, peak = 20_000, 400, 0
    texts = [[f"w{w}" for w in rng.integers(0, words, 20)] for _ in range(200)]
    corpus = pt.Corpus.from_tokens(texts, vocabulary=[f"w{w}" for w in range(words)])
    # Few topics first, of the same type of numbers, so that what is compiled does not count.
    for size in (257, topics):
        model = {"extends": "lda_spike_slab", "name": "listed", "record": {"phi": "none"}}
        spec = load_spec(model, {"storage": "sparse", "topics": size, "inclusion": 0.01})
        bound = bind(make_plan(spec), corpus)
        executor, recorder = Executor(bound), Recorder(bound, ChainDraws())
        tracemalloc.start()
        state = bound.initial_state(1, 0)
        for number in range(2):
            record = executor.sweep(state, executor.memories(state), 1, 0, number)
            recorder.record(state, record, Key(1, 0, number, 0), warmup=False)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < words * topics


CERTIFIED = {"replicates": 300, "long_run": 2000}


def listed(inclusion, base="lda", **more):
    slab = {"block": "spike_slab", "over": "word", "per": "topic", "concentration": "$beta", "storage": "sparse"}
    return {"extends": base, "name": "listed", "blocks": {"phi": {**slab, "inclusion": inclusion}, **more}}


def test_all_kernels_of_sparse_topics_are_certified_here():
    default = {step.kernel.name for step in steps(make_plan(load_spec(listed(0.4))).schedule)}
    assert default == {name for name, kernel in pt.kernels().items() if "listed_words" in kernel.handles}


def test_schedule_of_sparse_topics_is_certified():
    result = pt.verify(
        listed("pi", pi={"block": "beta", "a": 1.0, "b": 1.0, "per": "topic"}), kernel="listed_rows", **CERTIFIED
    )
    assert result.passed, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "inclusion"), [("lda", 0.4), ("lda", "pi"), ("medlda", "pi"), ("slda_gaussian", 0.4), ("dolda", 0.4)]
)
def test_sparse_topics_are_certified_in_other_models(base, inclusion):
    prior = {} if inclusion == 0.4 else {"pi": {"block": "beta", "a": 1.0, "b": 1.0, "per": "word"}}
    result = pt.verify(listed(inclusion, base, **prior), kernel=["listed_partially_collapsed", "listed_scan"])
    assert result.passed, str(result)


@pytest.mark.parametrize(
    "schedule", [[{"z": "listed_partially_collapsed"}], [{"z": "listed_partially_collapsed"}, {"phi": "listed_rows"}]]
)
def test_what_is_left_alone_is_given(schedule):
    result = pt.verify(listed(0.4), schedule={"cycle": schedule}, **CERTIFIED)
    assert result.passed, str(result)


def test_starting_topics(corpus):
    bound = bind(make_plan(load_spec("lda_spike_slab", {"storage": "sparse", "topics": 40})), corpus)
    state = bound.initial_state(1, 0)
    state.check()
    assert set(state.arrays) == set()
    assert state.sparse_topics.dense("included").any(axis=0).all()
    assert state.values["phi"].sum(axis=0) == pytest.approx(1.0, abs=1e-5)
