"""Arrays in the memory of another process: `get_ipc_handle` in one process, `IpcHandle.open` in another."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from other_process import run_in_other_process
from producers import foreign

import cuarray

RECORD = np.dtype({"names": ["a", "b"], "formats": ["i1", ("<f4", (2,))], "offsets": [0, 4], "itemsize": 16})
READ = """
with handle as array:
    result = (array.copy_to_host(), array.shape, array.strides, array.typestr, array.readonly, array.device)
"""
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda a: a,
    "without first row": lambda a: a[1:],
    "leading corner": lambda a: a[:3, :2],
    "steps": lambda a: a[::2, 1::2],
    "reversed": lambda a: a[::-1, ::-2],
    "transposed": lambda a: a.T,
    "a row": lambda a: a[2],
    "an element": lambda a: a[1:2, 2:3].reshape(()),
    "reshaped": lambda a: a.reshape(2, 2, 5),
}


@pytest.mark.parametrize("imported", [False, True], ids=["own", "imported"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ipc_handle_of_any_layout_is_read_by_other_process(driver: str, layout: str, imported: bool) -> None:
    host = np.arange(20.0).reshape(4, 5)
    part, like = LAYOUTS[layout](cuarray.to_device(host)), LAYOUTS[layout](host)
    if imported:
        part = cuarray.as_cuda_array(foreign(part))
    values, shape, strides, typestr, readonly, device = run_in_other_process(READ, handle=part.get_ipc_handle())
    assert np.array_equal(values, like)
    assert (shape, typestr, readonly, device) == (like.shape, "<f8", False, part.device)
    assert strides == part.strides


@pytest.mark.parametrize("dtype", ["?", ">i4", "<c16", "M8[us]", "S5", "U3", "V7", RECORD], ids=str)
def test_ipc_handle_keeps_dtype(driver: str, dtype: Any) -> None:
    host = np.frombuffer(bytes(range(3 * np.dtype(dtype).itemsize)), np.dtype(dtype))
    # NumPy's pickles may convert the byte order, so bytes are compared.
    program = "with handle as array: result = (array.dtype, array.copy_to_host().tobytes())"
    found, values = run_in_other_process(program, handle=cuarray.to_device(host).get_ipc_handle())
    assert found == host.dtype
    assert values == host.tobytes()


def test_ipc_handle_keeps_named_type(driver: str) -> None:
    handle = cuarray.device_array(3, "bfloat16").get_ipc_handle()
    assert handle.typestr == "bfloat16"
    result = run_in_other_process("with handle as array: result = (array.typestr, array.nbytes)", handle=handle)
    assert result == ("bfloat16", 6)


def test_other_process_writes_to_shared_memory(driver: str) -> None:
    array = cuarray.to_device(np.zeros(8, "<i4"))
    run_in_other_process("with handle as array: array[1::2] = 7", handle=array[2:].get_ipc_handle())
    assert array.copy_to_host().tolist() == [0, 0, 0, 7, 0, 7, 0, 7]


def test_ipc_handle_keeps_read_only_flag(driver: str) -> None:
    memory = cuarray.to_device(np.zeros(4, "<i4"))
    array = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    refuse = """
with handle as array:
    try:
        array[0] = 1
    except BufferError as error:
        result = (array.readonly, str(error))
