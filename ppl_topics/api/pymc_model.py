"""Models in PyMC, with z summed out: an outside check of small fits, and a bridge to what PyMC has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from scipy.special import gammaln

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.core.alpha import Above, Alpha, LogLinear
from ppl_topics.core.observed import Observed
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import concentrations_of, index_tokens, sizes_of
from ppl_topics.engine.encode_observed import encode_above, encode_observed
from ppl_topics.engine.group_builder import coordinates
from ppl_topics.errors import PplTopicsError, SpecError
from ppl_topics.spec import Model
from ppl_topics.spec.model import Marginal

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
    (``omega``, ``xi``, ``a``, ``weight``) are integrated out, and so is ``lambda`` of Laplace and Student coefficients.
    The coefficients of a horseshoe are their scale times ``eta_unit``, standard normal, and ``slab`` is the root of
    ``slab_squared``: NUTS moves better so, and the posterior is the same.

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
    tokens = index_tokens(corpus.doc_ptr, corpus.words, corpus.n_words)
    above = encode_above(made, corpus)
    sizes = sizes_of(made, tokens, corpus.n_words, None, above)
    responses = []
    for each in made.by_response.values():
        observed = encode_observed(each.model, corpus)
        if observed is not None:
            responses.append(_Labels(each, sizes_of(each.model, tokens, corpus.n_words, observed), observed))
    concentrations = concentrations_of(made, sizes, above)
    patterns = _patterns(corpus, sizes.topics) if responses else []
    try:
        import pymc
    except ImportError:
        raise PplTopicsError(
            "to_pymc needs PyMC, which is not installed; pip install 'ppl-topics[pymc]', or pymc itself"
        ) from None
    return _Builder(made, corpus, sizes, responses, above, pymc).build(concentrations, patterns)


@dataclass(frozen=True)
class _Labels:
    """A response, of several as in its model alone, and what it observes."""

    marginal: Marginal
    sizes: Sizes
    observed: Observed

    @property
    def names(self) -> Mapping[str, str]:
        """Variables by role."""
        return self.marginal.model.names

    def block(self, name: str) -> Any:
        """Return a block."""
        return self.marginal.model.spec.blocks[name]

    def whole(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the name of a variable in the model of several responses, and its dims there."""
        variable = self.marginal.whole(self.marginal.model.variables[name])
        return variable.name, variable.dims


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
    for name, block in spec.blocks.items():
        why = ""
        if block.kind == "spike_slab":
            why = "its indicators are discrete, and NUTS moves continuous variables only"
        elif block.whole_documents:
            why = "to_pymc sums over the topics of tokens, not of documents"
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

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        sizes: Sizes,
        responses: Sequence[_Labels],
        above: Above | None,
        pymc: Any,
    ) -> None:
        self.model, self.corpus, self.sizes, self.responses, self.pm = model, corpus, sizes, responses, pymc
        self.prevalence = above if isinstance(above, Observed) else None

    def build(
        self, concentrations: Mapping[str, FloatArray | str | Alpha | LogLinear], patterns: list[_Pattern]
    ) -> Any:
        """Return the PyMC model."""
        with self.pm.Model(coords={dim: list(values) for dim, values in self._coordinates().items()}) as made:
            rows = {}
            for role, concentration, size in (("theta", "alpha", "topic"), ("phi", "beta", "word")):
                name = self.model.names[role]
                value = self._concentration(concentrations[concentration], self.sizes.of(size))
                rows[role] = self.pm.Dirichlet(name, a=value, dims=self.model.variables[name].dims)
            if self.responses:
                self._words_and_labels(rows["theta"], rows["phi"], patterns)
            else:
                self._words(rows["theta"], rows["phi"])
        return made

    def _coordinates(self) -> dict[str, Any]:
        """Return those of all dims, each response having dims of its own."""
        above = [] if self.prevalence is None else ["prevalence", "prevalence_slope"]
        result = coordinates(["doc", "topic", "word", *above], self.corpus, self.sizes, None, self.prevalence)
        for each in self.responses:
            found = coordinates(["response", "coefficient", "slope"], self.corpus, each.sizes, each.observed)
            result |= {each.marginal.whole_dim(dim): values for dim, values in found.items()}
        return result

    def _concentration(self, value: FloatArray | str | Alpha | LogLinear, size: int) -> Any:
        """Return a concentration as a vector, fixed or with its gamma prior, or those of all documents as a matrix."""
        if isinstance(value, LogLinear):
            dims = self.model.variables[value.coefficients].dims
            sd = self._sd_of_concentrations(self.model.spec.blocks[value.coefficients])
            coefficients = self.pm.Normal(value.coefficients, sigma=sd, dims=dims)
            return self.pm.math.exp(self.pm.math.dot(value.features[value.row], coefficients.T))
        assert not isinstance(value, Alpha), "a block without a translation"
        if not isinstance(value, str):
            return value
        prior = self.model.spec.blocks[value]
        return _distribution(prior, value, self.model.variables[value].dims, self.pm) * np.ones(size)

    def _sd_of_concentrations(self, prior: Any) -> Any:
        """Return the prior standard deviations of the coefficients of concentrations."""
        rows, slopes, intercept = self.sizes.topics, self.sizes.prevalence - 1, np.sqrt(prior.intercept_variance)
        if prior.kind == "normal":
            return np.array([np.sqrt(prior.variance)] * slopes + [intercept])
        (tau_name, (_, of_tau)), (lambda_name, (_, of_lambda)) = prior.auxiliaries().items()
        tau = self.pm.HalfCauchy(tau_name, prior.scale, dims=of_tau)
        scale = tau[:, None] * self.pm.HalfCauchy(lambda_name, 1.0, dims=of_lambda)
        return self.pm.math.concatenate([scale, np.full((rows, 1), intercept)], axis=1)

    def _words(self, theta: Any, phi: Any) -> None:
        """Add the likelihood of the words, each token's topic summed out by itself."""
        counts = self.corpus.to_matrix().tocoo()
        docs, words = counts.coords
        word = (theta[docs] * phi.T[words]).sum(axis=1)
        self.pm.Potential(self.model.names["w"], (counts.data * self.pm.math.log(word)).sum())

    def _words_and_labels(self, theta: Any, phi: Any, patterns: list[_Pattern]) -> None:
        """Add the likelihood of words and labels together, all assignments of each document summed over."""
        terms = [_of_labels(each, self.pm) for each in self.responses]
        log_theta, log_phi, total = self.pm.math.log(theta), self.pm.math.log(phi), 0.0
        for pattern in patterns:
            cells = log_theta[pattern.docs][:, None, :] + log_phi.T[pattern.words]
            flat = pattern.assignments.reshape(len(pattern.log_number), -1)
            of_words = cells.reshape((len(pattern.docs), flat.shape[1])) @ flat.T + pattern.log_number
            of_all = of_words + sum(term(pattern) for term in terms)
            total = total + self.pm.math.logsumexp(of_all, axis=1).sum()
        self.pm.Potential("_".join([self.model.names["w"], *(each.names["y"] for each in self.responses)]), total)


