"""Which lines of the samplers of z `verify` alone reaches, compiled code included.

    python tests/diagnostics/exactness/reached_lines.py [MODEL ...]

Compiled code is not seen by coverage.py, and the code for vectors has no form that Python could run. So the modules of
`samplers/assignments` are compiled from a copy in which each statement first sets a byte of its own, and `verify` tests
all kernels of z in a few models. Prints by file how many of the statements inside functions ran, and the lines of those
that did not. Takes some minutes, most of them to compile.
"""

import ast
import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

PACKAGE = "ppl_topics.samplers.assignments."
MODELS = ("lda", "slda_gaussian", {"extends": "lda_spike_slab", "name": "listed", "parameters": {"storage": "sparse"}})
QUICK = {"replicates": 200, "long_run": 1000}
HIT = "_hit"


class Marked:
    """The statements of a file inside functions, by line, and the bytes that they set."""

    def __init__(self, path):
        self.path, self.lines = path, set()
        source = Path(path).read_text()
        self.bytes = np.zeros(len(source.splitlines()) + 2, np.uint8)
        self.tree = ast.parse(source)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                self.mark(node)
        ast.fix_missing_locations(self.tree)

    def mark(self, node):
        """Put a call before each statement of a body, and of those inside it."""
        for name in ("body", "orelse"):
            marked = []
            for statement in getattr(node, name, []):
                documents = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                if not documents and not isinstance(statement, ast.FunctionDef):
                    self.lines.add(statement.lineno)
                    address = ast.Constant(self.bytes.ctypes.data + statement.lineno)
                    call = ast.Expr(ast.Call(ast.Name(HIT, ast.Load()), [address], []))
                    marked.append(ast.copy_location(call, statement))
                    self.mark(statement)
                marked.append(statement)
            if marked:
                setattr(node, name, marked)


FILES = {}


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module from its marked copy."""

    def get_code(self, fullname):
        FILES[fullname] = Marked(self.path)
        return compile(FILES[fullname].tree, self.path, "exec")

    def exec_module(self, module):
        setattr(module, HIT, hit_function())
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the package for the loader."""

    def find_spec(self, fullname, path, target=None):
        if not fullname.startswith(PACKAGE):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = Loader(fullname, spec.origin)
        return spec


def hit_function():
    """Return a function, compiled or not as its caller, that sets the byte at an address."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    if hit_function.made is None:

        @intrinsic
        def set_byte(typingctx, address):
            def codegen(context, builder, signature, arguments):
                byte = ir.IntType(8)
                builder.store(ir.Constant(byte, 1), builder.inttoptr(arguments[0], byte.as_pointer()))
                return context.get_dummy_value()

            return numba.types.none(numba.types.int64), codegen

        @numba.njit(nogil=True, forceinline=True, _nrt=False)
        def hit(address):
            set_byte(address)

        hit_function.made = hit
    return hit_function.made


hit_function.made = None


def ranges(lines):
    """Return line numbers as text, neighbours together."""
    parts = []
    for line in sorted(lines):
        if parts and line - parts[-1][1] <= 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def main(models):
    """Run verify, and print the table."""
    sys.meta_path.insert(0, Finder())
    import ppl_topics as pt

    for model in models:
        names = [k.name for k in pt.kernels().values() if "z" in k.updates]
        for name in names:
            try:
                print(pt.verify(model, kernel=name, **QUICK), flush=True)
            except pt.ScheduleError:
                continue
    reached_of_all = statements = 0
    for name, file in sorted(FILES.items()):
        missed = {line for line in file.lines if not file.bytes[line]}
        reached = len(file.lines) - len(missed)
        reached_of_all, statements = reached_of_all + reached, statements + len(file.lines)
        share = f"{reached:4} of {len(file.lines):4} statements"
        print(f"{name.removeprefix(PACKAGE):<28} {share}; not: {ranges(missed) or '-'}")
    print(f"{'all':<28} {reached_of_all:4} of {statements:4} statements")


if __name__ == "__main__":
    # The marked code must not take the place of the other in numba's cache.
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="reached-lines-")
    main(sys.argv[1:] or MODELS)
