"""Report which tests check which clause: ``pytest --spec-coverage docs/results/spec-coverage.md``.

The report is made from file and function names in ``tests/spec``; there is no other record to maintain:

- ``clauses/``: clauses. ``test_i3_i9_...`` checks I3 and I9. A function without ids in its name counts for its file's ids.
- ``disagreements/``: ``test_d07_....py`` is disagreement D7. The first line of its docstring is its title.
- ``checklists/``: ``test_4b_14_15_...`` checks items 14 and 15 of checklist 4B. The table ``NOT_APPLICABLE`` of one module
  for each checklist gives the reason for each item that has no test.

``tests/spec/clauses.toml`` lists everything there is to check. The report holds no times, case counts or versions, so it changes
only when tests or their outcomes change. The run fails if a required subject has no passing test, or if a name contains an id
that is in no list.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import generated
import pytest

TESTS = Path(__file__).parent
OUTCOMES = ("failed", "failed as expected", "passed", "skipped")

CLAUSE = re.compile(r"[a-z]\d+")
DISAGREEMENT = re.compile(r"test_d(\d+)_")
CHECKLIST = re.compile(r"test_(\d[a-z])_(\d+(?:_\d+)*)(?:_|$)")


class Subject(NamedTuple):
    """The subject of a test: a list, and the id within it."""

    list: str
    id: str

    def __str__(self) -> str:
        # An item of a checklist is only a number.
        return self.id if self.list in ("clauses", "disagreements") else f"{self.list}.{self.id}"


def subjects(path: str, function: str) -> list[Subject]:
    """Subjects that a test checks, from its path (relative to ``tests``, with ``/``) and its name.

    >>> [str(each) for each in subjects("spec/clauses/test_i3_i9_types.py", "test_i3_byte_order")]
    ['I3']
    """
    folder, _, file = path.rpartition("/")
    if folder == "spec/clauses":
        ids = _leading_ids(function) or _leading_ids(file.removesuffix(".py"))
        return [Subject("clauses", each) for each in ids]
    if folder == "spec/disagreements" and (found := DISAGREEMENT.match(file)):
        return [Subject("disagreements", f"D{int(found[1])}")]
    if folder == "spec/checklists" and (found := CHECKLIST.match(function)):
        return [Subject(found[1].upper(), str(int(number))) for number in found[2].split("_")]
    return []


def _leading_ids(name: str) -> list[str]:
    ids = []
    for word in name.lower().split("_")[1:]:
        if not CLAUSE.fullmatch(word):
            break
        ids.append(word.upper())
    return ids


class Function(NamedTuple):
    """A test function: its file, relative to ``tests``, and its name. It may have many cases."""

    path: str
    name: str


@dataclass
class Coverage:
    """The collected tests and their outcomes."""

    lists: dict[str, Any]
    outcomes: dict[Function, set[str]] = field(default_factory=lambda: defaultdict(set))
    titles: dict[str, str] = field(default_factory=dict)
    not_applicable: dict[Subject, str] = field(default_factory=dict)

    def part(self) -> dict[str, list[Any]]:
        """The collected results in basic types, for another process's :meth:`add`."""
        return {
            "outcomes": [[*test, sorted(outcomes)] for test, outcomes in self.outcomes.items()],
            "titles": [[*each] for each in self.titles.items()],
            "not_applicable": [[*subject, reason] for subject, reason in self.not_applicable.items()],
        }

    def add(self, part: dict[str, list[Any]]) -> None:
        """Add the results of another process, from its :meth:`part`."""
        for path, name, outcomes in part["outcomes"]:
            self.outcomes[Function(path, name)].update(outcomes)
        self.titles.update(part["titles"])
        self.not_applicable.update({Subject(name, id): reason for name, id, reason in part["not_applicable"]})

    def known(self) -> list[Subject]:
        """Everything there is to check, in the report's order."""
        clauses = [Subject("clauses", each) for family in self.lists["family"] for each in family["clauses"]]
        numbers = range(1, self.lists["disagreements"]["count"] + 1)
        disagreements = [Subject("disagreements", f"D{number}") for number in numbers]
        items = [
            Subject(each["id"], str(number))
            for each in self.lists["checklist"]
            for number in range(1, each["items"] + 1)
        ]
        return clauses + disagreements + items

    def required(self) -> set[Subject]:
        """Subjects that must have a passing test."""
        families = [family for family in self.lists["family"] if family["required"]]
        required = {Subject("clauses", each) for family in families for each in family["clauses"]}
        if self.lists["disagreements"]["required"]:
            required |= {each for each in self.known() if each.list == "disagreements"}
        return required

    def tests(self) -> dict[Subject, list[Function]]:
        """The tests of each subject, sorted."""
        found: dict[Subject, list[Function]] = defaultdict(list)
        for test in sorted(self.outcomes):
            for subject in subjects(*test):
                found[subject].append(test)
        return found

    def unknown(self) -> list[str]:
        """Tests whose names contain an id that is in no list."""
        known = set(self.known())
        wrong = [(subject, tests) for subject, tests in self.tests().items() if subject not in known]
        wrong += [(subject, []) for subject in self.not_applicable if subject not in known]
        return sorted(f"{subject}: {', '.join(map('::'.join, tests)) or 'NOT_APPLICABLE'}" for subject, tests in wrong)

    def outcome(self, tests: list[Function]) -> str:
        """The combined outcome of these tests."""
        return merged(set().union(*(self.outcomes[test] for test in tests)))

    def missing(self) -> list[Subject]:
        """Required subjects without a passing test, in the report's order."""
        required, tests = self.required(), self.tests()
        return [
            each
            for each in self.known()
            if each in required and not self.outcome(tests.get(each, [])).startswith("passed")
        ]

    def markdown(self, base: str) -> str:
        """The report as Markdown; ``base`` is the path from its folder to ``tests``."""
        tests = self.tests()
        lines = [
            "# Clauses and their tests",
            "",
            "Written by `pytest --spec-coverage` with `UPDATE=1`: edit the tests, not this page. Each row is a clause of the CUDA Array Interface,",
            "a disagreement among real libraries, or an item of another library's test suite. The last column has the tests",
            "that check it. **no test** marks a gap.",
        ]

        def row(first: str, text: str | None, subject: Subject) -> str:
            own = tests.get(subject, [])
            reason = self.not_applicable.get(subject)
            if reason is not None and not own:
                outcome, where = "not applicable", _cell(reason)
            elif own:
                outcome, where = self.outcome(own), "<br>".join(self._links(own, base))
                if reason is not None:
                    where += f"<br>not applicable in part: {_cell(reason)}"
            else:
                outcome, where = "**no test**", ""
            cells = [first, *([] if text is None else [_cell(text)]), outcome, where]
            return "| " + " | ".join(cells) + " |"

        for family in self.lists["family"]:
            lines += [
                "",
                f"## {family['letter']}. {family['title']}",
                "",
                "| clause | requirement | outcome | tests |",
                "|---|---|---|---|",
            ]
            lines += [row(each, text, Subject("clauses", each)) for each, text in family["clauses"].items()]
        disagreements = [each for each in self.known() if each.list == "disagreements"]
        lines += [
            "",
            f"## {self.lists['disagreements']['title']}",
            "",
            "| | subject | outcome | tests |",
            "|---|---|---|---|",
        ]
        lines += [row(each.id, self.titles.get(each.id, ""), each) for each in disagreements]
        for checklist in self.lists["checklist"]:
            lines += [
                "",
                f"## {checklist['id']}. {checklist['title']}",
                "",
                "| item | outcome | tests |",
                "|---|---|---|",
            ]
            lines += [row(each.id, None, each) for each in self.known() if each.list == checklist["id"]]
        return "\n".join(lines) + "\n"

    def _links(self, tests: list[Function], base: str) -> list[str]:
        files: dict[str, list[str]] = defaultdict(list)
        for test in tests:
            outcome = merged(self.outcomes[test])
            files[test.path].append(f"`{test.name}`" + ("" if outcome == "passed" else f" ({outcome})"))
        return [f"[{path}]({base}/{path}): {', '.join(functions)}" for path, functions in files.items()]


