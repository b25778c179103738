"""Every exact kernel is certified, in every shipped model without a response that admits it and in compositions.

Seeds are fixed; `verify` refuses a right schedule with probability at most 1e-5. That it refuses wrong ones is
shown in `test_planted_bugs.py`.
"""

import pytest
from homes import exact_kernels, scale_kernels
from planted_background import BOTH
from planted_shrinkage import DMR_HORSESHOE

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.verify import _plans_with
from ppl_topics.spec import Model
from ppl_topics.spec.shipped import shipped

HELD = {"extends": "lda", "name": "lda_held", "blocks": {"theta": {"integrate_out": False}}}
COLLAPSED_HELD = {
    "extends": "lda",
    "name": "theta_held_phi_out",
    "blocks": {"theta": {"integrate_out": False}, "phi": {"integrate_out": True}},
}
SYMMETRIC = {"extends": "lda_learned", "name": "lda_symmetric", "blocks": {"alpha": {"per": None}}}
LEARNED_COLLAPSED = {"extends": "lda_learned", "name": "learned_phi_out", "blocks": {"phi": {"integrate_out": True}}}
UNSUPERVISED = [name for name in shipped() if "y" not in pt.load_spec(name).blocks]
MODELS = [*UNSUPERVISED, HELD, COLLAPSED_HELD, SYMMETRIC, LEARNED_COLLAPSED, BOTH, DMR_HORSESHOE]
QUICK = {"replicates": 600, "long_run": 2000}


GIVEN_PHI = ["partially_collapsed", "sparse_partially_collapsed"]


def name_of(model):
    return model if isinstance(model, str) else model["name"]


RARE, FREQUENT = {"max_count": 1}, {"min_count": 2}
REDRAW = pt.step("phi", "dirichlet_rows")
COMPOSED = {
    "rare words collapsed, frequent ones given phi": (
        "lda",
        pt.cycle(
            pt.step("z", "collapsed_gibbs", words=RARE),
            REDRAW,
            pt.step("z", "sparse_partially_collapsed", words=FREQUENT),
            REDRAW,
        ),
    ),
    "frequent words collapsed, rare ones given phi": (
        "lda",
        pt.cycle(
            pt.step("z", "collapsed_gibbs", words=FREQUENT),
            REDRAW,
            pt.step("z", "partially_collapsed", words=RARE),
            REDRAW,
        ),
    ),
    "mixture of all kernels of z": (
        "lda",
        pt.cycle(
            pt.mixture(
                pt.cycle(pt.step("z", "collapsed_gibbs"), REDRAW),
                pt.cycle(pt.step("z", "partially_collapsed"), REDRAW),
                pt.cycle(pt.step("z", "sparse_partially_collapsed"), REDRAW),
                weights=[1, 2, 3],
            )
        ),
    ),
    "repeat inside every": (
        "lda",
        pt.cycle(
            pt.step("z", "sparse_partially_collapsed"),
            REDRAW,
            pt.every(2, pt.repeat(2, pt.step("z", "collapsed_gibbs"))),
            REDRAW,
        ),
    ),
    "concentrations now and then": (
        "lda_learned",
        pt.cycle(
            pt.step("z", "partially_collapsed"),
            pt.mixture(pt.step("alpha", "slice_alpha"), pt.step("z", "partially_collapsed"), weights=[3, 1]),
            pt.every(2, pt.cycle(pt.step("beta", "slice_beta"), REDRAW)),
            REDRAW,
        ),
    ),
    "theta held": (
        HELD,
        pt.cycle(
            pt.step("z", "sparse_partially_collapsed"), REDRAW, pt.step("theta", "dirichlet_weights")
        ),
    ),
}  # fmt: skip


def certified_kernels(model, **options):
    """The names of the kernels that are certified in a model; none may be refused."""
    result = pt.verify(model, **options)
    assert result.passed, str(result)
    return {c.kernel for c in result.certificates if c.certified}


# Each kernel in a model that it was made for; all of them in all models are tested in full among the slow tests.
AT_HOME = {
    "lda": [*GIVEN_PHI, "gram_partially_collapsed", "light_partially_collapsed", "dirichlet_rows"],
    "lda_collapsed": ["collapsed_gibbs", "sparse_collapsed", "block_collapsed", "semi_collapsed"],
    "background_lda": ["background_rows"],
    "hdp_lda": ["dirichlet_tables"],
    "one_topic": ["document_partially_collapsed", "document_collapsed"],
    "lda_learned": ["slice_alpha", "slice_beta"],
    "dmr": ["elliptical_slice"],
    "dmr_time": ["elliptical_slice"],
    "dmr_horseshoe": ["elliptical_slice", "inverse_gamma_prevalence_lambda", "inverse_gamma_prevalence_tau"],
    "keyword_lda": ["keyword_rows"],
    "keywords_and_background": ["keyword_background_rows"],
    "seeded_lda": ["seeded_rows"],
    "lda_symmetric": ["slice_alpha"],
    "lda_held": ["dirichlet_weights"],
    "lda_spike_slab": ["included_rows"],
    "theta_held_phi_out": ["block_collapsed"],
}


