"""What every block is: one factor of a model, with the variable that it puts a distribution on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keyword_cells import KeywordCells
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.names import StrArray
from ppl_topics.errors import SpecError

__all__ = ["NUMBERS", "Block", "sparse_topics_block"]

NUMBERS = frozenset({"cutpoints", "positive", "probability"})
"""Seams of the priors of numbers: what stands in a field that also takes a plain number."""


class Block(pydantic.BaseModel):
    """Base of all blocks: a pydantic model whose fields are the keys that YAML may give it.

    A subclass sets the class attributes and overrides the methods that apply to it.

    Attributes
    ----------
    kind : str
        Name of the block, set by the decorator :func:`block`.
    seams : frozenset of str
        What other blocks may use it as: ``topic_weights``, ``topics``, ``assignments``, ``concentration``,
        ``coefficients``, ``features``, ``positive``, ``probability``.
    handled_as : frozenset of str
        Forms of factor, beside its own kind, that kernels may take it for. A seam says where a block fits;
        only a form says what its density is. Forms of `ppl_topics.core.response`: ``quadratic_response``,
        ``conditional_normal``.
    references : dict of str to str
        Fields that hold the name of another block, with the seam that this one must offer. A field whose seam is
        ``positive`` or ``probability`` holds a number, or the name of the block that is its prior; see `at`.
    own_role : str or None
        Role of the variable in every model (``z``, ``w``, of labels ``y``, of covariates ``x``); None where the block
        that refers to it gives the role (``theta``, ``phi``, ``alpha``, ``beta``, ``eta``).
    tiny_parameters : dict
        Values of fields for the tiny corpus of `verify`: such that the data matter, and that no two factors of the
        density are equal, so that a kernel that mistakes one for another is refused.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: ClassVar[str] = ""
    seams: ClassVar[frozenset[str]] = frozenset()
    handled_as: ClassVar[frozenset[str]] = frozenset()
    references: ClassVar[Mapping[str, str]] = {}
    own_role: ClassVar[str | None] = None
    tiny_parameters: ClassVar[Mapping[str, Any]] = {}

    def reference_role(self, key: str, own_role: str) -> str:
        """Return the role that this block, itself in ``own_role``, gives to the block named under ``key``.

        That of a number is the key itself.
        """
        if self.references.get(key) in NUMBERS:
            return key
        raise SpecError(f"block {self.kind!r} refers to {key!r} but gives it no role; override reference_role")

    def referred(self) -> dict[tuple[str | int, ...], str]:
        """Return the blocks that this one refers to, by field and, in a list, position.

        Raises
        ------
        SpecError
            If a field holds neither names nor a plain value in the place of one.
        """
        result: dict[tuple[str | int, ...], str] = {}
        for key in self.references:
            value = getattr(self, key)
            if isinstance(value, str):
                result[(key,)] = value
            elif isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
                result |= {(key, i): item for i, item in enumerate(value)}
            elif isinstance(value, dict | set | frozenset):
                raise SpecError(f"block {self.kind!r}: {key}: expected the name of a block or a list of names")
        return result

    @property
    def numbers(self) -> dict[str, str]:
        """The fields whose numbers are not known, with the names of the blocks that are their priors."""
        fields = {key: getattr(self, key) for key, seam in self.references.items() if seam in NUMBERS}
        return {key: value for key, value in fields.items() if isinstance(value, str)}

    def at(self, values: Mapping[str, Any], *, by_role: bool = False) -> Self:
        """Return the block with numbers in all its fields: its own, and those that have priors from ``values``.

        Parameters
        ----------
        values : mapping of str to number or ndarray of float64
            By name of the prior's block, such as `ChainState.arrays`; or by role.
        by_role : bool
        """
        found = {key: values[self.reference_role(key, "") if by_role else name] for key, name in self.numbers.items()}
        return self.model_copy(update=found) if found else self

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong with this block in the given role of a model with this many topics, or None."""
        return None

    def check_references(self, roles: Mapping[str, str]) -> str | None:
        """Return what is wrong with the blocks that this one refers to, given the roles of all by name, or None."""
        return None

    def dims(self, role: str) -> tuple[str, ...] | None:
        """Return the dims of the variable, or None for a block that only observes."""
        return None

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the variables that the block brings along beside its own: role and dims, by name."""
        return {}

    def forms(self, blocks: Mapping[str, Block]) -> tuple[str, ...]:
        """Return what messages call this factor, and the forms that kernels may take it for.

        By default its kind and `handled_as`, whatever the other blocks of the model, here by name.
        """
        return self.kind, *sorted(self.handled_as)

    @property
    def observed_labels(self) -> str:
        """What a block of labels calls those of the corpus that it observes; see `Corpus.with_labels`."""
        return str(getattr(self, "observed", "labels"))

    @property
    def labels_above(self) -> str | None:
        """What a prior of assignments calls the labels that say which topics a document may have, if it needs any."""
        return None

    def document_alpha(self, labels: Labels, topics: int) -> Alpha:
        """Return the concentrations of the topics in documents with these labels.

        Raises
        ------
        SpecError
            If the labels do not fit the number of topics, or say nothing of topics.
        """
        raise SpecError(f"block {self.kind!r}: labels say nothing of its topics: it has no method `document_alpha`")

    def simulated_labels(self, documents: int, topics: int, rng: np.random.Generator) -> Labels:
        """Return labels of which `document_alpha` makes as many topics, for corpora that are simulated."""
        raise SpecError(f"block {self.kind!r} cannot be simulated: it has no method `simulated_labels`")

    def class_names(self, number: int) -> list[str]:
        """Return names of classes, one more than a number, for labels that are made up."""
        return [f"y{i}" for i in range(number + 1)]

    def for_corpus(self, vocabulary: Iterable[str], topics: int) -> Self:
        """Return the block for a corpus with these words; by default itself.

        Raises
        ------
        SpecError
            If words that the block names are not there.
        """
        return self

    @property
    def found_words(self) -> Any:
        """What `for_corpus` has found, for other processes, which have no vocabulary; None if nothing."""
        return None

    def with_found_words(self, found: Any) -> Self:
        """Return the block with what `for_corpus` found elsewhere."""
        return self

    @property
    def n_keywords(self) -> int:
        """How many keywords topics have, one after the other: the size of the dim ``keyword``."""
        return 0

    @property
    def cells(self) -> KeywordCells:
        """The keywords of topics, of a block that was made for a corpus."""
        raise SpecError(f"block {self.kind!r} has no keywords")

    @property
    def tokens_of_keywords(self) -> int:
        """How many tokens of its topic a keyword counts for, whatever the corpus."""
        return 0

    def keyword_names(self, vocabulary: StrArray) -> list[str]:
        """Return what the keywords are called, ``topic: word``."""
        return []

    @property
    def topic_names(self) -> list[str]:
        """What the first topics are called, in order, where they have names."""
        return []

    @property
    def integrated_out(self) -> bool:
        """Whether the model asks never to hold this variable."""
        return False

    @property
    def whole_documents(self) -> bool:
        """Whether these assignments give all tokens of a document the same topic."""
        return False

    @property
    def sparse_storage(self) -> bool:
        """Whether a chain holds only the cells of these topics that are not zero."""
        return False

    def included_share(self, blocks: Mapping[str, Block]) -> float:
        """Return the share of the cells of topics that are not zero, by the prior; the other blocks are given."""
        return 1.0

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, FloatArray]:
        """Return the fixed vectors that this block sets, by role (``alpha``, ``beta``)."""
        return {}

    def init(self, role: str, state: ChainState) -> NDArray[Any] | None:
        """Return a starting value for the variable, given z and the counts."""
        return None

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> NDArray[Any] | None:
        """Return a draw of the variable from its distribution, given its parents in ``values`` by role.

        A block of labels draws the targets, shape (D, C), in the role ``y``. None where the joint distribution of the
        model excludes those values: then all are to be drawn again.
        """
        raise SpecError(f"block {self.kind!r} cannot be simulated: it has no method `simulate`")

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the variable and its auxiliaries, as far as log p(w, z) does not cover it.

        The value of a block of labels is that of the targets, NaN where missing.
        """
        return 0.0

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets of a block of labels, shape (D, C), NaN where missing, and the names of the C responses.

        Raises
        ------
        CorpusError
            If the labels are of a kind, or have values, that this block cannot have.
        """
        raise SpecError(f"block {self.kind!r} cannot observe labels: it has no method `encode`")

    def expected_targets(self, features: FloatArray, values: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return the means of the targets of new documents, shape (D, C), for predictions by a block of labels.

        Parameters
        ----------
        features : ndarray of float64, shape (D, F)
            The share of each topic in a document, and its covariates.
        values : dict of str to ndarray
            By role, one draw of the coefficients and of all else that the block refers to or brings along, but for what
            belongs to documents.

        Raises
        ------
        SpecError
            If the block predicts nothing.
        """
        raise SpecError(
            f"block {self.kind!r} predicts nothing about new documents but their topics (transform): it has no method "
            "`expected_targets`"
        )


def sparse_topics_block(blocks: Mapping[str, Block]) -> Block | None:
    """Return the block of sparse topics, if the model has one."""
    return next((block for block in blocks.values() if block.sparse_storage), None)
