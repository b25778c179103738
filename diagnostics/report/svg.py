"""Drawings as SVG text: lines over sweeps, intervals, and a map of topics, with colours from the style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.report.formats import percent, tick_texts

__all__ = ["Line", "circle_map", "interval_bar", "line_chart", "ticks"]


WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 20, 30
"""Size and margins of a chart, in units of about a pixel on a phone, so that its text is readable there."""

MOST_POINTS = 300
"""Points of a line; if there are more, the lowest and the highest of each bin are kept."""

MOST = 1e300
"""Numbers beyond this are drawn at this value."""

COLOURS = 6
"""Line colours in the style sheet; the seventh line has the first colour and is dashed."""

MAP = 480
"""Width and height of a map of topics."""


@dataclass(frozen=True)
class Line:
    """A line of a chart."""

    name: str
    x: FloatArray
    y: FloatArray
    style: int  # number of its colour and dashes


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most ``most`` + 1 round numbers between two numbers.

    Examples
    --------
    >>> ticks(0, 10), ticks(0.031, 0.052)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [0.035, 0.04, 0.045, 0.05])
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(step * i, digits) for i in range(first, last + 1)]


def line_chart(lines: Sequence[Line], label: str, *, x_label: str, shade_to: float = 0.0) -> tuple[str, bool]:
    """Draw lines over sweeps, with the warm-up shaded, and return True if the start of a line lies outside.

    The y axis spans what follows the first half of the warm-up, since the path of a chain from its start would flatten
    the rest. The label describes the chart to screen readers.
    """
    # In a damaged file, the difference of two numbers may overflow.
    lines = [replace(line, y=np.where(np.isfinite(line.y), np.clip(line.y, -MOST, MOST), line.y)) for line in lines]
    lines = [line for line in lines if np.isfinite(line.y).any()]
    x, y = np.concatenate([line.x for line in lines]), np.concatenate([line.y for line in lines])
    x_low, x_high = float(x.min()), float(x.max())
    if x_low == x_high:
        x_low, x_high = x_low - 0.5, x_high + 0.5
    known = np.isfinite(y)
    late = known & (x > shade_to / 2)
    shown = y[late if late.any() else known]
    y_low, y_high = float(shown.min()), float(shown.max())
    margin = 0.06 * (y_high - y_low) or 0.05 * abs(y_high) or 0.5
    y_low, y_high = y_low - margin, y_high + margin
    cut = bool(((y[known] < y_low) | (y[known] > y_high)).any())
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def across(value: Any) -> Any:
        return LEFT + (value - x_low) / (x_high - x_low) * (right - LEFT)

    def down(value: Any) -> Any:
        return TOP + (y_high - value) / (y_high - y_low) * (bottom - TOP)

    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    if shade_to > x_low:
        width = across(min(shade_to, x_high)) - LEFT
        parts.append(f'<rect class="warmup" x="{LEFT}" y="{TOP}" width="{width:.1f}" height="{bottom - TOP}"/>')
        if width > 52:
            parts.append(f'<text class="tick" x="{LEFT}" y="{TOP - 6}">warm-up</text>')
    found = ticks(y_low, y_high)
    for tick, text in zip(found, tick_texts(found), strict=True):
        height = down(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{height + 3.5:.1f}" text-anchor="end">{text}</text>')
    for tick in ticks(x_low, x_high, 4):
        if tick == int(tick):
            place = across(tick)
            anchor = "end" if place > right - 14 else "middle"
            parts.append(
                f'<text class="tick" x="{place:.1f}" y="{bottom + 14}" text-anchor="{anchor}">{tick:,.0f}</text>'
            )
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    parts.append(f'<text class="tick" x="{right}" y="{HEIGHT - 3}" text-anchor="end">{escape(x_label)}</text>')
    for line in lines:
        thin_x, thin_y = _thinned(line.x, line.y)
        # Points outside the frame are drawn at its edge.
        parts.append(_path(line, across(thin_x), np.clip(down(thin_y), TOP, bottom)))
    parts.append("</svg>")
    return "".join(parts), cut


def _path(line: Line, x: FloatArray, y: FloatArray) -> str:
    """Draw a line through points, broken where one is missing, or a dot if there is only one."""
    title = f"<title>{escape(line.name)}</title>"
    colour = f"s{line.style % COLOURS}"
    known = ~np.isnan(y)
    if known.sum() == 1:
        return f'<circle class="dot {colour}" cx="{x[known][0]:.1f}" cy="{y[known][0]:.1f}" r="3">{title}</circle>'
    dashed = " dashed" if line.style // COLOURS % 2 else ""
    joined = known & np.append(False, known[:-1])
    path = "".join(f"{'L' if joined[i] else 'M'}{x[i]:.1f} {y[i]:.1f}" for i in np.flatnonzero(known))
    return f'<path class="line {colour}{dashed}" d="{path}">{title}</path>'


def _thinned(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return fewer points with the same visible shape: the lowest and the highest of each of many bins."""
    if len(y) <= MOST_POINTS:
        return x, y
    kept: list[int] = [0, len(y) - 1]
    for part in np.array_split(np.arange(len(y)), MOST_POINTS // 2):
        values = y[part]
        if np.isnan(values).all():
            kept.append(int(part[0]))
        else:
            kept += [int(part[np.nanargmin(values)]), int(part[np.nanargmax(values)])]
    places = np.unique(kept)
    return x[places], y[places]


def interval_bar(mean: float, low: float, high: float, bound: float) -> str:
    """Draw an interval, with a mark at 0, on an axis from -bound to bound; its numbers are in the table."""
    if not (math.isfinite(mean) and bound > 0):
        return ""

    def place(value: float) -> float:
        return 60 + 56 * max(-1.0, min(1.0, value / bound))

    parts = ['<svg class="interval" viewBox="0 0 120 14" aria-hidden="true">']
    parts.append('<line class="zero" x1="60" x2="60" y1="0" y2="14"/>')
    if math.isfinite(low) and math.isfinite(high):
        sure = " sure" if low > 0 or high < 0 else ""
        parts.append(f'<line class="span{sure}" x1="{place(low):.1f}" x2="{place(high):.1f}" y1="7" y2="7"/>')
    parts.append(f'<circle class="mean" cx="{place(mean):.1f}" cy="7" r="3"/></svg>')
    return "".join(parts)


def _apart(places: FloatArray, radii: FloatArray) -> FloatArray:
    """Move topics that cover each other, such as empty ones, onto a spiral around their position."""
    result = places.copy()
    for topic in range(1, len(places)):
        same = int((np.abs(places[:topic] - places[topic]).max(axis=1) < 2.0).sum())
        if same:
            angle, away = 2.4 * same, 1.7 * radii[topic] * math.sqrt(same)
            moved = places[topic] + away * np.array([math.cos(angle), math.sin(angle)])
            result[topic] = np.clip(moved, radii[topic] + 4, MAP - radii[topic] - 4)
    return result


def circle_map(places: FloatArray, shares: FloatArray, texts: Sequence[str], view: int) -> str:
    """Draw topics at positions (K, 2) as circles with areas in proportion to their shares, each of which can be chosen.

    Only relative positions matter; unknown shares are NaN. ``view`` is the position of the response if each has its own
    topics.
    """
    k = len(places)
    known = np.where(np.isfinite(shares), shares, 1.0 / k)
    # The circles fill about a tenth of the map, and none is too small for a finger.
    radii = np.maximum(np.sqrt(known) * MAP * 0.2, 8.0 if k > 40 else 11.0)
    centred = places - (places.min(axis=0) + places.max(axis=0)) / 2.0
    extent = np.abs(centred).max() or 1.0
    room = MAP / 2 - radii - 4
    at = _apart(MAP / 2 + centred / extent * room[:, None], radii)
    name = f"map-{view}"
    parts = [
        f'<svg class="map" id="{name}" viewBox="0 0 {MAP} {MAP}" role="listbox" aria-label="Map of topics"'
        f"{' hidden' if view else ''}>",
        f'<line class="grid" aria-hidden="true" x1="0" x2="{MAP}" y1="{MAP / 2}" y2="{MAP / 2}"/>',
        f'<line class="grid" aria-hidden="true" x1="{MAP / 2}" x2="{MAP / 2}" y1="0" y2="{MAP}"/>',
    ]
    # Large circles first, so that small ones are drawn on top.
    for topic in np.argsort(-radii, kind="stable").tolist():
        x, y, r = at[topic, 0], MAP - at[topic, 1], radii[topic]
        share = "" if math.isnan(shares[topic]) else f", {percent(float(shares[topic]))} of tokens"
        label = escape(f"Topic {topic}{share}: {texts[topic]}")
        size = max(11.0, min(15.0, 0.8 * r))
        parts.append(
            f'<g role="option" tabindex="-1" aria-selected="false" data-topic="{topic}" aria-label="{label}">'
            f"<title>{label}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>'
            f'<text x="{x:.1f}" y="{y + 0.36 * size:.1f}" font-size="{size:.1f}">{topic}</text></g>'
        )
    parts.append("</svg>")
    return "".join(parts)
