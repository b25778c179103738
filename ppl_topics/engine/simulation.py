"""Draws from the joint distribution of a model: each variable, word and target given what it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.alpha import Above, Alpha
from ppl_topics.core.block import Block
from ppl_topics.core.observed import Observed
from ppl_topics.core.response import Response
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import topic_dtype
from ppl_topics.engine.bind import concentrations_of, index_tokens, sizes_of
from ppl_topics.errors import SpecError
from ppl_topics.spec import Model

__all__ = [
    "check_simulates",
    "document_features",
    "draw_from_prior",
    "draw_labels",
    "draw_targets",
    "drawing_order",
    "state_without_words",
]


def drawing_order(model: Model) -> list[tuple[str, str]]:
    """Return the roles of all variables but the labels and covariates, each after its parents, and their blocks.

    The parents of a variable are the variables of the blocks that its block refers to, and those that its block brings
    along. Concentrations come first; assignments and words last.
    """
    blocks = model.spec.blocks
    order: dict[str, str] = {}
    role_of = {name: role for role, name in model.names.items()}

    def visit(name: str) -> None:
        if name in order.values():
            return
        block = blocks[name]
        for parent in block.referred().values():
            if blocks[parent].own_role not in ("x", "y"):
                visit(parent)
        for role, _ in block.auxiliaries().values():
            order[role] = name
        order[role_of[name]] = name

    names = [name for name, block in blocks.items() if block.own_role not in ("x", "y")]

    def turn(name: str) -> tuple[bool, ...]:
        block = blocks[name]
        # What brings variables along may exclude them: then nothing else has been drawn in vain.
        return block.own_role is not None, "concentration" not in block.seams, not block.auxiliaries()

    for name in sorted(names, key=turn):
        visit(name)
    return list(order.items())


def state_without_words(
    model: Model, doc_ptr: IntArray, n_words: int, observed: Observed | None, above: Above | None = None
) -> ChainState:
    """Return a state of documents of given lengths whose variables and words are yet to be drawn."""
    words = np.zeros(int(doc_ptr[-1]), np.uint32)
    tokens = index_tokens(doc_ptr, words, n_words, whole=model.whole_documents)
    sizes = sizes_of(model, tokens, n_words, observed, above)
    z = np.zeros(sizes.tokens, topic_dtype(sizes.topics))
    n_wk, n_k = np.zeros((0, sizes.topics), np.int32), np.zeros(sizes.topics, np.int64)
    concentrations = concentrations_of(model, sizes, above)
    return ChainState(tokens, sizes, z, n_wk, n_k, {}, concentrations, observed)


def draw_from_prior(
    model: Model,
    order: Sequence[tuple[str, str]],
    state: ChainState,
    rng: np.random.Generator,
    given: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> dict[str, NDArray[Any]] | None:
    """Draw the parameters, z and the words, by role, but for those given; None if the prior excludes the draw.

    ``order`` is that of `drawing_order`; phi and the indicators come out word-major, as a state holds them.
    """
    lengths = {"alpha": state.sizes.topics, "beta": state.sizes.words}
    drawn: dict[str, NDArray[Any]] = {}
    by_doc = isinstance(state.concentrations["alpha"], Alpha)
    fixed = [role for role in lengths if role not in model.names and not (role == "alpha" and by_doc)]
    parents: dict[str, NDArray[Any]] = {role: getattr(state, role) for role in fixed}
    for role, block in order:
        value = given.get(role)
        if value is None:
            value = model.spec.blocks[block].simulate(role, parents, state, rng)
        if value is None:
            return None
        drawn[role] = value
        # Where they depend on covariates, coefficients are in the place of the concentrations.
        shared = role in lengths and np.ndim(value) < 2
        parents[role] = np.array(np.broadcast_to(value, lengths[role])) if shared else value
    return drawn


def draw_targets(
    response: Response, scores: FloatArray, rng: np.random.Generator, parameter: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Draw targets given the linear predictors, shape (D, C), and the augmentation where that is a parameter of theirs.

    It is drawn from its prior if it is not given.
    """
    if parameter is None:
        # That of one document, of which no target is known: what the documents share has its prior then.
        parameter = response.draw_augmentation(np.full_like(scores[:1], np.nan), scores[:1], rng)
    return response.draw_targets(scores, parameter, rng), parameter


def draw_labels(
    block: Block,
    values: Mapping[str, NDArray[Any]],
    state: ChainState,
    rng: np.random.Generator,
    given: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
    """Draw what a block of labels that is no response brings along, by role but for what is given, and its targets."""
    drawn: dict[str, NDArray[Any]] = {}
    for role in [*(role for role, _ in block.auxiliaries().values()), "y"]:
        value = given.get(role)
        value = block.simulate(role, {**values, **drawn}, state, rng) if value is None else value
        if value is None:
            raise SpecError(f"block {block.kind!r}: `simulate` drew nothing in the role {role!r}; it must draw labels")
        drawn[role] = value
    return np.asarray(drawn.pop("y"), dtype=np.float64), drawn


def check_simulates(model: Model) -> None:
    """Refuse a block of labels that is no response and cannot draw any."""
    block = model.label_block
    if block is not None and model.response is None and type(block).simulate is Block.simulate:
        raise SpecError(
            f"block {model.names['y']!r} ({block.kind}) cannot be simulated: it has no method `simulate`, by which "
            "labels are drawn, and by which `verify` tests kernels"
        )


def document_features(n_dk: NDArray[Any], state: ChainState) -> FloatArray:
    """Return the features of documents with the given counts of topics, shape (D, F)."""
    assert state.observed is not None, "features without targets"
    shares = n_dk / np.maximum(n_dk.sum(axis=1, keepdims=True), 1)
    return np.concatenate([shares[:, : state.sizes.supervised], state.observed.design.toarray()], axis=1)
