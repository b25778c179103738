"""The same seed gives the same bits: at one thread and at two, stopped and resumed, and in the version of the streams.

Every registered kernel, and every shipped model, is in the table below.
"""

import hashlib

import numba
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics._util.compiled import parallel, specialised
from ppl_topics.core.keys import STREAMS
from ppl_topics.core.registry import kernels
from ppl_topics.schedule.tree import steps
from ppl_topics.spec.shipped import shipped

OPTIONS = {"topics": 3, "warmup": 2, "seed": 17, "chains": 2, "progress": False}
RECORD = {"z": "all"}
TWO = min(2, int(numba.config.NUMBA_NUM_THREADS))

HELD = {"extends": "lda", "name": "lda_held", "blocks": {"theta": {"integrate_out": False}}}
REGULARISED = {
    "extends": "slda_gaussian",
    "name": "gaussian_regularised",
    "blocks": {"eta": {"block": "regularised_horseshoe"}, "y": {"intercept": True}},
}
INCLUSION = {
    "extends": "lda_spike_slab",
    "name": "lda_inclusion",
    "blocks": {"phi": {"inclusion": "pi"}, "pi": {"block": "beta", "a": 1.0, "b": 1.0, "per": "topic"}},
}
LISTED = {"extends": "lda_spike_slab", "name": "lda_listed", "parameters": {"storage": "sparse"}}
HALF_CAUCHY = {"block": "half_cauchy"}
COUNTS = {
    "extends": "slda_counts",
    "name": "counts_with_priors",
    "blocks": {
        "eta": {"variance": {"block": "inverse_gamma", "shape": 2.0, "rate": 1.0}},
        "y": {"dispersion": {"block": "gamma", "shape": 2.0, "rate": 1.0}},
    },
}
VARIANCE = {"extends": "slda_gaussian", "name": "variance", "blocks": {"eta": {"variance": HALF_CAUCHY}}}
RATE = {"extends": "slda_gaussian", "name": "rate", "blocks": {"y": {"rate": HALF_CAUCHY}}}
QUANTILE, STUDENT = (
    {
        "extends": "lda",
        "name": f"real_{kind}",
        "blocks": {
            "eta": {"block": prior, "per": "response", "scale": HALF_CAUCHY},
            "y": {"block": kind, "coefficients": "eta", "features": ["z"], "sigma": HALF_CAUCHY},
        },
    }
    for kind, prior in (("quantile", "laplace"), ("student_t", "student_t_coefficients"))
)
KEYWORDS = {"first": ["w1", "w2*"], "second": ["w5", "w1"]}
BOTH = {
    "extends": "keyword_lda",
    "name": "keywords_and_background",
    "blocks": {
        "phi": {
            "block": "keywords_and_background",
            "over": "word",
            "per": "topic",
            "concentration": 0.1,
            "keywords": KEYWORDS,
        }
    },
}
DMR_HORSESHOE = {
    "extends": "dmr",
    "name": "dmr_horseshoe",
    "parameters": {"variance": None},
    "blocks": {"gamma": {"block": "horseshoe", "per": "topic"}},
}
SCALE = {"extends": "dolda", "name": "scale", "blocks": {"eta": {"scale": HALF_CAUCHY}}}

