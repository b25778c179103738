"""Tiles of documents by blocks of words, and the sweeps over them."""

from contextlib import contextmanager

import numba
import numpy as np
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.samplers.assignments import block_masses, tile_sweeper
from ppl_topics.samplers.assignments.block_masses import count_blocks, draw_masses, sum_by_block, sum_rows
from ppl_topics.samplers.assignments.tile_sweeper import TileSweeper
from ppl_topics.samplers.assignments.tiling import default_blocks, make_tiling, split_tiling
from ppl_topics.samplers.responses.response_term import NO_RESPONSE
from ppl_topics.schedule import make_plan

QUICK = {"replicates": 1000, "long_run": 4000}
OUT = {
    "updates": "z",
    "integrates_out": ("theta", "phi"),
    "reads": ("alpha", "beta"),
    "handles": ("dirichlet", "assignments", "words"),
}


def random_documents(n_docs=60, n_words=40, seed=1):
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(n_words, 0.3))
    documents = [rng.choice(n_words, rng.integers(0, 40), p=popular) for _ in range(n_docs)]
    documents[3] = documents[-1] = np.zeros(0, dtype=int)
    return documents


def indexed(documents, n_words=40):
    doc_ptr = np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64)
    words = np.concatenate([*documents, []]).astype(np.uint32)
    return index_tokens(doc_ptr, words, n_words)


def bound(schedule, topics, documents=None, n_words=40, **parameters):
    tokens = indexed(random_documents() if documents is None else documents, n_words)
    spec = pt.load_spec("lda_collapsed", {"topics": topics, **parameters})
    return bind_tokens(make_plan(spec.with_schedule(schedule, "test"), partial=True), tokens, n_words)


def run(model, sweeps=3, seed=1, threads=numba.config.NUMBA_NUM_THREADS):
    executor = Executor(model, debug=True)
    state = model.initial_state(seed, 0)
    memories = executor.memories(state)
    numba.set_num_threads(threads)
    for sweep in range(sweeps):
        executor.sweep(state, memories, seed, 0, sweep)
    state.check()
    if isinstance(memories[0], TileSweeper) and memories[0].sparse:
        check_lists(memories[0], state)
    return state


def check_lists(sweeper, state):
    """The lists of words and documents, of which a sweep has moved tokens, are those of z."""
    for lists, counts in ((sweeper.words, state.n_wk), (sweeper.documents, state.n_dk)):
        for row in np.flatnonzero(np.diff(lists.ptr)):
            entries = slice(lists.ptr[row], lists.ptr[row] + lists.sizes[row])
            found = dict(zip(lists.topics[entries].tolist(), lists.counts[entries].tolist(), strict=True))
            assert found == {topic: count for topic, count in enumerate(counts[row].tolist()) if count > 0}


@contextmanager
def tiles_with(name, most, n_blocks=2):
    """The tile kernel with lists, in which words of at most so many tokens are rare."""

    @pt.kernel(name, exact=True, **OUT)
    def build(binding):
        tokens, sizes = binding.tokens, binding.sizes
        every = np.ones(sizes.words, np.bool_)
        tiling = make_tiling(tokens, every, every, n_blocks)

        def init(state):
            return TileSweeper(tokens, tiling, sizes.topics, tokens.word_counts <= most)

        def step(state, sweeper, key):
            beta_sum = sum_by_block(tiling.word_block, state.beta, n_blocks)
            mass = draw_masses(sweeper.count(state), beta_sum, key)
            sweeper.sweep(state, mass, beta_sum, NO_RESPONSE, key)

        return pt.KernelFunctions(step, init)

    try:
        yield
    finally:
        unregister_kernel(name)


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7, 64])
def test_a_tiling_holds_each_selected_token_once(n_blocks):
    tokens = indexed(random_documents())
    selected = np.arange(40) % 3 > 0
    tiling = make_tiling(tokens, selected, np.ones(40, np.bool_), n_blocks)
    assert sorted(tiling.order) == np.flatnonzero(selected[tokens.words]).tolist()
    assert set(tiling.word_block) <= set(range(n_blocks))
    docs = tokens.docs
    for block in range(n_blocks):
        for group in range(n_blocks):
            inside = tiling.order[tiling.tile_ptr[block, group] : tiling.tile_ptr[block, group + 1]]
            assert (np.diff(inside.astype(int)) > 0).all()
            assert (tiling.word_block[tokens.words[inside]] == block).all()
            assert (docs[inside] >= tiling.group_ptr[group]).all()
            assert (docs[inside] < tiling.group_ptr[group + 1]).all()


