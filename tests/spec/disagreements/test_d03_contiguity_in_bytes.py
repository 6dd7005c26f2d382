"""D3: strides and item sizes are in bytes.

numba-cuda compares the strides of a kernel argument with the width of the type in *bits*. Every eighth float64 (stride 64) is
typed C-contiguous, so the kernel reads the wrong elements. An array with given, contiguous strides is typed non-contiguous. A
bool array with given strides raises AttributeError, since the type has no such width.

The text: strides are the number of bytes to step (I8).

cuarray: contiguity is decided in bytes, whether strides are given or not, and copies use the given strides. A contiguous array is
exported with ``strides: None``, which every consumer types correctly. An array that is not contiguous must export its strides,
so numba's kernels still misread a stride of eight items; an array imported by ``numba.cuda.as_cuda_array`` is typed correctly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import foreign

import cuarray

# Types, each with a stride of as many bytes as an item has bits.
BITS = [("<f8", 64), ("<f4", 32), ("<i2", 16), ("|u1", 8), ("<c16", 128)]
CONTIGUOUS = [("<f8", 8), ("|b1", 1), ("<M8[s]", 8), ("<c8", 8)]


@pytest.mark.parametrize(("dtype", "stride"), BITS)
def test_stride_of_eight_items_is_not_contiguous(driver: str, dtype: str, stride: int) -> None:
    memory = cuarray.to_device(np.arange(4 * 8).astype(dtype))
    array = cuarray.as_cuda_array(foreign(memory, shape=(4,), strides=(stride,)))
    assert not array.is_c_contiguous()
    assert not array.is_f_contiguous()
    assert array.__cuda_array_interface__["strides"] == (stride,)
    assert array.copy_to_host().tolist() == memory.copy_to_host()[::8].tolist()


@pytest.mark.parametrize(("dtype", "stride"), CONTIGUOUS)
def test_given_strides_of_one_item_are_contiguous(driver: str, dtype: str, stride: int) -> None:
    memory = cuarray.to_device(np.arange(4).astype(dtype))
    array = cuarray.as_cuda_array(foreign(memory, strides=(stride,)))
    assert array.is_c_contiguous()
    assert array.__cuda_array_interface__["strides"] is None
    assert array.copy_to_host().tolist() == memory.copy_to_host().tolist()


def test_two_dimensional_contiguity_agrees_with_numpy(driver: str) -> None:
    memory = cuarray.to_device(np.arange(6 * 8, dtype="f8"))
    for shape, strides in [((3, 2), (128, 64)), ((2, 3), (64, 128)), ((3, 2), (64, 8))]:
        array = cuarray.as_cuda_array(foreign(memory, shape=shape, strides=strides))
        like = np.lib.stride_tricks.as_strided(memory.copy_to_host(), shape, strides)
        assert (array.is_c_contiguous(), array.is_f_contiguous()) == (like.flags.c_contiguous, like.flags.f_contiguous)
        assert np.array_equal(array.copy_to_host(), like)


def test_numba_types_imported_arrays_correctly(numba: Any, typeof: Callable[[object], Any]) -> None:
    memory = cuarray.to_device(np.arange(32, dtype="f8"))
    eighths, given = foreign(memory, shape=(4,), strides=(64,)), foreign(memory, strides=(8,))
    flags = foreign(cuarray.to_device(np.ones(4, bool)), strides=(1,))
    assert typeof(eighths).layout == "C", "numba-cuda now compares bytes: D3 is resolved"
    assert typeof(given).layout == "A"
    with pytest.raises(AttributeError, match="bitwidth"):
        typeof(flags)

    assert typeof(cuarray.as_cuda_array(given)).layout == "C"
    assert typeof(cuarray.as_cuda_array(flags)).layout == "C"
    imported = numba.as_cuda_array(cuarray.as_cuda_array(eighths))
    assert typeof(imported).layout == "A"
    assert imported.copy_to_host().tolist() == [0, 8, 16, 24]
