"""CuPy's reductions, scans and histograms by CUB, against NumPy's, with findings on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def cub(cp: Any) -> Iterator[None]:
    """CUB for whole arrays, which is CuPy's default."""
    from cupy._core import _accelerator

    before = _accelerator.get_routine_accelerators()
    _accelerator.set_routine_accelerators(["cub"])
    yield
    _accelerator.set_routine_accelerators(before)


@pytest.mark.parametrize("dtype", "qQfdFD")
def test_sums_and_products_of_whole_arrays(cp: Any, dtype: str) -> None:
    numbers = np.random.default_rng(2).integers(1, 4, 3000).astype(dtype)
    array = cp.asarray(numbers)
    assert array.sum().get() == numbers.sum()
    assert array[:20].prod().get() == numbers[:20].prod()


@pytest.mark.parametrize("dtype", "bBhHiIqQefd")
def test_smallest_and_largest_elements_and_their_places(cp: Any, dtype: str) -> None:
    numbers = np.random.default_rng(3).permutation(100).astype(dtype)
    array = cp.asarray(numbers)
    assert (array.min().get(), array.max().get()) == (numbers.min(), numbers.max())
    assert (int(array.argmin()), int(array.argmax())) == (numbers.argmin(), numbers.argmax())


def test_reductions_of_rows(cp: Any) -> None:
    numbers = np.random.default_rng(4).standard_normal((40, 70))
    array = cp.asarray(numbers)
    np.testing.assert_allclose(array.sum(axis=1).get(), numbers.sum(axis=1))
    np.testing.assert_array_equal(array.max(axis=1).get(), numbers.max(axis=1))


@pytest.mark.parametrize("dtype", "qfdD")
def test_cumulative_sums_and_products(cp: Any, dtype: str) -> None:
    numbers = np.random.default_rng(5).integers(1, 3, 5000).astype(dtype)
    np.testing.assert_allclose(cp.cumsum(cp.asarray(numbers)).get(), np.cumsum(numbers))
    np.testing.assert_allclose(cp.cumprod(cp.asarray(numbers[:40])).get(), np.cumprod(numbers[:40]))


def test_histogram_has_the_counts_of_numpy(cp: Any) -> None:
    numbers = np.random.default_rng(6).standard_normal(4000)
    counts, edges = np.histogram(numbers, 15)
    own, own_edges = cp.histogram(cp.asarray(numbers), 15)
    np.testing.assert_array_equal(own.get(), counts)
    np.testing.assert_allclose(own_edges.get(), edges)
    uneven = np.array([-3, -1, -0.5, 0.25, 2.5])
    np.testing.assert_array_equal(
        cp.histogram(cp.asarray(numbers), cp.asarray(uneven))[0].get(), np.histogram(numbers, uneven)[0]
    )


def test_default_of_this_cupy_is_that_of_the_released_one(cp: Any, simulator: str) -> None:
    program = "from cupy._core import _accelerator as a; print(a.get_routine_accelerators() == [a.ACCELERATOR_CUB])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