"""
    readonly, message = run_in_other_process(refuse, handle=array.get_ipc_handle())
    assert readonly
    assert "read-only" in message


def test_pickled_ipc_handle_keeps_everything_except_owner(driver: str) -> None:
    array = cuarray.to_device(np.zeros((4, 3), RECORD))[1:, ::2]
    handle = array.get_ipc_handle()
    again = pickle.loads(pickle.dumps(handle))
    names = ("handle", "offset", "shape", "strides", "typestr", "dtype", "nbytes", "readonly", "process")
    for name in names:
        assert getattr(again, name) == getattr(handle, name), name
    assert (len(handle.handle), handle.offset, handle.process) == (64, 48, os.getpid())
    assert handle.dtype == RECORD
    assert handle.owner is array.owner
    assert again.owner is None
    assert repr(again) == repr(handle) == f"IpcHandle(shape=(3, 2), typestr='|V16', process={os.getpid()})"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(handle, protocol)).handle == handle.handle


def test_views_of_one_allocation_share_its_ipc_handle(driver: str) -> None:
    array = cuarray.to_device(np.zeros(10))
    assert array[3:].get_ipc_handle().handle == array.get_ipc_handle().handle
    assert array.get_ipc_handle().handle != cuarray.to_device(np.zeros(10)).get_ipc_handle().handle


def test_get_ipc_handle_waits_for_home_stream(driver: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, "u1"), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 5, 4, stream.handle)
        hold.release_soon()
        handle = array.get_ipc_handle()
        assert stream.query()
    assert run_in_other_process(READ, handle=handle)[0].tolist() == [5] * 4


def test_get_ipc_handle_waits_for_copies_in_other_streams(driver: str) -> None:
    stream, source = cuarray.stream(), cuarray.to_device(np.full(4, 5, "u1"))
    array = cuarray.to_device(np.zeros(4, "u1"))
    with driver_probe.held(stream.handle) as hold:
        array.copy_to_device(source, stream=stream)
        hold.release_soon()
        handle = array.get_ipc_handle()
        assert not hold.is_held
    assert run_in_other_process(READ, handle=handle)[0].tolist() == [5] * 4


def test_get_ipc_handle_ignores_work_unknown_to_the_array(
    simulator: str, foreign_stream: driver_probe.ForeignStream
) -> None:
    """The other process does not see that work before it has run in this process."""
    array = cuarray.to_device(np.zeros(4, "u1"))
    driver_probe.fill(array.ptr, 5, 4, foreign_stream.handle)
    handle = array.get_ipc_handle()
    assert run_in_other_process(READ, handle=handle)[0].tolist() == [0] * 4
    driver_probe.synchronize(foreign_stream.handle)
    assert run_in_other_process(READ, handle=handle)[0].tolist() == [5] * 4


def test_opening_ipc_handle_in_its_own_process_is_refused(driver: str) -> None:
    handle = cuarray.to_device(np.zeros(4)).get_ipc_handle()
    for each in (handle, pickle.loads(pickle.dumps(handle))):
        with pytest.raises(ValueError, match="made in this process"):
            each.open()
        with pytest.raises(ValueError, match="made in this process"), each:
            pass


def test_ipc_handle_of_empty_array_has_no_memory(driver: str) -> None:
    handle = cuarray.device_array((0, 3), "f4").get_ipc_handle()
    assert (handle.handle, handle.process) == (b"", None)
    stream = cuarray.stream()
    array = pickle.loads(pickle.dumps(handle)).open(stream)
    assert (array.shape, array.typestr, array.stream) == ((0, 3), "<f4", stream)
    with handle as array:
        assert array.copy_to_host().shape == (0, 3)


def test_get_ipc_handle_of_managed_or_mapped_memory_is_refused(driver: str) -> None:
    for array, kind in (
        (cuarray.managed_array(4), "managed memory"),
        (cuarray.mapped_array(4), "page-locked host memory"),
    ):
        with pytest.raises(BufferError, match=rf"{kind}; expected memory of cuMemAlloc"):
            array.get_ipc_handle()


def test_get_ipc_handle_of_pool_memory_is_refused(simulator: str) -> None:
    pointer = ctypes.c_uint64()
    with driver_probe.primary_context():
        driver_probe.call("cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(64), ctypes.c_void_p(1))
        try:
            desc = {"shape": (4,), "typestr": "<f4", "data": (pointer.value, False), "version": 3}
            with pytest.raises(BufferError, match="device memory of a pool"):
                cuarray.from_cuda_array_interface(desc).get_ipc_handle()
        finally:
            driver_probe.call("cuMemFree_v2", pointer)


def test_get_ipc_handle_of_pageable_host_memory_is_refused(driver: str) -> None:
    host = np.zeros(4)
    array = cuarray.from_cuda_array_interface({**host.__array_interface__, "version": 3})
    with pytest.raises(BufferError, match="ordinary host memory"):
        array.get_ipc_handle()


def test_masked_array_is_shared_by_two_ipc_handles(driver: str) -> None:
    array = cuarray.to_device(np.ma.MaskedArray([1, 2, 3], [False, True, False]))
    with pytest.raises(BufferError, match="one of its `data` and one of its `mask`"):
        array.get_ipc_handle()
    assert array.mask is not None
    program = """
