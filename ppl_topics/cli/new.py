"""``ppl-topics new``: a plug-in of one's own."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

__all__ = ["new"]


def new(
    what: Annotated[Literal["plugin"], typer.Argument(metavar="plugin", help="What to write: a plug-in package.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the package, and of the new folder that it is in.")],
) -> None:
    """Write a package that adds a model, kernels and blocks, with their tests, for you to change.

    For example:
      ppl-topics new plugin my_topics
    """
    from ppl_topics.api.plugins import new_plugin

    for path in new_plugin(name):
        print(path)
    print("\nTry next:")
    print(f"  pip install -e './{name}[test]'")
    print(f"  ppl-topics verify {name} --kernel {name}_local_scale")
    print(f"  pytest {name}")
