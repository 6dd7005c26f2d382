"""Tests of the coverage report: ids are read from test names, and every gap is reported."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import generated
import pytest
import spec_coverage
from spec_coverage import Coverage, Function, Subject, lists, merged, subjects


@pytest.mark.parametrize(
    ("path", "function", "expected"),
    [
        ("spec/clauses/test_i3_i9_types.py", "test_i3_every_type_string", ["I3"]),
        ("spec/clauses/test_i3_i9_types.py", "test_i3_i9_together", ["I3", "I9"]),
        ("spec/clauses/test_i3_i9_types.py", "test_example", ["I3", "I9"]),
        ("spec/clauses/test_i10_masks.py", "test_I10", ["I10"]),
        ("spec/clauses/test_streams.py", "test_s2", ["S2"]),
        ("spec/clauses/test_streams.py", "test_types_of_i3", []),
        ("spec/clauses/test_streams.py", "test_i3x_is_not_a_clause", []),
        ("spec/disagreements/test_d07_mask_convention.py", "test_i3", ["D7"]),
        ("spec/disagreements/test_d24_exact_types.py", "test_anything", ["D24"]),
        ("spec/disagreements/test_other.py", "test_d3_anything", []),
        ("spec/checklists/test_numba_interface.py", "test_4a_13_slices", ["4A.13"]),
        ("spec/checklists/test_numba_arrays.py", "test_4b_14_15_transposes_of_3_axes", ["4B.14", "4B.15"]),
        ("spec/checklists/test_numba_arrays.py", "test_4b_7", ["4B.7"]),
        ("spec/checklists/test_numba_arrays.py", "test_4b_7th", []),
        ("spec/checklists/test_cupy_interface.py", "test_something", []),
        ("package/test_copies.py", "test_i3_of_another_folder", []),
        ("test_i3.py", "test_i3", []),
    ],
)
def test_subjects_are_read_from_path_and_function_name(path: str, function: str, expected: list[str]) -> None:
    assert [str(each) for each in subjects(path, function)] == expected


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["passed"], "passed"),
        (["passed", "skipped"], "passed, some skipped"),
        (["skipped"], "skipped"),
        (["passed", "failed"], "failed"),
        (["passed", "skipped", "failed"], "failed"),
        (["passed", "failed as expected"], "failed as expected"),
        ([], "no test"),
    ],
    ids=str,
)
def test_merged_outcome_is_the_worst_one(outcomes: list[str], expected: str) -> None:
    assert merged(set(outcomes)) == expected


def complete_coverage() -> Coverage:
    """A coverage in which every subject has a passing test."""
    coverage = Coverage(lists())
    for subject in coverage.known():
        folder = subject.list if subject.list in ("clauses", "disagreements") else "checklists"
        if folder == "clauses":
            test = Function("spec/clauses/test_all.py", f"test_{subject.id.lower()}_holds")
        elif folder == "disagreements":
            test = Function(f"spec/disagreements/test_{subject.id.lower()}_x.py", "test_it")
        else:
            test = Function("spec/checklists/test_all.py", f"test_{subject.list.lower()}_{subject.id}_holds")
        coverage.outcomes[test].add("passed")
    return coverage


def test_complete_coverage_has_no_missing_subjects() -> None:
    coverage = complete_coverage()
    assert coverage.missing() == coverage.unknown() == []
    assert "| **no test** |" not in coverage.markdown("../tests")


@pytest.mark.parametrize("outcome", [None, "failed", "skipped", "failed as expected"])
@pytest.mark.parametrize("clause", ["I1", "I11", "V0", "N6", "L5", "A1"])
def test_required_clause_without_passing_test_is_missing(clause: str, outcome: str | None) -> None:
    coverage = complete_coverage()
    test = Function("spec/clauses/test_all.py", f"test_{clause.lower()}_holds")
    if outcome is None:
        del coverage.outcomes[test]
    else:
        coverage.outcomes[test] = {outcome}
    assert coverage.missing() == [Subject("clauses", clause)]
    assert f"| {clause} | " in coverage.markdown("../tests")
    [line] = [line for line in coverage.markdown("../tests").splitlines() if line.startswith(f"| {clause} | ")][:1]
    assert ("**no test**" if outcome is None else outcome) in line


def test_disagreements_are_required_and_x_clauses_are_not() -> None:
    coverage = complete_coverage()
    del coverage.outcomes[Function("spec/disagreements/test_d19_x.py", "test_it")]
    del coverage.outcomes[Function("spec/clauses/test_all.py", "test_x1_holds")]
    assert coverage.missing() == [Subject("disagreements", "D19")]
    assert coverage.markdown("../tests").count("| **no test** |") == 2


def test_unknown_ids_are_listed_with_their_tests() -> None:
    coverage = complete_coverage()
    coverage.outcomes[Function("spec/clauses/test_all.py", "test_i12_holds")].add("passed")
    coverage.outcomes[Function("spec/checklists/test_numba_interface.py", "test_4a_37_holds")].add("passed")
    coverage.not_applicable[Subject("4C", "41")] = "there are 40"
    assert coverage.unknown() == [
        "4A.37: spec/checklists/test_numba_interface.py::test_4a_37_holds",
        "4C.41: NOT_APPLICABLE",
        "I12: spec/clauses/test_all.py::test_i12_holds",
    ]


def test_report_does_not_depend_on_test_order() -> None:
    coverage, backwards = complete_coverage(), Coverage(lists())
    for test, outcomes in reversed(list(coverage.outcomes.items())):
        backwards.outcomes[test] = copy.copy(outcomes)
    assert coverage.markdown("../tests") == backwards.markdown("../tests")


def test_report_shows_reason_of_item_that_does_not_apply() -> None:
    coverage = complete_coverage()
    del coverage.outcomes[Function("spec/checklists/test_all.py", "test_4a_7_holds")]
    coverage.not_applicable[Subject("4A", "7")] = "ufuncs | kernels"
    assert "| 7 | not applicable | ufuncs \\| kernels |" in coverage.markdown("../tests")


CASES = """
import pytest

