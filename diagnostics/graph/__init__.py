"""The factor graph of a model with plates, as SVG, Graphviz source and a Mermaid flowchart."""

from ppl_topics.diagnostics.graph.graph import Graph, destination
from ppl_topics.diagnostics.graph.structure import FactorNode, VariableNode

__all__ = ["FactorNode", "Graph", "VariableNode", "destination"]
