"""The factor graph in the report."""

import xarray as xr
from report_page import Page

import ppl_topics as pt
from ppl_topics.diagnostics.report.model import model_section


def groups_of(model, kernels):
    statistics = xr.Dataset(coords={"kernel": kernels})
    return {"posterior": xr.Dataset(attrs={"model_yaml": pt.load_spec(model).to_yaml()}), "sample_stats": statistics}


def test_the_graph_has_the_kernels_of_the_run():
    drawn = model_section(groups_of("lda", ["z:ad_lda", "phi:dirichlet_rows"])).parts["graph"]
    schedule = pt.cycle(pt.step("z", "ad_lda"), pt.step("phi", "dirichlet_rows"))
    assert drawn == pt.graph("lda", schedule=schedule).to_svg()
    assert "ad_lda (not exact)" in drawn


def test_hostile_names_and_kernels_that_are_not_installed_are_shown_and_not_obeyed():
    section = model_section(groups_of({"name": "</svg><script>", "extends": "lda"}, ["z:<b>", ":", "", "y:x"]))
    page = Page(section.parts["graph"])
    assert not page.of("script", "b")
    assert "Factor graph of </svg><script>" in page.text
    assert "<b>" in page.text


def test_a_page_says_that_blocks_are_not_installed():
    groups = groups_of("lda", [])
    changed = groups["posterior"].attrs["model_yaml"].replace("block: words", "block: images")
    section = model_section({"posterior": xr.Dataset(attrs={"model_yaml": changed})})
    assert section.parts == {}
    assert section.notes[0].startswith("The factor graph is not available: ")
    assert "unknown block 'images'" in section.notes[0]


def test_without_a_model_there_is_no_section():
    assert model_section({"posterior": xr.Dataset()}) is None
