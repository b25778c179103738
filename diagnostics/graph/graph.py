"""The factor graph of a model, in the formats that it can be written in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ppl_topics._util.output_files import written_text
from ppl_topics.diagnostics.graph.dot import dot
from ppl_topics.diagnostics.graph.mermaid import mermaid
from ppl_topics.diagnostics.graph.structure import FactorGraph
from ppl_topics.diagnostics.graph.svg import svg
from ppl_topics.results.export.writing import check_suffix

__all__ = ["FORMATS", "Graph", "destination"]

FORMATS = {".svg": svg, ".dot": dot, ".gv": dot, ".mmd": mermaid}
"""Writers by the suffix of a file."""


@dataclass(frozen=True)
class Graph(FactorGraph):
    """The factor graph of a model, as :func:`ppl_topics.graph` returns it. Notebooks show it.

    Attributes
    ----------
    name : str
        Of the model.
    variables : tuple of VariableNode
        Latent, observed and integrated-out variables, and fixed numbers that stand in the place of one, each with its
        plates and the kernels that update it.
    factors : tuple of FactorNode
        The distribution of each block, with its parents and children.
    plates : dict of str to str
        Labels of plates, by dim.
    """

    def to_dot(self) -> str:
        """Return the source of the graph for Graphviz, with plates as clusters."""
        return dot(self)

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart, with plates as subgraphs."""
        return mermaid(self)

    def to_svg(self) -> str:
        """Return the graph as an SVG element, laid out without other programs."""
        return svg(self)

    def _repr_svg_(self) -> str:
        return svg(self)

    def save(self, path: str | Path) -> Path:
        """Write the graph to a file, whole or not at all. An existing file is replaced.

        Parameters
        ----------
        path : str or pathlib.Path
            The suffix tells the format: ``.svg``, ``.dot`` or ``.gv`` (Graphviz), or ``.mmd`` (Mermaid).

        Returns
        -------
        pathlib.Path

        Raises
        ------
        PplTopicsError
            If the file cannot be written, has another suffix or is a folder.
        """
        place, suffix = destination(path)
        with written_text(place) as file:
            file.write(FORMATS[suffix](self))
        return place


def destination(path: str | Path) -> tuple[Path, str]:
    """Return where a graph is to be written, and the suffix that tells the format, having checked both."""
    return check_suffix(path, tuple(FORMATS), "a graph")
