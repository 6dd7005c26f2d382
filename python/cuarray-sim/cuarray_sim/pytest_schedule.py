"""Random schedules of tests: the part of ``pytest --cuarray-sim`` for ``CUARRAY_SIM_SCHEDULE=random``.

The schedule of a test depends on the session's seed and the test's name. A failure shows how to run the test alone under the
same schedule.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator

import pytest

from .schedules import set_schedule

__all__ = ["RandomSchedule"]


class RandomSchedule:
    """The plugin of a session under a random schedule. The schedule of a test is the same when it runs alone."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Begin the test's own schedule."""
        set_schedule(f"random:{self.seed ^ zlib.crc32(item.nodeid.encode())}")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the command that repeats the schedule to a failure."""
        report = yield
        if report.failed:
            again = f'CUARRAY_SIM_SCHEDULE=random:{self.seed} pytest --cuarray-sim "{item.nodeid}"'
            report.sections.append(("schedule", f"under the same schedule again: {again}"))
        return report