# Model, and kernels that replace those it would choose, by the case's name.
CASES = {
    "dmr": ("dmr", {}),
    "dmr_supervised": ("dmr_supervised", {}),
    "dmr_time": ("dmr_time", {}),
    "dmr, horseshoe": (DMR_HORSESHOE, {}),
    "dolda": ("dolda", {}),
    "dolda, slices": ("dolda", {"lambda": "slice_lambda", "tau": "slice_tau", "z": "partially_collapsed"}),
    "dolda, scale": (SCALE, {}),
    "dolda_covariates": ("dolda_covariates", {}),
    "dolda_normal": ("dolda_normal", {"eta": "low_rank_normal", "z": "sparse_partially_collapsed"}),
    "dolda_spike_slab": ("dolda_spike_slab", {}),
    "background_lda": ("background_lda", {}),
    "hdp_lda": ("hdp_lda", {}),
    "keyword_lda": ("keyword_lda", {}),
    "keyword_lda, background": (BOTH, {}),
    "labelled_lda": ("labelled_lda", {}),
    "lda": ("lda", {}),
    "lda, alias": ("lda", {"z": "alias_partially_collapsed"}),
    "lda, Polya urn": ("lda", {"z": "alias_partially_collapsed", "phi": "polya_urn_rows"}),
    "lda, sparse": ("lda", {"z": "sparse_partially_collapsed"}),
    "lda, gram": ("lda", {"z": "gram_partially_collapsed"}),
    "lda, semi": ("lda", {"z": "semi_collapsed"}),
    "lda, light": ("lda", {"z": "light_partially_collapsed"}),
    "lda, theta held": (HELD, {"theta": "dirichlet_weights", "z": "sparse_partially_collapsed"}),
    "lda_collapsed": ("lda_collapsed", {"z": "collapsed_gibbs"}),
    "lda_collapsed, sparse": ("lda_collapsed", {"z": "sparse_collapsed"}),
    "lda_collapsed, block": ("lda_collapsed", {"z": {"kernel": "block_collapsed", "blocks": 4}}),
    "lda_collapsed, ad": ("lda_collapsed", {"z": {"kernel": "ad_lda", "shards": 2}}),
    "lda_collapsed, stale tables": ("lda_collapsed", {"z": {"kernel": "light_collapsed", "rebuild": 3}}),
    "lda_learned": ("lda_learned", {}),
    "lda_spike_slab": ("lda_spike_slab", {}),
    "lda_spike_slab, pi": (INCLUSION, {}),
    "lda_spike_slab, listed": (LISTED, {}),
    "medlda": ("medlda", {}),
    "medlda, stale tables": (
        "medlda",
        {
            "z": {"kernel": "light_collapsed", "rebuild": 3, "proposals": {"doc": 1, "word": 1, "exp": 1}},
            "phi": "dirichlet_rows",
        },
    ),
    "medlda, full conditional": ("medlda", {"z": "full_partially_collapsed"}),
    "medlda, full conditional, collapsed": ("medlda", {"z": "full_collapsed_gibbs"}),
    "medlda_binary": ("medlda_binary", {}),
    "medlda_horseshoe": ("medlda_horseshoe", {}),
    "medlda_light": ("medlda_light", {}),
    "medlda_one_vs_all": ("medlda_one_vs_all", {}),
    "medlda_regression": ("medlda_regression", {}),
    "one_topic": ("one_topic", {"z": "document_collapsed"}),
    "one_topic, given phi": ("one_topic", {"z": "document_partially_collapsed"}),
    "quantile": (QUANTILE, {}),
    "seeded_lda": ("seeded_lda", {}),
    "slda_counts": ("slda_counts", {}),
    "slda_counts, priors of numbers": (COUNTS, {}),
    "slda_covariates": ("slda_covariates", {}),
    "slda_gaussian": ("slda_gaussian", {}),
    "slda_gaussian, variance": (VARIANCE, {}),
    "slda_gaussian, rate": (RATE, {}),
    "slda_gaussian, regularised": (REGULARISED, {}),
    "slda_logistic": ("slda_logistic", {}),
    "slda_logistic_one_vs_all": ("slda_logistic_one_vs_all", {}),
    "slda_multinomial": ("slda_multinomial", {}),
    "slda_ordinal": ("slda_ordinal", {}),
    "student_t": (STUDENT, {}),
}

