"""Make the tables of catalogue.md from what is registered.

python docs/catalogue.py --write
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import ppl_topics as pt
from ppl_topics.spec.shipped import shipped

PAGE = Path(__file__).parent / "catalogue.md"

TEXT = """\
# Models and kernels

What is shipped, as each describes itself. `ppl-topics models` and `ppl-topics kernels` print the same, and what you
have installed beside it; `ppl-topics models NAME` prints the YAML of a model. (`docs/catalogue.py` makes this page.)

## Models

[Which model?](which-model.md) leads from a question to a model, and [Models](models.md) explains the format and the
blocks that they are made of.

{models}

## Kernels

A kernel draws new values of the variables that it updates. [Kernels](kernels.md) explains how they work, which of them
the scheduler chooses, and the rules for schedules; [Exactness](exactness.md) says how each is tested.

{kernels}
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def first_line(text: str | None) -> str:
    """Return the first line of a description, without its full stop."""
    return (text or "").strip().split("\n")[0].removesuffix(".")


def page() -> str:
    """Return the page."""
    models = [[f"`{name}`", first_line(pt.load_spec(name).doc)] for name in shipped()]
    kernels = [
        [
            f"`{name}`",
            ", ".join(kernel.updates),
            first_line(kernel.doc),
            kernel.parallel_over or "",
            "yes" if kernel.exact else "no",
            kernel.reference,
        ]
        for name, kernel in pt.kernels().items()
        if kernel.build.__module__.startswith("ppl_topics.")
    ]
    return TEXT.format(
        models=table(["model", "what it is"], models),
        kernels=table(["kernel", "updates", "what it does", "parallel over", "exact", "paper"], kernels),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the page")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
