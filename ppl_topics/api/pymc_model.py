"""Models in PyMC, with z summed out: an outside check of small fits, and a bridge to what PyMC has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from scipy.special import gammaln

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.core.observed import Observed
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import concentrations_of, index_tokens, sizes_of
from ppl_topics.engine.encode_observed import encode_observed
from ppl_topics.engine.group_builder import coordinates
from ppl_topics.errors import PplTopicsError, SpecError
from ppl_topics.spec import Model

__all__ = ["MAX_ASSIGNMENTS", "to_pymc"]

MAX_ASSIGNMENTS = 20_000
"""Assignments of topics to the words of a document that are summed over, at most, where labels depend on them."""


def to_pymc(model: ModelLike, corpus: Corpus, **parameters: Any) -> Any:
    """Make a PyMC model of the same posterior, the topics of tokens summed out, for small corpora.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        As in :func:`sample`.
    corpus : Corpus
    **parameters
        Model parameters to set, such as ``topics=3``.

    Returns
    -------
    pymc.Model
        With the names, dims and coordinates of a trace of the model. Theta and phi are variables of it, whether or not
        a run integrates them out.

    Raises
    ------
    SpecError
        If the model or its parameters are wrong, a block has no translation, or a document of a model with labels has
        more than 20,000 assignments.
    CorpusError
        If the model needs labels or covariates that the corpus does not have.
    PplTopicsError
        If PyMC is not installed.

    Notes
    -----
    Without labels a token is summed over by itself, log sum_k theta_dk phi_kw. Labels depend on the mean of the topics
    of all tokens of a document, so that the sum is over all their assignments, those that differ only in the order of
    equal words being counted once: with K topics, a word that occurs m times has (m + K - 1 over m) of them, and a
    document their product.

    The log density differs from ``lp`` of a trace by the sums over z, and by constants. Auxiliary variables of labels
    (``omega``, ``xi``, ``a``) are integrated out. The coefficients of a horseshoe are their scale times ``eta_unit``,
    standard normal, and ``slab`` is the root of ``slab_squared``: NUTS moves better so, and the posterior is the same.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> model = pt.to_pymc("lda", corpus, topics=2, alpha=1.0, beta=1.0)  # doctest: +SKIP
    >>> sorted(variable.name for variable in model.free_RVs)  # doctest: +SKIP
    ['phi', 'theta']
    """
    made = Model.of(resolve(model, parameters))
    _check_blocks(made)
    observed = encode_observed(made, corpus)
    tokens = index_tokens(corpus.doc_ptr, corpus.words, corpus.n_words)
    sizes = sizes_of(made, tokens, corpus.n_words, observed)
    concentrations = concentrations_of(made, sizes)
    patterns = [] if observed is None else _patterns(corpus, sizes.topics)
    try:
        import pymc
    except ImportError:
        raise PplTopicsError(
            "to_pymc needs PyMC, which is not installed; pip install 'ppl-topics[pymc]', or pymc itself"
        ) from None
    builder = _Builder(made, corpus, sizes, observed, pymc)
    return builder.build(concentrations, patterns)


@dataclass(frozen=True)
class _Pattern:
    """Documents whose distinct words, the most frequent first, occur equally often, so that they share assignments.

    Attributes
    ----------
    docs : ndarray of int64, shape (B,)
    words : ndarray of int64, shape (B, W)
    assignments : ndarray of float64, shape (R, W, K)
        Tokens of each word in each topic.
    log_number : ndarray of float64, shape (R,)
        Of the orders of tokens that have these counts.
    """

    docs: IntArray
    words: IntArray
    assignments: FloatArray
    log_number: FloatArray

    @property
    def shares(self) -> FloatArray:
        """Mean of the topics of the tokens, shape (R, K); zeros of a document without tokens."""
        counts = self.assignments.sum(axis=1)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _patterns(corpus: Corpus, topics: int) -> list[_Pattern]:
    """Return the documents by pattern, and refuse one that has too many assignments."""
    members: dict[tuple[int, ...], list[tuple[int, IntArray]]] = {}
    for doc in range(corpus.n_docs):
        words, counts = np.unique(corpus.tokens(doc), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        pattern = tuple(counts[order].tolist())
        number = 1
        for count in pattern:
            number *= comb(count + topics - 1, count)
        if number > MAX_ASSIGNMENTS:
            raise SpecError(
                f"{argument('corpus')}: document {corpus.doc_ids[doc]!r} has {_few_digits(number)} assignments of "
                f"{topics} topics to its {sum(pattern):,} tokens, and to_pymc sums over at most {MAX_ASSIGNMENTS:,} "
                "where labels depend on them; take shorter documents or fewer topics"
            )
        members.setdefault(pattern, []).append((doc, words[order].astype(np.int64)))
    return [_pattern(pattern, documents, topics) for pattern, documents in members.items()]


def _pattern(pattern: tuple[int, ...], documents: list[tuple[int, IntArray]], topics: int) -> _Pattern:
    """List the assignments of documents whose words occur so often."""
    each = [list(_compositions(count, topics)) for count in pattern]
    rows = list(product(*each))
    assignments = np.array(rows, dtype=np.float64).reshape(len(rows), len(pattern), topics)
    orders = gammaln(assignments.sum(axis=2) + 1.0).sum(axis=1) - gammaln(assignments + 1.0).sum(axis=(1, 2))
    docs = np.array([doc for doc, _ in documents])
    words = np.array([words for _, words in documents], dtype=np.int64).reshape(len(docs), len(pattern))
    return _Pattern(docs, words, assignments, orders)


def _compositions(count: int, topics: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to spread tokens over topics."""
    for bars in combinations(range(count + topics - 1), topics - 1):
        edges = (-1, *bars, count + topics - 1)
        yield tuple(edges[k + 1] - edges[k] - 1 for k in range(topics))


