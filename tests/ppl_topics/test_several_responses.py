"""Several responses in one model: a class and a rating that share the topics, each with coefficients of its own."""

import numpy as np
import pytest
from commands import call, refused
from two_responses import BOTH

import ppl_topics as pt
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor, SweepRecord
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.samplers.responses import response_term
from ppl_topics.samplers.responses.features import features_of, scores
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import Model

SHORT = {"draws": 6, "warmup": 4, "chains": 2, "seed": 3, "progress": False}


def texts(number, seed=1):
    """Documents of three kinds of words, and their kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, number)
    return [" ".join(f"w{i}" for i in rng.integers(0, 4, rng.integers(3, 12)) + 4 * k) for k in kind], kind


def corpus(number=40, seed=1):
    made, kind = texts(number, seed)
    noise = np.random.default_rng(seed + 1).normal(scale=0.1, size=number)
    ratings = np.where(np.arange(number) % 7 == 3, np.nan, 10.0 + 2.0 * kind + noise)
    parties = [None if i % 5 == 2 else "ab"[int(k > 0)] for i, k in enumerate(kind)]
    return pt.Corpus.from_texts(made, labels=parties).with_labels(ratings, name="rating")


def changed(**blocks):
    return {**BOTH, "blocks": {**BOTH["blocks"], **blocks}}


def test_variables_are_called_after_their_blocks():
    model = Model.of(pt.load_spec(BOTH))
    dims = {name: v.dims for name, v in model.variables.items() if name not in ("theta", "phi", "z")}
    assert dims == {
        "eta_party": ("response_party", "coefficient_party"),
        "omega_party": ("doc", "response_party"),
        "eta_rating": ("response_rating", "coefficient_rating"),
        "tau_eta_rating": ("response_rating",),
        "lambda_eta_rating": ("response_rating", "slope_rating"),
        "sigma2_rating": ("response_rating",),
    }
    assert set(model.marginals["rating"].model.variables) == {
        "theta",
        "phi",
        "z",
        *(
            "eta_rating",
            "tau",
            "lambda",
            "sigma2",
        ),
    }
    assert [v.name for v in model.latent.values() if model.owner(v.name) is None] == ["phi", "z"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (changed(rating={**BOTH["blocks"]["rating"], "coefficients": "eta_party"}), "both refer to 'eta_party'"),
        (
            changed(party={**BOTH["blocks"]["party"], "one_vs_all": True}),
            "one_vs_all gives each class topics of its own",
        ),
        (changed(other={"block": "normal", "per": "response"}), "block 'other' is used by no other block"),
        (changed(sigma2_rating={"block": "gamma", "shape": 1.0, "rate": 1.0}), "'sigma2_rating' is the name of a"),
        ({**BOTH, "record": {"sigma2": "all"}}, "'sigma2' is not a variable of model 'both'"),
    ],
)
def test_mistakes_are_refused(model, message):
    with pytest.raises(pt.SpecError, match=message):
        Model.of(pt.load_spec(model))


def test_the_rules_bind_each_response():
    plan = pt.plan(BOTH)
    assert plan.exact
    steps = [line.split(":")[0].strip() for line in str(plan).splitlines() if ": " in line]
    assert {"eta_party", "eta_rating", "sigma2_rating", "tau_eta_rating", "z", "phi"} <= set(steps)
    entries = [{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}, {"eta_party": "joint_normal"}]
    with pytest.raises(pt.ScheduleError, match=r"no kernel updates omega.*in the model of the response 'party' alone"):
        pt.plan(BOTH, schedule={"cycle": entries})


def test_assignments_follow_both_responses():
    """The gain of a move is the change of both quadratic forms."""
    bound = bind(make_plan(pt.load_spec(BOTH)), corpus())
    state, rng = bound.initial_state(1, 0), np.random.default_rng(5)
    for name in ("eta_party", "eta_rating"):
        state.arrays[name][...] = rng.normal(size=state.arrays[name].shape)
    state.arrays["omega_party"][...] = rng.gamma(2.0, size=state.arrays["omega_party"].shape)

    def quadratic():
        total = 0.0
        for name, alone in bound.by_response.items():
            seen, names = bound.seen_by(name, state), alone.model.names
            features = features_of(seen.tokens, seen.z, seen.sizes.supervised, seen.observed.design)
            fitted = scores(features, seen.arrays[names["eta"]])
            b, omega = alone.response.potential(seen.observed.targets, seen.arrays[names["augmentation"]])
            total += (b * fitted - omega * fitted**2 / 2.0).sum()
        return total

    term = response_term.term_of(bound.binding("z"))(state)
    for token in (0, 17, 40):
        before, old = quadratic(), int(state.z[token])
        new = (old + 1) % 3
        gain = response_term.gain_of_move(int(state.tokens.docs[token]), old, new, term)
        state.z[token] = new
        assert quadratic() - before == pytest.approx(gain, abs=1e-9)
        state.z[token] = old


def test_the_log_posterior_has_the_factors_of_each_response():
    bound = bind(make_plan(pt.load_spec(BOTH)), corpus())
    state = bound.initial_state(1, 0)
    Executor(bound).sweep(state, Executor(bound).memories(state), 1, 0, 0)

    def lp(of, seen):
        return Recorder(of, ChainDraws()).statistics(seen, SweepRecord.of(0))

    whole = lp(bound, state)
    each = {name: lp(alone, bound.seen_by(name, state)) for name, alone in bound.by_response.items()}
    without = [one["lp"] - one["log_marginal"] for one in each.values()]
    assert whole["lp"] == pytest.approx(whole["log_marginal"] + sum(without))
    assert whole["log_likelihood_rating"] == each["rating"]["log_likelihood_y"]
    assert whole["training_loss_party"] == each["party"]["training_loss"]


@pytest.fixture(scope="module")
def fit():
    return pt.sample(BOTH, corpus(), **SHORT, record={"phi": "all"}, debug=True)


def test_threads_and_resuming_change_no_bit(fit, tmp_path):
    for how in ({"threads": 2}, {"out": tmp_path / "run", "checkpoint_sweeps": 3}):
        again = pt.sample(BOTH, corpus(), **SHORT, record={"phi": "all"}, **how)
        for name, values in fit.posterior.items():
            np.testing.assert_array_equal(again.posterior[name], values)


def test_one_of_several_responses_predicts_as_of_a_model_of_its_own(fit, tmp_path):
    new = corpus(20, seed=9)
    party, rating = fit.of_response("party"), fit.of_response("rating")
    assert list(rating.posterior) == ["theta", "phi", "eta_rating", "tau", "lambda", "sigma2", "topic_share"]
    np.testing.assert_array_equal(rating.posterior["sigma2"], fit.posterior["sigma2_rating"])
    assert party.classes == ["a", "b"]
    assert set(party.predict(new)) <= {"a", "b"}
    assert rating.metrics(new)["scored"] == 17
    assert {"training_loss", "log_likelihood_y"} <= set(rating.groups["sample_stats"])
    assert rating.coefficients()["coefficient"].tolist()[-1] == "intercept"
    assert set(rating.posterior_predictive(draws=3)) == {"words", "labels"}
    assert rating.spec.blocks["rating"].observed == "rating"
    assert pt.load_fit(fit.save(tmp_path / "both.nc")).of_response("rating").predict(new) == pytest.approx(
        rating.predict(new)
    )
    # Of the documents that have such labels.
    assert party.log_likelihood("labels")["labels"].sizes["doc"] == 32
    assert rating.log_likelihood("labels")["labels"].sizes["doc"] == 34


@pytest.mark.parametrize("call", ["predict", "metrics", "coefficients", "posterior_predictive", "plot_eta"])
def test_what_needs_one_response_says_so(fit, call):
    arguments = [corpus(5)] if call in ("predict", "metrics") else []
    with pytest.raises(pt.TraceError, match=r"several responses, party, rating; take one.*of_response\('party'\)"):
        getattr(fit, call)(*arguments)


def test_names_of_responses_are_checked(fit):
    with pytest.raises(pt.TraceError, match="no response 'rat'; did you mean 'rating'"):
        fit.of_response("rat")
    with pytest.raises(pt.TraceError, match="does not have several responses"):
        fit.of_response("party").of_response("party")


def test_labels_that_a_corpus_lacks_are_named():
    with pytest.raises(pt.CorpusError, match="needs labels 'rating', and the corpus has no others"):
        pt.sample(BOTH, pt.Corpus.from_texts(["red blue", "blue green"], labels=["x", "y"]), **SHORT)


def test_a_start_and_given_values():
    start = pt.sample(BOTH, corpus(), **SHORT)
    given = {"eta_rating": np.array([[1.0, 0.0, -1.0, 0.5]])}
    held = pt.sample(BOTH, corpus(), **{**SHORT, "warmup": 0}, init=start, given=given)
    np.testing.assert_array_equal(held.posterior["eta_rating"][0, -1], given["eta_rating"])


def test_simulations_have_both_labels():
    model = changed(rating={**BOTH["blocks"]["rating"], "standardise": False})
    made = pt.simulate(model, documents=30, lengths=10, words=12, responses={"party": 2}, seed=1)
    assert made.values["eta_party"].dims == ("response_party", "coefficient_party")
    assert made.values["eta_party"].shape == (2, 3)
    assert made.corpus.labels.n_responses == 2
    assert made.corpus.labels_of("rating").kind == "real"
    again = pt.simulate(
        model, documents=30, lengths=10, words=12, given={"eta_rating": made.values["eta_rating"]}, seed=2
    )
    np.testing.assert_array_equal(again.values["eta_rating"], made.values["eta_rating"])
    with pytest.raises(pt.SpecError, match="no response 'vote'"):
        pt.simulate(model, responses={"vote": 2})
    same = changed(party={**BOTH["blocks"]["party"], "observed": "rating"})
    with pytest.raises(pt.SpecError, match="another response observes the same labels"):
        pt.simulate(same)


@pytest.mark.slow
def test_whole_runs_are_calibrated():
    model = changed(rating={**BOTH["blocks"]["rating"], "standardise": False, "shape": 3.0}) | {"name": "calibrated"}
    model["blocks"]["eta_rating"] = {"block": "normal", "per": "response"}
    sizes = {"documents": 12, "lengths": 6, "words": 6}
    result = pt.calibrate(model, **sizes, replicates=60, draws=100, warmup=100, thin=2, seed=1, progress=False)
    assert result.passed, str(result)
    assert "rating: norm of eta" in result.table().index


def test_more_labels_of_a_corpus(tmp_path):
    made = corpus()
    assert repr(made).endswith("2 classes, 8 missing, rating: real labels, 6 missing")
    made.save(tmp_path / "saved")
    again = pt.Corpus.load(tmp_path / "saved")
    assert again.fingerprint == made.fingerprint != made.with_labels(None, name="rating").fingerprint
    np.testing.assert_array_equal(again.labels_of("rating").values, made.labels_of("rating").values)
    np.testing.assert_array_equal(
        made.select([3, 1]).labels_of("rating").values, made.labels_of("rating").values[[3, 1]]
    )
    with pytest.raises(pt.CorpusError, match="a letter first, got 'My rating'"):
        made.with_labels([1.0] * 40, name="My rating")
    with pytest.raises(pt.CorpusError, match="labels 'rating' for 2 documents"):
        made.with_labels([1.0, 2.0], name="rating")


def test_a_single_response_may_observe_them_too():
    model = {"extends": "slda_gaussian", "name": "rated", "blocks": {"y": {"observed": "rating"}}}
    rated = pt.sample(model, corpus(), topics=2, **SHORT)
    assert rated.metrics(corpus(20, seed=9))["scored"] == 17
    assert set(rated.prior_predictive(draws=2)) == {"words", "labels"}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_commands_read_and_predict_them(capsys, tmp_path, suffix):
    made, kind = texts(30)
    rows = [(text, "ab"[int(k > 0)], 1.5 * k) for text, k in zip(made, kind, strict=True)]
    path = tmp_path / f"posts.{suffix}"
    if suffix == "csv":
        path.write_text("text,party,rating\n" + "".join(f"{t},{p},{r}\n" for t, p, r in rows))
    else:
        path.write_text("".join(f'{{"text": "{t}", "party": "{p}", "rating": {r}}}\n' for t, p, r in rows))
    model = tmp_path / "both.yaml"
    model.write_text(pt.load_spec(BOTH).to_yaml())
    columns = ["--data", str(path), "--label-column", "party", "--more-labels", "rating:real"]
    out = str(tmp_path / "both.nc")
    how = ["--draws", "5", "--warmup", "5", "--chains", "1", "--no-progress", "--out", out]
    code, printed, _ = call(capsys, "run", str(model), *columns, *how, "--test", str(path))
    assert code == 0
    assert "accuracy_party" in printed
    assert "r2_rating" in printed
    _, predicted, _ = call(capsys, "predict", out, *columns, "--of-response", "rating")
    assert len(predicted.splitlines()) == 31
    assert "topic 0" in call(capsys, "coefficients", out, "--of-response", "party")[1]
    assert "take one of them" in refused(capsys, "coefficients", out)
    code, _, said = call(capsys, "warm", str(model), *columns, "--no-progress")
    assert code == 0
    assert "no predictions" not in said


CERTIFIED = changed(rating={**BOTH["blocks"]["rating"], "intercept": False}) | {"name": "certified"}
SMALL = {"replicates": 300, "long_run": 2000}


def of_kernel(result):
    return {(each.kernel, each.variable): each.certified for each in result.certificates}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", ["partially_collapsed", "collapsed_gibbs", "light_partially_collapsed", "full_partially_collapsed"]
)
def test_kernels_of_z_are_certified(kernel):
    """Refused with probability at most 1e-5."""
    assert of_kernel(pt.verify(CERTIFIED, kernel=kernel, **SMALL)) == {(kernel, "z"): True}


@pytest.mark.slow
def test_each_response_is_certified():
    """Refused with probability at most 1e-5 a kernel."""
    result = pt.verify(CERTIFIED, kernel=["joint_normal", "polya_gamma", "inverse_gamma"], **SMALL)
    assert of_kernel(result) == {
        ("joint_normal", "eta_party"): True,
        ("joint_normal", "eta_rating"): True,
        ("polya_gamma", "omega_party"): True,
        ("inverse_gamma", "sigma2_rating"): True,
    }


@pytest.mark.slow
def test_a_response_that_the_assignments_forget_is_noticed(monkeypatch):
    monkeypatch.setattr(response_term, "side_by_side", lambda each: each[0])
    result = pt.verify(CERTIFIED, kernel="partially_collapsed", **SMALL)
    assert of_kernel(result) == {("partially_collapsed", "z"): False}
