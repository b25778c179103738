"""Corpora whose sizes reach the code that the tiny one does not, for Geweke's test, which is exact at any size.

Compiled code goes other ways with more topics than lanes, a partial row of lanes, lists of the topics of words and of
documents, several blocks and tiles, long documents, or concentrations near 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ppl_topics.diagnostics.exactness.geweke import GewekeTest
from ppl_topics.diagnostics.exactness.tiny import ALPHA, BETA, INCLUSION, TinyModel, with_a_distribution
from ppl_topics.models.background import Background
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.models.horseshoe import Horseshoe
from ppl_topics.models.keyword_topics import KeywordTopics
from ppl_topics.models.labelled import Labelled
from ppl_topics.models.spike_slab import SpikeSlab
from ppl_topics.schedule import Plan
from ppl_topics.schedule.tree import Cycle, Mixture, Node, Step, steps
from ppl_topics.spec import Model

__all__ = ["SIZES", "Size", "of_size", "size_tests"]


@dataclass(frozen=True)
class Size:
    """The sizes of a corpus and a model.

    Fixed concentrations are those of the tiny model over and over, times a factor; the first word is 20 times as
    frequent.
    """

    topics: int
    words: int
    lengths: tuple[int, ...]  # of the documents
    alpha: float  # factor
    beta: float  # factor
    share: float  # of the replicates on the tiny corpus
    responses: int = 3
    only_z: bool = False  # for kernels of z


FIXED = Background | Dirichlet | KeywordTopics | Labelled | SpikeSlab
"""Blocks with concentrations that may be fixed."""

LENGTHS = (1, 300, 0, 2, 40, 2, 1, 20, 2, 17)

SIZES = (
    # Many short documents: no other shows so soon that an alpha is a little too large.
    Size(3, 4, tuple(range(7)) * 12, alpha=1.0, beta=1.0, share=0.25, responses=1),
    # A row of eight lanes and half of one; a long document and documents of one and two tokens.
    Size(12, 30, LENGTHS, alpha=1.0, beta=1.0, share=0.5),
    # Each document has one topic and each topic one word, but for rare draws from weights far below the largest.
    Size(12, 30, LENGTHS, alpha=2e-3, beta=2e-3, share=0.2),
    # Words have lists of their topics, but for the first, which is frequent and drawn from the lists of documents.
    # The others are likely in few topics, and sometimes drawn in another.
    Size(520, 20, (450, *LENGTHS), alpha=0.2, beta=0.03, share=0.05),
    # The weights of the only token of a document are 0 in float32, and its topic is drawn in log space.
    Size(12, 10, (1, 1, 2, 1, 1, 20, 1, 1), alpha=1e-60, beta=1.0, share=0.05, only_z=True),
)


SWEEPS = 3


def size_tests(plan: Plan, seed: int) -> list[GewekeTest]:
    """Return Geweke's test on each of the corpora; none if the targets have no distribution to be drawn from."""
    drawn: Plan | None = with_a_distribution(plan) if plan.model.supervised else plan
    if drawn is None:
        return []
    sizes = [size for size in SIZES if not size.only_z or any("z" in s.kernel.updates for s in steps(plan.schedule))]
    return [GewekeTest(of_size(drawn, size), seed, SWEEPS, size.share) for size in sizes]


def of_size(plan: Plan, size: Size) -> TinyModel:
    """Return a plan on a corpus of another size, its kernels with the options that they declare for small corpora."""
    spec = plan.model.spec
    vectors = {
        "topic": size.alpha * np.resize(ALPHA, size.topics),
        "word": size.beta * np.resize(BETA, size.words) * np.where(np.arange(size.words) == 0, 20.0, 1.0),
    }
    blocks = {}
    for name, block in spec.blocks.items():
        if isinstance(block, FIXED) and not isinstance(block.concentration, str):
            block = block.model_copy(update={"concentration": vectors[block.over].tolist()})
        if isinstance(block, SpikeSlab) and isinstance(block.inclusion, list):
            block = block.model_copy(update={"inclusion": np.resize(INCLUSION, size.words).tolist()})
        if isinstance(block, Horseshoe) and block.of_topics:
            # Of many heavy tails, none may reach what concentrations cannot be.
            block = block.model_copy(update={"scale": 3.0 * float(block.scale) / size.topics})
        blocks[name] = block
    model = Model.of(replace(spec, blocks=blocks, topics=size.topics))
    sized = replace(plan, model=model, schedule=_with_tiny_options(plan.schedule))
    responses = 1 if model.apart else size.responses
    return TinyModel(sized, [[0] * n for n in size.lengths], responses, size.words)


def _with_tiny_options(node: Node) -> Node:
    """Return a schedule whose kernels have their `tiny_options` where the defaults are left as they are."""
    if isinstance(node, Step):
        defaults = node.kernel.options()
        update = {
            name: value
            for name, value in node.kernel.tiny_options.items()
            if getattr(node.options, name) == getattr(defaults, name)
        }
        return replace(node, options=node.options.model_copy(update=update))
    if isinstance(node, Cycle | Mixture):
        return replace(node, children=tuple(_with_tiny_options(child) for child in node.children))
    return replace(node, child=_with_tiny_options(node.child))
