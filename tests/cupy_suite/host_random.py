"""A pytest plugin that draws the random numbers of CuPy's tests with NumPy, since cuRAND has a static CUDA runtime.

The tests use them as data only. The modules that test `cupy.random` itself are not in the suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy.random import _generator


class HostRandomState:
    """The methods of `cupy.random.RandomState`, which return arrays with NumPy's random numbers."""

    def __init__(self, seed: int = 0) -> None:
        self._state = np.random.RandomState(seed)

    def seed(self, seed: int | None = None) -> None:
        self._state.seed(seed)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        draw = getattr(self._state, name)

        def drawn(*arguments: Any, dtype: Any = None, **named: Any) -> Any:
            values = np.asarray(draw(*arguments, **named))
            return cupy.asarray(values if dtype is None else values.astype(dtype))

        return drawn


def pytest_configure() -> None:
    state = HostRandomState()
    _generator.get_random_state = lambda: state
