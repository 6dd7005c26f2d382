"""Fixtures of all Python tests: the choice of the driver, and checks that each test restores settings and contexts."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections import Counter
from collections.abc import Callable, Iterator

import driver_probe
import hypothesis
import pytest

import cuarray

# `make check` runs few examples of each property; `make test` runs the default number.
hypothesis.settings.register_profile("quick", max_examples=10, deadline=None)

pytest_plugins = ["spec_coverage", "expected_skips"]

TESTS_SEEN = pytest.StashKey[int]()


def _driver_answers() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Exclude older objects from the collections of a test: with the whole suite loaded, each takes a quarter of a second."""
    seen = item.session.stash.get(TESTS_SEEN, 0)
    item.session.stash[TESTS_SEEN] = seen + 1
    if seen % 200 == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("cuarray_sim"):
        return None  # the plugin has its own line
    return "CUDA driver: " + ("real" if _driver_answers() else "none")


@pytest.fixture(scope="session")
def driver_kind(request: pytest.FixtureRequest) -> str:
    """``"simulated"`` or ``"real"``; without a driver, the test is skipped."""
    if request.config.getoption("cuarray_sim"):
        return "simulated"
    if not _driver_answers():
        pytest.skip("there is no CUDA driver here; run pytest with --cuarray-sim")
    return "real"


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Restores the package's settings, which are global, after each test."""
    names = ("sync", "export_stream", "export_event", "export_version", "protocol")
    before = [getattr(cuarray.config, name) for name in names]
    yield
    for name, value in zip(names, before, strict=True):
        setattr(cuarray.config, name, value)


@pytest.fixture
def driver(driver_kind: str) -> Iterator[str]:
    """A driver, ``"simulated"`` or ``"real"``; the test must leave the thread's current context unchanged."""
    before = driver_probe.current_context()
    yield driver_kind
    # A later test may hold a stream, for which a free of this test's memory would wait.
    cuarray.reclaim()
    assert driver_probe.current_context() == before, "a context was left current"


@pytest.fixture
def simulator(driver_kind: str) -> str:
    """Skips the test on a real driver, which neither defers all work, nor fails on demand, nor lists live objects."""
    if driver_kind != "simulated":
        pytest.skip("only the simulated driver defers all work, fails on demand and lists live objects")
    return driver_kind


@pytest.fixture
def driver_calls(driver: str) -> Callable[[], contextlib.AbstractContextManager[Counter[str]]]:
    """Counts the driver calls of a ``with`` block, on the simulated driver only."""
    if driver != "simulated":
        pytest.skip("only the simulated driver counts its calls")
    from cuarray_sim import statistics

    @contextlib.contextmanager
    def counted() -> Iterator[Counter[str]]:
        calls: Counter[str] = Counter()
        before = statistics()["calls"]
        yield calls
        calls.update({name: count - before.get(name, 0) for name, count in statistics()["calls"].items()})
        for name in [name for name, count in calls.items() if not count]:
            del calls[name]

    return counted


@pytest.fixture
def foreign_stream(driver: str) -> Iterator[driver_probe.ForeignStream]:
    """A stream of another library, which does not block the legacy default stream."""
    stream = driver_probe.ForeignStream()
    yield stream
    stream.destroy()
