"""The pages of the documentation agree with the program."""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import ppl_topics as pt
from ppl_topics.cli.app import app
from ppl_topics.diagnostics.verdict import _recurring
from ppl_topics.spec.shipped import shipped

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


WHICH = (DOCS / "which-model.md").read_text(encoding="utf-8")
MODELS = re.findall(r"```yaml\n(.*?)```", WHICH, flags=re.DOTALL)


def test_models_and_options_that_are_advised_exist():
    table = WHICH[WHICH.index("| you want") :].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[2])}
    assert named - {"grid"} - set(pt.blocks()) <= set(shipped())
    assert "keyword_lda" in named
    for command, option in re.findall(r"ppl-topics (\w+) .*?(--[\w-]+)", WHICH):
        assert option in CliRunner().invoke(app, [command, "--help"]).output


@pytest.mark.parametrize(
    "written", re.findall(r"```yaml\n(.*?)```", WHICH, flags=re.DOTALL), ids=lambda text: text[6:20]
)
def test_models_that_are_written_out_are_planned(written):
    assert pt.plan(yaml.safe_load(written)).exact


def test_all_of_it_at_once_runs():
    texts = ["court law attorney", "hospital health law", "court health tax"] * 8
    rows = [{"congress": str(101 + place % 3)} for place in range(24)]
    corpus = pt.Corpus.from_texts(texts, labels=["a", "b", "c"] * 8, covariates=rows)
    corpus = corpus.with_labels([place % 4 for place in range(24)], name="rating", kind="real")
    fit = pt.sample(yaml.safe_load(MODELS[-1]), corpus, topics=4, draws=2, warmup=2, chains=1, seed=1, progress=False)
    assert {"gamma", "keyword_weight", "eta_party", "eta_rating"} <= set(fit.posterior)
    assert fit.of_response("party").predict(corpus).shape == (24,)


def test_the_catalogue_is_what_its_script_makes():
    made = runpy.run_path(str(DOCS / "catalogue.py"))["page"]()
    assert (DOCS / "catalogue.md").read_text(encoding="utf-8") == made
    for name in [*shipped(), "collapsed_gibbs", "elliptical_slice"]:
        assert f"| `{name}` |" in made


def test_the_table_of_distribution_names_the_kernels():
    page = (DOCS / "cluster.md").read_text(encoding="utf-8")
    for way in ("doc", "rotate", "statistic"):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{way}`"))
        named = set(re.findall(r"`(\w+)`", row.split("|")[2]))
        assert named == {name for name, kernel in pt.kernels().items() if kernel.distributes == way}


def test_the_figure_of_a_graph_is_what_its_command_makes():
    assert "ppl-topics graph medlda -o medlda.svg" in (DOCS / "models.md").read_text(encoding="utf-8")
    assert (DOCS / "medlda.svg").read_text(encoding="utf-8") == pt.graph("medlda").to_svg()


def test_effects_of_one_sign_in_all_chains():
    """The snippet of the page finds what the draws of each chain say, with the topics of one chain."""
    page = (DOCS / "what-to-report.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    words = {"law": ["law", "court", "vote"], "sport": ["goal", "match", "ball"], "paint": ["red", "green", "blue"]}
    rng = np.random.default_rng(1)
    common = [word for own in words.values() for word in own]
    texts = [" ".join([*rng.choice(own, 8), *rng.choice(common, 2)]) for own in words.values()] * 12
    corpus = pt.Corpus.from_texts(texts, labels=list(words) * 12)
    how = {"topics": 3, "draws": 40, "warmup": 60, "chains": 4, "seed": 1, "threads": 1, "progress": False}
    fit = pt.sample("slda_multinomial", corpus, **how)
    assert fit.coefficients()["response"].unique().tolist() == ["law", "paint"]
    *lines, last = snippet.strip().splitlines()
    names = {"fit": fit, "pd": pd, "np": np}
    exec("\n".join(lines), names)
    found = eval(last, names)
    eta = fit.aligned().posterior["eta"].sel(response="law")
    low, high = eta.quantile([0.05, 0.95], "draw").transpose("quantile", "coefficient", "chain").values
    sure = (low > 0).all(axis=1) | (high < 0).all(axis=1)
    assert set(found.index) == set(eta["coefficient"].values[sure])
    assert "topic 0" in found.index
    assert (found.round(6) == eta.mean("draw").to_pandas().T.loc[found.index].round(6)).all(axis=None)


def test_what_may_be_reported_is_linked_from_the_verdict_on():
    for page in ("index.md", "convergence.md", "reading-results.md"):
        assert "(what-to-report.md" in (DOCS / page).read_text(encoding="utf-8")
    title = (DOCS / "what-to-report.md").read_text(encoding="utf-8").splitlines()[0]
    one = np.ones((2, 1))
    alignment = SimpleNamespace(chains=[0, 1], similarity=one, nearest=np.zeros(1), agrees_in=one > 0)
    remedy = _recurring(alignment, settled=True).remedy
    assert f'see "{title.removeprefix("# ")}" in the documentation' in remedy