def _of_labels(labels: _Labels, pm: Any) -> Callable[[_Pattern], Any]:
    """Return the log likelihood of the labels of documents of a pattern, given each assignment of their words."""
    eta, likelihood = _coefficients(labels, pm), _likelihood(labels, pm)
    design, supervised = labels.observed.design.toarray(), labels.sizes.supervised

    def term(pattern: _Pattern) -> Any:
        scores = (pattern.shares[:, :supervised] @ eta[:, :supervised].T)[None]
        scores = scores + (design[pattern.docs] @ eta[:, supervised:].T)[:, None]
        targets = labels.observed.targets[pattern.docs][:, None, :]
        known = ~np.isnan(targets)
        return (known * likelihood(np.where(known, targets, 0.0), scores)).sum(axis=2)

    return term


def _coefficients(labels: _Labels, pm: Any) -> Any:
    """Return the coefficients, with their prior: normal, or normal given scales."""
    (name, dims), sizes, intercept = labels.whole(labels.names["eta"]), labels.sizes, labels.observed.intercept
    prior = labels.block(labels.names["eta"])
    if prior.kind in ("laplace", "student_t_coefficients"):
        return _independent(prior, labels, pm)
    if prior.kind == "normal":
        variance = np.zeros((sizes.responses, sizes.coefficients))
        if intercept:
            variance[:, -1] = prior.intercept_variance
        slopes = np.arange(sizes.coefficients) < sizes.slopes
        variance = variance + slopes * _number(prior.variance, labels, pm)
        return pm.Normal(name, 0.0, pm.math.sqrt(variance), dims=dims)
    tau_name, of_response = labels.whole("tau")
    lambda_name, of_slopes = labels.whole("lambda")
    tau = pm.HalfCauchy(tau_name, _number(prior.scale, labels, pm), dims=of_response)
    scale = tau[:, None] * pm.HalfCauchy(lambda_name, 1.0, dims=of_slopes)
    if prior.kind == "regularised_horseshoe":
        slab, _ = labels.whole("slab")
        shape, rate = prior.slab_df / 2.0, prior.slab_df * prior.slab_scale**2 / 2.0
        square = pm.InverseGamma(f"{slab}_squared", alpha=shape, beta=rate, dims=of_response)
        pm.Deterministic(slab, pm.math.sqrt(square), dims=of_response)
        scale = scale / pm.math.sqrt(1.0 + scale**2 / square[:, None])
    if intercept:
        own = np.full((sizes.responses, 1), np.sqrt(prior.intercept_variance))
        scale = pm.math.concatenate([scale, own], axis=1)
    return pm.Deterministic(name, scale * pm.Normal(f"{name}_unit", 0.0, 1.0, dims=dims), dims=dims)


