"""A skipped test that the list does not expect fails the run, in a run of pytest apart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import expected_skips
import pytest

TESTS = Path(expected_skips.__file__).parent

SKIPPING = """
import pytest

@pytest.mark.parametrize("number", [1, 2, 3])
def test_with_cases(number):
    if number == 2:
        pytest.skip("the peer is not installed")

def test_that_runs():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with its own copy of the plugin, and so with its own list."""
    tmp_path /= "tests"
    tmp_path.mkdir()
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


def test_further_skips_of_an_expected_test_fail_the_run(folder: Path) -> None:
    assert run(folder, UPDATE="1").returncode == 0
    (folder / "test_it.py").write_text(SKIPPING.replace("number == 2", "number > 1"))
    after = run(folder)
    assert after.returncode == 1
    assert "test_it.py::test_with_cases: 2 cases skipped, not 1" in after.stdout


def test_measured_library_is_skipped_only_while_its_stamp_is_missing(folder: Path) -> None:
    """The list keeps the entry when it is written with the stamp. The plugin looks for the stamp beside the folder of the tests."""
    installed = SKIPPING.replace("number == 2", "False")
    (folder / "test_it.py").write_text(SKIPPING.replace("the peer", "warp"))
    assert run(folder, UPDATE="1").returncode == 0
    assert run(folder).returncode == 0
    stamp = folder.parent / ".venv" / ".measured"
    stamp.parent.mkdir()
    stamp.touch()
    assert run(folder).returncode == 1
    (folder / "test_it.py").write_text(installed)
    assert run(folder, UPDATE="1").returncode == 0
    assert run(folder).returncode == 0
    stamp.unlink()
    assert "test_it.py::test_with_cases: 0 cases skipped, not 1" in run(folder).stdout


def test_plugin_knows_the_stamp_of_the_makefile() -> None:
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    assert "MEASURED := $(VENV)/.measured" in makefile
    assert expected_skips.STAMP.relative_to(TESTS.parent) == Path(".venv/.measured")


def runs_of_pytest() -> list[tuple[str, str]]:
    """The target and the command of each run of pytest in the Makefile."""
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    makefile = re.sub(r"\$\((\w+_(?:TESTS|SUITE))\)", lambda name: value(makefile, name[1]), makefile)
    rules = re.split(r"^(?=[a-z][a-z0-9-]*:)", makefile, flags=re.MULTILINE)[1:]
    return [
        (rule.partition(":")[0], line)
        for rule in rules
        for line in rule.splitlines()
        if re.search(r"-m (?:pytest|environments\.newest_python test)\b", line)
    ]


def value(makefile: str, name: str) -> str:
    found = re.search(rf"^{name} :?= (.*)$", makefile, re.MULTILINE)
    assert found, name
    return found[1]


# `make check` runs without peers; `make test` compares the skips of its tests.
WITHOUT_A_LIST = {"check-python"}


def test_every_run_of_pytest_compares_its_skips() -> None:
    without = {target for target, command in runs_of_pytest() if "$(call expected_skips," not in command}
    assert without == WITHOUT_A_LIST


def test_every_list_belongs_to_a_run() -> None:
    calls = " ".join(command.partition("$(call expected_skips,")[2] for _, command in runs_of_pytest())
    assert {*expected_skips.contents()} <= {*re.findall(r"[a-z-]+", calls)}


def test_every_test_that_lacks_a_library_runs_in_another_target() -> None:
    """A run with `-k` counts for tests whose name, or whose reason, has the word."""
    others = [command for target, command in runs_of_pytest() if target != "test-python"]
    missing = []
    for test, reason in expected_skips.contents()["python-cupy"]:
        if not re.search("not installed|could not import", reason):
            continue
        for command in others:
            word = re.search(r"-k (\w+)", command)
            paths = re.findall(r"(?<=\s)(?:tests|examples)/[\w/.-]+", command)
            if any(test.startswith(path) for path in paths) and (not word or word[1] in f"{test} {reason}".lower()):
                break
        else:
            missing.append(f"{test}: {reason}")
    assert missing == []
