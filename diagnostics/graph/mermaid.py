"""A factor graph as a flowchart of Mermaid, plates as subgraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ppl_topics.diagnostics.graph.structure import FactorGraph, FactorNode, PlatePath, VariableNode
from ppl_topics.errors import on_one_line

__all__ = ["mermaid"]

STYLES = {
    "latent": "fill:none,stroke:#777",
    "observed": "fill:#ddd,stroke:#777,color:#222",
    "integrated_out": "fill:none,stroke:#777,stroke-dasharray:4 3",
    "fixed": "fill:none,stroke:none",
    "factor": "fill:none,stroke:none",
    "plate": "fill:none,stroke:#777",
}
"""Styles by class."""

PLAIN = r"[^\w .,:()=■-]"
"""Characters that may mean something to Mermaid, or to what it is embedded in."""


def mermaid(graph: FactorGraph) -> str:
    """Return the source of a flowchart."""
    # In YAML, any character may be written by its number.
    title = re.sub(PLAIN, lambda found: f"\\U{ord(found[0]):08x}", on_one_line(graph.name))
    lines = ["---", f'title: "{title}"', "---", "flowchart TB", *_inside(graph, ())]
    for factor in graph.factors:
        lines += [f"  v_{_id(parent)} --- f_{factor.name}" for parent in factor.parents]
        lines += [f"  f_{factor.name} --> v_{_id(child)}" for child in factor.children]
    return "\n".join([*lines, *(f"  classDef {name} {style}" for name, style in STYLES.items())]) + "\n"


def _inside(graph: FactorGraph, path: PlatePath) -> Iterator[str]:
    indent = "  " * (len(path) + 1)
    nodes, plates = graph.directly_in(path)
    for node in nodes:
        yield f"{indent}{_node(node)}"
    for plate in plates:
        name = "p_" + "_".join(map(_id, plate))
        yield f"{indent}subgraph {name}[{_quoted(graph.plates[plate[-1]])}]"
        yield from _inside(graph, plate)
        yield f"{indent}end"
        yield f"{indent}class {name} plate"


def _node(node: VariableNode | FactorNode) -> str:
    if isinstance(node, FactorNode):
        return f"f_{node.name}[{_quoted(f'■ {node.kind}', *node.numbers)}]:::factor"
    name, text = f"v_{_id(node.name)}", _quoted(node.label, *node.kernels)
    shape = f"[{text}]" if node.kind == "fixed" else f"(({text}))"
    return f"{name}{shape}:::{node.kind.replace(' ', '_')}"


def _id(name: str) -> str:
    """Return a name as part of an id: names of variables have no capitals, and those of fixed numbers one dot."""
    return re.sub(r"\W", "X", name)


def _quoted(*lines: str) -> str:
    """Return a text of Mermaid that shows these lines, whatever is in them."""
    return (
        '"' + "<br>".join(re.sub(PLAIN, lambda found: f"#{ord(found[0])};", on_one_line(line)) for line in lines) + '"'
    )
