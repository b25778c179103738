"""Warnings that point at the line of the user's program that caused them."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the nearest call from outside this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("ppl_topics."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
