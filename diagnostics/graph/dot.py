"""A factor graph as Graphviz source, plates as clusters."""

from __future__ import annotations

from collections.abc import Iterator

from ppl_topics.diagnostics.graph.structure import FactorGraph, FactorNode, PlatePath, VariableNode
from ppl_topics.errors import on_one_line

__all__ = ["dot"]

STYLES = {
    "latent": "shape=ellipse",
    "observed": "shape=ellipse, style=filled, fillcolor=gray85",
    "integrated out": "shape=ellipse, style=dashed",
    "fixed": "shape=plaintext, width=0, height=0",
    "factor": "shape=box, width=0, height=0, fontsize=10",
}


def dot(graph: FactorGraph) -> str:
    """Return Graphviz source."""
    lines = [
        "digraph {",
        f"  graph [label={_quoted(graph.name)}, labelloc=t, fontname=Helvetica, fontsize=11]",
        "  node [fontname=Helvetica, fontsize=11, width=0.45, height=0.4]",
        *_inside(graph, ()),
    ]
    for factor in graph.factors:
        lines += [f"  {_quoted(parent)} -> {_name(factor)} [arrowhead=none]" for parent in factor.parents]
        lines += [f"  {_name(factor)} -> {_quoted(child)}" for child in factor.children]
    return "\n".join([*lines, "}"]) + "\n"


def _inside(graph: FactorGraph, path: PlatePath) -> Iterator[str]:
    indent = "  " * (len(path) + 1)
    nodes, plates = graph.directly_in(path)
    for node in nodes:
        yield f"{indent}{_name(node)} [{_attributes(node)}]"
    for plate in plates:
        yield f"{indent}subgraph {_quoted('cluster ' + ' '.join(plate))} {{"
        yield f"{indent}  graph [label={_quoted(graph.plates[plate[-1]])}, labelloc=b, labeljust=r, style=rounded]"
        yield from _inside(graph, plate)
        yield f"{indent}}}"


def _name(node: VariableNode | FactorNode) -> str:
    return _quoted(f"factor {node.name}" if isinstance(node, FactorNode) else node.name)


def _attributes(node: VariableNode | FactorNode) -> str:
    if isinstance(node, FactorNode):
        return f"{STYLES['factor']}, label={_quoted(node.kind, *node.numbers)}"
    return f"{STYLES[node.kind]}, label={_quoted(node.label, *node.kernels)}"


def _quoted(*lines: str) -> str:
    """Return a string of Graphviz that shows these lines, whatever is in them."""
    return '"' + "\\n".join(on_one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
