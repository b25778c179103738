"""``ppl-topics schema``: the JSON Schema of model files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ppl_topics.cli.output import print_json, say, write_text

__all__ = ["schema"]


def schema(
    out: Annotated[str | None, typer.Option(help="Write it to a file.", metavar="FILE")] = None,
) -> None:
    """Print the JSON Schema of model files, for editors.

    It holds all registered blocks and kernels.

    For example:
      ppl-topics schema --out ppl-topics.schema.json
      # and at the top of a model, for editors that speak the YAML language server's protocol:
      # yaml-language-server: $schema=ppl-topics.schema.json
    """
    from ppl_topics.spec.schema import json_schema

    if out is None:
        print_json(json_schema())
        return
    write_text(json.dumps(json_schema(), indent=2, allow_nan=False) + "\n", out)
    say(f"written: {out}")