def test_blocks_have_about_as_many_tokens():
    tokens = indexed(random_documents(400, 300), 300)
    every = np.ones(300, np.bool_)
    tiling = make_tiling(tokens, every, every, 4)
    load = np.bincount(tiling.word_block, weights=tokens.word_counts, minlength=4)
    assert load.max() / load.mean() < 1.1


@pytest.mark.parametrize("worth_sharing", [0, 1_000])
def test_words_without_a_block_are_left_out_of_the_counts(monkeypatch, worth_sharing):
    monkeypatch.setattr(block_masses, "CELLS_WORTH_SHARING", worth_sharing)
    tokens = indexed(random_documents())
    rare = tokens.word_counts < 20
    tiling = make_tiling(tokens, rare, rare, 3)
    z = np.random.default_rng(1).integers(0, 5, len(tokens.words)).astype(np.uint8)
    n_bk = np.full((3, 5), -1)
    count_blocks(tokens.chunk_ptr, tokens.doc_ptr, tokens.words, z, tiling.word_block, n_bk)
    expected = np.zeros((3, 5), int)
    inside = rare[tokens.words]
    np.add.at(expected, (tiling.word_block[tokens.words[inside]], z[inside]), 1)
    assert (n_bk == expected).all()
    n_wk = np.zeros((40, 5), np.int32)
    np.add.at(n_wk, (tokens.words, z), 1)
    n_bk[:] = -1
    sum_rows(n_wk, tiling.word_block, n_bk)
    assert (n_bk == expected).all()
    assert (tiling.word_block[~rare] == -1).all()


def test_the_number_of_blocks_grows_with_the_corpus():
    sizes = (0, 10, 40_000, 60_000, 130_000, 600_000, 1_400_000, 2_765_300, 10**8)
    assert [default_blocks(n) for n in sizes] == [1, 1, 2, 2, 4, 4, 4, 8, 16]


def test_a_tiling_is_split_into_rare_words_and_frequent_ones_in_the_order_of_the_words():
    tokens = indexed(random_documents())
    every = np.ones(40, np.bool_)
    whole = make_tiling(tokens, np.arange(40) % 3 > 0, every, 3)
    frequent = tokens.word_counts > 30
    rare, by_word = split_tiling(whole, frequent)
    for block in range(3):
        for group in range(3):
            both = [
                tiling.order[slice(*tiling.tile_ptr[block, group : group + 2])] for tiling in (rare, by_word, whole)
            ]
            in_whole = both.pop()
            expected = in_whole[~frequent[tokens.words[in_whole]]], in_whole[frequent[tokens.words[in_whole]]]
            assert np.array_equal(both[0], expected[0])
            assert np.array_equal(both[1], expected[1][np.argsort(tokens.words[expected[1]], kind="stable")])
    assert np.array_equal(by_word.docs, tokens.docs[by_word.order])
    assert 0 < len(by_word.order) < len(whole.order)


