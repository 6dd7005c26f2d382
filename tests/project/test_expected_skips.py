"""A skipped test that the list does not expect fails the run, in a run of pytest apart."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import expected_skips
import pytest
from expected_skips import Skip, differences

TESTS = Path(expected_skips.__file__).parent

SKIPPING = """
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_with_cases(number):
    if number == 2:
        pytest.skip("the peer is not installed")

def test_that_runs():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with its own copy of the plugin, and so with its own list."""
    (tmp_path / "expected_skips.py").write_text(Path(expected_skips.__file__).read_text())
    (tmp_path / "generated.py").write_text((TESTS / "generated.py").read_text())
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["expected_skips"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "test_it.py").write_text(SKIPPING)
    return tmp_path


def run(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--expected-skips", "trial", *options]
    environment = {"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "--numprocesses", "2")])
def test_unexpected_skip_fails_the_run_until_the_list_has_it(folder: Path, options: tuple[str, ...]) -> None:
    before = run(folder, *options)
    assert before.returncode == 1
    assert "test_it.py::test_with_cases: 1 cases skipped, not 0: the peer is not installed" in before.stdout
    assert run(folder, *options, UPDATE="1").returncode == 0
    assert run(folder, *options).returncode == 0


def test_expected_skip_that_does_not_happen_fails_the_run(folder: Path) -> None:
    assert run(folder, UPDATE="1").returncode == 0
    (folder / "test_it.py").write_text(SKIPPING.replace("number == 2", "False"))
    after = run(folder)
    assert after.returncode == 1
    assert "test_it.py::test_with_cases: 0 cases skipped, not 1" in after.stdout


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "--numprocesses", "2")])
def test_skipped_file_counts_once(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "test_it.py").write_text('import pytest\npytest.skip("no peer", allow_module_level=True)\n')
    (folder / "test_other.py").write_text("def test_that_runs(): pass\n")
    after = run(folder, *options)
    assert after.returncode == 1
    assert "test_it.py: 1 cases skipped, not 0: no peer" in after.stdout


def test_other_versions_of_python_skip_for_known_reasons_only() -> None:
    expected = Counter({Skip("a.py::test", "the peer is not installed"): 1})
    found = Counter({Skip("b.py::test", "the peer is not installed"): 2, Skip("c.py::test", "needs Python 3.11"): 1})
    assert differences(expected, found, exact=False) == ["c.py::test: needs Python 3.11"]
    assert len(differences(expected, found, exact=True)) == 3
