"""The check of ``pytest --cuarray-sim`` that fails tests with findings.

A test fails if there are findings while it runs. Its failure text is the report: both operations with their files and lines,
and the missing edge. Findings during the setup of fixtures belong to the test. Findings during their teardown are an error at
teardown, and findings during the import of a module are an error of its collection.

``@pytest.mark.cuarray_sim(expect="data-race")`` marks the test of a bug: it fails unless there is such a finding. With
``allow=`` the test passes in both cases.

Findings are cleared between tests. The findings of a test are sent with its report, so a session in several processes counts
all of them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from .account import statistics
from .findings_report import KINDS, Report, clear_findings, findings, report
from .places import line_of_finding, shown

__all__ = ["COMMANDS", "MARKER", "FindingCheck", "in_workflow"]

MARKER = "cuarray_sim"

# pytest_leaks checks leaks, as it knows the objects of fixtures with a wider scope.
_KINDS = tuple(kind for kind in KINDS if kind != "leak")

# The attribute of a test's report that holds the counts of its findings.
_ATTRIBUTE = "cuarray_sim"
COMMANDS = "cuarray_sim_commands"
"""The attribute that holds the commands which show findings and leaks beside their lines."""

# The end of the line of a process that did not use the driver.
_IDLE = "so nothing was checked"


@dataclass
class _Marks:
    """The kinds of findings that a test's markers name."""

    expected: set[str] = field(default_factory=set)
    allowed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, item: pytest.Item) -> _Marks:
        """Read the markers of a test, its class and its module.

        :raises ValueError: a marker has invalid arguments.
        """
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
            raise ValueError(f"@pytest.mark.{MARKER}({name}='leak'): leaks have their own marker, cuarray_sim_leaks")
        if kind not in _KINDS:
            raise ValueError(f"@pytest.mark.{MARKER}({name}={kind!r}): expected one of {', '.join(_KINDS)}")
    return kinds


