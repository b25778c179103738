"""Where the nodes, labels, plates and edges of a factor graph are drawn: in rows, parents above children.

Rows alternate between factors and variables. In its row, a node takes the free place nearest to its neighbours; a plate
is a rectangle around nodes that were arranged before. Edges cross from row to row in bands that hold nothing else, and
elsewhere are vertical, above or below a node: so nothing overlaps, whatever the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import TypeAlias, get_args

from ppl_topics.diagnostics.graph.drawing import LINE, Box, Drawing, Edge, Label, Line, Node, Plate
from ppl_topics.diagnostics.graph.structure import FactorGraph, FactorNode, Kind, PlatePath, VariableNode

__all__ = ["lay_out"]

SYMBOL, KIND, SMALL = 16.0, 12.0, 10.5
"""Sizes of fonts: of the names of variables; of kinds of factors; of all else."""

RADIUS, SQUARE, DOT, LEGEND = 16.0, 5.0, 2.5, 6.0
"""Half the sizes of variables, factors, fixed numbers, and variables in the legend."""

BESIDE, GAP, MARGIN = 5.0, 18.0, 8.0
"""Between a node and its label; between nodes in a row; around the drawing."""

BAND, CURVED = 32.0, 24.0
"""Height of the bands between rows, and of the part in which edges are curved."""

SIDE, TOP, BOTTOM = 12.0, 10.0, 22.0
"""Inside a plate: at its sides, at the top, and at the bottom, where its label is."""

LEFTWARD = 1.5
"""A place to the left is taken only if one to the right is this many times as far."""

MIN_WIDTH = 340.0
"""Width that the legend may take at least."""

Key: TypeAlias = tuple[str, ...]
"""``("variable", name)`` or ``("factor", name)``; ``("bend", row, *start, *end)`` of a long edge."""


@dataclass(frozen=True)
class _Leaf:
    """A node before it has a place, or a bend in a long edge: row, plates, half its size, and what stands beside it."""

    row: int
    path: PlatePath
    half_width: float = 0.0
    half_height: float = 0.0
    lines: tuple[Line, ...] = ()

    @property
    def right(self) -> float:
        """How far it reaches to the right of its centre."""
        return self.half_width + (BESIDE + max(line.width for line in self.lines) if self.lines else 0.0)

    @property
    def height(self) -> float:
        """How high it is, with what stands beside it."""
        return max(2 * self.half_height, LINE * len(self.lines))


@dataclass(frozen=True)
class _Part:
    """Nodes with places relative to each other: rows, extent, centres by key, and the plates among them."""

    first: int
    last: int
    left: float
    right: float
    centres: Mapping[Key, float]
    plates: Mapping[PlatePath, _Part]

    def moved(self, by: float) -> _Part:
        """Return the same part elsewhere."""
        centres = {key: x + by for key, x in self.centres.items()}
        plates = {path: plate.moved(by) for path, plate in self.plates.items()}
        return _Part(self.first, self.last, self.left + by, self.right + by, centres, plates)

    def clear_of(self, other: _Part) -> bool:
        """Tell whether two parts have no row in common, or a gap between them."""
        apart = max(self.left - other.right, other.left - self.right) > GAP - 1e-6
        return apart or self.last < other.first or other.last < self.first


def lay_out(graph: FactorGraph) -> Drawing:
    """Return the drawing of a graph."""
    nodes: dict[Key, VariableNode | FactorNode] = {("variable", each.name): each for each in graph.variables}
    nodes |= {("factor", each.name): each for each in graph.factors}
    rows = _rows(graph)
    leaves = {key: _leaf(node, rows[key]) for key, node in nodes.items()}
    chains: list[tuple[Key, ...]] = []
    for start, end in _edges(graph):
        path = _common(leaves[start].path, leaves[end].path)
        bends = {("bend", str(row), *start, *end): _Leaf(row, path) for row in range(rows[start] + 1, rows[end])}
        leaves |= bends
        chains.append((start, *bends, end))
    part = _Arranger(leaves, chains, graph.plates).arranged(())
    part = part.moved(MARGIN - part.left)

    above, below = _margins(part.plates)
    tops, bottoms, bands = _heights(part, leaves, above, below)
    placed: dict[Key, Node] = {}
    for key, node in nodes.items():
        row = rows[key]
        placed[key] = _node(node, leaves[key], part.centres[key], (tops[row] + bottoms[row]) / 2)
    plates = []
    for path, plate in part.plates.items():
        box = Box(plate.left, tops[plate.first] - above[path], plate.right, bottoms[plate.last] + below[path])
        line = Line(graph.plates[path[-1]], SMALL)
        left, middle = box.right - SIDE / 2 - line.width, box.bottom - BOTTOM / 2
        plates.append(Plate(path, box, _label((line,), left, middle)))
    edges = []
    for chain in chains:
        points = [(part.centres[chain[0]], placed[chain[0]].shape.bottom)]
        for upper, lower in pairwise(chain):
            y = bands[leaves[upper].row]
            points += [(part.centres[upper], y), (part.centres[lower], y + CURVED)]
        points.append((part.centres[chain[-1]], placed[chain[-1]].shape.top))
        edges.append(Edge(tuple(points), chain[0][0] == "factor"))
    width = max(part.right + MARGIN, MIN_WIDTH)
    legend = _legend(graph, width, bands[-1] + GAP)
    height = max(node.label.box.bottom for node in legend) + MARGIN
    return Drawing(width, height, tuple(placed.values()), tuple(plates), tuple(edges), tuple(legend))


def _edges(graph: FactorGraph) -> Iterator[tuple[Key, Key]]:
    for factor in graph.factors:
        yield from ((("variable", parent), ("factor", factor.name)) for parent in factor.parents)
        yield from ((("factor", factor.name), ("variable", child)) for child in factor.children)


def _rows(graph: FactorGraph) -> dict[Key, int]:
    """Return the row of each node: what nothing depends on is in the last one, all else as near to it as it can."""
    levels = dict.fromkeys((variable.name for variable in graph.variables), 0)
    for _ in range(len(graph.factors) + 1):
        for factor in graph.factors:
            level = max(levels[child] for child in factor.children)
            levels |= dict.fromkeys(factor.children, level)
            levels |= {parent: max(levels[parent], level + 1) for parent in factor.parents}
    rows: dict[Key, int] = {("variable", name): -2 * level for name, level in levels.items()}
    rows |= {("factor", factor.name): -2 * levels[factor.children[0]] - 1 for factor in graph.factors}
    first = min(rows.values())
    return {key: row - first for key, row in rows.items()}


def _common(one: PlatePath, other: PlatePath) -> PlatePath:
    """Return the plates that two nodes share."""
    return tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _leaf(node: VariableNode | FactorNode, row: int) -> _Leaf:
    if isinstance(node, FactorNode):
        lines = (Line(node.kind, KIND), *(Line(text, SMALL) for text in node.numbers))
        return _Leaf(row, node.plates, SQUARE, SQUARE, lines)
    if node.kind == "fixed":
        return _Leaf(row, node.plates, DOT, DOT, (Line(node.label, KIND),))
    half = max(RADIUS, Line(node.label, SYMBOL).width / 2 + BESIDE)
    return _Leaf(row, node.plates, half, RADIUS, tuple(Line(kernel, SMALL, code=True) for kernel in node.kernels))


class _Arranger:
    """Gives nodes their places from left to right, plate by plate."""

    def __init__(self, leaves: Mapping[Key, _Leaf], chains: Sequence[Sequence[Key]], labels: Mapping[str, str]) -> None:
        self.leaves, self.labels = leaves, labels
        self.factor_of = {chain[-1]: chain[0] for chain in chains if chain[0][0] == "factor"}
        self.neighbours: dict[Key, list[Key]] = {key: [] for key in leaves}
        for upper, lower in (pair for chain in chains for pair in pairwise(chain)):
            self.neighbours[upper].append(lower)
            self.neighbours[lower].append(upper)

    def arranged(self, path: PlatePath) -> _Part:
        """Arrange what is in a plate: the plates in it, the largest first, then its own nodes from below.

        A factor, and the variables in the same plate that it is of, are kept together.
        """
        inside = {key: leaf.path for key, leaf in self.leaves.items() if leaf.path[: len(path)] == path}
        deeper = dict.fromkeys(other[: len(path) + 1] for other in inside.values() if other != path)
        families: dict[Key, list[Key]] = {}
        for key in inside:
            if inside[key] == path:
                factor = self.factor_of.get(key, key)
                families.setdefault(factor if inside.get(factor) == path else key, []).append(key)
        plates = sorted(map(self.plate, deeper), key=lambda part: -len(part.centres))
        return self.packed([*plates, *sorted(map(self.together, families.values()), key=lambda part: -part.last)])

    def together(self, keys: Sequence[Key]) -> _Part:
        """Arrange the variables that a factor is of side by side, and the factor above them."""
        parts = []
        for key in sorted(keys, key=lambda key: -self.leaves[key].row):
            leaf = self.leaves[key]
            parts.append(_Part(leaf.row, leaf.row, -leaf.half_width, leaf.right, {key: 0.0}, {}))
        return self.packed(parts)

    def packed(self, parts: Sequence[_Part]) -> _Part:
        """Place parts one after another, each as near to its neighbours as there is room."""
        placed: list[_Part] = []
        centres: dict[Key, float] = {}
        for part in parts:
            placed.append(_nearest(part, placed, self.wanted(part, centres)))
            centres |= placed[-1].centres
        return _Part(
            min(part.first for part in placed),
            max(part.last for part in placed),
            min(part.left for part in placed),
            max(part.right for part in placed),
            centres,
            {path: plate for part in placed for path, plate in part.plates.items()},
        )

    def plate(self, path: PlatePath) -> _Part:
        """Arrange a plate, with room at its sides, and for its label beside the edges that leave it below."""
        part = self.arranged(path)
        last = [key for key in part.centres if self.leaves[key].row == part.last]
        left = [key for key in last if any(self.leaves[other].row > part.last for other in self.neighbours[key])]
        free = max((part.centres[key] for key in left), default=part.left - SIDE)
        right = max(part.right + SIDE, free + Line(self.labels[path[-1]], SMALL).width + SIDE)
        whole = replace(part, left=part.left - SIDE, right=right, plates={})
        return replace(whole, plates={path: whole, **part.plates})

    def wanted(self, part: _Part, centres: Mapping[Key, float]) -> float:
        """Return how far a part should move to be near its neighbours among the centres of those that have a place."""
        distances = [
            centres[other] - x for key, x in part.centres.items() for other in self.neighbours[key] if other in centres
        ]
        return sum(distances) / len(distances) if distances else 0.0


def _nearest(part: _Part, placed: Sequence[_Part], wanted: float) -> _Part:
    """Move a part as little as needed from where it is wanted, so that it is clear of others."""
    moves = [wanted]
    for other in placed:
        moves += [other.right + GAP - part.left, other.left - GAP - part.right]
    moves.sort(key=lambda move: move - wanted if move >= wanted else LEFTWARD * (wanted - move))
    return next(moved for moved in map(part.moved, moves) if all(moved.clear_of(other) for other in placed))


def _margins(plates: Mapping[PlatePath, _Part]) -> tuple[dict[PlatePath, float], dict[PlatePath, float]]:
    """Return how far plates reach above their first row and below their last."""
    above: dict[PlatePath, float] = {}
    below: dict[PlatePath, float] = {}
    for path in sorted(plates, key=len, reverse=True):
        inner = [other for other in above if other[:-1] == path]
        above[path] = TOP + max((above[p] for p in inner if plates[p].first == plates[path].first), default=0.0)
        below[path] = BOTTOM + max((below[p] for p in inner if plates[p].last == plates[path].last), default=0.0)
    return above, below


def _heights(
    part: _Part, leaves: Mapping[Key, _Leaf], above: Mapping[PlatePath, float], below: Mapping[PlatePath, float]
) -> tuple[list[float], list[float], list[float]]:
    """Return top and bottom of each row, and the top of the band below it."""
    tops: list[float] = []
    bottoms: list[float] = []
    bands: list[float] = []
    y = MARGIN
    for row in range(part.last + 1):
        tops.append(y + max((above[path] for path, plate in part.plates.items() if plate.first == row), default=0.0))
        bottoms.append(tops[-1] + max((leaf.height for leaf in leaves.values() if leaf.row == row), default=0.0))
        bands.append(
            bottoms[-1] + max((below[path] for path, plate in part.plates.items() if plate.last == row), default=0.0)
        )
        y = bands[-1] + BAND
    return tops, bottoms, bands


def _node(of: VariableNode | FactorNode, leaf: _Leaf, x: float, y: float) -> Node:
    shape = Box(x - leaf.half_width, y - leaf.half_height, x + leaf.half_width, y + leaf.half_height)
    return Node(of, shape, _label(leaf.lines, shape.right + BESIDE, y))


def _label(lines: tuple[Line, ...], left: float, y: float) -> Label:
    width, half = max((line.width for line in lines), default=0.0), LINE * len(lines) / 2
    return Label(Box(left, y - half, left + width, y + half), lines)


def _legend(graph: FactorGraph, width: float, top: float) -> list[Node]:
    """Return a node of each kind that the graph has, in as many rows as they need."""
    texts = {"latent": "latent, with its kernels" if any(v.kernels for v in graph.variables) else "latent"}
    kinds = {variable.kind for variable in graph.variables}
    samples: list[VariableNode | FactorNode] = [VariableNode("", kind, "") for kind in get_args(Kind) if kind in kinds]
    samples.append(FactorNode("", "factor", (), (), (), ()))
    result: list[Node] = []
    x, y = MARGIN, top + LINE / 2
    for sample in samples:
        half = SQUARE if isinstance(sample, FactorNode) else DOT if sample.kind == "fixed" else LEGEND
        leaf = _Leaf(0, (), half, half, (Line(texts.get(sample.kind, sample.kind), SMALL),))
        if x + half + leaf.right > width - MARGIN and x > MARGIN:
            x, y = MARGIN, y + LINE + BESIDE
        result.append(_node(sample, leaf, x + half, y))
        x += half + leaf.right + GAP
    return result
