"""The result of one check of one library."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FAILED", "KNOWN", "PASSED", "SKIPPED", "STATUSES", "UNCLAIMED", "UNEXPECTED", "Outcome", "signal_name"]

PASSED, FAILED = "passed", "failed"
#: It fails, and the adapter names the issue.
KNOWN = "known difference"
#: It passes, and the adapter says that it fails.
UNEXPECTED = "passes, but is listed in KNOWN"
UNCLAIMED = "not claimed"
#: It cannot be decided here; for example on a machine with one device.
SKIPPED = "not run"
STATUSES = (PASSED, FAILED, KNOWN, UNEXPECTED, UNCLAIMED, SKIPPED)


@dataclass
class Outcome:
    """The result of one check."""

    check: str
    clause: str
    title: str
    level: str
    status: str
    #: The observation, or the reason why it was not checked.
    message: str = ""
    #: Findings of the simulated driver, a traceback, or the output of a process that crashed.
    evidence: str = ""
    #: A program that shows the failure.
    reproduction: str = ""
    #: The root cause, if it is recognised.
    cause: str = ""
    #: The correction of this cause, or of the usual one.
    advice: str = ""
    #: The disagreement of real libraries that the failure shows.
    disagreement: str | None = None
    seconds: float = 0.0

    @property
    def fails(self) -> bool:
        """Whether the check fails a run."""
        return self.status == FAILED and self.level == "must"

    def as_json(self) -> dict[str, Any]:
        """Return the result as data that JSON can hold."""
        return asdict(self)


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
