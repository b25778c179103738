"""A factor graph as SVG, in the colour of the text around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ppl_topics.diagnostics.graph.drawing import LINE, Box, Edge, Label, Node
from ppl_topics.diagnostics.graph.layout import SYMBOL, lay_out
from ppl_topics.diagnostics.graph.structure import FactorGraph, FactorNode
from ppl_topics.errors import on_one_line

__all__ = ["svg"]

INK, PAPER = "#1d2126", "#ffffff"
FONT, SYMBOLS, CODE = (
    "Helvetica, Arial, sans-serif",
    "STIX Two Text, Times New Roman, Times, serif",
    "ui-monospace, Menlo, Consolas, monospace",
)

STYLES = {
    "latent": "",
    "observed": ' fill="currentColor" fill-opacity="0.18"',
    "integrated out": ' stroke-dasharray="4 3"',
    "fixed": ' fill="currentColor"',
}
PLATE = 'rx="6" stroke-opacity="0.6"'

ARROW = 7.0
"""Length of the head of an arrow."""


def svg(graph: FactorGraph) -> str:
    """Return the drawing as an SVG element."""
    drawing = lay_out(graph)
    name = escape(f"Factor graph of {on_one_line(graph.name)}")
    width, height = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{name}" style="color: {INK}; background: {PAPER}" fill="none" stroke="currentColor" '
        f'font-family="{FONT}">',
        f"<title>{name}</title>",
    ]
    for plate in drawing.plates:
        parts.append(_rectangle(plate.box, PLATE))
        parts += _corner(plate.label)
    for edge in drawing.edges:
        parts += _edge(edge)
    for node in drawing.nodes:
        what = f"factor {node.of.name}" if isinstance(node.of, FactorNode) else node.of.name
        parts += [f"<g><title>{escape(what)}</title>", *_node(node), "</g>"]
    for node in drawing.legend:
        parts += _node(node)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rectangle(box: Box, how: str) -> str:
    width, height = box.right - box.left, box.bottom - box.top
    return f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{height:.1f}" {how}/>'


def _node(node: Node) -> Iterator[str]:
    """Draw a node and what stands beside it."""
    of, box = node.of, node.shape
    if isinstance(of, FactorNode):
        yield _rectangle(box, 'fill="currentColor"')
    else:
        yield _rectangle(box, f'rx="{(box.bottom - box.top) / 2:g}"{STYLES[of.kind]}')
        if of.kind != "fixed":
            x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
            yield _text(of.label, SYMBOL, x, y, f' text-anchor="middle" font-style="italic" font-family="{SYMBOLS}"')
    yield from _texts(node.label)


def _corner(label: Label) -> Iterator[str]:
    """Draw the label of a plate, which ends at its right side, with a subscript if it ends in one."""
    (line,), x, y = label.lines, label.box.right, (label.box.top + label.box.bottom) / 2
    text = line.text
    if re.search(r" [A-Z]_\w$", text):
        x -= 0.5 * line.size
        yield _text(text[-1], 0.75 * line.size, x, y + 0.25 * line.size)
        text = text[:-2]
    yield _text(text, line.size, x, y, ' text-anchor="end"')


def _texts(label: Label) -> Iterator[str]:
    for i, line in enumerate(label.lines):
        how = f' font-family="{CODE}"' if line.code else ""
        yield _text(line.text, line.size, label.box.left, label.box.top + LINE * (i + 0.5), how)


def _text(text: str, size: float, x: float, y: float, how: str = "") -> str:
    """Draw a line of text around a height."""
    place = f'x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:g}"'
    return f'<text {place} fill="currentColor" stroke="none"{how}>{escape(on_one_line(text))}</text>'


def _edge(edge: Edge) -> Iterator[str]:
    """Draw an edge, with a head if it is an arrow."""
    (x, y), *rest = edge.points
    end_x, end_y = rest[-1]
    path = [f"M{x:.1f} {y:.1f}"]
    for i, (to_x, to_y) in enumerate(rest):
        if i % 2:
            middle = (y + to_y) / 2
            path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        else:
            path.append(f"L{to_x:.1f} {to_y - (ARROW / 2 if edge.arrow and i == len(rest) - 1 else 0):.1f}")
        x, y = to_x, to_y
    yield f'<path d="{"".join(path)}"/>'
    if edge.arrow:
        yield f'<path d="M{end_x:.1f} {end_y:.1f}l-3 -{ARROW:g}h6z" fill="currentColor" stroke="none"/>'
