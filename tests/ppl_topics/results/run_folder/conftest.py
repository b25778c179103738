"""Runs that the tests of hostile folders and chunks damage."""

import shutil

import pytest
from hostile_runs import CORPUS, OPTIONS

import ppl_topics as pt


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run of one chain, of four draws, and one of six of which the last two stand in a second chunk."""
    folder = tmp_path_factory.mktemp("runs")
    pt.sample("lda", CORPUS, **{**OPTIONS, "chains": 1}, out=folder / "four")
    pt.resume(shutil.copytree(folder / "four", folder / "six"), draws=6, progress=False)
    return folder


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made / "four", tmp_path / "run")


@pytest.fixture
def longer(made, tmp_path):
    return shutil.copytree(made / "six", tmp_path / "run")