def _few_digits(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"more than 10^{len(str(number)) - 1}"


def _check_blocks(model: Model) -> None:
    """Refuse a block that has no translation, or a variable that has no value here."""
    spec = model.spec
    if model.marginals:
        raise SpecError(
            f"model {spec.name!r} has several responses ({', '.join(model.marginals)}), which to_pymc does not "
            "translate; take a model of one of them"
        )
    for name, block in spec.blocks.items():
        why = ""
        if block.kind == "spike_slab":
            why = "its indicators are discrete, and NUTS moves continuous variables only"
        elif block.kind not in TRANSLATED:
            why = "to_pymc does not know its density"
        elif isinstance(block, Response) and block.apart:
            why = "with one model for each class (one-vs-all) there is no single density; make each class its own model"
        if why:
            raise SpecError(
                f"{spec.locate('blocks', name)}: block {name!r} ({block.kind}) cannot be translated to PyMC: {why}"
            )
    given = next((name for name, variable in model.variables.items() if variable.given), None)
    if given is not None:
        raise SpecError(
            f"model {spec.name!r} holds {given!r} at a given value, which to_pymc does not have; remove it from `given`"
        )


class _Builder:
    """Builds a PyMC model from the blocks of one of ours."""

    def __init__(self, model: Model, corpus: Corpus, sizes: Sizes, observed: Observed | None, pymc: Any) -> None:
        self.model, self.corpus, self.sizes, self.observed, self.pm = model, corpus, sizes, observed, pymc

    def build(self, concentrations: Mapping[str, FloatArray | str], patterns: list[_Pattern]) -> Any:
        """Return the PyMC model."""
        dims = ["doc", "topic", "word", *(() if self.observed is None else ("response", "coefficient", "slope"))]
        coords = coordinates(dims, self.corpus, self.sizes, self.observed)
        with self.pm.Model(coords={dim: list(values) for dim, values in coords.items()}) as made:
            rows = {}
            for role, concentration, size in (("theta", "alpha", "topic"), ("phi", "beta", "word")):
                name = self.model.names[role]
                value = self._concentration(concentrations[concentration], self.sizes.of(size))
                rows[role] = self.pm.Dirichlet(name, a=value, dims=self.model.variables[name].dims)
            if self.observed is None:
                self._words(rows["theta"], rows["phi"])
            else:
                self._words_and_labels(rows["theta"], rows["phi"], self.observed, patterns)
        return made

    def _concentration(self, value: FloatArray | str, size: int) -> Any:
        """Return a concentration as a vector: fixed, or with its gamma prior."""
        if not isinstance(value, str):
            return value
        return _number(value, self.model, self.pm) * np.ones(size)

    def _words(self, theta: Any, phi: Any) -> None:
        """Add the likelihood of the words, each token's topic summed out by itself."""
        counts = self.corpus.to_matrix().tocoo()
        docs, words = counts.coords
        word = (theta[docs] * phi.T[words]).sum(axis=1)
        self.pm.Potential(self.model.names["w"], (counts.data * self.pm.math.log(word)).sum())

    def _words_and_labels(self, theta: Any, phi: Any, observed: Observed, patterns: list[_Pattern]) -> None:
        """Add the likelihood of words and labels together, all assignments of each document summed over."""
        response = self.model.response
        assert response is not None, "labels are observed by a response"
        eta = self._coefficients(self.model.names["eta"], observed)
        likelihood = _likelihood(response, self.model, self.pm)
        log_theta, log_phi = self.pm.math.log(theta), self.pm.math.log(phi)
        design, supervised, total = observed.design.toarray(), self.sizes.supervised, 0.0
        for pattern in patterns:
            cells = log_theta[pattern.docs][:, None, :] + log_phi.T[pattern.words]
            flat = pattern.assignments.reshape(len(pattern.log_number), -1)
            of_words = cells.reshape((len(pattern.docs), flat.shape[1])) @ flat.T + pattern.log_number
            scores = (pattern.shares[:, :supervised] @ eta[:, :supervised].T)[None]
            scores = scores + (design[pattern.docs] @ eta[:, supervised:].T)[:, None]
            targets = observed.targets[pattern.docs][:, None, :]
            known = ~np.isnan(targets)
            of_labels = (known * likelihood(np.where(known, targets, 0.0), scores)).sum(axis=2)
            total = total + self.pm.math.logsumexp(of_words + of_labels, axis=1).sum()
        self.pm.Potential(f"{self.model.names['w']}_{self.model.names['y']}", total)

    def _coefficients(self, name: str, observed: Observed) -> Any:
        """Return the coefficients, with their prior: normal, or normal given scales."""
        pm, block = self.pm, self.model.spec.blocks[name]
        prior: Any = block
        dims, sizes = self.model.variables[name].dims, self.sizes
        if block.kind == "normal":
            variance = np.zeros((sizes.responses, sizes.coefficients))
            if observed.intercept:
                variance[:, -1] = prior.intercept_variance
            slopes = np.arange(sizes.coefficients) < sizes.slopes
            variance = variance + slopes * _number(prior.variance, self.model, pm)
            return pm.Normal(name, 0.0, pm.math.sqrt(variance), dims=dims)
        tau = pm.HalfCauchy("tau", _number(prior.scale, self.model, pm), dims="response")
        scale = tau[:, None] * pm.HalfCauchy("lambda", 1.0, dims=("response", "slope"))
        if block.kind == "regularised_horseshoe":
            shape, rate = prior.slab_df / 2.0, prior.slab_df * prior.slab_scale**2 / 2.0
            square = pm.InverseGamma("slab_squared", alpha=shape, beta=rate, dims="response")
            pm.Deterministic("slab", pm.math.sqrt(square), dims="response")
            scale = scale / pm.math.sqrt(1.0 + scale**2 / square[:, None])
        if observed.intercept:
            own = np.full((sizes.responses, 1), np.sqrt(prior.intercept_variance))
            scale = pm.math.concatenate([scale, own], axis=1)
        return pm.Deterministic(name, scale * pm.Normal(f"{name}_unit", 0.0, 1.0, dims=dims), dims=dims)


def _likelihood(response: Response, model: Model, pm: Any) -> Callable[[FloatArray, Any], Any]:
    """Return the log likelihood of targets given linear predictors, an element each."""
    block: Any = response
    softplus = pm.math.log1pexp
    if block.kind == "gaussian":
        # The prior is of the variance, not of its root.
        name = next(name for name, variable in model.variables.items() if variable.role == "augmentation")
        dims, rate = model.variables[name].dims, _number(block.rate, model, pm)
        sigma2 = pm.InverseGamma(name, alpha=block.shape, beta=rate, dims=dims)
        return lambda y, s: -0.5 * (pm.math.log(2.0 * np.pi * sigma2) + (y - s) ** 2 / sigma2)
    if block.kind == "negative_binomial":
        from pytensor.tensor import gammaln as log_gamma

        r = _number(block.dispersion, model, pm)
        return lambda y, s: log_gamma(y + r) - log_gamma(r) - gammaln(y + 1.0) + y * s - (y + r) * softplus(s)
    if block.kind == "stick_breaking_logistic":
        return lambda y, s: (y >= 0.0) * (y * s - softplus(s))
    if block.kind == "hinge":
        return lambda y, s: -2.0 * block.cost * pm.math.maximum(0.0, block.margin - y * s)
    if block.kind == "epsilon_insensitive":
        return lambda y, s: -2.0 * block.cost * pm.math.maximum(0.0, abs(y - s) - block.epsilon)
    if block.kind == "probit_do":
        # The distribution function of a normal distribution, exact in the tails.
        return lambda y, s: pm.logcdf(pm.Normal.dist(0.0, 1.0), y * s)
    return lambda y, s: block.c * (y * s - softplus(s))


def _number(value: float | str, model: Model, pm: Any) -> Any:
    """Return a number: fixed, or with its prior."""
    if not isinstance(value, str):
        return value
    prior: Any = model.spec.blocks[value]
    dims = model.variables[value].dims
    if prior.kind == "half_cauchy":
        return pm.HalfCauchy(value, prior.scale, dims=dims)
    # PyMC's beta is the rate.
    distribution = {"gamma": pm.Gamma, "inverse_gamma": pm.InverseGamma}[prior.kind]
    return distribution(value, alpha=prior.shape, beta=prior.rate, dims=dims)


TRANSLATED = frozenset(
    {"assignments", "covariates", "dirichlet", "gamma", "half_cauchy", "horseshoe", "inverse_gamma", "normal"}
    | {"regularised_horseshoe", "words"}
    | {"epsilon_insensitive", "gaussian", "hinge", "logistic", "negative_binomial", "probit_do"}
    | {"stick_breaking_logistic"}
)
"""Kinds of blocks that have a translation."""