def merged(outcomes: set[str]) -> str:
    """Combine outcomes: a failure wins, and a pass needs at least one passing case.

    >>> merged({"passed", "skipped"})
    'passed, some skipped'
    """
    for bad in ("failed", "failed as expected"):
        if bad in outcomes:
            return bad
    if outcomes == {"passed", "skipped"}:
        return "passed, some skipped"
    return "".join(outcomes) or "no test"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def lists() -> dict[str, Any]:
    """The lists of all subjects, from ``clauses.toml``."""
    read: dict[str, Any] = tomllib.loads((TESTS / "spec" / "clauses.toml").read_text(encoding="utf-8"))
    return read


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("spec-coverage").addoption(
        "--spec-coverage",
        metavar="FILE",
        help="compare the table of clauses and their tests with FILE; fail if a required clause has no passing test; UPDATE=1 writes it",
    )


def pytest_configure(config: pytest.Config) -> None:
    target = config.getoption("spec_coverage")
    if target is not None:
        config.pluginmanager.register(_Collector(config, Path(target).absolute()), "spec_coverage_collector")


class _Collector:
    """The plugin that records outcomes and writes the report, registered when ``--spec-coverage`` is given.

    With pytest-xdist, each worker process sends its part to the main process, which alone writes the report.
    """

    def __init__(self, config: pytest.Config, target: Path) -> None:
        self.target = target
        # Where a worker leaves results for the main process; None in the main process.
        self.worker_output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.coverage = Coverage(lists())
        self.tests: dict[str, Function] = {}
        self.compared = False
        self.differences: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if not isinstance(item, pytest.Function) or TESTS not in item.path.parents:
                continue
            path = item.path.relative_to(TESTS).as_posix()
            test = Function(path, item.originalname)
            found = subjects(*test)
            if found:
                self.tests[item.nodeid] = test
            for subject in found:
                if subject.list == "disagreements":
                    title = (item.module.__doc__ or "").partition("\n")[0]
                    self.coverage.titles[subject.id] = title.removeprefix(f"{subject.id}: ").rstrip(".")
            for checklist in self.coverage.lists["checklist"]:
                if path == f"spec/checklists/{checklist['reasons']}":
                    for number, reason in item.module.NOT_APPLICABLE.items():
                        self.coverage.not_applicable[Subject(checklist["id"], str(number))] = reason

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests.get(report.nodeid)
        if test is None:
            return
        if hasattr(report, "wasxfail"):
            self.coverage.outcomes[test].add("failed as expected" if report.skipped else report.outcome)
        elif report.when == "call" or report.outcome != "passed":
            self.coverage.outcomes[test].add(report.outcome)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add a worker's part. A worker that crashed has sent none, and the run fails."""
        if part := getattr(node, "workeroutput", {}).get("spec_coverage"):
            self.coverage.add(part)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker_output is not None:
            self.worker_output["spec_coverage"] = self.coverage.part()
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.config.option.collectonly:
            return
        base = os.path.relpath(TESTS, self.target.parent).replace(os.sep, "/")
        self.differences = generated.differences(self.target, self.coverage.markdown(base))
        self.compared = True
        if self.coverage.missing() or self.coverage.unknown() or self.differences:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.compared:
            return
        terminalreporter.section("spec coverage")
        for line in self.differences:
            terminalreporter.line(line, red=True)
        for subject in self.coverage.missing():
            terminalreporter.line(f"no passing test: {subject}", red=True)
        for name in self.coverage.unknown():
            terminalreporter.line(f"unknown id in the name of a test: {name}", red=True)
