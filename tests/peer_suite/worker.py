"""Run one module of tests with pytest, as the authors of the library do.

numba-cuda's wheel has the tests but not their `conftest.py`, so its fixture is defined here. Each event is written to the record at once as a
line of JSON, since the process may crash or time out at any moment.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TextIO

import pytest

import cuarray_sim

from .description import Suite
from .outcome import FAILED, PASSED, SKIPPED, WHOLE

OPTIONS = (
    *("-p", "no:cacheprovider", "-o", "consider_namespace_packages=true", "--tb=short", "-v"),
    # Other plugins are not needed, and importing some takes longer than the tests of most modules.
    *("--disable-plugin-autoload", "--assert=plain"),
)


def run(suite: Suite, module: str, record: Path) -> None:
    """Run the tests of ``module`` and write their outcomes to ``record``."""
    with record.open("w") as file:
        arguments = [*OPTIONS, *suite.options, "--rootdir", os.getcwd(), "--pyargs", suite.package + module]
        pytest.main(arguments, plugins=[Recorder(suite, module, file), Findings(record.with_suffix(".findings.txt"))])


class Findings:
    """The pytest plugin that writes the findings after each test, if the search for them is on. So a module that is cut off has them."""

    def __init__(self, path: Path) -> None:
        self._path, self._written = path, ""
        self._on = os.environ.get("CUARRAY_SIM_FINDINGS") != "0"

    def pytest_runtest_logfinish(self) -> None:
        self._write()

    def pytest_sessionfinish(self) -> None:
        self._write()

    def _write(self) -> None:
        # The driver of the process may be a real one.
        with contextlib.suppress(RuntimeError):
            if self._on and (text := cuarray_sim.report()) != self._written:
                self._path.write_text(text)
                self._written = text


class Recorder:
    """The pytest plugin that writes each outcome at once."""

    def __init__(self, suite: Suite, module: str, file: TextIO) -> None:
        self._suite, self._module, self._file = suite, module, file
        self._outcome, self._reason = PASSED, ""

    @pytest.fixture(scope="class")
    @classmethod
    def initialize_from_pytest_config(cls, request: pytest.FixtureRequest) -> None:
        """Replace the fixture that every test case of numba-cuda uses, from a file that the wheel lacks."""
        request.cls._dump_failed_filechecks = False

    @pytest.hookimpl(trylast=True)  # after options that leave tests out
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        whole = len(items)
        items[:] = items[:: self._suite.interval(self._module, whole)]
        self._write(collected=[_name(item.nodeid) for item in items], whole=whole)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(test=WHOLE, result=FAILED, reason=_message(report))
        elif report.skipped:
            self._write(test=WHOLE, result=SKIPPED, reason=_skip_reason(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(started=_name(nodeid))
        self._outcome, self._reason = PASSED, ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # The first of several failures counts: of the call, of the teardown, of subtests.
        if self._outcome == FAILED:
            return
        if report.failed:
            self._outcome, self._reason = FAILED, _message(report)
        elif report.skipped and not hasattr(report, "wasxfail") and type(report) is pytest.TestReport:
            # An expected failure counts as passed, and a skipped subtest does not skip its test.
            self._outcome, self._reason = SKIPPED, _skip_reason(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(test=_name(nodeid), result=self._outcome, reason=self._reason)

    def _write(self, **entry: object) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


def _name(nodeid: str) -> str:
    """Return ``Class.test`` for pytest's ``path::Class::test``."""
    return ".".join(nodeid.split("::")[1:])


def _skip_reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _message(report: pytest.CollectReport | pytest.TestReport) -> str:
    """Return the first line of the exception, with its type."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [
        line for line in (crash.message if crash is not None else str(report.longrepr)).splitlines() if line.strip()
    ]
    # The report of a failed import is a text, with the exception in the lines marked "E".
    marked = [line.removeprefix("E") for line in lines if line.startswith("E  ")]
    return next((line.strip()[:300] for line in [*marked, *lines]), "")
