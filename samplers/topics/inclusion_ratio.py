"""The factor by which a word without tokens changes the probability of a topic's tokens when it is included."""

from __future__ import annotations

import math

from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.concentration.log_pochhammer import FEW, STIRLING_FROM, stirling_rest

__all__ = ["log_inclusion_ratio"]


@compiled
def log_inclusion_ratio(others: float, beta: float, tokens: int) -> float:
    """Compute log G(S + b) G(n + S) / (G(n + S + b) G(S)) without cancellation, G being the gamma function.

    It is never above 0, and 0 for a topic without tokens. The product of (S + j) / (S + b + j) over j < n, it is
    multiplied out for few tokens. For large S the four Stirling series are added up term by term (Abramowitz, Stegun
    1964, 6.1.41), where all that is large cancels in symbols; otherwise the two functions of S + n are, if that is
    large, and those of S differ by enough.
    """
    if tokens < FEW:
        product = 1.0
        for token in range(tokens):
            product *= (others + token) / (others + beta + token)
        return math.log(product)
    after = others + tokens
    if others >= STIRLING_FROM:
        main = (others + beta - 0.5) * math.log1p(beta / others) - (after + beta - 0.5) * math.log1p(beta / after)
        rest = stirling_rest(others + beta) - stirling_rest(others)
        rest -= stirling_rest(after + beta) - stirling_rest(after)
        return main - beta * math.log1p(tokens / others) + rest
    before = math.lgamma(others + beta) - math.lgamma(others)
    if after < STIRLING_FROM:
        return before - (math.lgamma(after + beta) - math.lgamma(after))
    main = (after - 0.5) * math.log1p(beta / after) + beta * (math.log(after + beta) - 1.0)
    return before - (main + stirling_rest(after + beta) - stirling_rest(after))
