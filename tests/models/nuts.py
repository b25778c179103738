"""Draws from models by NumPyro's NUTS, all discrete variables summed out: a program of its own, for JAX has threads.

python tests/models/nuts.py MODEL DATA.npz DRAWS.npz
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS

CHAINS, WARMUP, DRAWS = 4, 1000, 2500


def topics_and_shares(data: Mapping[str, Any]) -> tuple[Any, Any]:
    """Declare theta, shape (D, K), and phi, shape (K, V)."""
    (n_docs, n_words), n_topics = data["counts"].shape, len(data["alpha"])
    theta = numpyro.sample("theta", dist.Dirichlet(data["alpha"]).expand([n_docs]))
    phi = numpyro.sample("phi", dist.Dirichlet(jnp.full(n_words, data["beta"])).expand([n_topics]))
    return theta, phi


def lda(data: Mapping[str, Any]) -> None:
    """Latent Dirichlet allocation: each token is drawn from a mixture of the topics."""
    theta, phi = topics_and_shares(data)
    numpyro.factor("words", (data["counts"] * jnp.log(theta @ phi)).sum())


def slda_logistic(data: Mapping[str, Any]) -> None:
    """Supervised: a label depends on all assignments of its document, so each of the K^N is a term of a sum."""
    theta, phi = topics_and_shares(data)
    topics = theta.shape[1]
    eta = numpyro.sample("eta", dist.Normal(0.0, jnp.sqrt(data["variance"])).expand([topics]))
    for doc, counts in enumerate(data["counts"]):
        words = np.repeat(np.arange(len(counts)), counts)
        z = np.array(list(itertools.product(range(topics), repeat=len(words))))
        of_tokens = (jnp.log(theta[doc])[z] + jnp.log(phi)[z, words]).sum(axis=1)
        score = eta[z].mean(axis=1)
        of_label = data["c"] * (data["y"][doc] * score - jnp.logaddexp(0.0, score))
        numpyro.factor(f"document {doc}", logsumexp(of_tokens + of_label))


def regularised_horseshoe(data: Mapping[str, Any]) -> None:
    """Linear regression, whose large coefficients have a slab (Piironen, Vehtari 2017, section 2.3).

    The coefficients are integrated out, for NUTS moves badly between those near zero and those that are not; they are
    normal given the rest, and made from standard normal variables that the data do not depend on.
    """
    n_docs, n_slopes = data["x"].shape
    tau = numpyro.sample("tau", dist.HalfCauchy(data["scale"]))
    local = numpyro.sample("lambda", dist.HalfCauchy(1.0).expand([n_slopes]))
    sigma2 = numpyro.sample("sigma2", dist.InverseGamma(data["shape"], data["rate"]))
    noise = numpyro.sample("noise", dist.Normal(0.0, 1.0).expand([n_slopes + 1]))
    half = data["slab_df"] / 2.0
    square = numpyro.sample("squared slab", dist.InverseGamma(half, half * data["slab_scale"] ** 2))
    numpyro.deterministic("slab", jnp.sqrt(square))
    variance = (tau * local) ** 2
    variance = variance * square / (square + variance)
    sd = jnp.sqrt(jnp.append(variance, data["intercept_variance"]))
    features, y = np.column_stack([data["x"], np.ones(n_docs)]), data["y"]
    factor = jnp.linalg.cholesky(jnp.eye(len(sd)) + sd[:, None] * (features.T @ features) * sd / sigma2)
    whitened = solve_triangular(factor, sd * (features.T @ y), lower=True) / sigma2
    numpyro.deterministic("eta", sd * solve_triangular(factor.T, whitened + noise, lower=False))
    log_determinant = n_docs * jnp.log(sigma2) + 2.0 * jnp.log(jnp.diag(factor)).sum()
    numpyro.factor("y", 0.5 * (whitened @ whitened - y @ y / sigma2 - log_determinant))


def main(model: str, data_path: str, draws_path: str) -> None:
    """Draw, and write the draws by name, shape (chains, draws, ...), and which of them diverged."""
    numpyro.enable_x64()
    with np.load(data_path) as file:
        data = {name: file[name] for name in file.files}
    sampler = MCMC(
        NUTS(globals()[model], target_accept_prob=0.9),
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(1), data)
    draws = {name: np.asarray(value) for name, value in sampler.get_samples(group_by_chain=True).items()}
    np.savez(draws_path, **draws, diverged=np.asarray(sampler.get_extra_fields()["diverging"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
