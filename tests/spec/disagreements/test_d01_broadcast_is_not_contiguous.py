"""D1: a broadcast array is not contiguous.

numba-cuda exports ``strides: None`` by a contiguity test that skips dimensions of stride 0. Five elements that all lie in the same
four bytes are thus exported as twenty bytes, and a consumer reads past the allocation.

The text: strides may be absent only for an array in C-contiguous layout (I8).

cuarray: a dimension of more than one element with stride 0 is not contiguous, in its own arrays and in imported ones. The
interface alone does not show numba's error. With ``bounds=True`` the import asks the driver for the end of the allocation and
refuses the array. Without it, the driver refuses a copy past the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import foreign

import cuarray

BROADCAST = [((5,), (0,)), ((4, 2, 3), (0, 24, 8)), ((2, 4, 3), (24, 0, 8)), ((2, 3), (8, 0)), ((2, 2), (0, 0))]
broadcast = pytest.mark.parametrize(("shape", "strides"), BROADCAST, ids=str)


def broadcast_host(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a NumPy array of this layout, with a different value at each distinct address."""
    memory = np.arange(1.0, 1 + sum((n - 1) * step // 8 for n, step in zip(shape, strides, strict=True)) + 1)
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


@broadcast
def test_own_broadcast_array_exports_its_strides(driver: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    array = cuarray.device_array(shape, "f8", strides=strides)
    assert not array.is_c_contiguous()
    assert not array.is_f_contiguous()
    assert array.__cuda_array_interface__["strides"] == strides


@broadcast
def test_imported_broadcast_array_exports_its_strides(
    driver: str, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    like = broadcast_host(shape, strides)
    memory = cuarray.to_device(np.unique(like))
    array = cuarray.as_cuda_array(foreign(memory, shape=shape, strides=strides))
    assert array.__cuda_array_interface__["strides"] == strides
    assert np.array_equal(array.copy_to_host(), like)
    assert np.array_equal(cuarray.to_device(array).copy_to_host(), like)


def test_dimension_of_one_element_with_stride_0_is_contiguous(driver: str) -> None:
    array = cuarray.device_array((1, 3), "f8", strides=(0, 8))
    assert array.is_c_contiguous()
    assert array.__cuda_array_interface__["strides"] is None


@broadcast
def test_peers_read_strides_of_broadcast_array(
    numba: Any, strided_memory_view: Callable[..., Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    array = cuarray.device_array(shape, "f8", strides=strides)
    assert numba.as_cuda_array(array).strides == strides
    assert strided_memory_view(array, -1).strides == tuple(step // 8 for step in strides)


@pytest.mark.cuarray_sim(expect=("uninitialized-read", "out-of-bounds"))
@pytest.mark.parametrize("shape", [(5,), (4, 2, 3), (3, 1024, 1024)], ids=str)
def test_bounds_option_refuses_elements_outside_the_allocation(driver: str, numba: Any, shape: tuple[int, ...]) -> None:
    numba_array = numba.to_device(np.broadcast_to(np.float32(7), shape))
    assert set(numba_array.strides) == {0}
    assert numba_array.alloc_size == 4
    assert numba_array.__cuda_array_interface__["strides"] is None, (
        "numba-cuda now exports these strides: D1 is resolved"
    )
    if driver != "simulated" and numba_array.nbytes < 2**22:
        pytest.skip("a real driver rounds allocations up")
    for take in (cuarray.as_cuda_array, cuarray.interface):
        with pytest.raises(ValueError, match="the allocation"):
            take(numba_array, bounds=True)
    honest = foreign(numba_array, strides=numba_array.strides)
    assert cuarray.as_cuda_array(honest, bounds=True).copy_to_host().tolist() == np.full(shape, 7.0).tolist()
    if driver == "simulated":
        with pytest.raises(cuarray.CudaError, match="CUDA_ERROR_INVALID_VALUE"):
            cuarray.as_cuda_array(numba_array).copy_to_host()
