"""Supervised models on degenerate input: a clear error of one line, or a finite answer that is right, never a NaN."""

import numpy as np
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.corpus.labels import Labels
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule.plan import make_plan

OPTIONS = {"topics": 3, "draws": 3, "warmup": 2, "chains": 1, "seed": 1, "threads": 1, "progress": False}
MODELS = {
    "medlda": "class",
    "medlda_one_vs_all": "class",
    "medlda_regression": "real",
    "slda_logistic": "class",
    "slda_multinomial": "class",
    "slda_gaussian": "real",
    "slda_counts": "count",
}
GOOD = {"class": list("abababab"), "real": [0.5, 1.5, -1.0, 0.0, 2.0, 3.0, 1.0, 0.1], "count": [0, 1, 2, 3, 0, 1, 5, 2]}
LENGTHS = (6, 0, 1, 9, 4, 5, 1, 7)


def words_of(lengths=LENGTHS):
    """Documents of random words: the second is empty, two have a single token."""
    rng = np.random.default_rng(1)
    return [" ".join(f"w{i}" for i in rng.integers(0, 8, n)) for n in lengths]


def corpus_of(labels, kind=None, texts=None):
    return pt.Corpus.from_texts(texts or words_of(), labels=labels, label_kind=kind)


def not_finite(fit):
    """Variables with a value that is not finite, but for the acceptance of steps that did not run."""
    return {
        name
        for group in ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
        if group in fit.groups
        for name, values in fit.groups[group].data_vars.items()
        if values.dtype.kind == "f" and name != "acceptance_rate" and not np.isfinite(values).all()
    }


def finite_run(model, labels, kind=None, texts=None, **options):
    fit = pt.sample(model, corpus_of(labels, kind, texts), **{**OPTIONS, **options})
    assert not not_finite(fit)
    return fit


def refusal(model, corpus):
    with pytest.raises(pt.CorpusError) as caught:
        pt.sample(model, corpus, **OPTIONS)
    (line,) = str(caught.value).splitlines()
    assert line.startswith("block 'y' (")
    return line


@pytest.mark.parametrize("model", MODELS)
def test_no_labels(model):
    assert "needs labels, and the corpus has none" in refusal(model, corpus_of(None))


@pytest.mark.parametrize("model", ["medlda", "medlda_one_vs_all", "slda_logistic"])
def test_one_class_only(model):
    assert "needs at least two classes, but all labels are 'a'" in refusal(model, corpus_of(["a"] * 7 + [None]))
    assert "all labels are missing" in refusal(model, corpus_of([None] * 8, "class"))


@pytest.mark.parametrize("model", ["medlda", "medlda_one_vs_all", "slda_logistic"])
def test_a_class_that_no_document_has(model):
    """Its coefficients only learn that no document is of it."""
    labels = Labels("class", [0, 1] * 4, np.array(["a", "b", "never"], dtype=object))
    fit = finite_run(model, labels, draws=40)
    fitted = fit.posterior["eta"].mean(dim=("chain", "draw")).sel(response="never")
    assert (fitted < 0).any()


def test_a_label_that_always_holds():
    fit = finite_run("slda_logistic", [["x"], ["x", "y"]] * 4, draws=40)
    assert fit.posterior["eta"].sel(response="x").mean() > 0


@pytest.mark.parametrize("model", MODELS)
def test_plain_input_with_empty_and_short_documents(model):
    finite_run(model, GOOD[MODELS[model]], MODELS[model])


@pytest.mark.parametrize("model", MODELS)
def test_one_topic(model):
    fit = finite_run(model, GOOD[MODELS[model]], MODELS[model], topics=1)
    assert [name for name in fit.posterior["coefficient"].values if name != "intercept"] == ["topic 0"]


def test_one_topic_is_a_regression_without_topics():
    """Of the constant 1, but 0 for the empty document: the mean of eta by quadrature, within 5 standard errors."""
    y = np.array([1, 0, 1, 1, 1, 1, 1, 0])
    fit = finite_run("slda_logistic", list(y.astype(str)), topics=1, c=2.0, draws=1500, warmup=20)
    grid = np.linspace(-8, 8, 4001)
    successes, trials = y[np.array(LENGTHS) > 0].sum(), sum(n > 0 for n in LENGTHS)
    distribution = np.exp(2.0 * (successes * grid - trials * np.logaddexp(0, grid)) - grid**2 / 2)
    mean = (distribution * grid).sum() / distribution.sum()
    deviation = np.sqrt((distribution * (grid - mean) ** 2).sum() / distribution.sum())
    drawn = fit.posterior["eta"].values.ravel()
    # Successive draws depend on one another: fifteen of them count for one.
    error = deviation / np.sqrt(len(drawn) / 15)
    assert abs(drawn.mean() - mean) < 5 * error
    assert abs(drawn.mean() - np.log(successes / (trials - successes))) > 5 * error


