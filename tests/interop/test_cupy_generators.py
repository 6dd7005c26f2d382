"""Generators of `cupy.random.default_rng`, whose kernels `make peers-cupy` compiles, with findings on."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from route import Library

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )

BIT_GENERATORS = pytest.mark.parametrize("name", ["XORWOW", "MRG32k3a", "Philox4x3210"])


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Any:
    import cupy as module

    return module


def generator(cp: Any, name: str, seed: int = 5) -> Any:
    """A generator with few states. The default size is one for each thread of a large GPU."""
    return cp.random.Generator(getattr(cp.random, name)(seed, size=1024))


@BIT_GENERATORS
def test_uniform_and_normal_numbers_have_their_moments(cp: Any, name: str) -> None:
    rng = generator(cp, name)
    for dtype in (np.float32, np.float64):
        uniform, normal = rng.random(10_000, dtype=dtype).get(), rng.standard_normal(10_000, dtype=dtype).get()
        assert uniform.dtype == normal.dtype == dtype
        assert ((uniform >= 0) & (uniform < 1)).all()
        assert abs(uniform.mean() - 0.5) < 0.02
        assert abs(normal.mean()) < 0.05
        assert abs(normal.std() - 1) < 0.05


@BIT_GENERATORS
def test_seed_gives_the_same_numbers_again(cp: Any, name: str) -> None:
    first, second, other = (generator(cp, name, seed).random(500).get() for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_integers_are_in_their_range(cp: Any) -> None:
    rng = generator(cp, "XORWOW")
    assert sorted(set(rng.integers(3, 9, 1000).get().tolist())) == [3, 4, 5, 6, 7, 8]
    assert rng.integers(2**40, 2**40 + 3, 50, dtype=np.int64).get().min() >= 2**40


@pytest.mark.parametrize(
    ("distribution", "arguments", "mean"),
    [
        ("exponential", (2.0,), 2),
        ("gamma", (2.0, 1.5), 3),
        ("beta", (2.0, 3.0), 0.4),
        ("poisson", (4.0,), 4),
        ("binomial", (10, 0.3), 3),
        ("geometric", (0.25,), 4),
        ("hypergeometric", (20, 30, 10), 4),
        ("chisquare", (3.0,), 3),
    ],
)
def test_distribution_has_its_mean(cp: Any, distribution: str, arguments: tuple[Any, ...], mean: float) -> None:
    drawn = getattr(generator(cp, "Philox4x3210"), distribution)(*arguments, size=4000).get()
    assert drawn.mean() == pytest.approx(mean, rel=0.06)
    assert drawn.std() > 0


def test_default_generator_runs_on_a_device_with_few_multiprocessors(simulator: str, cp: Any) -> None:
    """It has 2048 states for each multiprocessor, whose start takes a minute with the default of 132."""
    program = (
        "import cuarray_sim; cuarray_sim.install(); import cupy\n"
        "print(cupy.cuda.Device().attributes['MultiProcessorCount'])\n"
        "drawn = cupy.random.default_rng(3).random(5000).get(); print(abs(drawn.mean() - 0.5) < 0.02)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CUARRAY_SIM_MULTIPROCESSORS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2", "True"]
