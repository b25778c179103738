"""Corpora drawn from a model, with the values that they were drawn with."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, check_whole, is_whole
from ppl_topics._util.arrays import IntArray
from ppl_topics._util.nearest import nearest
from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.core.state import WORD_MAJOR
from ppl_topics.corpus import Covariates, Labels
from ppl_topics.corpus.covariates import as_covariates
from ppl_topics.corpus.names import StrArray, number_names
from ppl_topics.corpus.parts import VocabularyLike, as_vocabulary
from ppl_topics.engine.encode_observed import encode_above, encode_observed
from ppl_topics.engine.simulation import state_without_words
from ppl_topics.engine.simulator import Simulation, Simulator, check_generative
from ppl_topics.errors import CorpusError, PplTopicsError, SpecError
from ppl_topics.spec import Model, Variable

__all__ = ["Simulation", "prepare_simulation", "simulate"]

DOCUMENTS, LENGTH, WORDS = 100, 100, 1000
"""Sizes of a corpus where nothing else says them."""

TOLERANCE = 1e-4
"""How far from 1 rows of probabilities may sum, as those of float32 with many words do."""

POSITIVE = {"alpha", "beta", "tau", "lambda", "slab", "augmentation", "prevalence_tau", "prevalence_lambda"}
"""Roles of the variables that are above 0."""


def simulate(
    model: ModelLike,
    *,
    documents: int | None = None,
    lengths: int | Sequence[int] | IntArray | None = None,
    words: int | VocabularyLike | None = None,
    responses: int | Mapping[str, int] | None = None,
    covariates: Any = None,
    given: Mapping[str, Any] | None = None,
    seed: int | None = None,
    **parameters: Any,
) -> Simulation:
    """Draw parameters, topics, words and labels from the joint distribution of a model.

    Each variable is drawn given those that it depends on: concentrations, theta and phi, coefficients and their scales
    from their priors, then the topic and the word of each token, then the labels given the topics. The lengths of
    documents and the covariates are no part of the model.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        As in :func:`sample`.
    documents : int, optional
        How many; by default as many as the other arguments say, or 100.
    lengths : int or array-like of int, shape (D,), optional
        Tokens of each document; by default 100. For random ones give, for example, ``rng.poisson(80, 500)``.
    words : int, sequence of str or Corpus, optional
        Size of the vocabulary, or its words; by default as `given` says, or 1,000.
    responses : int, or mapping of str to int, optional
        Size of the dim ``response`` in a model with labels: targets, labels, or exclusive classes less one. By default
        as `given` says, or 1: two classes, or one number for each document. Of several responses, the sizes by name.
    covariates : Covariates, pandas.DataFrame, matrix or int, optional
        For a model that has them: those of the documents, or how many standard normal ones; by default 1.
    given : mapping of str to array-like, optional
        Values of some variables, with the dims that they have in a trace, such as ``{"phi": phi}`` of shape
        (topic, word). They are not drawn; what they depend on is still drawn from its prior.
    seed : int, optional
        From 0 to 2**63 - 1; by default it is drawn, and kept in ``values.attrs``. The same seed gives the same bits.
    **parameters
        Model parameters to set, such as ``topics=50``.

    Returns
    -------
    Simulation

    Raises
    ------
    SpecError
        If the model or its parameters are wrong, a given value does not fit, or a block cannot be simulated: a
        pseudo-likelihood, such as a hinge loss, is no distribution of the labels, and with one model for each class
        (one-vs-all) the same words would have several.
    CorpusError
        If covariates do not fit the documents, or a concentration the words.
    PplTopicsError
        If a size or the seed is wrong.
    RunError
        If the prior of topics with zeros gives nearly all topics no word.

    Notes
    -----
    Several labels of the blocks ``logistic`` and ``probit_do`` are drawn independently, as labels that a document may
    have at once: their product is not a distribution of exclusive classes. Targets of a response that standardises them
    are drawn in standard units; a fit to them is in the same units with ``standardise=False``.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> simulation = pt.simulate("slda_multinomial", documents=30, lengths=20, words=50, topics=4, responses=2, seed=1)
    >>> simulation.corpus
    Corpus 'simulated, slda_multinomial': 30 documents, 600 tokens, 50 words, 3 classes
    >>> simulation.values["phi"].dims, simulation.values["eta"].shape
    (('topic', 'word'), (2, 5))
    >>> again = pt.simulate("lda", documents=10, topics=4, given={"phi": simulation.values["phi"]}, seed=1)
    >>> again.corpus.n_words
    50
    """
    simulator = prepare_simulation(
        model, parameters, documents, lengths, words, responses=responses, covariates=covariates, given=given
    )
    seed = secrets.randbits(32) if seed is None else seed
    check_whole(argument("seed"), seed, 0, MAX_SEED)
    return simulator.draw(int(seed))


def prepare_simulation(
    model: ModelLike,
    parameters: Mapping[str, Any],
    documents: int | None = None,
    lengths: int | Sequence[int] | IntArray | None = None,
    words: int | VocabularyLike | None = None,
    *,
    responses: int | Mapping[str, int] | None = None,
    covariates: Any = None,
    given: Mapping[str, Any] | None = None,
) -> Simulator:
    """Check the arguments of :func:`simulate` but the seed."""
    made = Model.of(resolve(model, parameters))
    values = _given_values(made, given)
    sizes = {dim: size for name, array in values.items() for dim, size in _dims_of(made, name, array)}
    x = _check_covariates(made, covariates)
    if documents is None:
        rows = len(x) if isinstance(x, Covariates) else sizes.get("doc", DOCUMENTS)
        documents = rows if lengths is None or is_whole(lengths) else len(np.atleast_1d(np.asarray(lengths)))
    check_whole(argument("documents"), documents, 1)
    each = _check_lengths(LENGTH if lengths is None else lengths, documents)
    vocabulary = _check_words(words, sizes.get("word", WORDS), _words_given(given))
    made = made.for_corpus(vocabulary)
    labels = _check_all_labels(made, responses, sizes, documents) | _labels_above(made, documents)
    doc_ptr = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    simulator = Simulator(made, doc_ptr, vocabulary, labels, x, {})
    # The sizes of all dims are those of a state; errors in covariates and concentrations show here as well.
    corpus = simulator.corpus(np.random.default_rng(0))
    of_dims: dict[str, int] = {}
    for alone in made.by_response.values():
        observed, above = encode_observed(alone.model, corpus), encode_above(alone.model, corpus)
        state = state_without_words(alone.model, doc_ptr, len(vocabulary), observed, above)
        of_dims |= {alone.whole_dim(dim): size for dim, size in state.sizes.by_dim.items()}
    checked = {}
    for name, array in values.items():
        variable = made.variables[name]
        shape = tuple(of_dims[dim] for dim in variable.dims)
        if array.shape != shape:
            wanted = ", ".join(f"{dim} {size:,}" for dim, size in zip(variable.dims, shape, strict=True))
            raise SpecError(f"{argument('given')}: {name}: expected the shape ({wanted}), got {array.shape}")
        _check_value(variable, array, made.spec.topics)
        checked[name] = np.ascontiguousarray(array.T) if variable.role in WORD_MAJOR else array
    if made.names["phi"] in checked and "included" in made.names and made.names["included"] not in checked:
        raise SpecError(f"{argument('given')}: with phi, give included as well: the words that each topic has")
    return replace(simulator, given=checked)


def _check_all_labels(
    model: Model, responses: int | Mapping[str, int] | None, sizes: Mapping[str, int], documents: int
) -> dict[str, Labels]:
    """Return labels, by the names that they have in a corpus, for each block that observes some."""
    if isinstance(responses, Mapping):
        unknown = next((name for name in responses if name not in model.marginals), None)
        if unknown is not None:
            raise SpecError(
                f"{argument('responses')}: model {model.spec.name!r} has no response {unknown!r} beside others; give "
                f"one number{', or one for each of ' + ', '.join(model.marginals) if model.marginals else ''}"
            )
    labels: dict[str, Labels] = {}
    for name, each in model.by_response.items():
        number = responses.get(name) if isinstance(responses, Mapping) else responses
        found = _check_labels(each.model, number, sizes.get(each.whole_dim("response"), 1), documents)
        block = each.model.label_block
        if block is None or found is None:
            continue
        if block.observed_labels in labels:
            raise SpecError(
                f"block {name!r} ({block.kind}) cannot be simulated: another response observes the same labels; give "
                "it labels of its own by `observed: NAME`"
            )
        labels[block.observed_labels] = found
    return labels


def _labels_above(model: Model, documents: int) -> dict[str, Labels]:
    """Return labels that say which topics documents may have, by their name in a corpus, if the model has any."""
    block = model.weights
    if block.labels_above is None:
        return {}
    return {block.labels_above: block.simulated_labels(documents, model.spec.topics, np.random.default_rng(0))}


def _check_labels(model: Model, responses: int | None, default: int, documents: int) -> Labels | None:
    """Return labels that the response encodes in the number of columns asked for."""
    block = model.label_block
    if block is None:
        if responses is not None:
            raise SpecError(f"{argument('responses')}: model {model.spec.name!r} has no labels; leave it out")
        return None
    size = default if responses is None else responses
    check_whole(argument("responses"), size, 1)
    check_generative(model, size)
    ordered = model.response is not None and model.response.ordered
    names = block.class_names(size)
    one = size == 1
    forms: list[tuple[Any, Any, tuple[int, ...], list[str]]] = [
        ("class", np.int32, (documents,), names),
        ("multi_label", np.int8, (documents, size), names[:size]),
        ("real", np.float64, (documents,) if one else (documents, size), [] if one else names[:size]),
        ("count", np.int64, (documents,) if one else (documents, size), [] if one else names[:size]),
    ]
    # Several columns are independent labels, where the response takes those, for which it is a distribution.
    for kind, dtype, shape, classes in forms if one else [forms[1], forms[0], *forms[2:]]:
        labels = Labels(kind, np.zeros(shape, dtype), np.array(classes, dtype=object))
        try:
            targets, _ = block.encode(labels)
        except CorpusError:
            continue
        if targets.shape == (documents, size) or ordered:
            return labels
    what = f"block {model.names['y']!r} ({block.kind}) cannot be simulated"
    raise SpecError(f"{what} with {size:,} responses: it accepts neither classes, labels, numbers nor counts of these")


def _check_covariates(model: Model, covariates: Any) -> Covariates | int | None:
    """Return the covariates, or how many to draw."""
    if "x" not in model.names:
        if covariates is not None:
            raise SpecError(f"{argument('covariates')}: model {model.spec.name!r} does not use any; leave it out")
        return None
    if covariates is None or is_whole(covariates):
        number = 1 if covariates is None else covariates
        check_whole(argument("covariates"), number, 1)
        return int(number)
    return as_covariates(covariates)


def _check_lengths(lengths: Any, documents: int) -> IntArray:
    if is_whole(lengths):
        check_whole(argument("lengths"), lengths, 0)
        each = np.full(documents, lengths, dtype=np.int64)
    else:
        array = np.asarray(lengths)
        if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
            raise PplTopicsError(
                f"{argument('lengths')}: expected a whole number of tokens, or one for each document, none below 0"
            )
        if len(array) != documents:
            raise PplTopicsError(
                f"{argument('lengths')}: there are {len(array):,} for {documents:,} documents; give one for each"
            )
        each = array.astype(np.int64)
    if not each.any():
        raise PplTopicsError(f"{argument('lengths')}: all documents would be empty; give one a token at least")
    return each


def _check_words(words: Any, default: int, names: Any) -> StrArray:
    if words is None and names is not None:
        return as_vocabulary(names)
    if words is not None and not is_whole(words):
        return as_vocabulary(words)
    size = default if words is None else words
    check_whole(argument("words"), size, 1, 2**32 - 1)
    return number_names(int(size))


def _words_given(given: Mapping[str, Any] | None) -> Any:
    """Return the names of the words of a value that has them."""
    arrays = [value for value in (given or {}).values() if isinstance(value, xr.DataArray) and "word" in value.coords]
    return arrays[0]["word"].values.tolist() if arrays else None


def _given_values(model: Model, given: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    """Return the given values as arrays with the dims of their variables."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SpecError(f"{argument('given')}: expected values by variable, such as {{'phi': phi}}, got {given!r}")
    drawn = {
        name: variable
        for name, variable in model.variables.items()
        if variable.role != "augmentation" or "doc" not in variable.dims
    }
    values = {}
    for name, value in given.items():
        if name not in drawn:
            raise SpecError(
                f"{argument('given')}: {name!r} is not a variable that model {model.spec.name!r} draws"
                f"{nearest(str(name), drawn)}"
            )
        dims = drawn[name].dims
        if isinstance(value, xr.DataArray):
            if set(value.dims) != set(dims):
                raise SpecError(f"{argument('given')}: {name}: expected the dims {dims}, got {value.dims}")
            value = value.transpose(*dims).values
        array = np.asarray(value)
        if array.ndim != len(dims) or array.dtype.kind not in "fiub":
            raise SpecError(
                f"{argument('given')}: {name}: expected numbers with the dims {dims}, got an array of shape "
                f"{array.shape} and type {array.dtype}"
            )
        values[name] = array
    return values


