"""The code in the documentation is code that this version understands: names, arguments, options and models exist."""

import ast
import inspect
import re
import shlex
import textwrap
from pathlib import Path

import pytest
import typer
import yaml

import ppl_topics as pt
from ppl_topics.cli.app import app
from ppl_topics.errors import PplTopicsError

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
COMMANDS = typer.main.get_command(app).commands


def fenced(page, *kinds):
    """Return the blocks of some kinds, with the line on which each begins."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text[: each.start()].count("\n") + 1, each.group(2)) for each in found if each.group(1) in kinds]


def python_of(block):
    """Return the statements of a block, which may be those of a session."""
    lines = block.splitlines()
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "..."))]
    return textwrap.dedent("\n".join(lines))


def wrong_names(source):
    """Return what a block calls by a name, or gives by an argument, that does not exist."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = ast.unparse(node.func.value)
        home = {"pt": pt, "fit": pt.Fit, "pt.Corpus": pt.Corpus, "corpus": pt.Corpus}.get(owner)
        if home is None:
            continue
        name = f"{owner}.{node.func.attr}"
        function = getattr(home, node.func.attr, None)
        if function is None or (home is pt and node.func.attr not in pt.__all__):
            found.append(name)
            continue
        parameters = inspect.signature(function).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            continue
        found += [f"{name}({each.arg}=)" for each in node.keywords if each.arg and each.arg not in parameters]
    return found


def wrong_options(block):
    """Return the commands and options that do not exist."""
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        if not line.startswith("ppl-topics "):
            continue
        words = shlex.split(line, comments=True)
        command = COMMANDS.get(words[1])
        if command is None:
            found += [] if words[1].startswith("-") else [f"ppl-topics {words[1]}"]
            continue
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = [word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)]
        found += [f"{words[1]} {option}" for option in given if option not in {*known, "--help"}]
    return found


def refused_model(block):
    """Return why a block that is a whole model cannot be planned, or nothing."""
    data = yaml.safe_load(block)
    if not isinstance(data, dict) or "name" not in data or not {"extends", "blocks"} & set(data):
        return ""
    try:
        pt.plan(data)
    except PplTopicsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_a_page(page):
    wrong = [(line, name) for line, block in fenced(page, "python") for name in wrong_names(python_of(block))]
    wrong += [(line, name) for line, block in fenced(page, "sh", "") for name in wrong_options(block)]
    wrong += [(line, why) for line, block in fenced(page, "yaml") if (why := refused_model(block))]
    assert not wrong


def test_there_is_code_of_each_kind():
    for kind in ("python", "sh", "yaml"):
        assert sum(len(fenced(page, kind)) for page in PAGES) > 20


def test_mistakes_are_noticed():
    assert wrong_names("pt.sampel('lda')\nfit.topics(n_word=3)\npt.Corpus.from_texts(['a'], stopwords=None)") == [
        "pt.sampel",
        "fit.topics(n_word=)",
        "pt.Corpus.from_texts(stopwords=)",
    ]
    assert wrong_options("ppl-topics runn lda\nppl-topics run lda --tpics 3 \\\n    --seed 1") == [
        "ppl-topics runn",
        "run --tpics",
    ]
    assert "alhpa" in refused_model("{name: a, extends: lda, parameters: {topics: 3}, blocks: {alhpa: {block: gamm}}}")
