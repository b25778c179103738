"""What the plots share: axes of new figures or given ones, colours, labels of topics, and the groups of a trace."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.results.arviz_compat import to_groups
from ppl_topics.results.best_words import best_words
from ppl_topics.results.documents import Part, mean_phi, topic_numbers
from ppl_topics.results.mean_topics import has_mean_topics
from ppl_topics.results.topic_names import named, topic_names

__all__ = [
    "COLOURS",
    "GREY",
    "LABEL",
    "LETTER",
    "MOST_WORDS",
    "SURE",
    "UNSURE",
    "bare",
    "bars",
    "check_positive",
    "given_axes",
    "grid",
    "groups_of",
    "heat_map",
    "inches",
    "legend_columns",
    "one_axes",
    "plain",
    "pyplot",
    "reach_over",
    "row_labels",
    "sequence_of",
    "topic_labels",
    "topic_texts",
    "width",
]

SURE, UNSURE = "#1f4e79", "#a9a9a9"
"""Colours of intervals that exclude 0, and of the others."""

GREY = "#e6e6e6"
"""Colour of the background: warm-up, cells without a value."""

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#e69f00", "#7a5195", "#a0622d", "#5c5c5c",
)  # fmt: skip
"""Colours of chains, runs and topics, mostly safe for colour-blind readers (after P. Tol's bright scheme)."""

MOST_PANELS = 50

LABEL, WORD = 48, 28
"""Maximum characters of the words in a label, and of a single word."""

ACROSS = 104
"""Characters of a legend in small print that fit side by side in 7 inches, with 5 for each mark."""
MOST_WORDS, MOST_NUMBERS = 60, 120
"""Maximum numbers of topics whose rows are labelled by words, and by numbers."""

LETTER = 0.068
"""Inches per letter of a small label."""


def groups_of(trace: Any) -> dict[str, xr.Dataset]:
    """Return the groups of a trace, and refuse anything else or a trace without a posterior."""
    try:
        groups = to_groups(trace)
    except TypeError as error:
        raise TraceError(str(error)) from None
    if "posterior" not in groups:
        raise TraceError(f"the trace has no group `posterior` (groups: {', '.join(groups) or 'none'})")
    return groups


def plain(text: str, most: int = 80) -> str:
    """Return text that matplotlib draws literally, on one line of at most ``most`` characters.

    A dollar sign would start a formula, and fonts have no control characters.
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    return (line if len(line) <= most else f"{line[: most - 1]}…").replace("$", r"\$")


def pyplot() -> Any:
    """Return matplotlib's pyplot, which is needed only for new figures."""
    try:
        from matplotlib import pyplot as module
    except ImportError:
        raise PplTopicsError(
            "plots need matplotlib, which is not installed; pip install 'ppl-topics[plots]', or matplotlib itself"
        ) from None
    return module


def given_axes(axes: Any, number: int, what: str) -> NDArray[Any]:
    """Return the given axes as an array, and refuse a wrong number of them."""
    given = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(given) != number:
        raise TraceError(f"axes: {len(given)} were given for {number} {what}")
    return given


def one_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure with this size in inches."""
    return grid(ax, 1, "plot", columns=1, panel=size)[0]


def grid(
    axes: Any,
    number: int,
    what: str,
    *,
    columns: int,
    panel: tuple[float, float],
    narrow: str = "give axes=",
    **options: Any,
) -> NDArray[Any]:
    """Return the given axes, or those of a new figure, shape (number,).

    ``what`` says what each panel shows, ``panel`` is the size of each in inches, and ``narrow`` says what to do if
    there are too many; the options are those of `matplotlib.pyplot.subplots`.
    """
    if axes is not None:
        return given_axes(axes, number, what)
    if number > MOST_PANELS:
        raise TraceError(f"there are {number:,} {what}, too many for one figure; {narrow}")
    columns = min(columns, number)
    rows = -(-number // columns)
    size = (panel[0] * columns, panel[1] * rows)
    _, made = pyplot().subplots(rows, columns, squeeze=False, figsize=size, layout="constrained", **options)
    for unused in made.ravel()[number:]:
        unused.remove()
    return np.asarray(made.ravel()[:number])


def bare(panel: Any) -> None:
    """Remove the lines at the top and right."""
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def bars(panel: Any, value: FloatArray, low: FloatArray, high: FloatArray, labels: Sequence[str], **style: Any) -> None:
    """Draw horizontal bars with their intervals (NaN is none), the first at the top."""
    heights = -np.arange(len(value), dtype=float)
    panel.barh(heights, value, **style)
    known = ~np.isnan(low)
    panel.hlines(heights[known], low[known], high[known], colors="black", linewidth=1.2)
    panel.set_yticks(heights, labels, fontsize="small")
    panel.tick_params(axis="y", length=0)
    bare(panel)


def reach_over(panel: Any, values: FloatArray) -> None:
    """Set the y axis to the range of the values, with a margin, and write large numbers in full."""
    finite = values[np.isfinite(values)]
    if len(finite) and finite.min() < finite.max():
        margin = 0.05 * float(finite.max() - finite.min())
        panel.set_ylim(finite.min() - margin, finite.max() + margin)
    if len(finite) and np.abs(finite).max() >= 10_000:
        panel.yaxis.set_major_formatter("{x:,.0f}")
        panel.locator_params(axis="y", nbins=5)


def heat_map(panel: Any, values: FloatArray, meaning: str, **options: Any) -> float:
    """Draw a matrix (NaN is grey) in colours centred on 0, with a colour bar; return the largest absolute value."""
    known = np.abs(values[~np.isnan(values)])
    reach = float(known.max(initial=0.0)) or 1.0
    panel.set_facecolor(GREY)
    image = panel.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
    bar = panel.figure.colorbar(image, ax=panel, aspect=25, pad=0.02, **options)
    bar.set_label(meaning, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    panel.tick_params(length=0)
    return reach


def check_positive(name: str, value: Any, none: bool = False) -> None:
    """Refuse a value that is not a whole number of at least 1, or None if that is allowed."""
    if none and value is None:
        return
    if not is_whole(value) or value < 1:
        raise TraceError(f"{name}: must be a whole number of at least 1{', or None' if none else ''}, got {value!r}")


def topic_labels(groups: Mapping[str, xr.Dataset], part: Part, n_words: int) -> Callable[[int], str]:
    """Return a function that labels a topic by its name, its most probable words, if phi is known, and number."""
    labels = {number: f"{text}  (topic {number})" for number, text in topic_texts(groups, part, n_words).items()}
    return lambda topic: labels.get(topic, f"topic {topic}")


def topic_texts(groups: Mapping[str, xr.Dataset], part: Part, n_words: int) -> dict[int, str]:
    """Return the name and the most probable words of each topic, by its number; none if phi is not known."""
    check_positive("n_words", n_words)
    if not has_mean_topics(groups):
        return {}
    phi = mean_phi(groups, part)
    words, names = groups["constant_data"]["word"].values, topic_names(groups)
    best = best_words(phi, n_words)
    texts = [named(names, k, " ".join(str(words[w]) for w in row if w >= 0)) for k, row in enumerate(best)]
    return {number: plain(text, LABEL) for number, text in zip(topic_numbers(groups), texts, strict=True)}


def legend_columns(panel: Any) -> int:
    """Return how many columns of a legend fit above or below axes of 7 inches."""
    _, labels = panel.get_legend_handles_labels()
    return max(1, ACROSS // (max(map(len, labels), default=0) + 5))


def row_labels(numbers: IntArray, label: Callable[[int], str]) -> tuple[IntArray, list[str], float]:
    """Return which rows of topics are labelled, by words if there is space for them or else by number, and the size."""
    step = 1 if len(numbers) <= MOST_NUMBERS else -(-len(numbers) // MOST_NUMBERS)
    places = np.arange(0, len(numbers), step)
    words = len(numbers) <= MOST_WORDS
    # One row per line in a figure of twelve inches.
    size = float(np.clip(600.0 / len(places), 4.5, 8.3))
    return places, [label(number) if words else str(number) for number in numbers[places].tolist()], size


def width(text: str) -> int:
    """Return the width of a text in characters of a monospaced font."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def inches(panel: Any) -> tuple[float, float]:
    """Return width and height of axes."""
    # Makes the layout final.
    panel.figure.get_figure().draw_without_rendering()
    box = panel.get_window_extent()
    return box.width / panel.figure.dpi, box.height / panel.figure.dpi


def sequence_of(value: Any) -> Sequence[Any]:
    """Return one value or several as a list."""
    return [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
