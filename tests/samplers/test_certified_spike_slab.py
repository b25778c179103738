"""Kernels of spike-and-slab topics, and kernels of z given them, are certified: with pi fixed and drawn, and responses.

`verify` holds them to sums over all subsets of words of each topic, and refuses a right schedule with probability at
most 1e-5. That it refuses wrong ones is shown in `test_planted_bugs.py`.
"""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec
from ppl_topics.schedule.plan import make_plan

QUICK = {"replicates": 500, "long_run": 2000}
SMALL = {"replicates": 300, "long_run": 2000}
GIVEN_PHI = ["partially_collapsed", "sparse_partially_collapsed", "light_partially_collapsed"]
PRIORS = ["number", "list", "shared", "topic", "word"]


def with_slab(prior, base="lda"):
    """A model whose topics are spike and slab."""
    slab = {"block": "spike_slab", "over": "word", "per": "topic", "concentration": "$beta"}
    fixed = {"number": 0.4, "list": [0.4] * 4}
    blocks = {"phi": {**slab, "inclusion": fixed.get(prior, "pi")}}
    if prior not in fixed:
        blocks["pi"] = {"block": "beta", "a": 1.0, "b": 1.0, "per": None if prior == "shared" else prior}
    return {"extends": base, "name": f"{base}_{prior}", "blocks": blocks}


def certified(model, **options):
    """Whether all that is tested is certified; what was not, where it is not."""
    result = pt.verify(model, **options)
    assert all(certificate.certified for certificate in result.certificates), str(result)
    return bool(result.certificates)


@pytest.mark.parametrize("prior", ["number", pytest.param("topic", marks=pytest.mark.slow)])
def test_default_schedule(prior):
    assert certified(with_slab(prior), kernel="indicator_scan", **QUICK)


@pytest.mark.slow
def test_light_proposals_given_zeros():
    assert certified(with_slab("topic"), kernel="light_partially_collapsed", **QUICK)


@pytest.mark.parametrize(
    ("base", "prior", "kernel"),
    [
        ("medlda", "topic", "light_partially_collapsed"),
        pytest.param("slda_gaussian", "number", "partially_collapsed", marks=pytest.mark.slow),
        pytest.param("slda_logistic", "shared", "sparse_partially_collapsed", marks=pytest.mark.slow),
    ],
)
def test_with_a_response(base, prior, kernel):
    assert certified(with_slab(prior, base), kernel=kernel, **SMALL)


@pytest.mark.slow
def test_all_proposals_given_zeros():
    light = pt.step("z", "light_partially_collapsed", proposals={"doc": 1, "word": 1, "exp": 1}, steps=3)
    rest = [pt.step("included", "indicator_scan"), pt.step("phi", "included_rows")]
    assert certified(with_slab("number", "medlda"), schedule=pt.cycle(light, *rest), **SMALL)


@pytest.mark.parametrize(
    "schedule",
    [
        [{"z": "partially_collapsed"}],
        pytest.param([{"z": "sparse_partially_collapsed"}, {"phi": "included_rows"}], marks=pytest.mark.slow),
        pytest.param(
            [{"z": "partially_collapsed"}, {"included": "indicator_scan"}, {"phi": "included_rows"}],
            marks=pytest.mark.slow,
        ),
        [{"z": "partially_collapsed"}, {"pi": "beta_inclusion"}],
    ],
    ids=str,
)
def test_what_is_left_alone_is_given(schedule):
    assert certified(with_slab("topic"), schedule={"cycle": schedule}, **QUICK)


@pytest.mark.parametrize("prior", ["number", "shared", "word"])
def test_exact_distribution_is_the_sum_over_all_indicators(prior):
    """Against a sum of another kind: over a grid of pi, and over the indicators cell by cell."""
    test = StationaryTest(TinyModel(make_plan(tiny_spec(pt.load_spec(with_slab(prior))))), seed=3, sweeps=1)
    state, beta = test.state, test.state.beta
    block = test.tiny.bound.block("phi")
    a, b = (block.inclusion, 0) if prior == "number" else (test.tiny.bound.block("pi").a, test.tiny.bound.block("pi").b)
    subsets = [np.array(s) for s in itertools.product([0, 1], repeat=4) if any(s)]
    grid = np.array([a]) if prior == "number" else (np.arange(4000) + 0.5) / 4000
    weight = np.zeros(1) if prior == "number" else (a - 1) * np.log(grid) + (b - 1) * np.log1p(-grid)
    moments = {}
    for inside in range(13):
        for outside in range(13 - inside):
            moments[inside, outside] = logsumexp(weight + inside * np.log(grid) + outside * np.log1p(-grid))

    def log_rising(x, n):
        return np.log(x + np.arange(n)).sum()

    def evidence(n_kw):
        terms = []
        for chosen in itertools.product(subsets, repeat=3):
            included = np.array(chosen)
            if (n_kw[included == 0] > 0).any():
                continue
            if prior == "word":
                value = sum(moments[int(n), int(3 - n)] for n in included.sum(axis=0))
            else:
                value = moments[int(included.sum()), int(12 - included.sum())]
            for row, counts in zip(included, n_kw, strict=True):
                value += sum(log_rising(beta[v], counts[v]) for v in range(4)) - log_rising(row @ beta, counts.sum())
            terms.append(value)
        return logsumexp(terms)

    cases = np.array([np.eye(3, dtype=int)[z] for z in ([0, 0, 1, 2, 1, 0], [2, 2, 2, 2, 2, 2], [0, 1, 2, 0, 1, 2])])
    n_kw = np.array([[case[state.tokens.words == w].sum(axis=0) for w in range(4)] for case in cases]).transpose(
        0, 2, 1
    )
    expected = np.array([evidence(counts) for counts in n_kw])
    given = test.topics.log_evidence(n_kw)
    assert np.diff(given) == pytest.approx(np.diff(expected), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_kernels_by_the_full_test(prior):
    """All of them where the probability of inclusion is drawn by topic; else those that see what it belongs to."""
    of_topics = ["indicator_scan", "included_rows", *([] if prior in ("number", "list") else ["beta_inclusion"])]
    assert certified(with_slab(prior), kernel=None if prior == "topic" else of_topics)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "kernel"),
    [
        (base, GIVEN_PHI[number % len(GIVEN_PHI)])
        for number, base in enumerate(["medlda", "medlda_regression", "slda_logistic", "slda_gaussian", "slda_counts"])
    ],
)
def test_every_response_by_the_full_test(base, kernel):
    assert certified(with_slab("topic", base), kernel=kernel, replicates=500)
