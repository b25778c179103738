"""The corpus and the options of the small runs whose traces are made to do harm."""

from __future__ import annotations

from typing import Any

import ppl_topics as pt

__all__ = ["CORPUS", "OPTIONS", "TEXTS"]

TEXTS = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"], ["red"]]
CORPUS = pt.Corpus.from_tokens(TEXTS, labels=["a", "b", "a", "b", "b"])
OPTIONS: dict[str, Any] = {"topics": 2, "draws": 4, "warmup": 1, "chains": 2, "seed": 1, "progress": False}
