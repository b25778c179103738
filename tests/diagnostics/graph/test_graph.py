"""Graphs as SVG, Graphviz source and Mermaid flowcharts, on their own and in files."""

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import yaml

import ppl_topics as pt
from ppl_topics.errors import PplTopicsError
from ppl_topics.spec.shipped import shipped

SVG = "{http://www.w3.org/2000/svg}"
QUOTED = r'"((?:[^"\\]|\\.)*)"'
HOSTILE = [
    'a" -> "b',
    "</title></svg><script>alert(1)</script>",
    "]]>&amp;&#0;<!--",
    "two\nlines\x00\x1b\r\u2028\ud800",
    "back\\slash\\",
    '%%{init: {"securityLevel": "loose"}}%% `#35;`',
    "---\ntitle: x",
    "naïve😀 שלום",
    "",
]


def texts_of(svg):
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def dot_edges(source):
    """Return the edges of Graphviz source, having checked that it is a list of quoted names with attributes."""
    depth, names, edges = 0, set(), []
    assert source.startswith("digraph {\n")
    for line in source.splitlines():
        bare = re.sub(QUOTED, "S", line).strip()
        assert re.fullmatch(r"(digraph|subgraph S) \{|\}|(graph|node|S|S -> S)( \[[\w=., ]+\])?", bare), bare
        depth += bare.count("{") - bare.count("}")
        found = re.findall(QUOTED, line)
        if " -> " in bare:
            edges.append(tuple(found[:2]))
        elif bare.startswith("S"):
            names.add(found[0])
    assert depth == 0
    assert {name for edge in edges for name in edge} <= names
    return edges


def mermaid_edges(source):
    """Return the edges of a Mermaid flowchart, having checked that its nodes are declared and its plates closed."""
    _, title, body = source.split("---\n")
    assert set(yaml.safe_load(title)) == {"title"}
    lines = [line.strip() for line in body.split("\n")]
    assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end")
    names = {
        found[1] for line in lines if (found := re.fullmatch(r'(\w+)(\[|\(\()"[^"<>]*(<br>[^"<>]*)*"[])]+:::\w+', line))
    }
    edges = [found.groups() for line in lines if (found := re.fullmatch(r"(\w+) --[->] (\w+)", line))]
    assert {name for edge in edges for name in edge} <= names
    return edges


@pytest.mark.parametrize("model", shipped())
def test_every_shipped_model_has_valid_drawings(model):
    graph = pt.graph(model)
    root = ElementTree.fromstring(graph.to_svg())
    assert (root.tag, root.get("aria-label")) == (f"{SVG}svg", f"Factor graph of {model}")
    shown = texts_of(graph.to_svg())
    for variable in graph.variables:
        assert {variable.label, *variable.kernels} <= set(shown)
    for factor in graph.factors:
        assert {factor.kind, *factor.numbers} <= set(shown)
    assert {label.removesuffix("_d") for label in graph.plates.values()} <= set(shown)
    number = sum(len(factor.parents) + len(factor.children) for factor in graph.factors)
    assert len(dot_edges(graph.to_dot())) == len(mermaid_edges(graph.to_mermaid())) == number


def test_kinds_of_variables_look_different():
    graph = pt.graph("lda")
    root = ElementTree.fromstring(graph.to_svg())
    shape = {group.find(f"{SVG}title").text: group.find(f"{SVG}rect") for group in root.iter(f"{SVG}g")}
    assert shape["theta"].get("stroke-dasharray")
    assert shape["w"].get("fill-opacity")
    assert not {"stroke-dasharray", "fill"} & set(shape["z"].keys())
    assert '"w" [shape=ellipse, style=filled, fillcolor=gray85, label="w"]' in graph.to_dot()
    assert '"phi" [shape=ellipse, label="φ\\ndirichlet_rows"]' in graph.to_dot()
    assert 'v_theta(("θ")):::integrated_out' in graph.to_mermaid()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_and_not_obeyed(name, tmp_path):
    graph = pt.graph({"name": name, "extends": "lda"})
    root = ElementTree.fromstring(graph.to_svg())
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg",
        "title",
        "g",
        "rect",
        "path",
        "text",
    }
    assert root.find(f"{SVG}title").text.startswith("Factor graph of ")
    assert dot_edges(graph.to_dot()) == dot_edges(pt.graph("lda").to_dot())
    assert mermaid_edges(graph.to_mermaid()) == mermaid_edges(pt.graph("lda").to_mermaid())
    assert "%%{" not in graph.to_mermaid()
    assert graph.save(tmp_path / "hostile.svg").read_text(encoding="utf-8") == graph.to_svg()


def test_a_model_has_the_same_bytes_in_every_process():
    program = "import ppl_topics as pt; graph = pt.graph('dolda_spike_slab'); print(graph.to_svg() + graph.to_dot())"
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    graph = pt.graph("dolda_spike_slab")
    assert done.stdout == graph.to_svg() + graph.to_dot() + "\n"


def test_the_suffix_of_a_file_is_its_format(tmp_path):
    graph = pt.graph("lda")
    formats = {".svg": graph.to_svg(), ".dot": graph.to_dot(), ".gv": graph.to_dot(), ".mmd": graph.to_mermaid()}
    for suffix, text in formats.items():
        path = graph.save(tmp_path / f"lda{suffix}")
        assert path.read_text(encoding="utf-8") == text
    assert graph._repr_svg_() == graph.to_svg()
    for name in ("lda.pdf", "lda", ".svg"):
        with pytest.raises(
            PplTopicsError, match=r"a graph can be written to a file that ends in .svg, .dot, .gv, .mmd"
        ):
            graph.save(tmp_path / name)
    with pytest.raises(PplTopicsError, match="does not exist"):
        graph.save(tmp_path / "none" / "lda.svg")
