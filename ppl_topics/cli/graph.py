"""``ppl-topics graph``: the factor graph of a model."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.model_options import Model
from ppl_topics.cli.options import Overwrite
from ppl_topics.errors import PplTopicsError

__all__ = ["graph"]


def graph(
    model: Model,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="File to write; its suffix is the format: .svg, .dot, .gv or .mmd.", metavar="FILE"
        ),
    ] = None,
    format: Annotated[
        Literal["dot", "mermaid", "svg"] | None,
        typer.Option(help="What to print without --out: Graphviz source, by default; a Mermaid flowchart; or SVG."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw the factor graph of MODEL with its plates, and the kernels that update each variable.

    For example:
      ppl-topics graph lda -o lda.svg
      ppl-topics graph medlda --set topics=20 --format mermaid
      ppl-topics graph dolda | dot -Tpdf > dolda.pdf
    """
    from ppl_topics.api.graph import graph_of
    from ppl_topics.api.sampling import resolve
    from ppl_topics.diagnostics.graph import destination

    if out is not None:
        if format is not None:
            raise PplTopicsError("--format: the suffix of --out is the format; leave one of them out")
        destination(out)
        check_file(out, overwrite)
    drawn = graph_of(resolve(model.model, **model.given()))
    if out is not None:
        print(f"written: {drawn.save(out)}")
        return
    text = {"dot": drawn.to_dot, "mermaid": drawn.to_mermaid, "svg": drawn.to_svg}[format or "dot"]()
    print(text, end="")