def in_workflow() -> bool:
    """Whether a workflow of GitHub runs the tests."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class FindingCheck:
    """The plugin of a session that runs on the simulated driver."""

    def __init__(self, suppressions: str | None, pages: Path | None) -> None:
        self.suppressions = suppressions
        # The folder for the pages of tests that fail for findings, and the name of the current page without its extension.
        self.pages = pages
        self.page = ""
        self.marks = _Marks()
        # The findings of the phase that is reported next.
        self.tally: dict[str, dict[str, int]] = {}
        # These findings as properties of the test, which a JUnit file has.
        self.properties: list[tuple[str, str]] = []
        # The line in pytest's list of failures, and the whole text, if that phase failed for findings.
        self.headline = ""
        self.text = ""
        # The kind and the line of the finding of a test that fails by itself, before its own line in that list.
        self.prefix = ""
        # The commands for the lines of these findings, in a workflow of GitHub; and those of the whole session.
        self.commands = ""
        self.all_commands: list[str] = []
        # The counts of the whole session in all its processes.
        self.total: dict[str, Counter[str]] = {}
        self.tests_with_findings: set[str] = set()
        # Whether a test ran, and the parts that each process of pytest-xdist did not check.
        self.ran = False
        self.of_workers: list[list[str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Check the import of a module, before the first test clears its findings."""
        result = yield
        self.marks = _Marks()
        self.page = collector.nodeid
        try:
            self._check()
        except pytest.fail.Exception as failure:
            if result.passed:
                result.outcome = "failed"
                result.longrepr = collector.repr_failure(pytest.ExceptionInfo.from_exception(failure))
            else:
                result.sections.append(("findings", self.text))
        self.properties = []
        self._send_along(result)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Begin a test without findings."""
        clear_findings()
        self.marks = _Marks()
        self.page = item.nodeid
        result = yield
        # Read after the setup of other plugins, whose teardown runs even if a marker is wrong.
        try:
            self.marks = _Marks.of(item)
        except ValueError as error:
            wrong = str(error)
        else:
            return result
        # Outside of the handler, so that the error is shown once.
        pytest.fail(wrong, pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Check the findings of the test and of its setup."""
        try:
            result = yield
        except (Exception, pytest.fail.Exception) as error:
            # The test's own failure comes first; the findings may explain it.
            if not isinstance(error, pytest.xfail.Exception):
                self._show(item, "call")
            raise
        self._check()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Check the findings of the teardown."""
        self.page = f"{item.nodeid}-teardown"
        try:
            result = yield
        except (Exception, pytest.fail.Exception):
            self._show(item, "teardown")
            raise
        # The test has already been checked for its expected findings.
        self.marks.allowed |= self.marks.expected
        self.marks.expected = set()
        self._check()
        return result

    def _show(self, item: pytest.Item, phase: str) -> None:
        """Add the findings to the test's own failure, and clear them."""
        found = findings(history=False)
        if kinds := self._count(found):
            text = report() + self._draw()
            item.add_report_section(phase, "findings", text)
            if unexpected := kinds - self.marks.expected - self.marks.allowed:
                self.prefix = f"{self._announce(found, unexpected)}; "
            clear_findings()

    def _check(self) -> None:
        """Fail if there are unexpected findings, or expected ones are missing; clear the findings."""
        # The text is empty without findings.
        text = report()
        found = findings(history=False) if text or self.suppressions is not None else None
        kinds = set() if found is None else self._count(found)
        unexpected = kinds - self.marks.expected - self.marks.allowed
        missing = self.marks.expected - kinds
        headline = ""
        if found is not None and unexpected:
            headline = self._announce(found, unexpected)
            text += self._draw()
        if self.tally:
            clear_findings()
        if headline:
            said = re.search(rf"^\[\d+\] {headline.partition(' ')[0]}(: .*)$", text, re.MULTILINE)
            self._fail(headline + (said[1] if said else ""), f"found by the simulated CUDA driver:\n\n{text}")
        if missing:
            expected = f"expected {' and '.join(sorted(missing))}, and the simulated CUDA driver found"
            instead = " and ".join(sorted(kinds)) or "nothing"
            self._fail(
                f"{expected} {instead}", f"{expected} this instead:\n\n{text}" if text else f"{expected} nothing"
            )

    def _announce(self, found: Report, kinds: set[str]) -> str:
        """Return the kind and the line of the first finding of some kinds, and keep the commands for all of them."""
        if in_workflow():
            lines = report("github").splitlines()
            self.commands = "\n".join(
                line for line in lines if re.search(rf"title=cuarray-sim ({'|'.join(kinds)})::", line)
            )
        first = next(each for each in found["findings"] if each["kind"] in kinds)
        return first["kind"] + shown(line_of_finding(first), " at ")

    def _draw(self) -> str:
        """Write the page of the findings if pages are requested; return the line that names it."""
        if self.pages is None:
            return ""
        path = self.pages / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', self.page)[:200]}.html"
        path.write_text(report("html"), encoding="utf-8")
        return f"drawn in {path}\n"

    def _fail(self, headline: str, text: str) -> NoReturn:
        self.headline, self.text = headline, text
        pytest.fail(text, pytrace=False)

    def _count(self, found: Report) -> set[str]:
        """Count the findings for the test's report, and return their kinds."""
        tally: dict[str, Counter[str]] = {
            "found": Counter(),
            "expected": Counter(),
            "allowed": Counter(),
            "suppressed": Counter(),
        }
        for finding in found["findings"]:
            kind = finding["kind"]
            category = (
                "expected" if kind in self.marks.expected else "allowed" if kind in self.marks.allowed else "found"
            )
            tally[category][kind] += 1
            self.properties.append((f"{MARKER}.{category}", finding["fingerprint"]))
        for suppressed in found["suppressed"]:
            if suppressed["count"]:
                tally["suppressed"][str(suppressed["line"])] += suppressed["count"]
        self.tally = {category: dict(counts) for category, counts in tally.items() if counts}
        return {finding["kind"] for finding in found["findings"]}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the counts of findings to the report."""
        raised = call.excinfo
        result = yield
        # A unittest reports its own failure or skip only here. Its failure comes first, as with other tests.
        if self.headline and call.excinfo is not raised:
            if result.skipped and not hasattr(result, "wasxfail"):
                call.excinfo = raised
                result = pytest.TestReport.from_item_and_call(item, call)
            else:
                result.sections.append(("findings", self.text))
                self.headline, self.prefix = "", self.headline.partition(": ")[0] + "; "
        # pytest has copied the list of the item.
        item.user_properties += self.properties
        result.user_properties += self.properties
        self.properties = []
        self._send_along(result)
        return result

    def _send_along(self, result: pytest.TestReport | pytest.CollectReport) -> None:
        """Move the counts of findings into a report."""
        if self.tally:
            # pytest-xdist sends the attributes of a report to the main process.
            setattr(result, _ATTRIBUTE, self.tally)
            self.tally = {}
        # A test that is marked as failing has no error.
        if self.commands and result.failed:
            setattr(result, COMMANDS, "\n".join(filter(None, [getattr(result, COMMANDS, ""), self.commands])))
        # If CI is set, pytest lists whole messages, and the report is already in the output.
        if (crash := getattr(result.longrepr, "reprcrash", None)) is not None:
            crash.message = self.headline or self.prefix + crash.message
        self.headline = self.prefix = self.commands = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count the findings of imports."""
        self.pytest_runtest_logreport(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Count the findings of tests in all processes."""
        tally: dict[str, dict[str, int]] = getattr(report, _ATTRIBUTE, {})
        for category, counts in tally.items():
            self.total.setdefault(category, Counter()).update(counts)
        if commands := getattr(report, COMMANDS, ""):
            self.all_commands.append(commands)
        if tally.get("found") and isinstance(report, pytest.TestReport):
            self.tests_with_findings.add(report.nodeid)
        if isinstance(report, pytest.TestReport) and report.when == "call":
            self.ran = True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the parts that were not checked to the main process of pytest-xdist."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[_ATTRIBUTE] = statistics()["unchecked"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the parts that were not checked in a process of pytest-xdist."""
        self.of_workers.append(getattr(node, "workeroutput", {}).get(_ATTRIBUTE, []))

    def _unchecked(self) -> list[str]:
        """Return the parts that were not checked in any process; none if no test ran."""
        if not self.ran:
            return []
        if not self.of_workers:
            return statistics()["unchecked"]
        # A process that made no call does not matter if another one did.
        idle = [each for each in self.of_workers if any(_IDLE in line for line in each)]
        lines = [line for each in self.of_workers for line in each if _IDLE not in line]
        if len(idle) == len(self.of_workers):
            lines.insert(0, "no process made a driver call, so nothing was checked")
        return list(dict.fromkeys(lines))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the counts of findings of the session, and the unused suppressions."""
        found = self.total.get("found", Counter())
        if found:
            tests = len(self.tests_with_findings)
            listed = ", ".join(f"{count} {kind}" for kind, count in found.most_common())
            line = f"{found.total()} finding{'s' * (found.total() != 1)} in {tests} test{'s' * (tests != 1)} ({listed})"
        else:
            line = "no findings"
        for category in ("expected", "allowed", "suppressed"):
            if count := self.total.get(category, Counter()).total():
                line += f", {count} {category}"
        terminalreporter.write_line(f"cuarray-sim: {line}", red=bool(found), green=not found)
        for commands in self.all_commands:
            terminalreporter.write_line(commands)
        for unchecked in self._unchecked():
            terminalreporter.write_line(f"cuarray-sim: {unchecked}", yellow=True)
        if self.suppressions is not None:
            used = self.total.get("suppressed", Counter())
            for each in findings(history=False)["suppressed"]:
                if str(each["line"]) not in used:
                    text = f"{self.suppressions}:{each['line']}: nothing was suppressed by: {each['text']}"
                    terminalreporter.write_line(f"cuarray-sim: {text}", yellow=True)
