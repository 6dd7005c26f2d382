"""Outcomes of the tests of one module, read from the worker's record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, SKIPPED, TIMED_OUT = "passed", "failed", "skipped", "timed out"
OUTCOMES = (PASSED, FAILED, SKIPPED, TIMED_OUT)
WHOLE = "(the module)"
"""Name of the outcome of a module that fails or is skipped at import."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test."""

    result: str
    """One of :data:`OUTCOMES`."""
    message: str = ""
    """The reason of a skipped test, or the first line of the error of a failed test."""


@dataclass
class Module:
    """A module of tests: ``cudapy.test_sm`` for ``numba.cuda.tests.cudapy.test_sm`` of numba-cuda."""

    name: str
    tests: dict[str, Outcome] = field(default_factory=dict)
    """Outcomes by name (``Class.test``)."""
    whole: int = 0
    """Number of tests of the module, those that do not run included."""
    seconds: float = 0.0
    """Processor time, including child processes."""

    def count(self, result: str) -> int:
        return sum(test.result == result for test in self.tests.values())


def read(name: str, record: Path, ended: str) -> Module:
    """Read a worker's record. ``ended`` is the reason why the worker ended early, or empty.

    The test that ran when the worker ended has failed or timed out. The tests after it count as failed.
    """
    module = Module(name)
    running = WHOLE
    collected: list[str] = []
    for line in record.read_text().splitlines() if record.exists() else []:
        entry = json.loads(line)
        if "collected" in entry:
            collected, module.whole = entry["collected"], entry["whole"]
        elif "started" in entry:
            running = entry["started"]
        else:
            module.tests[entry["test"]] = Outcome(entry["result"], entry["reason"])
            running = WHOLE
    if ended:
        module.tests[running] = Outcome(TIMED_OUT if ended.startswith("timed out") else FAILED, ended)
    elif not collected and not module.tests:
        module.tests[WHOLE] = Outcome(FAILED, "the module has no tests")
    for test in collected:
        module.tests.setdefault(test, Outcome(FAILED, f"not run: the process ended in {running} ({ended})"))
    return module
