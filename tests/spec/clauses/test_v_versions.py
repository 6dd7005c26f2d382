"""Clauses V0 to V2: older versions of the interface."""

from __future__ import annotations

from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import Producer, describe, foreign

import cuarray


def test_v0_mask_is_ignored_in_version_0() -> None:
    array = cuarray.as_cuda_array(Producer(describe(version=0, mask=Producer(describe(typestr="|b1")))))
    assert array.mask is None
    assert "mask" not in array.__cuda_array_interface__


@pytest.mark.parametrize("version", [1, 2, 3])
def test_v0_mask_is_read_in_later_versions(version: int) -> None:
    array = cuarray.as_cuda_array(Producer(describe(version=version, mask=Producer(describe(typestr="|b1")))))
    assert array.mask is not None


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_v1_explicit_contiguous_strides_are_read(driver: str, version: int) -> None:
    memory = cuarray.to_device(np.arange(6, dtype="<i4").reshape(2, 3))
    array = cuarray.as_cuda_array(foreign(memory, version=version, strides=(12, 4)))
    assert array.is_c_contiguous()
    assert array.__cuda_array_interface__["strides"] is None
    assert array.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("pointer", [0, 1, 4096, 2**64 - 1])
@pytest.mark.parametrize("strides", [None, (48, 16), (0, 0), (-1, 7)], ids=str)
def test_v1_zero_size_array_may_have_any_pointer_and_strides(version: int, pointer: int, strides: Any) -> None:
    array = cuarray.as_cuda_array(
        Producer(describe(shape=(0, 3), data=(pointer, False), strides=strides, version=version))
    )
    assert (array.size, array.nbytes) == (0, 0)
    assert array.copy_to_host().shape == (0, 3)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("stream", [0, 1, 2, 7, -1, "no stream", pytest.param(object(), id="object()")], ids=repr)
def test_v2_stream_is_ignored_in_older_versions(version: int, stream: Any) -> None:
    array = cuarray.as_cuda_array(Producer(describe(version=version, stream=stream)))
    assert array.stream is None
    assert array.__cuda_array_interface__["stream"] is None


@pytest.mark.cuarray_sim(expect="data-race")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_v2_import_of_older_version_does_not_wait(driver: str, foreign_stream: ForeignStream, version: int) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 9, 4, foreign_stream.handle)
        array = cuarray.as_cuda_array(foreign(memory, version=version, stream=foreign_stream.handle))
        assert array.copy_to_host().tolist() == [0] * 4
        assert hold.is_held
