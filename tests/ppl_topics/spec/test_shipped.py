"""Models that other packages offer by name, through the entry-point group `ppl_topics.models`."""

import json
import sys

import pytest
from commands import call, refused

import ppl_topics as pt
from ppl_topics.spec.shipped import known_models, shipped


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with models, for this test alone."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(package, *models, value=None):
        home, info = tmp_path / package, tmp_path / f"{package}-1.0.dist-info"
        home.mkdir()
        info.mkdir()
        (home / "__init__.py").touch()
        for name in models:
            (home / f"{name}.yaml").write_text(f"name: {name}\ndoc: Of {package}.\nextends: lda\n")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ppl_topics.models]\n{package} = {value or package}\n")

    yield add
    for info in tmp_path.glob("*.dist-info"):
        sys.modules.pop(info.name.removesuffix("-1.0.dist-info"), None)


def test_without_other_packages_the_shipped_ones_are_known():
    assert known_models() == shipped()


def test_models_of_other_packages_are_found_and_extended_by_name(install):
    install("their_models", "theirs", "theirs_too")
    assert set(known_models()) == {*shipped(), "theirs", "theirs_too"}
    assert pt.load_spec("theirs").doc == "Of their_models."
    assert pt.load_spec({"extends": "theirs", "name": "mine"}).topics == 50
    with pytest.raises(pt.SpecError, match="did you mean 'theirs'"):
        pt.load_spec("thiers")


def test_listings_show_them(install, capsys):
    install("their_models", "theirs")
    assert "theirs                " in call(capsys, "models")[1]
    assert {"theirs", "lda"} <= {model["name"] for model in json.loads(call(capsys, "models", "--json")[1])}
    assert call(capsys, "models", "theirs")[1].startswith("name: theirs\n")


def test_two_packages_with_one_name_are_refused(install, capsys):
    install("one_package", "theirs")
    install("other_package", "theirs")
    line = refused(capsys, "plan", "lda")
    assert "'one_package'" in line
    assert "'other_package'" in line
    assert "both have a model named 'theirs'; rename one of them, or uninstall one of the packages" in line


def test_a_name_of_ours_is_taken(install):
    install("their_models", "lda")
    with pytest.raises(pt.SpecError) as failure:
        pt.load_spec("lda")
    assert str(failure.value).startswith("the packages 'ppl-topics' and 'their_models' both have a model named 'lda'")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("no_such_package", "of group 'ppl_topics.models' (no_such_package) fails to load: ModuleNotFoundError: "),
        ("their_models", "(their_models) must name a package with models, a file NAME.yaml for each"),
        ("json.decoder", "(json.decoder) must name a package with models"),
        ("json:loads", "(json:loads) must name a package with models"),
    ],
)
def test_entry_points_that_name_no_models_are_refused(install, value, expected):
    install("their_models", value=value)
    with pytest.raises(pt.SpecError) as failure:
        known_models()
    assert expected in str(failure.value)
    assert "uninstall" in str(failure.value)
