"""No test leaves a device object behind: the part of ``pytest --cuarray-sim`` that compares before and after.

After each test the driver's account is compared with what it was before: a test that leaves an allocation, a stream or an
event alive gets an error at teardown that lists them, and says where each was made. ``@pytest.mark.cuarray_sim_leaks`` allows
it for a test that must.

What makes the comparison fair:

- Objects made by fixtures of a wider scope than one test, and those that were alive before, are no leak of the test.
- Garbage is collected, and what libraries have only put off is done, before anything is called a leak: numba's queue of
  deallocations is emptied, cuarray reclaims what it has put by, and the idle events of its pools are not counted.
- A test that failed is not checked: its traceback keeps its objects alive.
- Allocations are told apart by an identity that is never used twice; streams and events are counted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from .account import Allocation, Made, Statistics, statistics

__all__ = ["MARKER", "LeakCheck"]

MARKER = "cuarray_sim_leaks"


@dataclass
class _Alive:
    """The objects that are alive at one moment, or the difference between two moments."""

    allocations: dict[int, Allocation] = field(default_factory=dict)
    streams: int = 0
    events: int = 0
    makers: dict[int, tuple[str, Made]] = field(default_factory=dict)
    """What each stream and event was made by, where the driver looks for findings."""

    @classmethod
    def now(cls) -> _Alive:
        account: Statistics = statistics()
        alive = {each["id"]: each for each in account["allocations"] if not each["release_pending"]}
        makers = {each["made"]["ordinal"]: (each["object"], each["made"]) for each in account["handles"]}
        return cls(alive, account["streams"], _events_in_use(account["events"]), makers)

    def beyond(self, earlier: _Alive) -> _Alive:
        """What is alive here and was not at the earlier moment."""
        allocations = {key: each for key, each in self.allocations.items() if key not in earlier.allocations}
        makers = {key: each for key, each in self.makers.items() if key not in earlier.makers}
        return _Alive(allocations, max(0, self.streams - earlier.streams), max(0, self.events - earlier.events), makers)

    def add(self, other: _Alive) -> None:
        self.allocations.update(other.allocations)
        self.streams += other.streams
        self.events += other.events
        self.makers.update(other.makers)

    def __bool__(self) -> bool:
        return bool(self.allocations or self.streams or self.events)

    def __str__(self) -> str:
        lines = []
        for each in self.allocations.values():
            lines.append(
                f"  {each['kind']} memory: {each['size']} bytes at {each['address']:#x}, device {each['device']}"
            )
            lines.extend(_places([each["made"]]))
        for count, name in ((self.streams, "stream"), (self.events, "event")):
            if count:
                lines.append(f"  {count} {name}{'s' if count > 1 else ''}")
                # Those that a library keeps for later are alive too, so there may be more makers than leaks.
                lines.extend(_places([made for kind, made in self.makers.values() if kind == name]))
        return "\n".join(lines)


def _places(made: list[Made | None]) -> list[str]:
    """Where things were made, each place once."""
    places = []
    for each in filter(None, made):
        site = each["site"]
        frame = site["user"] or site["innermost"]
        if frame is not None:
            place = f"{frame['file']}:{frame['line']} in {frame['function']}"
        elif (native := site["native"]) is not None:
            place = f"{native['symbol'] or hex(native['offset'])} of {native['object']}"
        else:
            continue
        by = f" (by {site['library']})" if site["library"] else ""
        places.append(f"    made by {each['call']} at {place}{by}")
    return list(dict.fromkeys(places))


class LeakCheck:
    """Registered for a session that runs on the simulated driver."""

    def __init__(self) -> None:
        self.before = _Alive()
        self.failed = False
        self.in_wider_fixture = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Remember what is alive before the test."""
        self.before = _Alive.now()
        self.failed = False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Add what fixtures of a wider scope make to what is alive before."""
        # What a fixture of the class, module or session makes outlives the test that happens to be the first to use it.
        if fixturedef.scope == "function" or self.in_wider_fixture:
            return (yield)
        self.in_wider_fixture = True
        start = _Alive.now()
        try:
            return (yield)
        finally:
            self.in_wider_fixture = False
            self.before.add(_Alive.now().beyond(start))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Remember whether the test failed."""
        report = yield
        self.failed = self.failed or report.failed
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Compare."""
        result = yield
        if self.failed or item.get_closest_marker(MARKER) is not None:
            return result
        # pytest forgets the fixtures' values only after this hook; nothing runs between that could use them.
        funcargs = getattr(item, "funcargs", None)
        if funcargs:
            funcargs.clear()
        if _Alive.now().beyond(self.before):
            _settle()
            if left := _Alive.now().beyond(self.before):
                pytest.fail(
                    f"left alive on the simulated CUDA driver:\n{left}\n"
                    f"Release what the test makes, or mark it with @pytest.mark.{MARKER} if it must not.",
                    pytrace=False,
                )
        return result


def _settle() -> None:
    """Do what has only been put off."""
    gc.collect()
    if reclaim := getattr(sys.modules.get("cuarray"), "reclaim", None):
        reclaim()
    numba = sys.modules.get("numba.cuda.cudadrv.driver")
    if numba is not None:
        contexts = (device.primary_context for device in numba.driver.list_devices())
        for context in filter(None, contexts):
            # One queue for modules, streams and events, one for memory.
            context.deallocations.clear()
            if queue := getattr(context.memory_manager, "deallocations", None):
                queue.clear()


def _events_in_use(alive: int) -> int:
    """The events that are alive, without those that cuarray, if it is loaded, keeps for its next exchange."""
    cuarray = sys.modules.get("cuarray._core")
    if cuarray is None:
        return alive
    idle = getattr(cuarray, "idle_events", None)
    # A cuarray that cannot say how many it keeps would make every first exchange look like a leak.
    return 0 if idle is None else alive - int(idle())
