"""What a drawing of a factor graph is made of."""

from __future__ import annotations

from dataclasses import dataclass

from ppl_topics.diagnostics.graph.structure import FactorNode, PlatePath, VariableNode

__all__ = ["LINE", "Box", "Drawing", "Edge", "Label", "Line", "Node", "Plate"]

LINE = 14.0
"""Height of a line of text."""

NARROW, WIDE = frozenset("fijlrtI.,:;'|()[]{} "), frozenset("mwMW=+<>%@")
WIDTHS = (0.41, 0.98, 0.64)
"""Widths of narrow, wide and other characters over the size of a font: what wide fonts need."""

CODE_WIDTH = 0.61
"""The same of all characters of code."""


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether two rectangles have more than an edge in common."""
        across = min(self.right, other.right) > max(self.left, other.left)
        return across and min(self.bottom, other.bottom) > max(self.top, other.top)

    def holds(self, other: Box) -> bool:
        """Tell whether the other rectangle lies in this one."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


@dataclass(frozen=True)
class Line:
    """A line of text, and the size of its font."""

    text: str
    size: float
    code: bool = False

    @property
    def width(self) -> float:
        """The room that it needs."""
        if self.code:
            return CODE_WIDTH * self.size * len(self.text)
        narrow, wide, other = WIDTHS
        return self.size * sum(narrow if c in NARROW else wide if c in WIDE else other for c in self.text)


@dataclass(frozen=True)
class Label:
    """Lines of text in a rectangle."""

    box: Box
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Node:
    """A node, with what stands beside it."""

    of: VariableNode | FactorNode
    shape: Box
    label: Label


@dataclass(frozen=True)
class Plate:
    """A plate, with its label in a corner."""

    path: PlatePath
    box: Box
    label: Label


@dataclass(frozen=True)
class Edge:
    """An edge: straight from its first point to the second, curved to the third, straight to the fourth, and so on."""

    points: tuple[tuple[float, float], ...]
    arrow: bool


@dataclass(frozen=True)
class Drawing:
    """A drawing of a factor graph, with a node of each kind as its legend."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    plates: tuple[Plate, ...]
    edges: tuple[Edge, ...]
    legend: tuple[Node, ...]
