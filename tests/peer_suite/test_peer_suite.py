"""The runner of suites gives the right outcomes for small test modules, and finds differences from the expected ones."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import cupy_suite
import generated
import pytest
from numba_suite import SUITE

from peer_suite import expected, outcome
from peer_suite.description import Suite
from peer_suite.expected import Expected, Reason
from peer_suite.outcome import FAILED, PASSED, SKIPPED, Module, Outcome
from peer_suite.suite import main
from peer_suite.table import markdown

MODULES = {
    "plain": """
        import unittest
        class Test(unittest.TestCase):
            def test_good(self):
                pass
            def test_bad(self):
                with self.subTest(number=1):
                    self.assertEqual(1, 2)
            @unittest.skip("not today")
            def test_skipped(self):
                pass
            @unittest.expectedFailure
            def test_known(self):
                self.fail("as expected")
        """,
    "crashing": """
        import os, signal, unittest
        class Test(unittest.TestCase):
            def test_1(self):
                pass
            def test_2(self):
                os.kill(os.getpid(), signal.SIGSEGV)
            def test_3(self):
                pass
        """,
    "hanging": """
        import threading, unittest
        class Test(unittest.TestCase):
            def test_1(self):
                threading.Event().wait()
        """,
    "many": """
        import pytest
        @pytest.mark.parametrize("number", range(7))
        def test_number(number):
            pass
        """,
    "alone": """
        import os
        def test_numpy_starts_no_threads():
            before = os.listdir("/proc/self/task")
            import numpy
            assert os.listdir("/proc/self/task") == before
        """,
    "broken": "import no_such_module",
    "absent": "import pytest; pytest.skip('not available', allow_module_level=True)",
    "empty": "",
}

RUN = """
import sys
from pathlib import Path
from dataclasses import replace
from numba_suite import SUITE
from peer_suite import pool
small = replace(SUITE, package="numba_tests.test_", forked_with=("pytest",), parts={"many": 3})
for module in pool.run(small, sys.argv[2:], Path(sys.argv[1]), at_a_time=2, limit=10.0):
    for name, outcome in sorted(module.tests.items()):
        print(module.name, name, outcome.result, outcome.message, sep="; ")
