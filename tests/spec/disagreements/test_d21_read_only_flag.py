"""D21: read-only stays read-only.

JAX exports its immutable arrays as read-only. CuPy and numba import them and export them again as writable. PyTorch refuses
read-only arrays, but thus writes into an immutable one. DALI exports read-only data as writable because PyTorch refuses the flag.

The text: the second element of ``data`` is the read-only flag (I4).

cuarray: keeps the flag through imports, views and exports, and refuses to write. A copy is writable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

MESSAGE = "read-only"


@pytest.fixture
def immutable(driver: str) -> Producer:
    """Return an array as JAX exports it: version 2, without strides and stream, read-only."""
    memory = cuarray.to_device(np.arange(6.0).reshape(2, 3))
    return Producer({"shape": (2, 3), "typestr": "<f8", "data": (memory.ptr, True), "version": 2}, keeps=memory)


def test_numba_drops_the_flag(numba: Any, immutable: Producer) -> None:
    numba_array = numba.as_cuda_array(immutable)
    assert numba_array.__cuda_array_interface__["data"][1] is False, (
        "numba-cuda now keeps the flag: D21 is resolved for it"
    )
    passed_on = numba.as_cuda_array(cuarray.as_cuda_array(immutable))
    assert passed_on.__cuda_array_interface__["data"][1] is False


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_flag_is_kept_through_repeated_exchanges(immutable: Producer, version: int) -> None:
    immutable.__cuda_array_interface__["version"] = version
    array = cuarray.as_cuda_array(immutable)
    for _ in range(4):
        assert array.readonly
        exported = array.__cuda_array_interface__
        assert exported["data"][1] is True
        array = cuarray.from_cuda_array_interface(exported, array)
        array = cuarray.as_cuda_array(Producer(array.__cuda_array_interface__, array))


VIEWS: dict[str, Callable[[cuarray.DeviceArray], cuarray.DeviceArray]] = {
    "itself": lambda a: a,
    "sliced": lambda a: a[:, ::2],
    "indexed": lambda a: a[1],
    "reversed": lambda a: a[::-1],
    "transposed": lambda a: a.T,
    "reshaped": lambda a: a.reshape(3, 2),
    "flattened": lambda a: a.ravel(),
    "squeezed": lambda a: a[:1].squeeze(),
    "of another type": lambda a: a.view("<i8"),
    "on a stream": lambda a: a.bind(cuarray.stream()),
    "a view of a view": lambda a: a.T[1:].T[..., 0],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_views_keep_the_flag_and_refuse_writes(
    immutable: Producer, view: Callable[[cuarray.DeviceArray], cuarray.DeviceArray]
) -> None:
    array = view(cuarray.as_cuda_array(immutable))
    assert array.readonly
    assert array.__cuda_array_interface__["data"][1] is True
    ones = np.ones(array.shape, array.dtype)
    with pytest.raises(BufferError, match=MESSAGE):
        array.copy_to_device(ones)
    with pytest.raises(BufferError, match=MESSAGE):
        array.copy_to_device(cuarray.to_device(ones))
    with pytest.raises(BufferError, match=MESSAGE):
        array[...] = 1
    assert cuarray.as_cuda_array(immutable).copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copy_of_read_only_array_is_writable(immutable: Producer) -> None:
    copied = cuarray.to_device(cuarray.as_cuda_array(immutable))
    assert not copied.readonly
    copied.copy_to_device(np.ones((2, 3)))
    assert copied.copy_to_host().tolist() == [[1] * 3] * 2
    assert cuarray.as_cuda_array(immutable).copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_cuda_core_and_mpi4py_read_the_flag(
    immutable: Producer, strided_memory_view: Callable[..., Any], mpi_buffer: Callable[[object], Any]
) -> None:
    array = cuarray.as_cuda_array(immutable)
    assert strided_memory_view(array, -1).readonly
    assert mpi_buffer(array).readonly
    writable = cuarray.to_device(array)
    assert not strided_memory_view(writable, -1).readonly
    assert not mpi_buffer(writable).readonly


def test_flag_changed_after_import_has_no_effect(immutable: Producer) -> None:
    array = cuarray.as_cuda_array(immutable)
    immutable.__cuda_array_interface__["data"] = (array.ptr, False)
    assert array.readonly
    assert not cuarray.as_cuda_array(foreign(array, data=(array.ptr, False))).readonly, (
        "a new import reads the new flag"
    )
