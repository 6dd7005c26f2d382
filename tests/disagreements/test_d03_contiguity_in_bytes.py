"""D3: strides are bytes, and so is an item size.

numba-cuda compares the strides of a kernel's argument with the width of the type in *bits*: every eighth float64 (stride 64)
is typed C-contiguous, so the kernel reads the wrong elements; an array whose strides are given and contiguous is not; and a
bool array with strides given raises AttributeError, since the type has no such width.

The text: strides are the number of bytes to step (I8).

cuarray: contiguity is decided in bytes, whether strides are given or not; copies take the elements that the strides name; and what is
contiguous is exported with ``strides: None``, which every consumer types right. An array that is not contiguous must
say its strides, so numba's kernels still mistake a stride of eight items; `numba.cuda.as_cuda_array`, between, does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import foreign

import cuarray

# Each: the type, and strides of a shape of (4,) that are as many bytes as an item has bits.
BITS = [("<f8", 64), ("<f4", 32), ("<i2", 16), ("|u1", 8), ("<c16", 128)]
CONTIGUOUS = [("<f8", 8), ("|b1", 1), ("<M8[s]", 8), ("<c8", 8)]


@pytest.mark.parametrize(("dtype", "stride"), BITS)
def test_a_stride_of_as_many_bytes_as_an_item_has_bits(driver: str, dtype: str, stride: int) -> None:
    memory = cuarray.to_device(np.arange(4 * 8).astype(dtype))
    array = cuarray.as_cuda_array(foreign(memory, shape=(4,), strides=(stride,)))
    assert not array.is_c_contiguous()
    assert not array.is_f_contiguous()
    assert array.__cuda_array_interface__["strides"] == (stride,)
    assert array.copy_to_host().tolist() == memory.copy_to_host()[::8].tolist()


@pytest.mark.parametrize(("dtype", "stride"), CONTIGUOUS)
def test_given_strides_may_be_contiguous(driver: str, dtype: str, stride: int) -> None:
    memory = cuarray.to_device(np.arange(4).astype(dtype))
    array = cuarray.as_cuda_array(foreign(memory, strides=(stride,)))
    assert array.is_c_contiguous()
    assert array.__cuda_array_interface__["strides"] is None
    assert array.copy_to_host().tolist() == memory.copy_to_host().tolist()


def test_rows_of_as_many_bytes_as_an_item_has_bits(driver: str) -> None:
    memory = cuarray.to_device(np.arange(6 * 8, dtype="f8"))
    for shape, strides in [((3, 2), (128, 64)), ((2, 3), (64, 128)), ((3, 2), (64, 8))]:
        array = cuarray.as_cuda_array(foreign(memory, shape=shape, strides=strides))
        like = np.lib.stride_tricks.as_strided(memory.copy_to_host(), shape, strides)
        assert (array.is_c_contiguous(), array.is_f_contiguous()) == (like.flags.c_contiguous, like.flags.f_contiguous)
        assert np.array_equal(array.copy_to_host(), like)


def test_what_numba_mistakes_comes_out_right_of_ours(numba: Any, typeof: Callable[[object], Any]) -> None:
    memory = cuarray.to_device(np.arange(32, dtype="f8"))
    eighths, given = foreign(memory, shape=(4,), strides=(64,)), foreign(memory, strides=(8,))
    flags = foreign(cuarray.to_device(np.ones(4, bool)), strides=(1,))
    assert typeof(eighths).layout == "C", "numba-cuda has been mended: D3 has lost its cause"
    assert typeof(given).layout == "A"
    with pytest.raises(AttributeError, match="bitwidth"):
        typeof(flags)

    assert typeof(cuarray.as_cuda_array(given)).layout == "C"
    assert typeof(cuarray.as_cuda_array(flags)).layout == "C"
    imported = numba.as_cuda_array(cuarray.as_cuda_array(eighths))
    assert typeof(imported).layout == "A"
    assert imported.copy_to_host().tolist() == [0, 8, 16, 24]