def _dims_of(model: Model, name: str, array: NDArray[Any]) -> list[tuple[str, int]]:
    return list(zip(model.variables[name].dims, array.shape, strict=True))


def _check_value(variable: Variable, array: NDArray[Any], topics: int) -> None:
    """Refuse a given value that its variable cannot have."""
    role, problem = variable.role, ""
    if not np.isfinite(array).all():
        problem = "finite numbers"
    elif role in ("theta", "phi"):
        if (array < 0.0).any() or np.abs(array.sum(axis=1) - 1.0).max() > TOLERANCE:
            problem = "probabilities, each row with the sum 1"
    elif role in POSITIVE and "prevalence" not in variable.dims and not (array > 0.0).all():
        problem = "numbers above 0"
    elif role == "cutpoints" and not (np.diff(array, prepend=0.0) > 0.0).all():
        problem = "numbers in ascending order, the first above 0"
    elif role == "pi" and not ((array > 0.0) & (array <= 1.0)).all():
        problem = "probabilities above 0"
    elif role == "included" and not (np.isin(array, (0, 1)).all() and array.any(axis=1).all()):
        problem = "zeros and ones, a one for each topic at least"
    elif role == "z" and not (array.dtype.kind in "iu" and array.min() >= 0 and array.max() < topics):
        problem = f"whole numbers from 0 to {topics - 1}"
    if problem:
        raise SpecError(f"{argument('given')}: {variable.name}: expected {problem}")