# Of the last assignments of each case, under the current version of the streams. Where one differs, a seed no longer
# gives the draws that it gave: raise STREAMS, so that no run is resumed with other draws, and put the new digests here.
DIGESTS = {
    "dmr, horseshoe": "2240c8059f41e442",
    "dmr": "9fa21695acf8f02d",
    "dmr_supervised": "21e3f9e626d6b7db",
    "dmr_time": "297bbde3cd694ac7",
    "dolda": "64f9815b72f6bd61",
    "dolda, scale": "ee623ab5caa20cef",
    "dolda, slices": "bcd1697363e99a7c",
    "dolda_covariates": "ec9dbdeb13a893f6",
    "dolda_normal": "65e1ef19abc439f4",
    "dolda_spike_slab": "3412776674338345",
    "background_lda": "74d409b6d9715e74",
    "hdp_lda": "acd9e9b8dd3a4f42",
    "keyword_lda": "f4b407c558a66ec3",
    "keyword_lda, background": "cf794d43f639285c",
    "labelled_lda": "7263335a92aa8144",
    "lda": "24d112d67966223e",
    "lda, alias": "d5541c922663e2eb",
    "lda, Polya urn": "663939123612094d",
    "lda, sparse": "838b858b991c419d",
    "lda, gram": "838b858b991c419d",
    "lda, semi": "99a54a2d3a97a0df",
    "lda, light": "2b175a58c8583b02",
    "lda, theta held": "8644007c6d0d8f69",
    "lda_collapsed": "24d112d67966223e",
    "lda_collapsed, sparse": "4d2a6b12d3366df4",
    "lda_collapsed, block": "0cf4f07173a132e0",
    "lda_collapsed, ad": "18a92519bea19dfd",
    "lda_collapsed, stale tables": "ad57f34411b4c2db",
    "lda_learned": "2bb89c1d73b8cb1d",
    "lda_spike_slab": "096419bd867deb62",
    "lda_spike_slab, pi": "5e7c8325939a5757",
    "lda_spike_slab, listed": "fd4b98df50b8b5cc",
    "medlda": "744a41d58da3566a",
    "medlda, stale tables": "590d2e79e52da3f3",
    "medlda, full conditional": "3b7a763dc626ee76",
    "medlda, full conditional, collapsed": "68bba49a0294b1ba",
    "medlda_binary": "d56246f865476eac",
    "medlda_horseshoe": "db291a7b8fda7803",
    "medlda_light": "6c5ed1715bef6ac8",
    "medlda_one_vs_all": "434968d88b047428",
    "medlda_regression": "4f13ab6c83501188",
    "one_topic": "845a9f9a67385a5c",
    "one_topic, given phi": "adccb54202800e80",
    "quantile": "d571fe1c677af3e6",
    "seeded_lda": "536ddc2c224dee53",
    "slda_counts": "14b4b94ef837c355",
    "slda_counts, priors of numbers": "4b3a39d7ae15fa9e",
    "slda_covariates": "5c441ca77ba1053e",
    "slda_gaussian": "c60b372952a18342",
    "slda_gaussian, variance": "bc4b91ef0ea356a4",
    "slda_gaussian, rate": "6c9df58a04cf4870",
    "slda_gaussian, regularised": "0b36c2ed1bf2623c",
    "slda_logistic": "58d789d682aee3fc",
    "slda_logistic_one_vs_all": "58e7f2f12c2db68f",
    "slda_multinomial": "91dcbca2ca32985a",
    "slda_ordinal": "80876808a98542be",
    "student_t": "cc6dd0589de035f0",
}


NO_LABELS = {"background_lda", "dmr", "dmr_time", "hdp_lda", "keyword_lda", "one_topic", "seeded_lda"}


def labels(model):
    """Labels of a kind that the model observes."""
    name = model if isinstance(model, str) else model["extends"]
    if model in (QUANTILE, STUDENT):
        return np.linspace(-1.0, 1.0, 8)
    if name.startswith("lda") or name in NO_LABELS:
        return None
    if "regression" in name or "gaussian" in name:
        return np.linspace(-1.0, 1.0, 8)
    if "ordinal" in name:
        return list("12323121")
    two = "binary" in name or name == "slda_covariates"
    return [0, 3, 1, 2, 0, 1, 5, 2] if "counts" in name else ["a", "b"] * 4 if two else list("abcabcab")


