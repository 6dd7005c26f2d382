"""One module of numba's tests, run by pytest, as numba-cuda's authors run them.

The wheel has the tests, but not the `conftest.py` beside them: the fixture that it defines is defined here. What becomes of each test is written
down at once, a line of JSON for each thing that happens, since the process may end at any moment: for its time, or in a crash.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TextIO

import pytest

from .outcome import FAILED, PASSED, SKIPPED, WHOLE

OPTIONS = (
    *("-c", os.devnull, "-p", "no:cacheprovider", "-o", "consider_namespace_packages=true", "--tb=short", "-v"),
    # No other plugin has a part in it, and to import some takes longer than most modules' tests.
    *("--disable-plugin-autoload", "--assert=plain"),
    # cuda.core says so once a process, at its first link, where the tests count their own warnings.
    *("-W", "ignore:cuda.bindings.nvjitlink is not available:RuntimeWarning"),
)


def run(module: str, record: Path) -> None:
    """Run the tests of ``module`` and write what comes of them into ``record``."""
    with record.open("w") as file:
        pytest.main([*OPTIONS, "--rootdir", os.getcwd(), "--pyargs", module], plugins=[Recorder(file)])


class Recorder:
    """The pytest plugin that writes each outcome down as it is known."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._outcome, self._reason = PASSED, ""

    @pytest.fixture(scope="class")
    @classmethod
    def initialize_from_pytest_config(cls, request: pytest.FixtureRequest) -> None:
        """What every test case of numba-cuda asks for, from a file that the wheel lacks."""
        request.cls._dump_failed_filechecks = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._write(collected=[_name(item.nodeid) for item in items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(test=WHOLE, what=FAILED, reason=_message(report))
        elif report.skipped:
            self._write(test=WHOLE, what=SKIPPED, reason=_skip_reason(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(started=_name(nodeid))
        self._outcome, self._reason = PASSED, ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Of several failures (the call's and the teardown's, those of subtests) the first tells.
        if self._outcome == FAILED:
            return
        if report.failed:
            self._outcome, self._reason = FAILED, _message(report)
        elif report.skipped and not hasattr(report, "wasxfail") and type(report) is pytest.TestReport:
            # A test that numba expects to fail, and that fails, has done what it should; a subtest is no test.
            self._outcome, self._reason = SKIPPED, _skip_reason(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(test=_name(nodeid), what=self._outcome, reason=self._reason)

    def _write(self, **entry: object) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


def _name(nodeid: str) -> str:
    """``Class.test`` of pytest's ``path::Class::test``."""
    return ".".join(nodeid.split("::")[1:])


def _skip_reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _message(report: pytest.CollectReport | pytest.TestReport) -> str:
    """The first line of the exception, with its type."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [
        line for line in (crash.message if crash is not None else str(report.longrepr)).splitlines() if line.strip()
    ]
    # Of a module that cannot be imported there is a text, with the exception in its marked lines.
    marked = [line.removeprefix("E") for line in lines if line.startswith("E  ")]
    return next((line.strip()[:300] for line in [*marked, *lines]), "")
