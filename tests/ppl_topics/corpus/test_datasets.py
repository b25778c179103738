"""The embedded corpora: docstrings of installed packages, and the 20 Newsgroups."""

from __future__ import annotations

import ast
import gzip
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import pytest

from ppl_topics.corpus import load_20newsgroups, load_docstrings
from ppl_topics.corpus.datasets.docstring_extraction import extract_docstrings
from ppl_topics.corpus.datasets.prose import prose
from ppl_topics.errors import CorpusError

DEFINING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SHARED = Path(__file__).parents[3].parent / "shared" / "data"

SOURCE = '''
"""Module of many things."""
class Thing:
    """A thing."""
    if True:
        def method(self):
            """Do it. \\d"""
    x = 1
def outer():
    def inner():
        """Inside."""
add_newdoc("pack.core", "ufunc", """Added.""")
add_newdoc("pack.core", "array", ("shape", """Its shape.""".replace("a", "b")))
add_newdoc("pack.core", "array", [("size", """Its size."""), ("none", None)])
add_newdoc("special", """By name.""")
'''

DOCSTRING = """Solve a system, see :func:`~numpy.linalg.solve`.

    Like `this site <https://example.org/x>`_ [1]_, for :math:`A x = b`::

        x = inverse(A)

        y = 3

    .. math:: A^{-1}

       hidden

    .. note::
       Remember %(this)s *well*.

    Parameters
    ----------
    a, b : array_like, optional
        Both ``matrices``.

    Returns
    -------
    ndarray
        The solution.
    info : int
        A code.

    References
    ----------
    .. [1] Somebody, "Something", 1999.

    Examples
    --------
    An example:

    >>> solve(a,
    ...       b)
    array([1.])

    After it.

    :param other: The other.
    """


