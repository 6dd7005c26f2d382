"""Typed arguments accept C structures and DLPack tensors."""

from __future__ import annotations

import ctypes
import gc

import c_arrays as c
import numpy as np
import pytest
import typed_views
from dlpack_tensors import CPU, FLOAT, UINT, Producer
from driver_probe import held

import cuarray


def test_c_structure_is_accepted_checked_and_released(driver: str) -> None:
    memory = cuarray.to_device(np.arange(12, dtype="float32"))
    producer = c.Producer(memory, shape=c.numbers(3, 4), ndim=2)
    assert typed_views.matrix(producer) == ([3, 4], [16, 4])
    gc.collect()
    assert producer.released == 1
    with pytest.raises(BufferError, match="is expected"):
        typed_views.vector(c.Producer(memory, typestr=b"<f8"))
    mask = c.of(cuarray.to_device(np.array([True, False])), typestr=b"|b1")
    with pytest.raises(BufferError, match="mask"):
        typed_views.vector(c.Producer(memory, mask=ctypes.pointer(mask)))
    with pytest.raises(BufferError, match="read-only"):
        typed_views.writable(c.Producer(memory, flags=c.READ_ONLY))


def test_work_on_c_structure_is_ordered_with_its_stream(driver: str) -> None:
    memory, producing, consuming = cuarray.to_device(np.zeros(2, "u1")), cuarray.stream(), cuarray.stream()
    producer = c.Producer(memory, typestr=b"|u1", flags=c.HAS_STREAM, stream=producing.handle)
    with held(producing.handle) as later:
        memory.setitem(slice(None), 3, stream=producing)
        typed_views.fill(producer, 7, consuming, True)
        assert not consuming.query()
        later.release()
    assert memory.copy_to_host(stream=producing).tolist() == [7, 7]


@pytest.mark.parametrize("release", [True, False])
def test_c_structure_without_a_stream_is_released_after_the_work(driver: str, release: bool) -> None:
    memory, stream = cuarray.to_device(np.zeros(2, "u1")), cuarray.stream()
    producer = c.Producer(memory, typestr=b"|u1")
    with held(stream.handle) as later:
        typed_views.fill(producer, 7, stream, release)
        gc.collect()
        cuarray.reclaim(False)
        assert producer.released == 0
        later.release()
    cuarray.reclaim()
    assert producer.released == 1
    assert memory.copy_to_host().tolist() == [7, 7]


def test_c_structure_is_released_with_its_kept_view(driver: str) -> None:
    producer = c.Producer(cuarray.to_device(np.arange(2, dtype="f4")))
    keeper = typed_views.Keeper(producer)
    gc.collect()
    assert keeper.sum(cuarray.stream()) == 1
    assert producer.released == 0
    del keeper
    gc.collect()
    cuarray.reclaim()
    assert producer.released == 1


def test_dlpack_tensor_is_accepted_written_and_deleted(driver: str) -> None:
    memory = cuarray.to_device(np.zeros(2, "u1"))
    tensor = Producer(memory, dtype=(UINT, 8, 1))
    typed_views.fill(tensor, 7, cuarray.stream(), True)
    assert tensor.requests == [{"stream": None, "max_version": (1, 3)}]
    gc.collect()
    assert tensor.deleted == 1
    assert memory.copy_to_host().tolist() == [7, 7]


@pytest.mark.parametrize(("protocol", "reads"), [("dict", "none"), ("c", "structure"), ("dlpack", "tensor")])
def test_protocol_setting_selects_accepted_protocol(driver: str, protocol: str, reads: str) -> None:
    memory = cuarray.to_device(np.arange(4, dtype="float32"))
    structure, tensor = (
        c.Producer(memory, shape=c.numbers(2, 2), ndim=2),
        Producer(memory, shape=(4, 1), strides=(1, 1)),
    )
    cuarray.config.protocol = protocol
    for name, producer, shape in (("structure", structure, [2, 2]), ("tensor", tensor, [4, 1])):
        if name == reads:
            assert typed_views.matrix(producer)[0] == shape
        else:
            with pytest.raises(TypeError, match=r"cuarray\.config\.protocol|raised AttributeError"):
                typed_views.matrix(producer)


def test_host_arrays_and_lists_are_type_errors(driver: str) -> None:
    for value in (np.zeros(3, "float32"), [1, 2], Producer(device=(CPU, 0), dtype=(FLOAT, 32, 1))):
        with pytest.raises(TypeError):
            typed_views.vector(value)