@pytest.mark.parametrize("case", [1, 2])
def test_i1_passes(case):
    pass

def test_i2_fails():
    assert False

def test_i4_is_skipped():
    pytest.skip("no reason")

@pytest.mark.xfail(strict=True)
def test_i5_is_known_to_fail():
    assert False

@pytest.fixture
def broken():
    raise RuntimeError

def test_i7_has_a_broken_fixture(broken):
    pass
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_run_with_gaps_writes_report_and_fails(tmp_path: Path, workers: int) -> None:
    """Run pytest in a temporary tests folder with a copy of this plugin and its lists."""
    if workers:
        pytest.importorskip("xdist")
    tests = tmp_path / "tests"
    (tests / "spec" / "clauses").mkdir(parents=True)
    (tests / "spec" / "clauses" / "test_cases.py").write_text(CASES)
    (tests / "spec" / "clauses.toml").write_bytes((spec_coverage.TESTS / "spec" / "clauses.toml").read_bytes())
    (tests / "spec" / "disagreements").mkdir()
    (tests / "spec" / "disagreements" / "test_d01_titled.py").write_text(
        '"""D1: A title."""\n\ndef test_it():\n    pass\n'
    )
    (tests / "spec" / "checklists").mkdir()
    (tests / "spec" / "checklists" / "test_numba_interface.py").write_text(
        'NOT_APPLICABLE = {7: "the reason"}\n\ndef test_it():\n    pass\n'
    )
    for module in (spec_coverage, generated):
        (tests / f"{module.__name__}.py").write_bytes(Path(module.__file__).read_bytes())
    (tests / "conftest.py").write_text('pytest_plugins = ["spec_coverage"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\naddopts = --import-mode=importlib\n")
    report = tmp_path / "docs" / "report.md"
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {"UPDATE": "1"}
    ran = subprocess.run(
        [
            *[sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
            *["--spec-coverage", "docs/report.md"],
            *(["-n", str(workers)] if workers else []),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    rows = {line.split(" | ")[0]: line for line in report.read_text().splitlines() if line.startswith("| I")}
    disagreement = "[spec/disagreements/test_d01_titled.py](../tests/spec/disagreements/test_d01_titled.py): `test_it`"
    assert f"| D1 | A title | passed | {disagreement} |" in report.read_text()
    assert "| 7 | not applicable | the reason |" in report.read_text()
    link = "[spec/clauses/test_cases.py](../tests/spec/clauses/test_cases.py)"
    assert rows["| I1"].endswith(f" | passed | {link}: `test_i1_passes` |")
    assert rows["| I2"].endswith(f" | failed | {link}: `test_i2_fails` (failed) |")
    assert rows["| I4"].endswith(f" | skipped | {link}: `test_i4_is_skipped` (skipped) |")
    assert rows["| I5"].endswith(f" | failed as expected | {link}: `test_i5_is_known_to_fail` (failed as expected) |")
    assert rows["| I7"].endswith(f" | failed | {link}: `test_i7_has_a_broken_fixture` (failed) |")
    assert rows["| I3"].endswith(" | **no test** |  |")
    assert "no passing test: I2" in ran.stdout
    assert "no passing test: I1\n" not in ran.stdout

    (tests / "spec" / "clauses" / "test_cases.py").write_text("def test_i1():\n    pass\n")
    command = [*ran.args, "-k", "nothing_at_all"]
    before = report.read_text()
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False)
    assert report.read_text() == before, "a run that selects no tests must not rewrite the report"
