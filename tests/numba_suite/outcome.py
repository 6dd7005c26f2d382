"""What came of the tests of one module: plain data, made of the record that the worker has left."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, SKIPPED, TIMED_OUT = "passed", "failed", "skipped", "timed out"
OUTCOMES = (PASSED, FAILED, SKIPPED, TIMED_OUT)
WHOLE = "(the module)"
"""The name under which a module's import fails, or is skipped."""


@dataclass(frozen=True)
class Outcome:
    """Of one test."""

    what: str
    """One of :data:`OUTCOMES`."""
    message: str = ""
    """Of a skipped test numba's reason, of a failed one the first line of its error."""


@dataclass
class Module:
    """A module of tests: ``cudapy.test_sm`` for ``numba.cuda.tests.cudapy.test_sm``."""

    name: str
    tests: dict[str, Outcome] = field(default_factory=dict)
    """What came of each, by name (``Class.test``)."""
    seconds: float = 0.0
    """Processor time, with that of the processes it has started."""

    def count(self, what: str) -> int:
        return sum(test.what == what for test in self.tests.values())


def read(name: str, record: Path, ended: str) -> Module:
    """Read a worker's record; ``ended`` says why the worker ended before its time, and is empty if it did not.

    The test in which it ended has failed, or timed out, and those that it did not come to have failed.
    """
    module = Module(name)
    running = WHOLE
    collected: list[str] = []
    for line in record.read_text().splitlines() if record.exists() else []:
        entry = json.loads(line)
        if "collected" in entry:
            collected = entry["collected"]
        elif "started" in entry:
            running = entry["started"]
        else:
            module.tests[entry["test"]] = Outcome(entry["what"], entry["reason"])
            running = WHOLE
    if ended:
        module.tests[running] = Outcome(TIMED_OUT if ended.startswith("timed out") else FAILED, ended)
    elif not collected and not module.tests:
        module.tests[WHOLE] = Outcome(FAILED, "no tests were found in it")
    for test in collected:
        module.tests.setdefault(test, Outcome(FAILED, f"not run: the process ended in {running} ({ended})"))
    return module
