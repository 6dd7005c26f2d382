"""Fixtures of the tests of stand-ins for NVIDIA's compilers and linkers; they skip if a library is not installed."""

from __future__ import annotations

import pytest

from cuarray_sim import stand_ins


@pytest.fixture(autouse=True)
def _on_the_simulated_driver(driver_kind: str) -> None:
    if driver_kind != "simulated":
        pytest.skip("stand-ins are tested on the simulated driver only")


@pytest.fixture
def nvjitlink() -> None:
    """Require the stand-in for nvJitLink, which is in place where ``nvidia-nvjitlink`` is installed."""
    if not stand_ins.loaded("libnvJitLink.so.13"):
        pytest.skip("no stand-in for nvJitLink, which `make test-python` installs for its own run")


@pytest.fixture
def nvrtc() -> None:
    """Require the stand-in for NVRTC, which is in place where ``nvidia-cuda-nvrtc`` is installed."""
    if not stand_ins.loaded("libnvrtc.so.13"):
        pytest.skip("no stand-in for NVRTC: `make peers` installs nvidia-cuda-nvrtc")