@pytest.mark.parametrize("model", MODELS)
def test_some_labels_missing(model):
    labels = [None if i in (1, 4) else label for i, label in enumerate(GOOD[MODELS[model]])]
    finite_run(model, labels, MODELS[model])


@pytest.mark.parametrize("model", ["medlda_regression", "slda_gaussian", "slda_counts"])
def test_all_targets_missing(model):
    """The coefficients have their prior, and the loss of no document at all is not stated."""
    fit = pt.sample(model, corpus_of([None] * 8, MODELS[model]), **{**OPTIONS, "draws": 400})
    assert not_finite(fit) == set()
    assert "training_loss" not in fit.groups["sample_stats"]
    assert stats.kstest(fit.posterior["eta"].values.ravel(), "norm").pvalue > 1e-6
    assert stats.kstest(2.0 * fit.posterior["eta"].values.ravel(), "norm").pvalue < 1e-6


@pytest.mark.parametrize("model", ["medlda_regression", "slda_gaussian", "slda_counts"])
def test_constant_target(model):
    """Learned as such, up to the prior, by documents that are not empty."""
    options = {"dispersion": 200.0} if model == "slda_counts" else {}
    texts = words_of((9, 5, 7, 1, 6, 8, 5, 7))
    fit = finite_run(model, [3] * 8, MODELS[model], texts=texts, variance=100.0, draws=100, warmup=50, **options)
    assert fit.groups["sample_stats"]["training_loss"].median() < 1.5


@pytest.mark.parametrize("model", ["medlda_regression", "slda_gaussian"])
@pytest.mark.parametrize("size", [1e9, 1e30, 1e99])
def test_huge_targets(model, size):
    finite_run(model, [size, 1.0, 2.0, -size, 0.5, 2.0, 3.0, 4.0], "real")
    finite_run(model, [size, 1.0, 2.0, -size, 0.5, 2.0, 3.0, 4.0], "real", variance=1e6)


@pytest.mark.parametrize("model", ["medlda_regression", "slda_gaussian"])
def test_targets_that_cannot_be_squared(model):
    assert "a target is larger than 1e+100; scale the targets down" in refusal(model, corpus_of([1e150] * 8, "real"))


def test_huge_counts():
    finite_run("slda_counts", [10**9, 0, 1, 2, 3, 4, 5, 10**9], "count")
    finite_run("slda_counts", [0] * 8, "count")


def test_counts_beyond_rounding():
    """Finite, or a message that says which response and what to do."""
    for seed in range(5):
        try:
            finite_run("slda_counts", [10**18, 0, 1, 2, 3, 4, 5, 6], "count", draws=20, seed=seed)
        except pt.RunError as error:
            assert "1 of 1, with 3 coefficients: the precision of their distribution" in str(error)  # noqa: PT017


@pytest.mark.parametrize("model", ["medlda", "slda_logistic"])
def test_separable_classes(model):
    """Learned without error, and without coefficients that run away."""
    fit = finite_run(model, list("abababab"), texts=["red rose", "blue sky"] * 4, draws=40, topics=2)
    assert fit.groups["sample_stats"]["training_loss"].median() == 0
    assert abs(fit.posterior["eta"]).max() < 1e3


@pytest.mark.parametrize(
    ("model", "options"),
    [
        *[("medlda", {"cost": cost}) for cost in (1e-200, 1e6, 1e100)],
        *[("medlda", {"margin": margin}) for margin in (1e-100, 1e6, 1e100)],
        ("medlda_regression", {"cost": 1e100}),
        ("medlda_regression", {"epsilon": 0.0}),
        ("slda_logistic", {"c": 1e-6}),
        ("slda_logistic", {"c": 1e6}),
        ("slda_gaussian", {"error_rate": 1e-300}),
        ("slda_gaussian", {"error_rate": 1e200}),
        ("slda_gaussian", {"error_shape": 1e6}),
        ("slda_counts", {"dispersion": 1e-6}),
        ("slda_counts", {"dispersion": 1e6}),
        *[(model, {"variance": variance}) for model in MODELS for variance in (1e-12, 1e12)],
    ],
)
def test_extreme_parameters(model, options):
    finite_run(model, GOOD[MODELS[model]], MODELS[model], **options)


