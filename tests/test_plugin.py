"""The plug-in that `ppl-topics new plugin` writes installs, is found by its entry points, and passes its tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ppl_topics.api.plugins import EXAMPLE, FILES, new_plugin
from ppl_topics.cli import main

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "examples" / "plugin"
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def run(*command: str, path: str, folder: Path) -> str:
    """Run Python with packages of a folder before its own, and return what it prints."""
    paths = os.pathsep.join([path, str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_WAIT_POLICY": "passive", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["x", pytest.param(EXAMPLE, marks=pytest.mark.slow)])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """The name of a plug-in, its folder, and where pip has installed it without what it depends on."""
    # Older ones need the package `wheel` too.
    pytest.importorskip("setuptools", minversion="70.1")
    folder, target = tmp_path_factory.mktemp("plugin"), str(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["new", "plugin", request.param]) == 0
    pip = "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target
    run(*pip, str(folder / request.param), path="", folder=folder)
    return request.param, folder / request.param, target


def test_the_plugin_is_the_example_under_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = {str(path.relative_to("x")): path.read_text() for path in new_plugin("x")}
    tracked = subprocess.run(["git", "ls-files"], cwd=SOURCE, capture_output=True, text=True)
    # A source distribution has no list of files.
    names = tracked.stdout.split() or [str(p.relative_to(SOURCE)) for pattern in FILES for p in SOURCE.glob(pattern)]
    assert written == {name.replace(EXAMPLE, "x"): (SOURCE / name).read_text().replace(EXAMPLE, "x") for name in names}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("taken", "taken: exists already"),
        ("json", "a package named 'json' is installed already"),
        ("ppl_topics", "a package named 'ppl_topics' is installed already"),
        ("class", "'class' cannot be the name of a Python package"),
        ("a-b", "'a-b' cannot be the name of a Python package"),
        ("../a", "'../a' cannot be the name of a Python package"),
        ("1a", "'1a' cannot be the name of a Python package"),
        ("Mine", "'Mine' cannot be the name of a Python package"),
        ("", "'' cannot be the name of a Python package"),
        ("x" * 300, "cannot be written (File name too long)"),
    ],
)
def test_names_that_are_refused(
    name: str,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    assert main(["new", "plugin", name]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert expected in err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_its_parts_are_found_by_their_entry_points(installed: tuple[str, Path, str]) -> None:
    name, folder, target = installed
    commands = ["models"], ["blocks"], ["kernels"], ["plan", name]
    code = f"from ppl_topics.cli import main; print([main(command) for command in {commands}])"
    printed = run("-c", code, path=target, folder=folder)
    assert printed.endswith("[0, 0, 0, 0]\n")
    for part in ("", "_student", "_laplace", "_gibbs", "_weight", "_local_scale"):
        assert f"\n{name}{part} " in printed
    assert f"local_scale: {name}_local_scale" in printed
    declared = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(declared) == {"ppl_topics.blocks", "ppl_topics.kernels", "ppl_topics.models"}


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["x"], indirect=True)  # Another test says that the example differs by its name.
def test_its_tests_pass(installed: tuple[str, Path, str]) -> None:
    _, folder, target = installed
    assert " passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", path=target, folder=folder)


@pytest.mark.slow
def test_the_page_of_extending_is_kept(tmp_path: Path) -> None:
    run("-m", "doctest", str(ROOT / "docs" / "extending.md"), path="", folder=tmp_path)


def test_the_page_quotes_the_plugin() -> None:
    quoted = [code for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL) if ">>>" not in code]
    sources = "".join(path.read_text() for path in SOURCE.glob("src/*/*.py"))
    assert len(quoted) == 1
    assert all(code in sources for code in quoted)
    named = set(re.findall(r"^\| `(\w+\.(?:py|yaml))` \|", PAGE, flags=re.MULTILINE))
    files = {path.name.replace(EXAMPLE, "my_topics") for path in SOURCE.glob("src/*/*")}
    assert named == {name for name in files if name.endswith((".py", ".yaml"))} - {"__init__.py"}
    assert "ppl_topics." not in re.sub(r"`ppl_topics\.\w+`", "", PAGE), "internals in the page of extending"