with data as values, mask as valid:
    result = (values.copy_to_host().tolist(), valid.copy_to_host().tolist())
"""
    sent = run_in_other_process(program, data=array.data.get_ipc_handle(), mask=array.mask.get_ipc_handle())
    assert sent == ([1, 2, 3], [True, False, True])


def test_ipc_handle_keeps_memory_alive_in_its_own_process(driver: str) -> None:
    array = cuarray.to_device(np.arange(4))
    memory = weakref.ref(array.owner)
    handle = array[1:].get_ipc_handle()
    del array
    gc.collect()
    assert memory() is not None
    assert run_in_other_process(READ, handle=handle)[0].tolist() == [1, 2, 3]
    del handle
    gc.collect()
    assert memory() is None


def test_opening_ipc_handle_of_freed_memory_fails(simulator: str) -> None:
    sent = pickle.dumps(cuarray.to_device(np.zeros(4)).get_ipc_handle())
    gc.collect()
    program = """
try:
    pickle.loads(sent).open()
except cuarray.CudaError as error:
    result = (error.call, error.name)
"""
    assert run_in_other_process(program, sent=sent) == ("cuIpcOpenMemHandle", "CUDA_ERROR_INVALID_HANDLE")


IMPORTED = """
import gc
from cuarray_sim import statistics
def imported():
    gc.collect()
    return sum(each["kind"] == "imported" for each in statistics()["allocations"])
"""


def test_opened_memory_stays_open_while_a_view_exists(simulator: str) -> None:
    program = (
        IMPORTED
        + """
array = handle.open()
view = array[1:].reshape(-1)
again = handle.open()
same, counts = array.ptr == again.ptr, [imported()]
del array, again
counts.append(imported())
values = view.copy_to_host().tolist()
owner = repr(view.owner)
del view
counts.append(imported())
result = (same, counts, values, owner, driver_probe.current_context())
"""
    )
    array = cuarray.to_device(np.arange(4))
    same, counts, values, owner, context = run_in_other_process(program, handle=array.get_ipc_handle())
    assert (same, counts, values, context) == (True, [1, 1, 0], [1, 2, 3], None)
    assert f"memory of process {os.getpid()}" in owner


def test_end_of_with_block_closes_memory_despite_live_arrays(simulator: str) -> None:
    program = (
        IMPORTED
        + """
with handle as outer:
    with handle as inner:
        same = outer.ptr == inner.ptr
    after_one = (imported(), outer.copy_to_host().tolist())
counts = imported()
try:
    outer.copy_to_host()
except BufferError as error:
    message = str(error)
try:
    with handle:
        raise KeyError("left by an exception")
except KeyError:
    pass
result = (same, after_one, counts, message, imported())
"""
    )
    array = cuarray.to_device(np.arange(3))
    same, after_one, counts, message, at_last = run_in_other_process(program, handle=array.get_ipc_handle())
    assert (same, after_one, counts, at_last) == (True, (1, [0, 1, 2]), 0, 0)
    assert "unknown to the driver: it was freed" in message


def test_threads_open_and_close_one_ipc_handle(driver: str) -> None:
    program = """
import threading
def work(wrong):
    for turn in range(50):
        with handle as array:
            if array.copy_to_host().tolist() != [0, 1, 2, 3]:
                wrong.append(turn)
        kept = handle.open()
        if kept[1:].copy_to_host().tolist() != [1, 2, 3]:
            wrong.append(turn)
