"""Python started in a checkout uses all of its folders, also beside an installed copy of another place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Without the import hook of an editable install, which would find the folders by itself.
CODE = """
import importlib.util, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in str(finder).lower()]
print(importlib.util.find_spec("ppl_topics.{name}").origin)
"""


@pytest.mark.parametrize("name", ["models", "samplers", "diagnostics"])
def test_a_checkout_finds_its_folders_without_an_editable_install(name):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(name=name)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(ROOT / name / "__init__.py")
