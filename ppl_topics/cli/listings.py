"""``ppl-topics models``, ``kernels`` and ``blocks``: what there is."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli.options import AsJson
from ppl_topics.cli.output import print_json, print_table
from ppl_topics.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ppl_topics.core.block import Block
    from ppl_topics.core.kernel import KernelSpec

__all__ = ["blocks", "kernels", "models"]

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this one in full.")]


def models(name: Name = None, json: AsJson = False) -> None:
    """List the models that are known by name, shipped or of other packages, or print the YAML of one of them.

    For example:
      ppl-topics models
      ppl-topics models lda > my_model.yaml
    """
    from ppl_topics.spec import load_spec
    from ppl_topics.spec.shipped import known_models

    files = known_models()
    if name is not None:
        _known("model", name, files)
        if json:
            print_json(load_spec(name).to_dict())
        else:
            print(files[name].read_text(encoding="utf-8"), end="")
        return
    specs = {model: load_spec(model) for model in files}
    if json:
        print_json([{"name": n, "doc": s.doc, "parameters": dict(s.parameters)} for n, s in specs.items()])
        return
    rows = [[n, s.doc, ", ".join(f"{k}={v}" for k, v in s.parameters.items())] for n, s in specs.items()]
    columns = ["model", "what it is", "parameters"]
    print_table(columns, rows, text=columns)


def kernels(name: Name = None, json: AsJson = False) -> None:
    """List the transition kernels, or show what one of them declares.

    For example:
      ppl-topics kernels
      ppl-topics kernels sparse_partially_collapsed
    """
    from ppl_topics.core.registry import kernels as registered

    known = registered()
    declared = {each: kernel.declaration() for each, kernel in known.items()}
    if name is not None or json:
        _show("kernel", name, declared, json)
        return
    columns = ["kernel", "updates", "exact", "parallel over", "what it is", "paper"]
    print_table(columns, [_kernel_row(kernel) for kernel in known.values()], text=columns)


def blocks(name: Name = None, json: AsJson = False) -> None:
    """List the blocks that models are made of, or show one of them.

    For example:
      ppl-topics blocks
      ppl-topics blocks dirichlet
    """
    from ppl_topics.core.registry import blocks as registered

    declared = {kind: _block(kind, block) for kind, block in registered().items()}
    if name is not None or json:
        _show("block", name, declared, json)
        return
    rows = []
    for kind, block in declared.items():
        keys = [key if default == "required" else f"{key}={default}" for key, default in block["keys"].items()]
        rows.append([kind, block["doc"].split("\n")[0], ", ".join(keys)])
    columns = ["block", "what it is", "keys"]
    print_table(columns, rows, text=columns)


def _kernel_row(kernel: KernelSpec) -> list[str]:
    return [
        kernel.name,
        ", ".join(kernel.updates),
        "yes" if kernel.exact else "NO",
        kernel.parallel_over or "-",
        kernel.doc.split("\n")[0],
        kernel.reference,
    ]


def _block(kind: str, block: type[Block]) -> dict[str, Any]:
    keys = {}
    for key, field in block.model_fields.items():
        if key != "block":
            keys[key] = "required" if field.is_required() else field.get_default(call_default_factory=True)
    return {
        "name": kind,
        "keys": keys,
        "serves_as": sorted(block.seams),
        "refers_to": dict(block.references),
        "doc": inspect.getdoc(block) or "",
    }


def _show(what: str, name: str | None, declared: Mapping[str, dict[str, Any]], json: bool) -> None:
    """Print one declaration, or all of them as JSON."""
    if name is None:
        print_json(list(declared.values()))
        return
    _known(what, name, declared)
    if json:
        print_json(declared[name])
        return
    for key, value in declared[name].items():
        if key != "doc":
            print(f"{key.replace('_', ' '):<15} {_spelled(value)}")
    print(f"\n{declared[name]['doc']}")


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_spelled(v)}" for k, v in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)


def _known(what: str, name: str, known: Iterable[str]) -> None:
    from ppl_topics._util.nearest import nearest

    if name not in (names := list(known)):
        raise SpecError(f"no {what} is named {name!r}{nearest(name, names)}")
