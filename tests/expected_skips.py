"""Compare the skipped tests of a run with a committed list: ``pytest --expected-skips NAME``.

``tests/skips.toml`` lists the skipped tests of each run by name: the function, the number of its cases, and the message, which is the
reason. A test that is skipped without an entry fails the run, and so does an entry without a skip. So a peer that is missing, or a
condition that is always false, cannot pass unseen. ``UPDATE=1`` writes the list.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from generated import is_updating

LIST = Path(__file__).with_name("skips.toml")

HEAD = """# The tests that are skipped, by the run (`--expected-skips`). A run without entries skips none. The message of each is the reason.
# `UPDATE=1` with the run's target of the Makefile writes them.
"""


class Skip(NamedTuple):
    """A skipped function of tests, or a skipped file."""

    test: str
    """The file and the function, without the parameters of cases."""
    reason: str


Skips = Counter[Skip]
"""The number of skipped cases."""

# Entries with these reasons are for runs without the stamp. `make bench` and `make test-all` install these libraries into `.venv`.
MEASURED = re.compile(r"(?:warp|pycuda) is not installed", re.IGNORECASE)
STAMP = LIST.parents[1] / ".venv" / ".measured"


def contents() -> dict[str, Skips]:
    """The entries by run."""
    runs = tomllib.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}
    return {
        name: Counter({Skip(each["test"], each["reason"]): each["cases"] for each in entries})
        for name, entries in runs.items()
    }


def of_measured(skips: Skips) -> Skips:
    """The entries that do not count here, because their libraries are installed."""
    return Counter({skip: cases for skip, cases in skips.items() if STAMP.exists() and MEASURED.match(skip.reason)})


def write(run: str, found: Skips) -> None:
    """Replace the entries of one run."""
    runs = contents()
    runs[run] = found + of_measured(runs.get(run, Counter()))
    lines = [HEAD]
    for name, skips in sorted(runs.items()):
        for skip, cases in sorted(skips.items()):
            test, reason = (json.dumps(text, ensure_ascii=False) for text in skip)
            lines += [f"[[{json.dumps(name)}]]", f"test = {test}", f"cases = {cases}", f"reason = {reason}\n"]
    LIST.write_text("\n".join(lines), encoding="utf-8")


def differences(expected: Skips, found: Skips) -> list[str]:
    """A line for each skip that is not expected, and for each expected one that did not happen."""
    lines = []
    for skip in sorted(expected.keys() | found.keys()):
        if expected[skip] != found[skip]:
            lines.append(f"{skip.test}: {found[skip]} cases skipped, not {expected[skip]}: {skip.reason}")
    return lines


def skip_of(report: pytest.TestReport | pytest.CollectReport) -> Skip:
    message = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    message = message.removeprefix("Skipped: ").replace(str(Path(__file__).parents[1]), ".")
    return Skip(report.nodeid.partition("[")[0], re.sub(r"\s+", " ", message).strip())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("expected-skips").addoption(
        "--expected-skips",
        metavar="NAME",
        help="the name of this run in tests/skips.toml; fail if other tests are skipped than it lists",
    )


def pytest_configure(config: pytest.Config) -> None:
    run = config.getoption("expected_skips")
    if run is not None:
        config.pluginmanager.register(Collector(config, run), "expected_skips_collector")


class Collector:
    """Collects the skips, in the main process also those of the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config, run: str) -> None:
        self.run = run
        self.worker_output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.tests: Skips = Counter()
        # Each worker collects all files.
        self.files: set[Skip] = set()
        self.problems: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.files.add(skip_of(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.tests[skip_of(report)] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.files.update(Skip(*each) for each in getattr(node, "workeroutput", {}).get("skipped_files", ()))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker_output is not None:
            self.worker_output["skipped_files"] = [list(each) for each in self.files]
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.config.option.collectonly:
            return
        found = self.tests + Counter(self.files)
        if is_updating():
            write(self.run, found)
            return
        expected = contents().get(self.run, Counter())
        if problems := differences(expected - of_measured(expected), found):
            self.problems = problems
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.problems:
            terminalreporter.section("skipped tests")
            for line in self.problems:
                terminalreporter.line(line, red=True)
            terminalreporter.line(
                "UPDATE=1 writes tests/skips.toml, if each of these has a reason that a user would accept"
            )
