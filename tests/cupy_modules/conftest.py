"""CuPy with Thrust and CUB, which `python -m cuarray_sim.cupy` builds. `make test-cupy` runs this folder."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from cuarray_sim.cupy.finder import MODULES, is_built


@pytest.fixture
def cp(simulator: str) -> Iterator[Any]:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed; `make test-cupy` installs it into build/cupy")
    for name in ("runtime", "random", "cub", "thrust"):
        if not is_built(importlib.import_module(MODULES[name])):
            pytest.skip(f"CuPy's module {name} is the released one; `make test-cupy` builds it")
    yield cupy
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
