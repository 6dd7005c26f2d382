"""NVIDIA's headers of the driver, as the installed peers have them."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest


def include_dir() -> Path:
    """The folder of `cuda.h`. Skips the test if the wheel with it is not installed."""
    try:
        files = importlib.metadata.files("nvidia-cuda-runtime") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "cuda.h":
            return Path(str(file.locate())).parent
    pytest.skip("nvidia-cuda-runtime is not installed; `make peers` installs it")