"""


def test_pool_reports_failures_crashes_timeouts_and_skips(tmp_path: Path) -> None:
    """Run in another process, since this one has threads and a driver and cannot fork."""
    package = tmp_path / "numba_tests"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in MODULES.items():
        (package / f"test_{name}.py").write_text(textwrap.dedent(text))
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1])])
    command = [sys.executable, "-c", RUN, str(tmp_path / "logs"), *MODULES]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == [
        "absent; (the module); skipped; not available",
        "alone; test_numpy_starts_no_threads; passed; ",
        "broken; (the module); failed; ModuleNotFoundError: No module named 'no_such_module'",
        "crashing; Test.test_1; passed; ",
        "crashing; Test.test_2; failed; crashed: SIGSEGV",
        "crashing; Test.test_3; failed; not run: the process ended in Test.test_2 (crashed: SIGSEGV)",
        "empty; (the module); failed; the module has no tests",
        "hanging; Test.test_1; timed out; timed out after 10 s",
        *(f"many; test_number[{number}]; passed; " for number in (0, 3, 6)),
        "plain; Test.test_bad; failed; AssertionError: 1 != 2",
        "plain; Test.test_good; passed; ",
        "plain; Test.test_known; passed; ",
        "plain; Test.test_skipped; skipped; not today",
    ]
    assert "wait" in (tmp_path / "logs" / "hanging.log").read_text(), "the log has the traceback of the hanging test"


LACKS = Reason("missing feature", "passed", "the feature is missing", ("not there",), ("m:T.lacking",))
ABSENT = Reason("other platform", "skipped", "for another platform", ("not today",))
RIGHTS = Reason("superuser", "skipped", "the superuser may write everywhere", ("as root",), varies=True)
KNOWN = [LACKS, ABSENT, RIGHTS]


def differences(modules: list[Module], before: Expected, known: list[Reason]) -> list[str]:
    return expected.differences(SUITE, modules, before, known)


def results(**tests: tuple[str, str]) -> list[Module]:
    return [Module("m", {f"T.{name}": Outcome(*each) for name, each in tests.items()})]


AS_EXPECTED = results(good=(PASSED, ""), lacking=(FAILED, "Error: not there"), off=(SKIPPED, "not today"))


@pytest.fixture
def before() -> Expected:
    rest = {"m:T.lacking": (FAILED, LACKS.name), "m:T.off": (SKIPPED, ABSENT.name)}
    return Expected(SUITE.versions(), {"m": 1}, rest)


def test_run_as_expected_has_no_differences(before: Expected) -> None:
    assert differences(AS_EXPECTED, before, KNOWN) == []


@pytest.mark.parametrize(
    ("tests", "difference"),
    [
        ({"good": (FAILED, "Error: oh")}, "m:T.good failed, it passed before: Error: oh"),
        ({"good": (SKIPPED, "not today")}, "m:T.good skipped (other platform); before: it passed"),
        ({"lacking": (FAILED, "Error: another")}, "m:T.lacking failed, unexplained: Error: another"),
        (
            {"lacking": (outcome.TIMED_OUT, "timed out after 3 s")},
            "m:T.lacking timed out, unexplained: timed out after 3 s",
        ),
        ({"lacking": (PASSED, "")}, "m:T.lacking passes or no longer exists; expected: failed (missing feature)"),
        ({"more": (PASSED, "")}, "m: 2 tests pass; 1 are expected to pass"),
    ],
)
def test_unexpected_outcome_is_a_difference(
    before: Expected, tests: dict[str, tuple[str, str]], difference: str
) -> None:
    now = {name.removeprefix("T."): (each.result, each.message) for name, each in AS_EXPECTED[0].tests.items()}
    assert difference in differences(results(**{**now, **tests}), before, KNOWN)


def test_test_with_varying_reason_may_pass(before: Expected) -> None:
    root = Expected(before.versions, before.passed, {**before.not_passed, "m:T.rights": (SKIPPED, RIGHTS.name)})
    now = {name.removeprefix("T."): (each.result, each.message) for name, each in AS_EXPECTED[0].tests.items()}
    assert differences(results(**now, rights=(SKIPPED, "as root")), root, KNOWN) == []
    assert differences(results(**now, rights=(PASSED, "")), root, KNOWN) == []
    assert differences(results(**now, rights=(FAILED, "Error: oh")), root, KNOWN) == [
        "m:T.rights failed, unexplained: Error: oh"
    ]
    assert differences(results(**now), root, KNOWN) == ["m: 1 tests pass; 2 are expected to pass"]


def test_failure_with_other_versions_needs_a_reason(before: Expected) -> None:
    other = Expected({**before.versions, "numba": "0.1"}, before.passed, before.not_passed)
    assert differences(results(new=(SKIPPED, "not today")), other, KNOWN) == []
    assert differences(results(new=(FAILED, "Error: oh")), other, KNOWN) == ["m:T.new failed, unexplained: Error: oh"]


def test_failure_is_explained_only_by_a_reason_that_names_it() -> None:
    assert expected.explanation(KNOWN, "m:T.lacking", Outcome(FAILED, "not there")) is LACKS
    assert expected.explanation(KNOWN, "m:T.other", Outcome(FAILED, "not there")) is None
    assert expected.explanation(KNOWN, "m:T.other", Outcome(FAILED, "not today")) is None


@pytest.mark.parametrize(("tests", "interval"), [(1, 1), (40, 1), (41, 3), (120, 3), (121, 5), (4000, 101)])
def test_odd_interval_leaves_at_most_so_many_tests(tests: int, interval: int) -> None:
    suite = replace(SUITE, parts={"n": 40})
    assert suite.interval("n", tests) == interval
    assert suite.interval("m", tests) == 1


def test_update_of_some_modules_keeps_the_outcomes_of_the_others(tmp_path: Path) -> None:
    suite = replace(SUITE, folder=tmp_path, modules=lambda: ["k", "m"], parts={"k": 1})
    expected.write(suite, AS_EXPECTED, KNOWN)
    part = Module("k", {"T.one": Outcome(PASSED), "T.lacking": Outcome(SKIPPED, "not today")}, whole=3)
    expected.write(suite, [part], KNOWN)
    found = expected.read(suite)
    assert list(found.passed.items()) == [("k", 1), ("m", 1)]
    assert found.whole == {"k": 3}
    assert list(found.not_passed) == ["k:T.lacking", "m:T.lacking", "m:T.off"]
    assert "| k | 1 |  | 1 |  | 3 |" in markdown(suite, found, KNOWN)


def test_page_counts_tests_that_would_pass_on_a_gpu(before: Expected) -> None:
    text = markdown(SUITE, before, KNOWN)
    assert "**1 of the 2 tests that would pass on a machine with a GPU pass here: 50.0 %.**" in text
    assert "| `m:T.lacking` | missing feature |" in text
    assert "| m | 1 | 1 | 1 |  |" in text


@pytest.mark.parametrize("suite", [cupy_suite.SUITE, SUITE], ids=lambda suite: suite.name)
def test_page_shows_the_expected_outcomes(suite: Suite) -> None:
    assert generated.differences(suite.page, markdown(suite, expected.read(suite), expected.reasons(suite))) == []


@pytest.mark.parametrize(("allowed", "status"), [("", 1), ("1", 0)])
def test_suite_that_is_not_installed_fails_unless_that_is_allowed(
    allowed: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOW_MISSING", allowed)
    monkeypatch.setattr(sys, "argv", ["numba-suite"])
    assert main(replace(SUITE, needed=("no_such_package",))) == status
