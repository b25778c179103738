"""``ppl-topics graph``."""

import pytest
from commands import call, refused

import ppl_topics as pt


def test_a_graph_is_written_or_printed(capsys, tmp_path):
    path = tmp_path / "lda.svg"
    assert call(capsys, "graph", "lda", "--set", "topics=7", "-o", str(path)) == (0, f"written: {path}\n", "")
    graph = pt.graph("lda", topics=7)
    assert path.read_text(encoding="utf-8") == graph.to_svg()
    for options, text in (
        ((), graph.to_dot()),
        (("--format", "dot"), graph.to_dot()),
        (("--format", "mermaid"), graph.to_mermaid()),
        (("--format", "svg"), graph.to_svg()),
    ):
        assert call(capsys, "graph", "lda", "--set", "topics=7", *options) == (0, text, "")
    assert "already exists; choose another --out, or give --overwrite" in refused(
        capsys, "graph", "lda", "-o", str(path)
    )
    assert call(capsys, "graph", "medlda", "-o", str(path), "--overwrite")[0] == 0
    assert path.read_text(encoding="utf-8") == pt.graph("medlda").to_svg()


def test_a_schedule_from_a_file_gives_the_kernels(capsys, tmp_path):
    schedule = tmp_path / "schedule.yaml"
    schedule.write_text("cycle:\n  - z: partially_collapsed\n  - phi: dirichlet_rows\n")
    assert "partially_collapsed" in call(capsys, "graph", "lda", "--schedule", str(schedule))[1]
    schedule.write_text("cycle:\n  - z: partially_collapsed\n")
    assert "rule 1" in refused(capsys, "graph", "lda", "--schedule", str(schedule))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ldaa"], "did you mean 'lda'?"),
        (["lda", "--set", "topcs=3"], "--set topcs: model 'lda' has no parameter 'topcs'"),
        (["lda", "-o", "lda.pdf"], "a graph can be written to a file that ends in .svg, .dot, .gv, .mmd"),
        (["lda", "-o", "lda.svg", "--format", "svg"], "--format: the suffix of --out is the format"),
        (["lda", "-o", "none/lda.svg"], "the folder none does not exist"),
        (["lda", "--format", "pdf"], "'pdf' is not one of 'dot', 'mermaid', 'svg'"),
    ],
)
def test_wrong_usage(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, "graph", *arguments)
    assert not list(tmp_path.iterdir())