# What kernels update that are certified in `test_certified_{supervised,shrinkage,spike_slab,numbers}.py`.
ELSEWHERE = {"eta", "augmentation", "included", "pi", "variance", "scale", "dispersion", "rate", "sigma", "cutpoints"}


def at_home_here():
    """The exact kernels of the registry that no other file certifies; listed words are in `test_sparse_topics.py`."""
    elsewhere = ELSEWHERE.union(role for _, found in scale_kernels() for role in found)
    return [
        name
        for name, kernel in exact_kernels().items()
        if not elsewhere & set(kernel.updates) and "listed_words" not in kernel.handles
    ]


def everything():
    """`AT_HOME`, with any other exact kernel of the registry in the first of the models that admits it."""
    pairs = [(name, kernel) for name, kernels in AT_HOME.items() for kernel in kernels]
    for name in at_home_here():
        if name not in {known for _, known in pairs}:
            pairs += [(name_of(model), name) for model in MODELS if admitted(model, name)][:1]
    return pairs


def admitted(model, kernel):
    """Whether `verify` can test a kernel in a model."""
    try:
        _plans_with(Model.of(pt.load_spec(model)), pt.kernels()[kernel])
    except pt.ScheduleError:
        return False
    return True


TRIED = {
    "partially_collapsed",
    "light_partially_collapsed",
    "block_collapsed",
    "semi_collapsed",
    "dirichlet_rows",
    "dirichlet_tables",
    "slice_beta",
    "keyword_background_rows",
    "document_partially_collapsed",
    "document_collapsed",
    "included_rows",
    "inverse_gamma_prevalence_tau",
}
"""Of the kernels at home here those that are certified quickly, and any new one.

The full test has all, and digests of their draws (`test_reproducibility.py`) show at once that a kernel has changed.
"""


def quickly():
    """Pairs of a model and a kernel."""
    known = {kernel for kernels in AT_HOME.values() for kernel in kernels}
    return [(name, kernel) for name, kernel in everything() if kernel in TRIED or kernel not in known]


@pytest.mark.parametrize(("name", "kernel"), quickly())
def test_kernels_are_certified(name, kernel):
    (model,) = [model for model in MODELS if name_of(model) == name]
    assert certified_kernels(model, kernel=kernel, **QUICK) == {kernel}


def test_every_exact_kernel_is_at_home_somewhere():
    assert set(at_home_here()) == {kernel for _, kernel in everything()}


@pytest.mark.parametrize("name", ["frequent words collapsed, rare ones given phi", "mixture of all kernels of z"])
def test_compositions_are_certified(name):
    model, schedule = COMPOSED[name]
    result = pt.verify(model, schedule=schedule, **QUICK)
    assert result.passed, str(result)


@pytest.mark.parametrize("kernel", GIVEN_PHI)
def test_kernels_are_certified_given_phi(kernel):
    """phi stays as it is: the target is the posterior given it."""
    assert pt.verify("lda", schedule=pt.step("z", kernel), **QUICK).passed


def test_a_composition_that_never_moves_some_words_is_refused():
    """The planted bug of this file: nothing updates the tokens of the word that occurs once."""
    schedule = pt.cycle(pt.step("z", "collapsed_gibbs", words=FREQUENT), REDRAW)
    (result,) = pt.verify("lda", schedule=schedule, **QUICK).certificates
    assert result.never_reached > 0
    assert not result.certified


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_kernels_are_certified_by_the_full_test(model):
    """Those at home in a model, and all others by fewer chains; one model differs from `dmr` by few kernels."""
    at_home = AT_HOME.get(name_of(model), [])
    if at_home:
        assert certified_kernels(model, kernel=at_home) == set(at_home)
    if model is not DMR_HORSESHOE:
        assert certified_kernels(model, **QUICK) >= set(at_home)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_are_certified_by_the_full_test(name):
    model, schedule = COMPOSED[name]
    result = pt.verify(model, schedule=schedule, replicates=2500, sweeps=8)
    assert result.passed, str(result)
