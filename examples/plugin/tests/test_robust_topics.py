"""The model is found by its name, learns, and its kernels are certified; a planted bug is refused."""

from __future__ import annotations

import numpy as np
import pytest
from robust_topics.laplace import draw_local_scales
from scipy import stats

import ppl_topics as pt

MODEL = "robust_topics"


@pytest.mark.parametrize("kernel", ["robust_topics_gibbs", "robust_topics_weight", "robust_topics_local_scale"])
def test_kernels_are_certified(kernel: str) -> None:
    """A right kernel is refused with probability at most 1e-5."""
    result = pt.verify(MODEL, kernel=kernel)
    assert result.certificates[0].certified, str(result)


def test_a_planted_bug_is_refused() -> None:
    """What the paper calls lambda is 1 / scale: to mistake one for the other is easy."""

    @pt.kernel(
        "robust_topics_planted",
        updates="local_scale",
        reads="eta",
        handles="robust_topics_laplace",
        exact=True,
        full_conditional=True,
    )
    def planted(binding: pt.Binding) -> pt.KernelFunctions:
        eta, name = binding.names["eta"], binding.names["local_scale"]
        scale = binding.blocks[eta].model_dump()["scale"]

        def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
            slopes = state.arrays[eta][:, : state.sizes.slopes]
            state.arrays[name][...] = draw_local_scales(slopes, 1.0 / scale, key.generator())

        return pt.KernelFunctions(step)

    result = pt.verify(MODEL, kernel="robust_topics_planted")
    assert result.certificates[0].refused_by == "alone", str(result)


def test_local_scales_have_their_distribution() -> None:
    """Given eta, s^2 is generalised inverse Gaussian, of index 1/2; a right sampler fails with probability 1e-6."""
    scale, draws = 0.7, 20_000
    for eta in (0.0, 1e-9, 0.3, 4.0):
        square = draw_local_scales(np.full(draws, eta), scale, np.random.default_rng(1)) ** 2
        product = eta * scale
        exact = stats.geninvgauss(0.5, eta / scale, scale=product) if product > 1e-6 else stats.chi2(1, scale=scale**2)
        assert stats.kstest(square, exact.cdf).pvalue > 1e-6


def test_the_model_is_found_by_name_and_outliers_do_not_lead_it_astray() -> None:
    rng = np.random.default_rng(1)
    good = rng.random(60) < 0.5
    texts = [" ".join(rng.choice(["fine", "warm"] if happy else ["dull", "cold"], 8)) for happy in good]
    ratings = np.where(good, 1.0, -1.0) + 0.1 * rng.normal(size=60)
    ratings[:3] = 30.0
    corpus = pt.Corpus.from_texts(texts, labels=ratings.tolist(), label_kind="real")
    fit = pt.sample(MODEL, corpus, topics=2, error=0.1, draws=50, warmup=50, chains=1, seed=1, progress=False)
    happy, sad = fit.predict(["fine warm fine warm", "dull cold dull cold"])
    assert happy == pytest.approx(1.0, abs=0.3)
    assert sad == pytest.approx(-1.0, abs=0.3)
    assert fit.posterior["local_scale"].dims == ("chain", "draw", "response", "slope")
