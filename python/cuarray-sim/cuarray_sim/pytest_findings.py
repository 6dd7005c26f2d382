"""No test passes with a finding: the part of ``pytest --cuarray-sim`` that asks the driver after each test.

A test fails if the driver found something wrong while it ran, and the report is its failure text: both operations with the
file and line of each, and the edge that is missing. What is found while fixtures are set up belongs to the test as well; what is
found while they are torn down is an error at teardown, and what is found while a module is imported is an error of its collection. ``@pytest.mark.cuarray_sim(expect="data-race")`` turns this round for a
test of a bug: it fails unless such a finding is there. ``allow=`` passes either way.

What was found is forgotten between tests. Everything a test found travels with its report, so a session that is spread over
processes sums up what all of them found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from .found import KINDS, Report, clear_findings, findings, report

__all__ = ["MARKER", "FindingCheck"]

MARKER = "cuarray_sim"

# Leaks have a check of their own, which knows what fixtures of a wider scope have made.
_KINDS = tuple(kind for kind in KINDS if kind != "leak")

# Where a test's report carries what was found.
_ATTRIBUTE = "cuarray_sim"


@dataclass
class _Marks:
    """The kinds of findings that a test's markers name."""

    expected: set[str] = field(default_factory=set)
    allowed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, item: pytest.Item) -> _Marks:
        """Read the markers of a test, its class and its module; a wrong one raises :class:`ValueError`."""
        marks = cls()
        for mark in item.iter_markers(MARKER):
            if mark.args or not mark.kwargs or mark.kwargs.keys() - {"expect", "allow"}:
                raise ValueError(f"@pytest.mark.{MARKER} takes expect= and allow=, each a kind of finding or several")
            marks.expected.update(_kinds("expect", mark.kwargs.get("expect", ())))
            marks.allowed.update(_kinds("allow", mark.kwargs.get("allow", ())))
        return marks


def _kinds(name: str, value: object) -> tuple[str, ...]:
    kinds = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (tuple, list, set)) else (value,)
    for kind in kinds:
        if kind == "leak":
            raise ValueError(
                f"@pytest.mark.{MARKER}({name}='leak'): leaks have a marker of their own, cuarray_sim_leaks"
            )
        if kind not in _KINDS:
            raise ValueError(f"@pytest.mark.{MARKER}({name}={kind!r}): expected one of {', '.join(_KINDS)}")
    return kinds


