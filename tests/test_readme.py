"""Every promise of the README is kept."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import yaml

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.errors import ScheduleError
from ppl_topics.spec.shipped import shipped

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def yaml_blocks() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)


def test_python_examples_run() -> None:
    try:
        assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0
    finally:
        unregister_kernel("plain_gibbs")


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


def test_tables_list_all_models_and_kernels() -> None:
    for name in shipped():
        assert f"| `{name}` |" in README
    for name, kernel in pt.kernels().items():
        row = re.search(rf"^\| `{name}` \| ([^|]*) \|[^|]*\| (yes|no) \|", README, flags=re.MULTILINE)
        assert row is not None, name
        assert row.group(1) == ", ".join(kernel.updates)
        assert (row.group(2) == "yes") == kernel.exact


def test_quoted_benchmarks_exist() -> None:
    for script in re.findall(r"benchmarks/\w+\.py", README + (ROOT / "benchmarks/README.md").read_text()):
        if not script.endswith("NAME.py"):
            assert (ROOT / script).is_file(), script
