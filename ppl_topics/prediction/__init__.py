"""What a fit says of new documents: their topics, their classes or numbers, and how good that is."""

from __future__ import annotations

from ppl_topics.prediction.methods import Predicting

__all__ = ["Predicting"]