def make_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pack" / "tests").mkdir(parents=True)
    (folder / "pack" / "__init__.py").write_text('"""Top."""\nraise ImportError("must not be imported")\n')
    (folder / "pack" / "module.py").write_text(SOURCE)
    (folder / "pack" / "template.py").write_text('"""Not Python."""\n{{ code }} here\n')
    (folder / "pack" / "tests" / "test_x.py").write_text('"""A test."""\n')
    (folder / "pack" / "none.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def test_docstrings_are_extracted_without_importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_package(tmp_path, monkeypatch)
    assert [(found.name, found.text) for found in extract_docstrings("pack")] == [
        ("pack", "Top."),
        ("pack.module", "Module of many things."),
        ("pack.module.Thing", "A thing."),
        ("pack.module.Thing.method", "Do it. \\d"),
        ("pack.module.outer.inner", "Inside."),
        ("pack.core.ufunc", "Added."),
        ("pack.core.array.shape", "Its shape."),
        ("pack.core.array.size", "Its size."),
        ("pack.module.special", "By name."),
    ]
    assert "pack" not in sys.modules
    assert list(extract_docstrings("no_such_package")) == []
    assert list((tmp_path / "pack" / "__pycache__").glob("module.*.pyc")), "compiled once"


def docstrings_of_syntax(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings, by `ast`, of what is defined in a piece of syntax."""
    text = ast.get_docstring(node) if isinstance(node, DEFINING) else None
    if text:
        yield name, text
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield from docstrings_of_syntax(child, f"{name}.{child.name}" if isinstance(child, DEFINING[1:]) else name)


@pytest.mark.parametrize("package", ["asyncio", "email", "json", "logging", "unittest"])
def test_docstrings_are_those_that_ast_finds(package: str) -> None:
    found = [(each.name, inspect.cleandoc(each.text).strip()) for each in extract_docstrings(package)]
    root = Path(next(iter(importlib.import_module(package).__path__)))
    expected = []
    for path in root.rglob("*.py"):
        source, inside = path.read_text(encoding="utf-8"), path.relative_to(root).with_suffix("").parts
        if '"""' in source and not {"tests", "test"}.intersection(inside):
            module = ".".join([package, *inside]).removesuffix(".__init__")
            expected += [(name, text.strip()) for name, text in docstrings_of_syntax(ast.parse(source), module)]
    assert len(found) > 20
    assert sorted(found) == sorted(expected)


def test_docstrings_where_compiled_files_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_package(tmp_path, monkeypatch)
    monkeypatch.setattr(sys, "flags", SimpleNamespace(optimize=2))
    assert len(list(extract_docstrings("pack"))) == 9
    assert not list(tmp_path.rglob("*.pyc"))


def test_prose_keeps_what_a_person_reads() -> None:
    assert " ".join(re.findall(r"\w+", prose(DOCSTRING))) == (
        "Solve a system see numpy linalg solve Like this site for Remember well a b Both matrices "
        "The solution info A code An example After it The other"
    )


def test_docstrings_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_package(tmp_path, monkeypatch)
    options = {"min_length": 2, "min_count": 1, "max_df": 1.0}
    corpus = load_docstrings(packages=["pack"], label="module", **options)  # type: ignore[arg-type]
    assert corpus.labels is not None
    assert corpus.labels.classes.tolist() == ["pack.core", "pack.module"]
    assert corpus.doc_ids.tolist()[0] == "pack.module"
    assert corpus.document(0) == {"module": 1, "things": 1}
    assert corpus.name == "docstrings"
    split = load_docstrings(packages=["pack"], tokenizer=str.split, **options)  # type: ignore[arg-type]
    assert "things." in split.vocabulary
    with pytest.raises(CorpusError, match="give one of them"):
        load_docstrings(packages=["pack"], tokenizer=str.split, token_pattern="a", **options)  # type: ignore[arg-type]


def test_docstrings_of_numpy_make_a_corpus() -> None:
    corpus = load_docstrings(packages=["numpy"], label="module")
    assert corpus.n_docs > 500
    assert len(set(corpus.doc_ids)) == corpus.n_docs
    assert {"numpy.linalg", "numpy.random"} <= set(corpus.labels.classes if corpus.labels else ())
    assert "numpy._core.multiarray.array" in corpus.doc_ids
    assert {"eigenvalues", "fourier"} <= set(corpus.vocabulary)
    # Neither stop words nor what nearly every docstring says.
    assert not {"the", "array"} & set(corpus.vocabulary)


def test_docstrings_refuse_what_makes_no_corpus() -> None:
    with pytest.raises(CorpusError, match="no docstring of 20 words was found in no_such_package"):
        load_docstrings(packages=["no_such_package"])
    with pytest.raises(CorpusError, match="label is 'file', expected 'package' or 'module'"):
        load_docstrings(label="file")  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="packages must be a list"):
        load_docstrings(packages="numpy")


POSTINGS = [
    ("train", "a.b", "From: me\nSubject: one\n\nHello readers\n\n> quoted text\nanswer\n\n-----\nsigned name"),
    ("test", "a.c", "From: you\t\tTabs for lines\tand more\n"),
    ("train", "a.c", "From: they\n\nThird text"),
]


def write_postings(path: Path) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for i, (split, label, text) in enumerate(POSTINGS):
            file.write(json.dumps({"id": f"p{i}", "split": split, "label": label, "text": text}) + "\n")
    return path


def test_newsgroups_from_a_file(tmp_path: Path) -> None:
    path = write_postings(tmp_path / "news.jsonl.gz")
    train = load_20newsgroups(path)
    assert train.doc_ids.tolist() == ["p0", "p2"]
    assert {"from", "quoted", "signed"} <= set(train.document(0))
    bare = load_20newsgroups(path, remove=("headers", "footers", "quotes"))
    assert bare.document(0) == {"hello": 1, "readers": 1, "answer": 1}
    test = load_20newsgroups(path, subset="test", remove=["headers"])
    assert test.document(0) == {"tabs": 1, "for": 1, "lines": 1, "and": 1, "more": 1}
    both = load_20newsgroups(path, subset="all", vocabulary=bare)
    assert both.labels is not None
    assert (both.n_docs, both.n_words, both.labels.classes.tolist()) == (3, 5, ["a.b", "a.c"])


def test_newsgroups_errors(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl"
    path.write_text('{"id": 1, "split": "dev", "label": "x", "text": "aa"}\n')
    with pytest.raises(CorpusError, match=r"news\.jsonl:1: 'split' is 'dev', expected 'train' or 'test'"):
        load_20newsgroups(path)
    path.write_text('{"id": 1, "split": "test", "label": "x", "text": "aa"}\n')
    with pytest.raises(CorpusError, match=r"news\.jsonl: the file has no posting of the subset 'train'"):
        load_20newsgroups(path)
    with pytest.raises(CorpusError, match="there is no such file"):
        load_20newsgroups(tmp_path / "no.jsonl")
    with pytest.raises(CorpusError, match="subset is 'dev'"):
        load_20newsgroups(path, subset="dev")  # type: ignore[arg-type]


@pytest.mark.parametrize("remove", ["headers", ["header"]])
def test_newsgroups_refuse_unknown_parts_to_remove(tmp_path: Path, remove: object) -> None:
    with pytest.raises(CorpusError, match=r"remove is .*expected a list of some of headers, footers, quotes"):
        load_20newsgroups(tmp_path / "news.jsonl", remove=remove)  # type: ignore[arg-type]


def test_newsgroups_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(**_: object) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch)
    with pytest.raises(CorpusError, match=r"could not be downloaded .*no route to host.*give the path"):
        load_20newsgroups()


@pytest.mark.skipif(not SHARED.exists(), reason="the shared corpora are not here")
def test_newsgroups_by_date() -> None:
    corpus = load_20newsgroups(SHARED / "20news-bydate.jsonl.gz", subset="test", remove=("headers",), min_count=5)
    assert corpus.n_docs == 7532
    assert corpus.labels is not None
    assert len(corpus.labels.classes) == 20
