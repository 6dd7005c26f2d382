"""`DeviceArray.__cuda_array_c_interface__`: content of the structure, lifetimes and ordering."""

from __future__ import annotations

import gc
import textwrap
import threading
import weakref
from pathlib import Path

import c_arrays as c
import driver_probe
import numpy as np
import pytest
from dlpack_tensors import name

import cuarray


def structure(array):
    """The exported structure, with the capsule that keeps it alive."""
    capsule = array.__cuda_array_c_interface__
    assert name(capsule) == c.UNTAKEN
    return c.of_capsule(capsule), capsule


def test_export_describes_layout_type_and_device(driver):
    array = cuarray.to_device(np.arange(12, dtype="int16").reshape(3, 4))
    exported, _capsule = structure(array)
    assert (exported.major, exported.minor, exported.flags, exported.data) == (1, 0, 0, array.ptr)
    assert (exported.ndim, exported.shape[:2], bool(exported.strides)) == (2, [3, 4], False)
    assert (exported.typestr, exported.type_name, exported.nfields, bool(exported.mask)) == (b"<i2", b"", 0, False)
    assert (exported.device, exported.memory) == (array.device, c.DEVICE)
    turned, _capsule = structure(array.T)
    assert (turned.shape[:2], turned.strides[:2]) == ([4, 3], [2, 8])


@pytest.mark.parametrize(
    ("make", "memory"),
    [(cuarray.mapped_array, c.HOST), (cuarray.managed_array, c.MANAGED), (cuarray.device_array, c.DEVICE)],
)
def test_export_has_device_and_memory_kind(driver, make, memory):
    array = make(3, "float32")
    exported, _capsule = structure(array)
    assert (exported.device, exported.memory) == (array.device, memory)


def test_export_names_bfloat16(driver):
    exported, _capsule = structure(cuarray.device_array(3, "bfloat16"))
    assert (exported.typestr, exported.type_name) == (b"<V2", b"bfloat16")


def test_export_of_memory_unknown_to_driver_has_no_device():
    array = cuarray.from_cuda_array_interface(
        {"shape": (2,), "typestr": "<f4", "data": (0x7F0000000000, True), "version": 3}, sync=False
    )
    exported, _capsule = structure(array)
    assert (exported.flags, exported.device, exported.memory) == (c.READ_ONLY, -1, c.UNKNOWN)


def test_export_and_import_work_without_driver():
    program = """
        import cuarray
        array = cuarray.from_cuda_array_interface({"shape": (2,), "typestr": "<f4", "data": (4096, True), "version": 3})
        class Other:
            __cuda_array_c_interface__ = property(lambda self: array.__cuda_array_c_interface__)
        again = cuarray.as_cuda_array(Other())
        print(again.ptr, again.readonly)
        """
    assert driver_probe.run_python(textwrap.dedent(program), CUARRAY_DRIVER="/nowhere/libcuda.so.1").split() == [
        "4096",
        "True",
    ]


@pytest.mark.parametrize("stream", [None, 1, 2, "own"])
def test_export_has_home_stream_unless_turned_off(driver, stream):
    home = cuarray.stream() if stream == "own" else stream
    array = cuarray.device_array(2, "float32", stream=home)
    exported, _capsule = structure(array)
    handle = home.handle if stream == "own" else home
    assert (exported.flags, exported.stream, exported.event) == ((c.HAS_STREAM, handle, 0) if handle else (0, 0, 0))
    cuarray.config.export_stream = False
    exported, _capsule = structure(array)
    assert (exported.flags, exported.stream) == (0, 0)


def test_pending_work_is_joined_into_exported_stream(driver):
    array, stream = cuarray.to_device(np.zeros(4, "int32")), cuarray.stream()
    with driver_probe.held(stream.handle) as held:
        array.setitem(slice(None), 3, stream=stream)
        exported, _capsule = structure(array)
        assert exported.flags == c.HAS_STREAM
        assert exported.stream == array.__cuda_array_interface__["stream"]
        assert not driver_probe.is_done(exported.stream)
        held.release()
    driver_probe.synchronize(exported.stream)
    assert array.copy_to_host().tolist() == [3] * 4


def test_export_has_event_if_turned_on(driver):
    cuarray.config.export_event = True
    stream = cuarray.stream()
    array = cuarray.device_array(4, "int32", stream=stream)
    array[:] = 3
    exported, _capsule = structure(array)
    assert exported.flags == c.HAS_STREAM | c.HAS_EVENT
    assert exported.event == array.__cuda_array_interface__["event"]


def test_export_has_mask(driver):
    array = cuarray.to_device(np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[True, False, False]))
    exported, _capsule = structure(array)
    mask = exported.mask.contents
    assert (mask.typestr, mask.shape[:1], mask.data) == (b"|b1", [3], array.mask.ptr)
    assert not mask.release


def test_taken_structure_keeps_memory_until_its_release(driver):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    capsule = array.__cuda_array_c_interface__
    exported = c.taken(capsule)
    del array, capsule
    gc.collect()
    assert memory() is not None
    c.release(exported)
    gc.collect()
    assert memory() is None


def test_untaken_capsule_releases_memory_with_itself(driver):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    capsule = array.__cuda_array_c_interface__
    del array
    gc.collect()
    assert memory() is not None
    del capsule
    gc.collect()
    assert memory() is None


def test_release_may_be_called_in_threads_unknown_to_python(driver):
    arrays = [cuarray.device_array(3) for _ in range(8)]
    memories = [weakref.ref(array.owner) for array in arrays]
    taken = [c.taken(array.__cuda_array_c_interface__) for array in arrays]
    del arrays
    threads = [threading.Thread(target=c.release, args=(each,)) for each in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert all(memory() is None for memory in memories)


def test_release_may_be_called_after_the_interpreter_has_ended(driver):
    # Functions registered with the C library run after the end of the interpreter.
    program = """
        import ctypes, cuarray, c_arrays
        array = cuarray.device_array(3)
        structure = c_arrays.taken(array.__cuda_array_c_interface__)
        at_exit = ctypes.CDLL(None).__cxa_atexit
        assert at_exit(ctypes.c_void_p(structure.release), ctypes.c_void_p(ctypes.addressof(structure)), None) == 0
        print("done", flush=True)
        """
    assert driver_probe.run_python(textwrap.dedent(program)) == "done\n"


def test_export_of_ended_borrow_is_refused(driver):
    with cuarray.borrow(cuarray.device_array(3), stream=cuarray.stream()) as array:
        structure(array)
    with pytest.raises(BufferError, match="borrow has ended"):
        array.__cuda_array_c_interface__  # noqa: B018


def test_header_is_in_the_package():
    assert "typedef struct cuarray {" in (Path(cuarray.get_include()) / "cuarray.h").read_text()