def corpus_for(model):
    rng = np.random.default_rng(5)
    documents = [[f"w{i}" for i in rng.integers(0, 30, n)] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    kind = "count" if model in ("slda_counts", COUNTS) else None
    covariates = np.arange(16.0).reshape(8, 2) % 5 if "x" in pt.load_spec(model).blocks else None
    if model == "dmr_time":
        covariates = [{"size": i % 5, "year": str(2001 + i % 3)} for i in range(8)]
    return pt.Corpus.from_tokens(documents, labels=labels(model), label_kind=kind, covariates=covariates)


def schedule_of(model, corpus, replaced):
    if not replaced:
        return None
    plan = pt.plan(model, corpus, topics=3)
    chosen = [(s.variable, s.kernel.name) for s in steps(plan.schedule)]
    return {"cycle": [{variable: replaced.get(variable, kernel)} for variable, kernel in chosen]}


def same(one, other):
    assert set(one) == set(other)
    for group, data in one.items():
        assert set(data.data_vars) == set(other[group].data_vars), group
        for name in data.data_vars:
            if name != "step_seconds":
                np.testing.assert_array_equal(data[name].values, other[group][name].values, err_msg=f"{group} {name}")


# Models whose kernels are all in other cases too.
SLOW = {
    "dmr_supervised",
    "dmr_time",
    "labelled_lda",
    "dolda_covariates",
    "dolda_spike_slab",
    "lda_spike_slab",
    "medlda_binary",
    "medlda_horseshoe",
    "medlda_regression",
    "slda_counts",
    "slda_covariates",
    "slda_gaussian",
    "slda_logistic_one_vs_all",
    "slda_multinomial",
}


@pytest.mark.filterwarnings("ignore::ppl_topics.InexactKernelWarning")
@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) if c in SLOW else c for c in CASES])
def test_threads_and_resuming_change_no_bit(case, tmp_path):
    model, replaced = CASES[case]
    corpus = corpus_for(model)
    schedule = schedule_of(model, corpus, replaced)
    options = {**OPTIONS, "schedule": schedule, "record": RECORD}
    options |= {"keywords": KEYWORDS} if model in ("keyword_lda", "seeded_lda") else {}
    whole = pt.sample(model, corpus, draws=5, threads=1, **options)
    pt.sample(model, corpus, draws=2, threads=TWO, out=tmp_path / "run", checkpoint_sweeps=3, **options)
    resumed = pt.resume(tmp_path / "run", draws="+3", threads=1, progress=False)
    same(whole.groups, resumed.groups)
    same(whole.groups, pt.load_fit(tmp_path / "run").groups)
    assert (STREAMS, digest(whole)) == (12, DIGESTS[case]), "draws have changed: raise STREAMS; see DIGESTS"


def test_lists_of_topics_keep_their_bits():
    """So many topics that tokens are drawn from lists: of rare words, and of documents for a frequent one."""
    rng = np.random.default_rng(5)
    documents = [[*["frequent"] * 40, *(f"w{i}" for i in rng.integers(0, 30, n))] for n in (40, 0, 1, 25, 60, 3, 1, 80)]
    corpus = pt.Corpus.from_tokens(documents)
    options = {
        **OPTIONS,
        "topics": 600,
        "schedule": {"z": {"kernel": "block_collapsed", "blocks": 4}},
        "record": RECORD,
    }
    one, two = (pt.sample("lda_collapsed", corpus, draws=3, threads=threads, **options) for threads in (1, TWO))
    same(one.groups, two.groups)
    assert (STREAMS, digest(one)) == (12, "32b36cc25a2f205a"), "draws have changed: raise STREAMS"


def test_only_prange_loops_of_parallel_functions_run_in_parallel(monkeypatch, tmp_path):
    """numba would add up an array in parts, as many as there are threads, and fill one in a loop of its own."""

    def add_up(values):
        parts = np.zeros(2)
        for part in numba.prange(2):
            parts[part] = values[part]
        return values.sum() + parts.sum()

    # What is loaded from a cache does not know how many loops it has.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    loops = []
    own = parallel(add_up), specialised(add_up, "twice", cached=False, in_parallel=True)
    for function in (*own, numba.njit(parallel=True)(add_up)):
        function(np.ones(3))
        loops.append(function.get_metadata(function.signatures[0])["parfor_diagnostics"].count_parfors())
    assert loops[:2] == [1, 1]
    assert loops[2] > 1


def digest(fit):
    last = fit.groups["constant_data"]["z_last"].values
    return hashlib.sha256(np.ascontiguousarray(last, dtype=np.uint16).tobytes()).hexdigest()[:16]


def test_no_kernel_is_left_out():
    used, quick = set(), set()
    for case, (model, replaced) in CASES.items():
        chosen = {s.variable: s.kernel.name for s in steps(pt.plan(model, corpus_for(model), topics=3).schedule)}
        given = {v: k if isinstance(k, str) else k["kernel"] for v, k in replaced.items()}
        used |= set((chosen | given).values())
        quick |= set() if case in SLOW else set((chosen | given).values())
    assert used == quick == set(kernels())
    assert {model for model, _ in CASES.values() if isinstance(model, str)} == set(shipped())