wrong = []
threads = [threading.Thread(target=work, args=(wrong,)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = wrong
"""
    array = cuarray.to_device(np.arange(4))
    # One thread's block closes another thread's array only if the open count is wrong.
    assert run_in_other_process(program, handle=array.get_ipc_handle()) == []


def test_ipc_handle_of_opened_array_is_opened_by_third_process(driver: str) -> None:
    array = cuarray.to_device(np.arange(6))
    program = "with handle as array: result = array[2:].get_ipc_handle()"
    forwarded = run_in_other_process(program, handle=array[1:].get_ipc_handle())
    assert forwarded.process == os.getpid()
    assert (forwarded.offset, forwarded.owner) == (24, None)
    assert run_in_other_process(READ, handle=forwarded)[0].tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="made in this process"):
        forwarded.open()


def test_opened_array_has_the_given_home_stream(driver: str) -> None:
    program = """
stream = cuarray.stream()
array = handle.open(stream)
copied = array.copy_to_host().tolist()
result = (array.stream == stream, array.__cuda_array_interface__["stream"] == stream.handle, copied)
del array
"""
    array = cuarray.to_device(np.arange(3))
    assert run_in_other_process(program, handle=array.get_ipc_handle()) == (True, True, [0, 1, 2])


def test_inconsistent_ipc_handle_fields_are_refused(driver: str) -> None:
    array = cuarray.to_device(np.arange(4, dtype="<i4"))
    handle = array.get_ipc_handle()
    make, parts = handle.__reduce__()
    assert make is cuarray.IpcHandle
    good = dict(
        zip(
            ("handle", "offset", "shape", "strides", "typestr", "descr", "readonly", "device", "process"),
            parts,
            strict=True,
        )
    )
    for wrong in (
        {"handle": b"short"},
        {"device": b""},
        {"shape": (2, 2)},
        {"typestr": "int"},
        {"typestr": "O"},
        {"descr": [("x", "<i8")]},
        {"shape": (2**62,), "strides": (2**62,)},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            make(**{**good, **wrong})
    with pytest.raises(TypeError):
        make(**{**good, "handle": "text"})
    program = """
try:
    handle.open()
except ValueError as error:
    result = str(error)
"""
    for wrong in ({"offset": 4}, {"shape": (5,)}, {"offset": 2**63}):
        assert "'data'" in run_in_other_process(program, handle=make(**{**good, **wrong}))


def test_opened_array_is_on_the_device_of_its_memory(simulator: str) -> None:
    """The device is found by identity: its number differs in a process that sees only one of two devices."""
    program = """
import numpy as np, other_process
read = "with handle as array: result = (array.device, array.copy_to_host().tolist(), driver_probe.current_context())"
array = cuarray.to_device(np.arange(3), device=1)
with driver_probe.primary_context(0):
    handle = array.get_ipc_handle()
result = [other_process.run_in_other_process(read, {"CUDA_VISIBLE_DEVICES": seen}, handle=handle) for seen in (None, "1")]
fail = '''
try:
    handle.open()
except BufferError as error:
    result = str(error)
'''
result.append(other_process.run_in_other_process(fail, {"CUDA_VISIBLE_DEVICES": "0"}, handle=handle))
"""
    whole, second, refused = run_in_other_process(program, {"CUARRAY_SIM_DEVICES": "2"})
    assert whole == (1, [0, 1, 2], None)
    assert second == (0, [0, 1, 2], None)
    assert "which this process does not see" in refused


def test_end_of_with_block_raises_if_the_device_cannot_be_waited_for(simulator: str) -> None:
    handle = cuarray.to_device(np.arange(4)).get_ipc_handle()
    result = run_in_other_process(
        """
import cuarray_sim
calls = lambda: cuarray_sim.statistics()["calls"].get("cuIpcCloseMemHandle", 0)
try:
    with handle as array:
        cuarray_sim.fail_next("cuCtxSynchronize", "CUDA_ERROR_UNKNOWN")
except cuarray.CudaError as error:
    result = [error.name, error.call, calls()]
cuarray.reclaim()
result.append(calls())
""",
        handle=handle,
    )
    assert result == ["CUDA_ERROR_UNKNOWN", "cuCtxSynchronize", 0, 1]


@pytest.mark.parametrize("field", [1, 2, 8])
def test_negative_field_of_an_ipc_handle_is_a_value_error(driver: str, field: int) -> None:
    kind, parts = cuarray.to_device(np.arange(4)).get_ipc_handle().__reduce__()
    changed = list(parts)
    changed[field] = (-1,) if field == 2 else -1
    with pytest.raises(ValueError, match="out of range"):
        kind(*changed)
