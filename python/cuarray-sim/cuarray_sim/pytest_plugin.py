"""``pytest --cuarray-sim``: a test suite on the simulated driver, and no device object left behind.

Under ``CUARRAY_SIM_SCHEDULE=random`` each test begins a schedule of its own, made from the session's seed and the test's
name, and a failure says how to run that test alone under the same one.

Without the option the plugin only registers its marker. With it, the driver is installed before pytest loads the first
conftest file, so nothing in the suite can have touched another one; the header says so. After each test the driver's
account is compared with what it was before: a test that leaves an allocation, a stream or an event alive gets an error
at teardown that lists them. ``@pytest.mark.cuarray_sim_leaks`` allows it for a test that must.

What makes the comparison fair:

- Objects made by fixtures of a wider scope than one test, and those that were alive before, are no leak of the test.
- Garbage is collected, and what libraries have only put off is done, before anything is called a leak: numba's queue of
  deallocations is emptied, and the idle events of cuarray's pools are not counted.
- A test that failed is not checked: its traceback keeps its objects alive.
- Allocations are told apart by an identity that is never used twice; streams and events are counted.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from .account import Allocation, Statistics, statistics
from .library import install
from .schedules import set_schedule

__all__: list[str] = []

_MARKER = "cuarray_sim_leaks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option; the simulator's own settings are the variables ``CUARRAY_SIM_*``."""
    parser.getgroup("cuarray-sim").addoption(
        "--cuarray-sim",
        action="store_true",
        default=False,
        help="run on the simulated CUDA driver, and fail tests that leave device objects behind; "
        "CUARRAY_SIM_DEVICES, _HOST_READABLE, _TRACE and _SCHEDULE set it up",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the driver before any conftest file can import a CUDA library."""
    if early_config.known_args_namespace.cuarray_sim:
        try:
            install()
        except (OSError, RuntimeError) as error:
            raise pytest.UsageError(f"--cuarray-sim: {error}") from error


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, with the option, the check for leaks."""
    config.addinivalue_line("markers", f"{_MARKER}: the test may leave objects alive on the simulated CUDA driver")
    if config.getoption("cuarray_sim"):
        config.pluginmanager.register(_LeakCheck(), "cuarray_sim_leak_check")
        kind, _, seed = os.environ.get("CUARRAY_SIM_SCHEDULE", "").partition(":")
        if kind == "random":
            config.pluginmanager.register(_RandomSchedule(int(seed)), "cuarray_sim_random_schedule")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that the driver is simulated."""
    if not config.getoption("cuarray_sim"):
        return None
    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith("CUARRAY_SIM_")}
    shown = ", ".join(f"{name}={value}" for name, value in settings.items()) or "default settings"
    return f"CUDA driver: simulated by cuarray-sim ({shown})"


@dataclass
class _Alive:
    """The objects that are alive at one moment, or the difference between two moments."""

    allocations: dict[int, Allocation] = field(default_factory=dict)
    streams: int = 0
    events: int = 0

    @classmethod
    def now(cls) -> _Alive:
        account: Statistics = statistics()
        alive = {each["id"]: each for each in account["allocations"] if not each["release_pending"]}
        return cls(alive, account["streams"], _events_in_use(account["events"]))

    def beyond(self, earlier: _Alive) -> _Alive:
        """What is alive here and was not at the earlier moment."""
        allocations = {key: each for key, each in self.allocations.items() if key not in earlier.allocations}
        return _Alive(allocations, max(0, self.streams - earlier.streams), max(0, self.events - earlier.events))

    def add(self, other: _Alive) -> None:
        self.allocations.update(other.allocations)
        self.streams += other.streams
        self.events += other.events

    def __bool__(self) -> bool:
        return bool(self.allocations or self.streams or self.events)

    def __str__(self) -> str:
        lines = [
            f"  {each['kind']} memory: {each['size']} bytes at {each['address']:#x}, device {each['device']}"
            for each in self.allocations.values()
        ]
        for count, name in ((self.streams, "stream"), (self.events, "event")):
            if count:
                lines.append(f"  {count} {name}{'s' if count > 1 else ''}")
        return "\n".join(lines)


class _LeakCheck:
    """Registered for a session that runs on the simulated driver."""

    def __init__(self) -> None:
        self.before = _Alive()
        self.failed = False
        self.in_wider_fixture = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        self.before = _Alive.now()
        self.failed = False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
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
        report = yield
        self.failed = self.failed or report.failed
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        result = yield
        if self.failed or item.get_closest_marker(_MARKER) is not None:
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
                    f"Release what the test makes, or mark it with @pytest.mark.{_MARKER} if it must not.",
                    pytrace=False,
                )
        return result


class _RandomSchedule:
    """Registered for a random schedule: each test has its own, which it also has when it runs alone."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        set_schedule(f"random:{self.seed ^ zlib.crc32(item.nodeid.encode())}")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed:
            again = f'CUARRAY_SIM_SCHEDULE=random:{self.seed} pytest --cuarray-sim "{item.nodeid}"'
            report.sections.append(("schedule", f"under the same schedule again: {again}"))
        return report


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