SCHEDULES = {
    "3 blocks": pt.step("z", "block_collapsed", blocks=3),
    "50 blocks": pt.step("z", "block_collapsed", blocks=50),
    "sparse": pt.step("z", "sparse_collapsed"),
    "semi-collapsed": pt.step("z", "semi_collapsed", rare=20, blocks=3),
    "all words rare": pt.step("z", "semi_collapsed", rare=10**6),
    "no word rare": pt.step("z", "semi_collapsed", rare=0),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("topics", [1, 5, 8, 20])
def test_counts_stay_those_of_z(schedule, topics):
    state = run(bound(SCHEDULES[schedule], topics))
    assert topics == 1 or len(np.unique(state.z)) == topics


def test_counts_stay_those_of_z_with_lists_and_short_documents():
    """More topics than the documents have tokens: weights are kept from document to document."""
    with tiles_with("with_lists", most=20):
        run(bound(pt.step("z", "with_lists"), 600))


@pytest.mark.parametrize(
    ("kernel", "options"),
    [("block_collapsed", {"blocks": 5}), ("sparse_collapsed", {}), ("semi_collapsed", {"rare": 20, "blocks": 5})],
)
def test_bits_do_not_depend_on_threads(kernel, options):
    model = bound(pt.step("z", kernel, **options), 20)
    one, all_of_them = run(model, threads=1), run(model)
    assert np.array_equal(one.z, all_of_them.z)


@pytest.mark.parametrize("model", ["lda", "slda_gaussian"])
def test_two_tiles_at_a_time_have_the_topics_of_one_after_the_other(model, monkeypatch):
    """Five groups of documents: the last tile of a diagonal is alone."""
    documents = [[f"w{word}" for word in document] for document in random_documents()]
    labels = None if model == "lda" else np.random.default_rng(2).normal(size=len(documents))
    corpus, ends = pt.Corpus.from_tokens(documents, labels=labels), []
    steps = [pt.step("z", "block_collapsed", blocks=5), pt.step("phi", "dirichlet_rows")]
    steps += [] if model == "lda" else [pt.step("eta", "joint_normal"), pt.step("sigma2", "inverse_gamma")]
    for abreast, seed in ((2, 1), (1, 1), (2, 2)):
        monkeypatch.setattr(tile_sweeper, "tiles_abreast", lambda *_, abreast=abreast: abreast)
        how = {"warmup": 2, "draws": 3, "chains": 1, "seed": seed, "progress": False}
        fit = pt.sample(model, corpus, topics=12, schedule=pt.cycle(*steps), **how)
        ends.append(fit.groups["constant_data"]["z_last"].values)
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[1], ends[2])


@pytest.mark.parametrize("kernel", ["block_collapsed", "sparse_collapsed", "semi_collapsed"])
@pytest.mark.parametrize("documents", [[], [[]], [[], [0], []]])
def test_degenerate_corpora(kernel, documents):
    run(bound(pt.step("z", kernel), 3, documents, 2))


@pytest.mark.parametrize("kernel", ["block_collapsed", "sparse_collapsed"])
def test_only_selected_words_move(kernel):
    model = bound(pt.step("z", kernel, words={"max_count": 15}), 9)
    before, after = model.initial_state(1, 0), run(model)
    selected = (model.tokens.word_counts <= 15)[model.tokens.words]
    assert (before.z == after.z)[~selected].all()
    assert (before.z != after.z)[selected].any()


@pytest.mark.parametrize("kernel", ["block_collapsed", "sparse_collapsed"])
def test_tiny_concentrations_leave_a_distribution(kernel):
    """Nothing that float32 holds: a lone token of a word of its own goes anywhere, in proportion to alpha."""
    n_docs = 3000
    documents = [[d] for d in range(n_docs)]
    model = bound(pt.step("z", kernel), 3, documents, n_docs, alpha=1e-60, beta=1e-60)
    state = run(model, sweeps=1)
    counts = np.bincount(state.z, minlength=3)
    # 5 standard deviations of a binomial count: a false alarm in a million.
    assert abs(counts - n_docs / 3).max() < 5 * np.sqrt(n_docs * 2 / 9)