def _independent(prior: Any, labels: _Labels, pm: Any) -> Any:
    """Return Laplace or Student coefficients, beside a normal intercept."""
    (name, dims), sizes, scale = labels.whole(labels.names["eta"]), labels.sizes, _number(prior.scale, labels, pm)
    shape = (sizes.responses, sizes.slopes)
    unit = (
        pm.Laplace(f"{name}_unit", 0.0, 1.0, shape=shape)
        if prior.kind == "laplace"
        else pm.StudentT(f"{name}_unit", prior.df, shape=shape)
    )
    parts = [scale * unit]
    if labels.observed.intercept:
        deviation = prior.intercept_variance**0.5
        parts.append(pm.Normal(f"{name}_intercept", 0.0, deviation, shape=(sizes.responses, 1)))
    return pm.Deterministic(name, pm.math.concatenate(parts, axis=1), dims=dims)


def _likelihood(labels: _Labels, pm: Any) -> Callable[[FloatArray, Any], Any]:
    """Return the log likelihood of targets given linear predictors, an element each."""
    block = labels.block(labels.names["y"])
    softplus = pm.math.log1pexp
    if block.kind == "gaussian":
        # The prior is of the variance, not of its root.
        name, dims = labels.whole(labels.names["augmentation"])
        sigma2 = pm.InverseGamma(name, alpha=block.shape, beta=_number(block.rate, labels, pm), dims=dims)
        return lambda y, s: -0.5 * (pm.math.log(2.0 * np.pi * sigma2) + (y - s) ** 2 / sigma2)
    if block.kind == "negative_binomial":
        from pytensor.tensor import gammaln as log_gamma

        r = _number(block.dispersion, labels, pm)
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
    if block.kind in ("student_t", "quantile"):
        sigma = _number(block.sigma, labels, pm)
        if block.kind == "student_t":
            return lambda y, s: (
                pm.logp(pm.StudentT.dist(nu=block.df, mu=0.0, sigma=1.0), (y - s) / sigma) - pm.math.log(sigma)
            )
        q = block.quantile
        return lambda y, s: -pm.math.maximum(q * (y - s), (q - 1.0) * (y - s)) / sigma - pm.math.log(sigma)
    return lambda y, s: block.c * (y * s - softplus(s))


def _number(value: float | str, labels: _Labels, pm: Any) -> Any:
    """Return a number: fixed, or with its prior."""
    return _distribution(labels.block(value), *labels.whole(value), pm) if isinstance(value, str) else value


def _distribution(prior: Any, name: str, dims: Sequence[str], pm: Any) -> Any:
    """Return a positive number with its prior."""
    if prior.kind == "half_cauchy":
        return pm.HalfCauchy(name, prior.scale, dims=dims)
    # PyMC's beta is the rate.
    distribution = {"gamma": pm.Gamma, "inverse_gamma": pm.InverseGamma}[prior.kind]
    return distribution(name, alpha=prior.shape, beta=prior.rate, dims=dims)


TRANSLATED = frozenset(
    {"assignments", "covariates", "dirichlet", "gamma", "half_cauchy", "horseshoe", "inverse_gamma", "normal"}
    | {"dirichlet_regression", "laplace", "regularised_horseshoe", "student_t_coefficients", "words"}
    | {"epsilon_insensitive", "gaussian", "hinge", "logistic", "negative_binomial", "probit_do", "quantile"}
    | {"stick_breaking_logistic", "student_t"}
)
"""Kinds of blocks that have a translation."""
