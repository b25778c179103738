"""A plan bound to a corpus: token indexes, fixed concentrations, starting values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray, IntArray, UInt32Array, read_only
from ppl_topics.core.alpha import Above, Alpha, LogLinear
from ppl_topics.core.binding import Binding
from ppl_topics.core.block import Block, sparse_topics_block
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.observed import MAX_COEFFICIENTS, Observed
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.response import Response, Start, starts_by_label
from ppl_topics.core.response_view import ResponseView
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes, Tokens, topic_dtype
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.token_arrays import MAX_OCCURRENCES
from ppl_topics.engine.encode_observed import encode_above, encode_observed
from ppl_topics.engine.label_initialisation import label_groups
from ppl_topics.errors import RunError, SpecError
from ppl_topics.samplers.assignments.initial import draw_by_alpha, draw_by_group, draw_given_topics
from ppl_topics.samplers.counts import count_tokens, make_chunks, point_to_words, sort_by_word
from ppl_topics.samplers.topics.sparse_counts import assigned_topics, set_mean_phi
from ppl_topics.schedule import Plan
from ppl_topics.schedule.rules import steps_of
from ppl_topics.spec import Model, Variable

__all__ = ["BoundModel", "bind", "bind_tokens", "concentrations_of", "index_tokens", "sizes_of"]

DOC_CHUNKS = 256
"""Pieces that parallel loops over documents are cut into, at most; fixed, so that threads share the work evenly."""

DOC_GROUPS, DOCS_PER_GROUP = 16, 128
"""Groups of documents that sums of real numbers are added up by, at most, and documents of each, at least."""


@dataclass(frozen=True)
class BoundModel:
    """A plan and the data that it will run on; `concentrations` has a fixed vector or a variable by role.

    Several responses each have a model without the others among `marginals`, by the names of their blocks, with the
    same tokens; then nothing is `observed` but by these. The weights of topics depend on what is observed `above`.
    """

    plan: Plan
    sizes: Sizes
    tokens: Tokens
    concentrations: Mapping[str, FloatArray | str | Alpha | LogLinear]
    observed: Observed | None = None
    marginals: Mapping[str, BoundModel] = field(default_factory=dict)
    above: Above | None = None

    @property
    def prevalence(self) -> Observed | None:
        """The covariates that the weights of topics depend on."""
        return self.above if isinstance(self.above, Observed) else None

    @property
    def model(self) -> Model:
        """The model."""
        return self.plan.model

    @property
    def parts(self) -> int:
        """Number of models that run side by side: one for each response if they are apart, else 1."""
        apart = self.response is not None and self.response.apart
        return len(self.observed.responses) if apart and self.observed is not None else 1

    def observed_by(self, chain: int) -> Observed | None:
        """Return what a chain observes; if responses are apart, chain ``c`` has number ``c % parts``."""
        if self.parts == 1 or self.observed is None:
            return self.observed
        whole, number = self.observed, chain % self.parts
        return replace(
            whole, targets=read_only(whole.targets[:, [number]], np.float64), responses=(whole.responses[number],)
        )

    def binding(self, target: str) -> Binding:
        """Return what a kernel on ``target`` gets to see: of what one response of several has, that one alone."""
        owner = self.model.owner(target)
        if owner is not None:
            return self._alone(owner, target)
        alone = tuple(self._alone(name, target) for name in self.marginals)
        return Binding(target, self.model.names, self.model.spec.blocks, self.sizes, self.tokens, None, alone)

    def _alone(self, response: str, target: str) -> Binding:
        own = self.model.marginals[response].own_name(target)
        return replace(self.marginals[response].binding(own), view=self.view(response))

    @property
    def by_response(self) -> dict[str, BoundModel]:
        """Of several responses `marginals`; else the model itself, under an empty name."""
        return dict(self.marginals) or {"": self}

    def seen_by(self, response: str, state: ChainState) -> ChainState:
        """Return a state as one of `by_response` has it."""
        return self.view(response).of(state) if self.marginals else state

    def size_of(self, dim: str) -> int:
        """Return the size of a dim of a variable; each of several responses has coefficients of its own."""
        for name, marginal in self.model.marginals.items():
            if dim in marginal.dims:
                return self.marginals[name].sizes.of(marginal.dims[dim])
        return self.sizes.of(dim)

    def view(self, response: str) -> ResponseView:
        """Return how one response of several is seen."""
        marginal, bound = self.model.marginals[response], self.marginals[response]
        return ResponseView(response, {n: marginal.whole_name(n) for n in marginal.model.variables}, bound.sizes)

    def block(self, name: str) -> Block:
        """Return the block that a variable belongs to."""
        return self.model.spec.blocks[self.model.variables[name].block]

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if the model has one."""
        return self.model.response

    @property
    def start(self) -> Start:
        """What the first topics of chains depend on; see `ppl_topics.core.response.starts_by_label`."""
        if self.marginals:
            return self._starting.start
        return self.response.first_topics if self.response is not None and self.sizes.supervised else "uniform"

    @property
    def _starting(self) -> BoundModel:
        """The model whose labels the first topics depend on: of several, the first whose response asks for it."""
        each = list(self.marginals.values())
        return next((bound for bound in each if bound.start != "uniform"), each[0]) if each else self

    @property
    def sparse(self) -> bool:
        """Whether chains hold sparse topics."""
        return sparse_topics_block(self.model.spec.blocks) is not None

    def count(self, state: ChainState) -> None:
        """Count the tokens of a state; sparse topics are built again."""
        if self.sparse:
            state.n_k[:] = np.bincount(state.z, minlength=self.sizes.topics)
            state.phi_name = self.model.names["phi"]
            state.sparse_topics = assigned_topics(self.tokens, state.z, state.n_k)
        else:
            count_tokens(self.tokens.words, state.z, state.n_wk, state.n_k)

    def initial_state(
        self, seed: int, chain: int, values: Mapping[str, NDArray[Any]] = MappingProxyType({})
    ) -> ChainState:
        """Return a state with randomly drawn topics, and each other variable at its block's starting value.

        Topics are uniform, or depend on the labels; see `start` and `ppl_topics.engine.label_initialisation`. Variables
        of which there are `values` have these; given phi but not z, that is drawn given phi.
        """
        key, topics = Key(seed, chain, 0).reserved(Reserved.INITIAL), self.sizes.topics
        z = np.zeros(self.sizes.tokens, dtype=topic_dtype(topics))
        n_wk = np.zeros((0 if self.sparse else self.sizes.words, topics), dtype=np.int32)
        n_k = np.zeros(topics, dtype=np.int64)
        state = ChainState(self.tokens, self.sizes, z, n_wk, n_k, {}, self.concentrations, self.observed_by(chain))
        state.observed_by = {name: bound.observed for name, bound in self.marginals.items() if bound.observed}
        group, n_groups = np.full(self.sizes.docs, -1), 1
        starting = self._starting
        supervised = starting.sizes.supervised or topics
        response, observed = starting.response, starting.observed_by(chain)
        if response is not None and observed is not None and starts_by_label(self.start, chain // self.parts):
            group, n_groups = label_groups(response.indicators(observed.targets))
        draw_by_group(self.tokens.chunk_ptr, self.tokens.doc_ptr, state.z, topics, supervised, group, n_groups, key)
        names = self.model.names
        if isinstance(self.above, Alpha):
            draw_by_alpha(self.tokens.chunk_ptr, self.tokens.doc_ptr, state.z, self.above, key)
        self.tokens.made_whole(state.z)
        if names["z"] in values:
            state.z[:] = values[names["z"]]
        self.count(state)
        self.fill(state, values)
        if names["phi"] in values and names["z"] not in values:
            index = (self.tokens.chunk_ptr, self.tokens.doc_ptr, self.tokens.words)
            draw_given_topics(*index, state.z, state.document_alpha, state.arrays[names["phi"]], key)
            self.tokens.made_whole(state.z)
            self.count(state)
            self.fill(state, values)
        return state

    def fill(self, state: ChainState, values: Mapping[str, NDArray[Any]] = MappingProxyType({})) -> None:
        """Give every variable but z its starting value, concentrations before what depends on them."""
        self._fill([v for v in self.model.held.values() if self.model.owner(v.name) is None], state, values)
        for name, bound in self.marginals.items():
            view, own = self.view(name), self.model.marginals[name].names
            seen = view.of(state)
            given = {alone: values[whole] for alone, whole in own.items() if whole in values}
            bound._fill([v for v in bound.model.held.values() if v.name in own], seen, given)
            view.put_back(seen, state)
        if state.sparse_topics is not None:
            set_mean_phi(state.sparse_topics, state.n_k, state.beta)

    def _fill(self, variables: Iterable[Variable], state: ChainState, values: Mapping[str, NDArray[Any]]) -> None:
        """Give some variables their starting values, but those of z and of sparse topics."""
        in_sparse = {"phi", "included"} if self.sparse else set()
        held = [v for v in variables if v.role not in {"z", *in_sparse}]
        for variable in sorted(held, key=lambda v: v.role in ("theta", "phi", "augmentation")):
            value = self.block(variable.name).init(variable.role, state)
            if value is None:
                raise RunError(f"block {variable.name!r} has no initial value for {variable.name}")
            if variable.name in values:
                value[...] = values[variable.name]
            state.arrays[variable.name] = value


def index_tokens(doc_ptr: IntArray, words: UInt32Array, n_words: int, *, whole: bool = False) -> Tokens:
    """Count the tokens of each word of a corpus, and cut its documents into pieces, in O(N + V)."""
    doc_ptr, words = read_only(doc_ptr, np.int64), read_only(words, np.uint32)
    # Of a small corpus most pieces are empty, and each would be a task with its own scratch arrays.
    chunk_ptr = np.unique(make_chunks(doc_ptr, DOC_CHUNKS))
    # A power of two, as kernels have groups of documents, so that the fewer have no boundaries of their own.
    groups = 1 << min(DOC_GROUPS, max(1, (len(doc_ptr) - 1) // DOCS_PER_GROUP)).bit_length() - 1
    edges = np.unique(make_chunks(doc_ptr, groups))
    return Tokens(doc_ptr, words, point_to_words(words, n_words), chunk_ptr, sort_by_word, edges, whole=whole)


def bind(plan: Plan, corpus: Corpus) -> BoundModel:
    """Bind a plan to a corpus."""
    tokens = index_tokens(corpus.doc_ptr, corpus.words, corpus.n_words, whole=plan.model.whole_documents)
    word = int(tokens.word_counts.argmax())
    if tokens.word_counts[word] > MAX_OCCURRENCES:
        raise RunError(
            f"the word {corpus.vocabulary[word]!r} occurs {tokens.word_counts[word]:,} times, and counts go up to "
            f"{MAX_OCCURRENCES:,}; leave it out, as {argument('stop_words')} and {argument('max_df')} do"
        )
    plan = replace(plan, model=plan.model.for_corpus(corpus.vocabulary))
    by_response = {name: encode_observed(each.model, corpus) for name, each in plan.model.marginals.items()}
    observed, above = encode_observed(plan.model, corpus), encode_above(plan.model, corpus)
    return bind_tokens(plan, tokens, corpus.n_words, observed, by_response, above)


def bind_tokens(
    plan: Plan,
    tokens: Tokens,
    n_words: int,
    observed: Observed | None = None,
    observed_by: Mapping[str, Observed | None] = MappingProxyType({}),
    above: Above | None = None,
) -> BoundModel:
    """Bind a plan to indexed tokens, and to what the response observes, or each of several; see :func:`bind`."""
    sizes = sizes_of(plan.model, tokens, n_words, observed, above)
    marginals = {}
    for name, each in plan.model.marginals.items():
        alone = Plan(each.model, steps_of(plan.schedule, each))
        marginals[name] = bind_tokens(alone, tokens, n_words, observed_by[name], above=above)
    concentrations = concentrations_of(plan.model, sizes, above)
    bound = BoundModel(plan, sizes, tokens, concentrations, observed, marginals, above)
    return bound if bound.parts == 1 else replace(bound, sizes=sizes._replace(responses=1))


def sizes_of(
    model: Model, tokens: Tokens, n_words: int, observed: Observed | None, above: Above | None = None
) -> Sizes:
    """Return the sizes of a model of some documents."""
    topics = model.spec.topics
    columns = len(above.columns) if isinstance(above, Observed) else 0
    n_docs, keywords = len(tokens.doc_ptr) - 1, model.n_keywords
    sizes = Sizes(n_docs, n_words, topics, len(tokens.words), prevalence=columns, keywords=keywords)
    if observed is None:
        return sizes
    supervised = topics if model.response is None else model.response.supervised(topics)
    size = supervised + len(observed.columns)
    if size > MAX_COEFFICIENTS:
        raise RunError(f"a response has {size:,} coefficients; at most {MAX_COEFFICIENTS:,} are possible")
    return sizes._replace(
        responses=len(observed.responses),
        coefficients=size,
        slopes=size - observed.intercept,
        supervised=supervised,
        levels=len(observed.classes),
    )


def concentrations_of(
    model: Model, sizes: Sizes, above: Above | None = None
) -> dict[str, FloatArray | str | Alpha | LogLinear]:
    """Return by role what a state has as its concentrations."""
    result: dict[str, FloatArray | str | Alpha | LogLinear] = {}
    if isinstance(above, Alpha):
        result["alpha"] = above
    elif above is not None:
        name = model.names["alpha"]
        result["alpha"] = LogLinear.on(name, above.design, above.columns)
        prior = model.spec.blocks[name]
        try:
            if isinstance(prior, CoefficientPrior):
                prior.check_features(above.columns)
        except SpecError as error:
            raise SpecError(f"{model.spec.locate('blocks', name)}: block {name!r} ({prior.kind}): {error}") from None
    for role, name in model.names.items():
        if name not in model.spec.blocks:
            continue
        if name in model.variables and "concentration" in model.spec.blocks[name].seams:
            result[role] = name
        block = model.spec.blocks[name]
        try:
            result.update(block.constants(role, sizes))
        except SpecError as error:
            # The key that is at fault is the one that the message names first.
            key = next((word for word in str(error).split() if word in type(block).model_fields), "concentration")
            place = model.spec.locate("blocks", name, key)
            raise SpecError(f"{place}: block {name!r}: {error}") from None
    return result
