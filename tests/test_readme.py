"""Every promise of the README is kept."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import yaml

import ppl_topics as pt
from ppl_topics.errors import ScheduleError
from ppl_topics.spec.shipped import shipped

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def yaml_blocks() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)


def test_python_examples_run() -> None:
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_lda_is_shown_as_it_is_shipped() -> None:
    assert yaml_blocks()[0] == shipped()["lda"].read_text(encoding="utf-8")


def test_own_model_is_accepted_and_refused_without_its_first_phi() -> None:
    data = yaml.safe_load(yaml_blocks()[1])
    assert pt.plan(data).exact
    del data["schedule"]["cycle"][1]
    with pytest.raises(ScheduleError) as error:
        pt.plan(data)
    quoted = re.search(r"refused: \*(.*?)\*\.", README, flags=re.DOTALL)
    assert quoted is not None
    assert " ".join(quoted.group(1).split()) in str(error.value)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_its_links_lead_somewhere() -> None:
    linked = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert linked
    for path in linked:
        assert (ROOT / path).is_file(), path


def test_quoted_benchmarks_exist() -> None:
    for script in re.findall(r"benchmarks/\w+\.py", README + (ROOT / "benchmarks/README.md").read_text()):
        if not script.endswith("NAME.py"):
            assert (ROOT / script).is_file(), script
