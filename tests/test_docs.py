"""The pages of the documentation agree with the program."""

import re
from pathlib import Path

import pytest

import ppl_topics as pt

DOCS = Path(__file__).parents[1] / "docs"


def first_cells(page: str, header: str) -> set[str]:
    """Names in code type in the first column of the table with this header."""
    table = page[page.index(header) :].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_table_of_blocks_lists_every_block():
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    assert first_cells(page, "| block | declares |") == set(pt.blocks())


def test_a_block_that_is_left_out_of_the_table_is_noticed():
    page = (DOCS / "models.md").read_text(encoding="utf-8").replace("`probit_do`", "")
    with pytest.raises(AssertionError):
        assert first_cells(page, "| block | declares |") == set(pt.blocks())


def test_the_table_of_distribution_names_the_kernels():
    page = (DOCS / "cluster.md").read_text(encoding="utf-8")
    for way in ("doc", "rotate", "statistic"):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{way}`"))
        named = set(re.findall(r"`(\w+)`", row.split("|")[2]))
        assert named == {name for name, kernel in pt.kernels().items() if kernel.distributes == way}


def test_the_figure_of_a_graph_is_what_its_command_makes():
    assert "ppl-topics graph medlda -o medlda.svg" in (DOCS / "models.md").read_text(encoding="utf-8")
    assert (DOCS / "medlda.svg").read_text(encoding="utf-8") == pt.graph("medlda").to_svg()
