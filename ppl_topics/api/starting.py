"""Values that chains start from, and those that they keep: arrays, or what a fit has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.nearest import nearest
from ppl_topics.core.state import WORD_MAJOR
from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import SweepRecord
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.errors import PplTopicsError
from ppl_topics.fit import Fit
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.spec import Spec, Variable
from ppl_topics.spec.source import short_repr

__all__ = ["Given", "Init", "start_values", "with_start"]

Value: TypeAlias = "ArrayLike | xr.DataArray | Fit"
Init: TypeAlias = "Fit | Mapping[str, Value]"
Given: TypeAlias = "Mapping[str, Value]"

SUM_TOLERANCE = 1e-3
"""By which the sum of probabilities may differ from 1, which in float32 it does."""


def _names(given: Given | None) -> list[str]:
    """Return the names of what is given, having checked that it is a mapping."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise PplTopicsError(
            f"{argument('given')}: expected a mapping from variables to values, such as {{'phi': fit}}, got "
            f"{short_repr(given)}"
        )
    return list(given)


def start_values(
    bound: BoundModel, corpus: Corpus, init: Init | None, given: Given | None, chains: int
) -> dict[str, list[NDArray[Any]]]:
    """Return what chains begin with as they hold it, by variable: one array for all chains, or one for each."""
    reader = _Reader(bound, corpus, chains)
    found = {name: reader.given(name, value) for name, value in (given or {}).items()}
    missing = [name for name in bound.model.spec.given if name not in found]
    if missing:
        raise PplTopicsError(
            f"{argument('given')}: model {bound.model.spec.name!r} holds {missing[0]} at a value that is given; give "
            f"{missing[0]} a value"
        )
    for name, values in reader.all_of(init).items():
        # What is given is not up to a start.
        found.setdefault(name, values)
    if found:
        reader.check(found)
    return found


