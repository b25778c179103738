"""Every kernel of the project has planted bugs that `verify` must refuse, beside a control that it must certify.

The variants are slow, plain Python kernels that differ from the control by one error a programmer could make.
Seeds are fixed. `verify` refuses a right kernel with probability at most 1e-5, so the controls are stable.
"""

import re
from contextlib import contextmanager

import pytest
from homes import exact_kernels
from planted_background import PLANTED_BACKGROUND
from planted_concentration import PLANTED_CONCENTRATION
from planted_declarations import PLANTED_DECLARATIONS
from planted_documents import PLANTED_DOCUMENTS
from planted_keywords import PLANTED_KEYWORDS
from planted_lda import PLANTED_LDA
from planted_light import PLANTED_LIGHT
from planted_numbers import PLANTED_NUMBERS
from planted_prevalence import PLANTED_PREVALENCE
from planted_probit import PLANTED_PROBIT
from planted_shrinkage import PLANTED_SHRINKAGE
from planted_spike_slab import PLANTED_SPIKE_SLAB
from planted_supervised import PLANTED_SUPERVISED
from planted_tiles import PLANTED_TILES

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.diagnostics.exactness import sizes

QUICK = {"replicates": 1000, "long_run": 2000}
FEW = {"replicates": 300, "long_run": 2000}

PLANTED = {
    **PLANTED_LDA,
    **PLANTED_CONCENTRATION,
    **PLANTED_PREVALENCE,
    **PLANTED_DOCUMENTS,
    **PLANTED_BACKGROUND,
    **PLANTED_KEYWORDS,
    **PLANTED_TILES,
    **PLANTED_LIGHT,
    **PLANTED_SPIKE_SLAB,
    **PLANTED_SUPERVISED,
    **PLANTED_SHRINKAGE,
    **PLANTED_PROBIT,
    **PLANTED_NUMBERS,
}


@pytest.fixture(autouse=True)
def small_corpora(monkeypatch):
    """Leave out the largest corpora: plain Python takes minutes there; `test_sizes.py` has bugs that only they show."""
    monkeypatch.setattr(sizes, "SIZES", sizes.SIZES[:1])


@contextmanager
def registered(declared, build):
    """A kernel for as long as the context lasts."""
    pt.kernel("planted", exact=True, **declared)(build)
    try:
        yield
    finally:
        unregister_kernel("planted")


def certificate(entry, bug, **options):
    model, declared, make, _ = PLANTED[entry]
    with registered(declared, make(bug)):
        (result,) = pt.verify(model, kernel="planted", **options).certificates
    return result


def quick(entry):
    """A sweep of a supervised model has twice the kernels; the bugs tried quickly are large."""
    supervised = PLANTED_SUPERVISED | PLANTED_PROBIT | PLANTED_SHRINKAGE | PLANTED_NUMBERS
    return FEW if entry in supervised else QUICK


def cases(when):
    return [(entry, bug) for entry, (_, _, _, bugs) in PLANTED.items() for bug in bugs[when]]


def test_every_exact_kernel_has_a_planted_bug():
    with_bugs = {entry.split(",")[0] for entry in PLANTED}
    assert with_bugs == exact_kernels().keys(), "give each exact kernel of the project an entry in PLANTED"


@pytest.mark.parametrize(("entry", "bug"), cases("quick"))
def test_planted_bug_is_refused(entry, bug):
    assert not certificate(entry, bug, **quick(entry)).certified


def test_a_control_is_certified():
    """One of them: `test_every_control_is_certified` has all."""
    assert certificate("partially_collapsed", "", **QUICK).certified


@pytest.mark.parametrize("name", PLANTED_DECLARATIONS)
def test_a_kernel_that_is_not_what_it_declares_is_refused(name):
    model, declared, build, part, reason = PLANTED_DECLARATIONS[name]
    with registered(declared, build):
        result = pt.verify(model, kernel="planted", **QUICK)
    (refused,) = result.certificates
    assert refused.refused_by == part
    assert re.search(reason, refused.reason)
    assert str(result).endswith(f"certified 0 kernels; refused 1: planted ({refused.reason})")


def test_a_false_declaration_is_refused_in_a_schedule():
    _, declared, build, _, reason = PLANTED_DECLARATIONS["phi read, declared integrated out"]
    schedule = pt.cycle(pt.step("z", "collapsed_gibbs"), pt.step("z", "planted"), pt.step("phi", "dirichlet_rows"))
    with registered(declared, build):
        (refused,) = pt.verify("lda", schedule=schedule, **QUICK).certificates
    assert (refused.refused_by, refused.reason) == ("declaration", f"planted {reason}")


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "bug"), cases("slow"))
def test_subtler_planted_bug_is_refused(entry, bug):
    # Most are refused by few chains; a few need more than by default.
    tries = FEW, {}, {"replicates": 4000}
    assert any(not certificate(entry, bug, **how).certified for how in tries)


@pytest.mark.slow
@pytest.mark.parametrize("entry", PLANTED)
def test_every_control_is_certified(entry):
    """By the chains that refuse most of the bugs."""
    assert certificate(entry, "", **quick(entry)).certified
