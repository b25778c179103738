"""How many tokens came from one part of a probability that is a sum."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.binomial import binomial
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["tokens_of_part"]


@compiled
def tokens_of_part(stream: Stream, count: int, part: float, whole: float) -> int:
    """Draw how many of some tokens came from a part of their probability: each did with probability part / whole."""
    # Rounded like phi, which is then no less, unless a chain was given what does not fit together.
    part = np.float64(np.float32(part))
    return binomial(stream, count, part / max(whole, part)) if part > 0.0 else 0