class _Reader:
    """Reads values of the variables of a model on a corpus."""

    def __init__(self, bound: BoundModel, corpus: Corpus, chains: int) -> None:
        self.bound, self.corpus, self.chains = bound, corpus, chains
        self.held, self.spec = bound.model.held, bound.model.spec

    def all_of(self, init: Init | None) -> dict[str, list[NDArray[Any]]]:
        """Return the values that chains start from."""
        if init is None:
            return {}
        if isinstance(init, Fit):
            return self._last_of(init)
        if not isinstance(init, Mapping):
            raise PplTopicsError(
                f"{argument('init')}: expected a fit, or a mapping from variables to values, such as "
                f"{{'z': array}}, got {short_repr(init)}"
            )
        return {name: self._start(name, value) for name, value in init.items()}

    def given(self, name: str, value: Value) -> list[NDArray[Any]]:
        """Return the value that a variable keeps in all chains."""
        what = f"{argument('given')}: {name}"
        variable = self._variable(name, what)
        if isinstance(value, Fit):
            value = _mean_in(value, variable, what)
        return self._arrays(variable, value, what, by_chain=False)

    def _start(self, name: str, value: Value) -> list[NDArray[Any]]:
        what = f"{argument('init')}: {name}"
        variable = self._variable(name, what)
        if isinstance(value, Fit):
            last = self._last_in(value, variable)
            if last is None:
                raise PplTopicsError(f"{what}: the fit does not hold all of {name}; give an array")
            value = last
        return self._arrays(variable, value, what, by_chain=True)

    def _last_of(self, fit: Fit) -> dict[str, list[NDArray[Any]]]:
        """Return the last state of each chain of a fit, as far as it was kept; there is always z."""
        last = {name: self._last_in(fit, variable) for name, variable in self.held.items()}
        return {
            name: self._arrays(self.held[name], value, f"{argument('init')}: {name}", by_chain=True)
            for name, value in last.items()
            if value is not None
        }

    def _last_in(self, fit: Fit, variable: Variable) -> xr.DataArray | None:
        """Return the last values of a variable in a fit, if it has all of them."""
        if variable.role == "z":
            if fit.posterior.attrs.get("corpus_fingerprint") != self.corpus.fingerprint:
                raise PplTopicsError(
                    f"{argument('init')}: the fit is of another corpus, and topics of its tokens are no start for this "
                    f"one; {argument('given')} holds its topics phi fixed"
                )
            return fit.groups["constant_data"]["z_last"]
        if variable.role == "phi" and variable.name not in fit.posterior:
            return mean_topics(fit.groups)
        if variable.name not in fit.posterior:
            return None
        last = fit.posterior[variable.name].isel(draw=-1)
        sizes = dict(zip(variable.dims, self._shape(variable), strict=True))
        if any(last.sizes.get(dim) != size for dim, size in sizes.items()):
            return mean_topics(fit.groups) if variable.role == "phi" else None
        return last

    def _variable(self, name: str, what: str) -> Variable:
        if name not in self.held:
            raise PplTopicsError(f"{what}: model {self.spec.name!r} holds no such variable{nearest(name, self.held)}")
        if self.bound.parts > 1:
            raise PplTopicsError(
                f"{what}: each response of model {self.spec.name!r} has chains of its own, which cannot be given values"
            )
        if self.bound.sparse and self.held[name].role in WORD_MAJOR:
            raise PplTopicsError(f"{what}: storage='sparse' builds {name} from z; give z, or storage='dense'")
        return self.held[name]

    def _shape(self, variable: Variable) -> tuple[int, ...]:
        return tuple(self.bound.size_of(dim) for dim in variable.dims)

    def _arrays(self, variable: Variable, value: Any, what: str, *, by_chain: bool) -> list[NDArray[Any]]:
        """Return values as a chain holds them, one for each chain if there are several."""
        array = self._aligned(variable, value, what) if isinstance(value, xr.DataArray) else np.asarray(value)
        whole = not isinstance(value, xr.DataArray) or value.sizes.get("word", 0) <= self.corpus.n_words
        shape = self._shape(variable)
        several = by_chain and array.ndim == len(shape) + 1
        if array.shape[several:] != shape or (several and not len(array)):
            dims = ", ".join(f"{dim} {size}" for dim, size in zip(variable.dims, shape, strict=True)) or "one number"
            raise PplTopicsError(f"{what}: has shape {array.shape}, expected {shape} ({dims})")
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise PplTopicsError(f"{what}: holds what is not a finite number")
        arrays = [array[chain % len(array)] for chain in range(self.chains)] if several else [array]
        return [self._held(variable, each, what, whole) for each in arrays]

    def _aligned(self, variable: Variable, value: xr.DataArray, what: str) -> NDArray[Any]:
        """Return an array with its dims in order, and its words in that of the corpus."""
        expected = (*(["chain"] if "chain" in value.dims else []), *variable.dims)
        if set(value.dims) != set(expected):
            raise PplTopicsError(
                f"{what}: has the dims {value.dims}, expected {expected}; of draws, select one or average over them"
            )
        if "word" in variable.dims and "word" in value.coords:
            place = {word: i for i, word in enumerate(value["word"].values.tolist())}
            order = [place.get(word, -1) for word in self.corpus.vocabulary.tolist()]
            if -1 in order:
                word = self.corpus.vocabulary[order.index(-1)]
                raise PplTopicsError(
                    f"{what}: has no value for the word {word!r} of the corpus; prepare the corpus with the same "
                    "vocabulary, as Corpus.with_vocabulary does"
                )
            value = value.isel(word=order)
        if "keyword" in variable.dims and "keyword" in value.coords:
            own = self.bound.model.keyword_names(self.corpus.vocabulary)
            if value["keyword"].values.tolist() != own:
                raise PplTopicsError(f"{what}: is of other keywords than those of the model, {', '.join(own[:5])}, ...")
        return np.asarray(value.transpose(*expected).values)

    def _held(self, variable: Variable, array: NDArray[Any], what: str, whole: bool) -> NDArray[Any]:
        """Check a value, and return it as a chain holds it; topics may be without some words if not ``whole``."""
        topics = self.bound.sizes.topics
        if variable.role == "z":
            if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) < topics):
                raise PplTopicsError(f"{what}: expected topics, whole numbers from 0 to {topics - 1}")
            self._check_documents(array, what)
            return array
        if variable.role == "keyword_weight":
            of_topics = self.bound.block(variable.name).cells.sums(array)
            if (array < 0).any() or (of_topics > 1 + SUM_TOLERANCE).any():
                raise PplTopicsError(f"{what}: expected probabilities whose sum is at most 1 in each topic")
        if variable.role in ("phi", "theta"):
            over = variable.dims.index("word" if variable.role == "phi" else "topic")
            sums = array.sum(axis=over, dtype=np.float64)
            least = 1 - SUM_TOLERANCE if whole else 0.0
            if (array < 0).any() or (sums > 1 + SUM_TOLERANCE).any() or (sums < least).any():
                raise PplTopicsError(f"{what}: expected probabilities that sum to 1 over {variable.dims[over]!r}")
        if variable.role == "phi":
            none = (self.bound.tokens.word_counts > 0) & ~array.any(axis=0)
            if none.any():
                word = self.corpus.vocabulary[int(none.argmax())]
                raise PplTopicsError(
                    f"{what}: no topic gives the word {word!r} a probability above 0, and the corpus has tokens of it"
                )
        return np.ascontiguousarray(array.T) if variable.role in WORD_MAJOR else array

    def _check_documents(self, z: NDArray[Any], what: str) -> None:
        """Refuse several topics in a document whose tokens must have the same."""
        doc = self.bound.tokens.mixed_document(z)
        if doc is not None:
            raise PplTopicsError(
                f"{what}: document {str(self.corpus.doc_ids[doc])!r} has tokens of several topics, and model "
                f"{self.bound.model.spec.name!r} gives each document one"
            )

    def check(self, found: Mapping[str, list[NDArray[Any]]]) -> None:
        """Refuse values at which the posterior density is 0 or undefined."""
        with np.errstate(all="ignore"):
            state = self.bound.initial_state(0, 0, {name: values[0] for name, values in found.items()})
            density = Recorder(self.bound, ChainDraws()).statistics(state, SweepRecord.of(0))["lp"]
        if not np.isfinite(density):
            raise PplTopicsError(
                f"{argument('init')} and {argument('given')}: the log posterior density is {density} at the values of "
                f"{', '.join(found)}; give values that the model allows"
            )


def _mean_in(fit: Fit, variable: Variable, what: str) -> xr.DataArray:
    """Return the mean of a variable in the first chain of a fit."""
    if variable.role == "phi":
        return mean_topics(fit.groups).isel(chain=0)
    if variable.role == "z":
        raise PplTopicsError(f"{what}: topics of tokens have no mean; give an array, such as those of one draw")
    if variable.name not in fit.posterior:
        raise PplTopicsError(f"{what}: the fit does not hold {variable.name}; give an array")
    return fit.posterior[variable.name].isel(chain=0).mean("draw")


def with_start(spec: Spec, init: Init | None, given: Given | None) -> Spec:
    """Return a model in which what is given is held fixed, and whose warmup is not annealed by default after `init`."""
    spec = spec.with_given(_names(given), f"{argument('given')}: {{name}}")
    # Annealed chains would leave where they start.
    return spec if init is None else spec.with_plain_warmup()