@pytest.mark.parametrize("alpha", [1e-60, 1e-20, 1e-9])
def test_what_a_token_leaves_is_not_what_rounding_left(alpha):
    """A document of one token weighs next to nothing without it, and may get a topic that its word does not have."""
    n_docs = 2000
    documents = [[d % 2] for d in range(n_docs)]
    with tiles_with("all_rare", most=n_docs, n_blocks=1), tiles_with("none_rare", most=0, n_blocks=1):
        for kernel in ("all_rare", "none_rare"):
            model = bound(pt.step("z", kernel), 3, documents, 2, alpha=alpha, beta=1e4)
            counts = np.bincount(run(model, sweeps=2).z, minlength=3)
            # The topics of a word are as good as uniform; 5 standard deviations, and 3 for what they are not.
            assert abs(counts - n_docs / 3).max() < 8 * np.sqrt(n_docs * 2 / 9)


@pytest.mark.parametrize("n_blocks", [2, 3])
def test_blocks_are_certified(n_blocks):
    schedule = pt.step("z", "block_collapsed", blocks=n_blocks)
    assert pt.verify("lda_collapsed", schedule=schedule, **QUICK).passed


@pytest.mark.parametrize("rare", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)])
def test_semi_collapsed_is_certified(rare):
    """None of the words, one, or all but two are rare."""
    schedule = pt.step("z", "semi_collapsed", rare=rare, blocks=2)
    assert pt.verify("lda_collapsed", schedule=schedule, **QUICK).passed


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 2])
def test_lists_are_certified(most):
    with tiles_with("with_lists", most):
        assert pt.verify("lda_collapsed", kernel="with_lists", **QUICK).passed


def ranks_in_their_distributions(model, sweeps, alpha_factor=1.0):
    """Where each token's draw fell in its full conditional, likelier topics first: uniform numbers if all is right.

    The full conditional is computed here in plain Python, from the draws before; ties within a topic are broken at
    random.
    """
    executor, state = Executor(model), model.initial_state(1, 0)
    memories, rng = executor.memories(state), np.random.default_rng(1)
    (sweeper,) = memories
    words, docs, order = model.tokens.words, model.tokens.docs, sweeper.tiling.order
    if sweeper.sparse:
        order = np.concatenate([order, sweeper.by_word.order])
    ranks = []
    for sweep in range(sweeps):
        z, n_dk, n_wk, n_k = state.z.copy(), state.n_dk.copy(), state.n_wk.copy(), state.n_k.copy()
        executor.sweep(state, memories, 1, 0, sweep)
        for i, word, doc in zip(order, words[order], docs[order], strict=True):
            for change, topic in ((-1, z[i]), (1, state.z[i])):
                if change > 0:
                    distribution = (n_dk[doc] + alpha_factor * state.alpha) * (n_wk[word] + state.beta[word])
                    distribution /= n_k + state.beta.sum()
                    distribution /= distribution.sum()
                    likelier = distribution > distribution[topic]
                    ranks.append(distribution[likelier].sum() + rng.random() * distribution[topic])
                n_dk[doc, topic] += change
                n_wk[word, topic] += change
                n_k[topic] += change
    return np.array(ranks)


def p_uniform(ranks):
    """p-value of a Kolmogorov-Smirnov test of uniformity."""
    return stats.kstest(ranks, "uniform").pvalue


@pytest.mark.parametrize("topics", [3, 8, 20, 100])
@pytest.mark.parametrize("kernel", ["block_collapsed", "sparse_collapsed", "some_rare", "none_rare"])
def test_draws_follow_the_full_conditional(kernel, topics):
    """A false alarm in a million; topics beyond eight take another way through the code than `verify` reaches."""
    with tiles_with("some_rare", most=30, n_blocks=1), tiles_with("none_rare", most=0, n_blocks=1):
        model = bound(pt.step("z", kernel), topics, alpha=0.3, beta=0.1)
        ranks = ranks_in_their_distributions(model, sweeps=5)
        assert p_uniform(ranks) > 1e-6
        # The planted bug: an alpha that is twice too large.
        if topics == 20:
            assert p_uniform(ranks_in_their_distributions(model, sweeps=5, alpha_factor=2.0)) < 1e-6
