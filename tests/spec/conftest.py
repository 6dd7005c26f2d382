"""Around every test of a clause: the settings are put back, and no call may leave a context behind."""

from __future__ import annotations

from collections.abc import Iterator

import driver_probe
import pytest

import cuarray


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """The package's settings hold for the whole process; each test starts from the defaults."""
    before = (cuarray.config.sync, cuarray.config.export_stream, cuarray.config.export_version)
    yield
    cuarray.config.sync, cuarray.config.export_stream, cuarray.config.export_version = before


@pytest.fixture
def driver(driver_kind: str) -> Iterator[str]:
    """A driver, ``"simulated"`` or ``"real"``; the thread's current context must be the same when the test is done."""
    before = driver_probe.current_context()
    yield driver_kind
    assert driver_probe.current_context() == before, "a context was left current"


@pytest.fixture
def simulator(driver_kind: str) -> str:
    """For what only the simulated driver can show."""
    if driver_kind != "simulated":
        pytest.skip("only the simulated driver leaves work undone until somebody waits for it")
    return driver_kind


@pytest.fixture
def foreign_stream(driver: str) -> Iterator[driver_probe.ForeignStream]:
    """A stream of another library."""
    stream = driver_probe.ForeignStream()
    yield stream
    stream.destroy()
