"""CuPy's sorts by Thrust, and the functions that use them, against NumPy's, with findings on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuarray_sim import findings

TYPES = pytest.mark.parametrize("dtype", "?bBhHiIqQefdFD")


def values(dtype: str, size: int = 500) -> np.ndarray:
    """Return numbers; some are equal."""
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 90, size).astype(dtype)
    return numbers + 1j * rng.integers(0, 3, size).astype(numbers.real.dtype) if dtype in "FD" else numbers


@TYPES
@pytest.mark.parametrize("axis", [0, 1, None])
def test_sort_along_each_axis_is_that_of_numpy(cp: Any, dtype: str, axis: int | None) -> None:
    matrix = values(dtype).reshape(20, 25)
    np.testing.assert_array_equal(cp.sort(cp.asarray(matrix), axis=axis).get(), np.sort(matrix, axis=axis))


@TYPES
def test_argsort_keeps_the_order_of_equal_elements(cp: Any, dtype: str) -> None:
    numbers = values(dtype)
    np.testing.assert_array_equal(cp.argsort(cp.asarray(numbers)).get(), np.argsort(numbers, kind="stable"))


@TYPES
def test_lexsort_sorts_by_the_last_key_first(cp: Any, dtype: str) -> None:
    keys = np.stack([values(dtype)[::-1], values(dtype)])
    np.testing.assert_array_equal(cp.lexsort(cp.asarray(keys)).get(), np.lexsort(keys))


@pytest.mark.parametrize("dtype", "efdFD")
def test_numbers_that_are_not_a_number_are_last(cp: Any, dtype: str) -> None:
    numbers = values(dtype, 60)
    numbers[::7] = np.nan
    np.testing.assert_array_equal(cp.sort(cp.asarray(numbers)).get(), np.sort(numbers))


def test_sort_of_an_empty_array_and_of_one_element(cp: Any) -> None:
    assert cp.sort(cp.empty(0)).get().tolist() == []
    assert cp.sort(cp.asarray([3.0])).get().tolist() == [3]


def test_sort_of_many_elements_uses_several_blocks(cp: Any) -> None:
    numbers = np.random.default_rng(6).permutation(30_000).astype(np.float32)
    array = cp.asarray(numbers)
    array.sort()
    np.testing.assert_array_equal(array.get(), np.arange(30_000, dtype=np.float32))


@pytest.mark.parametrize("dtype", "iqfd")
def test_unique_gives_elements_indices_and_counts_of_numpy(cp: Any, dtype: str) -> None:
    numbers = values(dtype)
    mine, numpys = (
        library.unique(array, return_index=True, return_inverse=True, return_counts=True)
        for library, array in ((cp, cp.asarray(numbers)), (np, numbers))
    )
    for own, expected in zip(mine, numpys, strict=True):
        np.testing.assert_array_equal(own.get(), expected)


def test_order_statistics_are_those_of_numpy(cp: Any) -> None:
    numbers = np.random.default_rng(8).standard_normal((21, 30))
    array = cp.asarray(numbers)
    np.testing.assert_allclose(cp.median(array, axis=0).get(), np.median(numbers, axis=0))
    np.testing.assert_allclose(cp.percentile(array, [5, 50, 93]).get(), np.percentile(numbers, [5, 50, 93]))
    np.testing.assert_allclose(cp.quantile(array, 0.3, axis=1).get(), np.quantile(numbers, 0.3, axis=1))


def test_partition_puts_the_element_in_its_place(cp: Any) -> None:
    numbers = np.random.default_rng(9).permutation(400)
    parted = cp.partition(cp.asarray(numbers), 123).get()
    assert parted[123] == 123
    assert parted[:123].max() < 123 < parted[124:].min()


@pytest.mark.cuarray_sim(expect="kernel-race")
def test_argpartition_of_cupy_relies_on_threads_of_a_warp_in_step(cp: Any) -> None:
    """CuPy's kernel has no `__syncwarp` between the steps of its sort (`argpartition_kernel`), which CUDA asks for since Volta."""
    numbers = np.random.default_rng(9).permutation(400)
    assert numbers[cp.argpartition(cp.asarray(numbers), 50).get()[50]] == 50
    (race,) = findings()["findings"]
    assert {side["detail"] for side in race["sides"]} == {"argpartition_kernel"}


def test_searchsorted_and_set_functions_are_those_of_numpy(cp: Any) -> None:
    numbers, others = np.sort(values("i")), values("i", 60) * 2
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            cp.searchsorted(cp.asarray(numbers), cp.asarray(others), side=side).get(),
            np.searchsorted(numbers, others, side=side),
        )
    np.testing.assert_array_equal(cp.isin(cp.asarray(others), cp.asarray(numbers)).get(), np.isin(others, numbers))


def test_permutation_and_shuffle_keep_the_elements(cp: Any) -> None:
    cp.random.seed(3)
    drawn = cp.random.permutation(300).get()
    assert sorted(drawn.tolist()) == list(range(300))
    assert drawn.tolist() != list(range(300))
    array = cp.arange(300)
    cp.random.shuffle(array)
    assert sorted(array.get().tolist()) == list(range(300))
    assert array.get().tolist() != list(range(300))


def race_of_a_sort(cp: Any, *, waits: bool) -> list[Any]:
    """Sort in one stream an array that another stream has written, and return the findings."""
    writing, sorting = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    array = cp.zeros(2000)
    cp.cuda.get_current_stream().synchronize()
    with writing:
        array += 1
    if waits:
        sorting.wait_event(writing.record())
    with sorting:
        array.sort()
    sorting.synchronize()
    writing.synchronize()
    return findings()["findings"]


def test_sort_after_a_wait_for_the_other_stream_has_no_finding(cp: Any) -> None:
    assert race_of_a_sort(cp, waits=True) == []


@pytest.mark.cuarray_sim(expect="data-race")
def test_sort_without_a_wait_is_a_race_at_the_users_lines(cp: Any) -> None:
    races = race_of_a_sort(cp, waits=False)
    assert {race["kind"] for race in races} == {"data-race"}
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    sides = [side["site"]["user"] for side in races[0]["sides"]]
    assert [side["file"] for side in sides] == [__file__] * 2
    assert [lines[side["line"] - 1].strip() for side in sides] == ["array += 1", "array.sort()"]
