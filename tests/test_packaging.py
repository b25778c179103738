"""What the files for other package managers repeat of pyproject.toml is the same there."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def of_yaml(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_conda_recipe_requires_what_the_wheel_does():
    recipe = of_yaml("recipe.yaml")
    assert set(recipe["requirements"]["run"]) == {"python >=3.11", *PROJECT["dependencies"]}
    assert f"python {PROJECT['requires-python']}" in recipe["requirements"]["host"]
    assert recipe["context"]["version"] == PROJECT["version"]


def test_the_citation_has_the_version():
    assert of_yaml("CITATION.cff")["version"] == PROJECT["version"]