SERVES_ALL = "quadratic_response"
KERNELS_OF_Z = [
    name
    for name, kernel in pt.kernels().items()
    if kernel.updates == ("z",) and {SERVES_ALL, "assignments", "words"} <= set(kernel.handles)
]


def chain(model, labels, kernel, sweeps=3, kind=None, **parameters):
    """Sweeps that begin with phi and z, from given assignments; returns them, and the acceptance of z."""
    texts = words_of((30, 0, 1, 40, 12, 25, 1, 33))
    parameters = {"topics": 4, "alpha": 0.3, "beta": 0.2, **parameters}
    steps = [pt.step("phi", "dirichlet_rows"), pt.step("z", kernel)]
    if model != "lda":
        augmentation = {"medlda": ("xi", "inverse_gaussian"), "slda_gaussian": ("sigma2", "inverse_gamma")}[model]
        steps += [pt.step(*augmentation), pt.step("eta", "joint_normal")]
    # The last step of z may have integrated phi out.
    spec = pt.load_spec(model, parameters).with_schedule(pt.cycle(*steps, pt.step("phi", "dirichlet_rows")), "test")
    bound = bind(make_plan(spec), corpus_of(labels, kind, texts))
    state, executor = bound.initial_state(3, 0), Executor(bound)
    state.set_z(np.random.default_rng(2).integers(0, 4, state.z.size))
    memories, accepted = executor.memories(state), []
    for sweep in range(sweeps):
        accepted.append(executor.sweep(state, memories, 3, 0, sweep).statistics["acceptance_rate"][1])
        state.check()
    return state, np.array(accepted)


@pytest.mark.parametrize("kernel", KERNELS_OF_Z)
def test_cost_zero_is_a_plain_topic_model(kernel):
    """The same bits of z, for a response without weight accepts every draw, and asks for no random number to do so."""
    plain, rates = chain("lda", None, kernel)
    for model, labels, kind, cost in (
        ("medlda", list("abcabcab"), None, {"cost": 0.0}),
        ("slda_gaussian", [None] * 8, "real", {}),
    ):
        supervised, accepted = chain(model, labels, kernel, kind=kind, **cost)
        np.testing.assert_array_equal(plain.z, supervised.z)
        np.testing.assert_array_equal(accepted, rates)
    supervised, accepted = chain("medlda", list("abcabcab"), kernel, cost=5.0)
    assert not np.array_equal(plain.z, supervised.z)
    # Coefficients begin at zero; what is drawn with the response is never refused.
    assert (accepted[1:] != rates[1:]).all() != kernel.startswith("full_")


@pytest.mark.parametrize("size", [1e6, 1e160])
@pytest.mark.parametrize("kernel", KERNELS_OF_Z)
def test_a_sweep_with_huge_coefficients_keeps_its_counts(kernel, size):
    """Proposals whose ratio is not a number are not accepted."""
    spec = pt.load_spec("medlda", {"topics": 4})
    plan = make_plan(spec.with_schedule(pt.cycle(pt.step("z", kernel)), "test"), partial=True)
    bound = bind(plan, corpus_of(list("abcabcab")))
    state, executor = bound.initial_state(3, 0), Executor(bound)
    state.arrays["eta"][:] = size * np.random.default_rng(2).normal(size=state.arrays["eta"].shape)
    executor.sweep(state, executor.memories(state), 3, 0, 0)
    state.check()


@pytest.mark.parametrize("model", ["lda", "lda_spike_slab", "dolda_spike_slab"])
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_huge_concentrations(model, name):
    options = {**OPTIONS, "warmup": 1}
    assert not not_finite(pt.sample(model, corpus_of(GOOD["class"]), **options, **{name: 1e12}))
    with pytest.raises(pt.SpecError, match=rf"^argument {name}: block .* is 1e\+300; give at most 1e\+12$"):
        pt.sample(model, corpus_of(GOOD["class"]), **options, **{name: 1e300})


def test_bounds_are_written_as_people_do():
    with pytest.raises(pt.SpecError, match="scale: must be greater than or equal to 1e-20, got 1e-30"):
        pt.sample({"name": "m", "extends": "dolda", "blocks": {"eta": {"scale": 1e-30}}}, corpus_of(GOOD["class"]))
