"""Tests of PyTorch itself on the simulated driver. `make test-torch` runs them, in the environment of `make peers-torch`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the tests without PyTorch or without the simulated driver: other drivers run its kernels, too."""
    if importlib.util.find_spec("torch") is None or not config.getoption("cuarray_sim"):
        return True
    return None


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    """Start each test on device 0 without pending work, and wait for the work of the test."""
    import torch

    torch.cuda.set_device(0)
    torch.cuda.synchronize()
    yield
    for number in range(torch.cuda.device_count()):
        torch.cuda.synchronize(number)


@pytest.fixture
def second_device() -> str:
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("there is one device only; CUARRAY_SIM_DEVICES=2 makes two")
    return "cuda:1"


@pytest.fixture
def sides() -> Callable[[], list[tuple[str, str]]]:
    """Return the library and the source line of both sides of the only finding so far."""
    import linecache

    import cuarray_sim

    def line(side: Any) -> str:
        frame = side["site"]["user"]
        return linecache.getline(frame["file"], frame["line"]).strip()

    def sides() -> list[tuple[str, str]]:
        (finding,) = cuarray_sim.findings()["findings"]
        return [(side["site"]["library"], line(side)) for side in finding["sides"]]

    return sides
