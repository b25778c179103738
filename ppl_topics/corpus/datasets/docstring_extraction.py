"""Docstrings of an installed package, read from its files without importing them."""

from __future__ import annotations

import ast
import dis
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import NamedTuple

__all__ = ["Docstring", "extract_docstrings"]

# Test code, and vendored packages.
_SKIPPED = {"tests", "test", "testing", "_vendored", "_vendor", "vendored", "extern", "externals", "__pycache__"}

# A file without any of these has no long docstring, and need not be looked into.
_QUOTES = ('"""', "'''")

# What the body of a class sets before its docstring.
_BEFORE_DOCSTRING = {"__module__", "__qualname__", "__firstlineno__"}


class Docstring(NamedTuple):
    """One docstring, as Python holds it, and the qualified name of its module, class or function."""

    name: str
    text: str


def extract_docstrings(package: str) -> Iterator[Docstring]:
    """Collect the docstrings of an installed package from its ``.py`` files.

    The package is not imported. They come from its compiled files (``.pyc``), which are far sooner read than sources
    are parsed; where there are none, they are written, as by an import. Docstrings that extension modules get through
    ``add_newdoc`` calls are among them. Tests and vendored packages are not.
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
        code: CodeType | None
        if sys.flags.optimize > 1:  # compiled files have no docstrings
            code = compile(source, path, "exec", optimize=0)
        else:
            code = SourceFileLoader(module, str(path)).get_code(module)
        assert code is not None, "a source file without code"
        yield from _of_code(code, module)
        if "add_newdoc" in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                    yield from _of_call(node.value, module)
    except (SyntaxError, ValueError):
        return  # a template, or a file for another version of Python


def _of_code(code: CodeType, name: str) -> Iterator[Docstring]:
    """Walk the code of a module, class or function, and of what is defined in it."""
    if text := _docstring(code):
        yield Docstring(name, text)
    for inner in code.co_consts:
        # Not lambdas and comprehensions, whose names are in angle brackets.
        if isinstance(inner, CodeType) and inner.co_name.isidentifier():
            yield from _of_code(inner, f"{name}.{inner.co_name}")


def _docstring(code: CodeType) -> str | None:
    """Return the docstring of a module, class or function, given its code."""
    if code.co_flags & inspect.CO_OPTIMIZED:
        cells = tuple(CellType() for _ in code.co_freevars)
        return FunctionType(code, {}, closure=cells).__doc__
    if "__doc__" not in code.co_names:
        return None
    # The body of a module or class stores its docstring first.
    last = None
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME" and step.argval not in _BEFORE_DOCSTRING:
            return last if step.argval == "__doc__" and isinstance(last, str) else None
        last = step.argval
    return None


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
