"""`DeviceArray.__cuda_array_c_interface__`: what it says, who keeps what, and in which order."""

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
    """The structure, for as long as the array lives."""
    capsule = array.__cuda_array_c_interface__
    assert name(capsule) == c.UNTAKEN
    return c.of_capsule(capsule), capsule


def test_an_array(driver):
    array = cuarray.to_device(np.arange(12, dtype="int16").reshape(3, 4))
    said, _capsule = structure(array)
    assert (said.major, said.minor, said.flags, said.data) == (1, 0, 0, array.ptr)
    assert (said.ndim, said.shape[:2], bool(said.strides)) == (2, [3, 4], False)
    assert (said.typestr, said.type_name, said.nfields, bool(said.mask)) == (b"<i2", b"", 0, False)
    assert (said.device, said.memory) == (array.device, c.DEVICE)
    turned, _capsule = structure(array.T)
    assert (turned.shape[:2], turned.strides[:2]) == ([4, 3], [2, 8])


@pytest.mark.parametrize(
    ("make", "memory"),
    [(cuarray.mapped_array, c.HOST), (cuarray.managed_array, c.MANAGED), (cuarray.device_array, c.DEVICE)],
)
def test_where_the_memory_is(driver, make, memory):
    array = make(3, "float32")
    said, _capsule = structure(array)
    assert (said.device, said.memory) == (array.device, memory)


def test_what_the_dictionary_cannot_say(driver):
    said, _capsule = structure(cuarray.device_array(3, "bfloat16"))
    assert (said.typestr, said.type_name) == (b"<V2", b"bfloat16")


def test_without_a_driver_that_knows_the_memory():
    array = cuarray.from_cuda_array_interface(
        {"shape": (2,), "typestr": "<f4", "data": (0x7F0000000000, True), "version": 3}, sync=False
    )
    said, _capsule = structure(array)
    assert (said.flags, said.device, said.memory) == (c.READ_ONLY, -1, c.UNKNOWN)


def test_nothing_of_it_needs_a_driver():
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
def test_the_stream(driver, stream):
    home = cuarray.stream() if stream == "own" else stream
    array = cuarray.device_array(2, "float32", stream=home)
    said, _capsule = structure(array)
    handle = home.handle if stream == "own" else home
    assert (said.flags, said.stream, said.event) == ((c.HAS_STREAM, handle, 0) if handle else (0, 0, 0))
    cuarray.config.export_stream = False
    said, _capsule = structure(array)
    assert (said.flags, said.stream) == (0, 0)


def test_pending_work_is_joined_into_a_stream(driver):
    array, stream = cuarray.to_device(np.zeros(4, "int32")), cuarray.stream()
    with driver_probe.held(stream.handle) as held:
        array.setitem(slice(None), 3, stream=stream)
        said, _capsule = structure(array)
        assert said.flags == c.HAS_STREAM
        assert said.stream == array.__cuda_array_interface__["stream"]
        assert not driver_probe.is_done(said.stream)
        held.let_go()
    driver_probe.synchronize(said.stream)
    assert array.copy_to_host().tolist() == [3] * 4


def test_an_event_beside_the_stream(driver):
    cuarray.config.export_event = True
    stream = cuarray.stream()
    array = cuarray.device_array(4, "int32", stream=stream)
    array[:] = 3
    said, _capsule = structure(array)
    assert said.flags == c.HAS_STREAM | c.HAS_EVENT
    assert said.event == array.__cuda_array_interface__["event"]


def test_a_mask_goes_along(driver):
    array = cuarray.to_device(np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[True, False, False]))
    said, _capsule = structure(array)
    mask = said.mask.contents
    assert (mask.typestr, mask.shape[:1], mask.data) == (b"|b1", [3], array.mask.ptr)
    assert not mask.release


def test_the_structure_keeps_the_array_until_it_is_released(driver):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    capsule = array.__cuda_array_c_interface__
    said = c.taken(capsule)
    del array, capsule
    gc.collect()
    assert memory() is not None
    c.release(said)
    gc.collect()
    assert memory() is None


def test_a_capsule_that_nobody_takes_lets_go(driver):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    capsule = array.__cuda_array_c_interface__
    del array
    gc.collect()
    assert memory() is not None
    del capsule
    gc.collect()
    assert memory() is None


def test_a_release_in_a_thread_that_python_does_not_know(driver):
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


def test_a_release_after_the_interpreter(driver):
    # What the C library calls at the end of the process comes after Python's own end.
    program = """
        import ctypes, cuarray, c_arrays
        array = cuarray.device_array(3)
        said = c_arrays.taken(array.__cuda_array_c_interface__)
        at_exit = ctypes.CDLL(None).__cxa_atexit
        assert at_exit(ctypes.c_void_p(said.release), ctypes.c_void_p(ctypes.addressof(said)), None) == 0
        print("done", flush=True)
        """
    assert driver_probe.run_python(textwrap.dedent(program)) == "done\n"


def test_an_array_that_was_given_back_is_refused(driver):
    with cuarray.borrow(cuarray.device_array(3), stream=cuarray.stream()) as array:
        structure(array)
    with pytest.raises(BufferError, match="given back"):
        array.__cuda_array_c_interface__  # noqa: B018


def test_the_header_is_in_the_package():
    assert "typedef struct cuarray {" in (Path(cuarray.get_include()) / "cuarray.h").read_text()
