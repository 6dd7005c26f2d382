"""What all Python tests share: which driver they run on."""

from __future__ import annotations

import ctypes

import pytest

pytest_plugins = ["spec_coverage"]


def _driver_answers() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("cuarray_sim"):
        return None  # the plugin says it
    return "CUDA driver: " + ("real" if _driver_answers() else "none")


@pytest.fixture(scope="session")
def driver_kind(request: pytest.FixtureRequest) -> str:
    """``"simulated"`` or ``"real"``; a test that asks for it is skipped where there is no driver."""
    if request.config.getoption("cuarray_sim"):
        return "simulated"
    if not _driver_answers():
        pytest.skip("there is no CUDA driver here; run pytest with --cuarray-sim")
    return "real"
