"""D8: ``strides`` may be absent.

cuDF reads the key without checking that it exists: arrays of JAX, and slices of pylibcudf, fail with KeyError.

The text: strides are optional; absent, or ``None``, the array is C-contiguous (I8).

cuarray: an absent key, ``None`` and contiguous strides mean the same, in every version. Exports always contain the key, for
consumers that require it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

SHAPES = [(), (4,), (2, 3), (2, 1, 3), (0, 3), (1, 1)]
ABSENT = object()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_absent_none_and_contiguous_strides_are_equivalent(driver: str, shape: tuple[int, ...], version: int) -> None:
    host = np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    memory = cuarray.to_device(host)
    exports = []
    for strides in (ABSENT, None, host.strides):
        producer = foreign(memory, strides=strides, version=version)
        if strides is ABSENT:
            del producer.__cuda_array_interface__["strides"]
        array = cuarray.as_cuda_array(producer)
        assert array.is_c_contiguous()
        assert np.array_equal(array.copy_to_host(), host)
        exports.append(array.__cuda_array_interface__)
    assert exports[0] == exports[1] == exports[2]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("version", [2, 3])
def test_export_always_contains_strides(driver: str, shape: tuple[int, ...], version: int) -> None:
    cuarray.config.export_version = version
    exported = cuarray.device_array(shape, "f4").__cuda_array_interface__
    assert exported["strides"] is None
    assert cuarray.device_array((2, 3), "f4", order="F").__cuda_array_interface__["strides"] == (4, 8)


def test_consumer_that_requires_the_key_reads_an_imported_array(driver: str) -> None:
    def as_cudf_reads(obj: Any) -> tuple[int, bool]:
        interface = obj.__cuda_array_interface__
        return interface["data"][0], interface["strides"] is None or interface["strides"] == (4,)

    jax = Producer(describe(version=2))
    assert "strides" not in jax.__cuda_array_interface__
    with pytest.raises(KeyError):
        as_cudf_reads(jax)
    assert as_cudf_reads(cuarray.as_cuda_array(jax)) == (jax.__cuda_array_interface__["data"][0], True)


def test_peers_read_an_imported_array_without_strides(
    numba: Any, strided_memory_view: Callable[..., Any], mpi_buffer: Callable[[object], Any]
) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(np.arange(6.0).reshape(2, 3)), version=2))
    assert numba.as_cuda_array(array).strides == (24, 8)
    assert strided_memory_view(array, -1).strides is None
    assert mpi_buffer(array).nbytes == 48
