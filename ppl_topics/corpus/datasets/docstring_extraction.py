"""Docstrings of an installed package, read from its source files without importing them."""

from __future__ import annotations

import ast
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Docstring", "extract_docstrings"]

# Test code, and vendored packages.
_SKIPPED = {"tests", "test", "testing", "_vendored", "_vendor", "vendored", "extern", "externals", "__pycache__"}

# A file without any of these has no long docstring, and need not be parsed.
_QUOTES = ('"""', "'''")


class Docstring(NamedTuple):
    """One docstring, as in the source, and the qualified name of its module, class or function."""

    name: str
    text: str


def extract_docstrings(package: str) -> Iterator[Docstring]:
    """Collect the docstrings of an installed package from its ``.py`` files.

    The package is not imported. Docstrings that extension modules get through ``add_newdoc`` calls are among
    them. Tests and vendored packages are not.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return
    root = Path(next(iter(spec.submodule_search_locations)))
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).parts):
        inside = path.relative_to(root)
        if _SKIPPED.intersection(inside.parts) or path.name.startswith(("conftest", "test_")):
            continue
        parts = [package, *inside.with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        with warnings.catch_warnings():
            # Old sources hold escapes such as "\d" that the compiler warns about.
            warnings.simplefilter("ignore")
            found = list(_of_file(path, ".".join(parts)))
        yield from found


def _of_file(path: Path, module: str) -> Iterator[Docstring]:
    source = path.read_text(encoding="utf-8", errors="replace")
    if not any(quotes in source for quotes in _QUOTES):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # a template, or a file for another version of Python
    yield from _of_node(tree, module)


def _of_node(node: ast.AST, name: str) -> Iterator[Docstring]:
    """Walk statements only: docstrings are never inside expressions, and those are most of a tree."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node, clean=False)
        if text:
            yield Docstring(name, text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_node(child, f"{name}.{child.name}")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            yield from _of_node(child, name)
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from _of_call(child.value, name)


def _of_call(call: ast.Call, module: str) -> Iterator[Docstring]:
    """Read ``add_newdoc("numpy", "name", doc)`` and its relatives."""
    if not (isinstance(call.func, ast.Name) and "add_newdoc" in call.func.id and len(call.args) >= 2):
        return
    *front, last = call.args
    names = [arg.value for arg in front if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if not names:
        return
    name = ".".join(names if len(names) > 1 else [module, *names])
    # An attribute is documented by a pair (attribute, doc), several by a list of pairs.
    for entry in last.elts if isinstance(last, ast.List) else [last]:
        if isinstance(entry, ast.Tuple) and len(entry.elts) == 2:
            attribute, text = (_string(part) for part in entry.elts)
            if attribute and text:
                yield Docstring(f"{name}.{attribute}", text)
        elif text := _string(entry):
            yield Docstring(name, text)


def _string(node: ast.expr) -> str | None:
    """Read a literal string, or one that a method such as ``replace`` is called on."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