class FindingCheck:
    """Registered for a session that runs on the simulated driver."""

    def __init__(self, suppressions: str | None, pages: Path | None) -> None:
        self.suppressions = suppressions
        # Where a page goes for each test that fails for what was found; its name, without the extension.
        self.pages = pages
        self.page = ""
        self.marks = _Marks()
        # What was found in the phase of a test that is about to be reported.
        self.tally: dict[str, dict[str, int]] = {}
        # What is said of it where pytest lists the failures, and the whole text, if that phase failed for it.
        self.headline = ""
        self.text = ""
        # Of the whole session, of all its processes.
        self.total: dict[str, Counter[str]] = {}
        self.tests_with_findings: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Judge what the import of a module has done, before the first test forgets it."""
        result = yield
        self.marks = _Marks()
        self.page = collector.nodeid
        try:
            self._judge()
        except pytest.fail.Exception as failure:
            if result.passed:
                result.outcome = "failed"
                result.longrepr = collector.repr_failure(pytest.ExceptionInfo.from_exception(failure))
            else:
                result.sections.append(("findings", self.text))
        self._send_along(result)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Begin a test with nothing found."""
        clear_findings()
        self.marks = _Marks()
        self.page = item.nodeid
        result = yield
        # Not before, since what other plugins take back at teardown has to be set up.
        try:
            self.marks = _Marks.of(item)
        except ValueError as error:
            wrong = str(error)
        else:
            return result
        # Out of the handler, so that the error is shown once.
        pytest.fail(wrong, pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Judge what was found in the test and in the setup before it."""
        try:
            result = yield
        except (Exception, pytest.fail.Exception) as error:
            # The test's own failure comes first; what was found may well be its reason.
            if not isinstance(error, pytest.xfail.Exception):
                self._show(item, "call")
            raise
        self._judge()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Judge what was found since."""
        self.page = f"{item.nodeid}-teardown"
        try:
            result = yield
        except (Exception, pytest.fail.Exception):
            self._show(item, "teardown")
            raise
        # What was expected is there already, or was missed already.
        self.marks.allowed |= self.marks.expected
        self.marks.expected = set()
        self._judge()
        return result

    def _show(self, item: pytest.Item, phase: str) -> None:
        """Put what was found beside a failure of the test's own, and forget it."""
        if self._count(findings()):
            item.add_report_section(phase, "findings", report() + self._draw())
            clear_findings()

    def _judge(self) -> None:
        """Fail if there is what should not be, or is not what should be; what is judged is forgotten."""
        # The text is empty where there is nothing to judge, and so much cheaper than the report with its history.
        text = report()
        kinds = self._count(findings()) if text or self.suppressions is not None else set()
        unexpected = kinds - self.marks.expected - self.marks.allowed
        missing = self.marks.expected - kinds
        if unexpected:
            text += self._draw()
        if self.tally:
            clear_findings()
        if unexpected:
            self._fail("found by the simulated CUDA driver:", f"\n\n{text}", " and ".join(sorted(unexpected)))
        if missing:
            expected = f"expected {' and '.join(sorted(missing))}, and the simulated CUDA driver found"
            self._fail(
                expected, f" this instead:\n\n{text}" if text else " nothing", " and ".join(sorted(kinds)) or "nothing"
            )

    def _draw(self) -> str:
        """Write the page of what was found, where pages are wanted; answers the line that names it."""
        if self.pages is None:
            return ""
        path = self.pages / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', self.page)[:200]}.html"
        path.write_text(report("html"), encoding="utf-8")
        return f"drawn in {path}\n"

    def _fail(self, message: str, report: str, short: str) -> NoReturn:
        self.headline, self.text = f"{message} {short}", message + report
        pytest.fail(self.text, pytrace=False)

    def _count(self, found: Report) -> set[str]:
        """Note what was found for the test's report, and give its kinds."""
        tally: dict[str, Counter[str]] = {
            "found": Counter(),
            "expected": Counter(),
            "allowed": Counter(),
            "suppressed": Counter(),
        }
        for finding in found["findings"]:
            kind = finding["kind"]
            meant = "expected" if kind in self.marks.expected else "allowed" if kind in self.marks.allowed else "found"
            tally[meant][kind] += 1
        for suppressed in found["suppressed"]:
            if suppressed["count"]:
                tally["suppressed"][str(suppressed["line"])] += suppressed["count"]
        self.tally = {meant: dict(counts) for meant, counts in tally.items() if counts}
        return {finding["kind"] for finding in found["findings"]}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send along what was found."""
        raised = call.excinfo
        result = yield
        # A test of unittest's keeps its own failure, or skip, to itself until now. A failure comes first here as well.
        if self.headline and call.excinfo is not raised:
            if result.skipped and not hasattr(result, "wasxfail"):
                call.excinfo = raised
                result = pytest.TestReport.from_item_and_call(item, call)
            else:
                result.sections.append(("findings", self.text))
                self.headline = ""
        self._send_along(result)
        return result

    def _send_along(self, result: pytest.TestReport | pytest.CollectReport) -> None:
        """Put what was found into a report, and forget it."""
        if self.tally:
            # An attribute of a report is sent along where tests run in other processes.
            setattr(result, _ATTRIBUTE, self.tally)
            self.tally = {}
        # Where CI is set, the list of failures has the whole of each message, and the report is in the output already.
        if self.headline and (crash := getattr(result.longrepr, "reprcrash", None)):
            crash.message = self.headline
        self.headline = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Add up what was found by imports."""
        self.pytest_runtest_logreport(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Add up what was found, in whatever process."""
        tally: dict[str, dict[str, int]] = getattr(report, _ATTRIBUTE, {})
        for meant, counts in tally.items():
            self.total.setdefault(meant, Counter()).update(counts)
        if tally.get("found") and isinstance(report, pytest.TestReport):
            self.tests_with_findings.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how much was found in the session, and which suppressions were not needed."""
        found = self.total.get("found", Counter())
        if found:
            tests = len(self.tests_with_findings)
            listed = ", ".join(f"{count} {kind}" for kind, count in found.most_common())
            line = f"{found.total()} finding{'s' * (found.total() != 1)} in {tests} test{'s' * (tests != 1)} ({listed})"
        else:
            line = "no findings"
        for meant in ("expected", "allowed", "suppressed"):
            if count := self.total.get(meant, Counter()).total():
                line += f", {count} {meant}"
        terminalreporter.write_line(f"cuarray-sim: {line}", red=bool(found), green=not found)
        if self.suppressions is not None:
            used = self.total.get("suppressed", Counter())
            for each in findings()["suppressed"]:
                if str(each["line"]) not in used:
                    text = f"{self.suppressions}:{each['line']}: nothing was suppressed by: {each['text']}"
                    terminalreporter.write_line(f"cuarray-sim: {text}", yellow=True)
