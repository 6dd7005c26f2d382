"""Export by `__dlpack__` and `__dlpack_device__`: versions, content, lifetimes, copies and ordering."""

from __future__ import annotations

import ctypes
import gc
import textwrap
import threading
import weakref

import dlpack_tensors as tensors
import driver_probe
import numpy as np
import pytest
from producers import foreign

import cuarray

#: Types without a letter in type strings: their codes, bits and lanes.
SMALL = {
    "bfloat16": (tensors.BFLOAT, 16, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
    "float6_e2m3fn_x4": (15, 6, 4),
    "float6_e3m2fn_x4": (16, 6, 4),
    "float4_e2m1fn_x2": (17, 4, 2),
    "float4_e2m1fn_x4": (17, 4, 4),
    "complex32": (tensors.COMPLEX, 32, 1),
}


@pytest.fixture
def array(driver):
    return cuarray.to_device(np.arange(6, dtype="float32").reshape(2, 3))


def described(capsule):
    tensor = tensors.content(capsule).tensor
    numbers = [tensor.shape[axis] for axis in range(tensor.ndim)], [tensor.strides[axis] for axis in range(tensor.ndim)]
    return tensor, *numbers


@pytest.mark.parametrize(
    ("arguments", "capsule_name"),
    [
        ({}, b"dltensor"),
        ({"max_version": None}, b"dltensor"),
        ({"max_version": (0, 8)}, b"dltensor"),
        ({"max_version": (1, 0)}, b"dltensor_versioned"),
        ({"max_version": (1, 3)}, b"dltensor_versioned"),
        ({"max_version": (2, 0)}, b"dltensor_versioned"),
    ],
)
def test_exported_version_fits_max_version(array, arguments, capsule_name):
    capsule = array.__dlpack__(**arguments)
    assert tensors.name(capsule) == capsule_name
    if capsule_name == b"dltensor_versioned":
        managed = tensors.content(capsule)
        assert (managed.version.major, managed.flags) == (1, 0)


def test_exported_tensor_describes_array(array):
    capsule = array[:, ::-2].__dlpack__(max_version=(1, 0))
    tensor, shape, strides = described(capsule)
    assert (shape, strides, tensor.byte_offset) == ([2, 2], [3, -2], 0)
    assert tensor.data == array.ptr + 8
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (tensors.FLOAT, 32, 1)
    assert (tensor.device.device_type, tensor.device.device_id) == array.__dlpack_device__() == (tensors.CUDA, 0)


def test_export_of_0d_and_empty_arrays(driver):
    capsule = cuarray.device_array((), "int8").__dlpack__()
    tensor, shape, strides = described(capsule)
    assert (tensor.ndim, shape, strides) == (0, [], [])
    capsule = cuarray.device_array((3, 0), "int8").__dlpack__()
    tensor, shape, _ = described(capsule)
    assert (tensor.data, shape) == (None, [3, 0])


def test_device_type_names_memory_kind(driver):
    assert cuarray.managed_array(2, "int8").__dlpack_device__() == (tensors.CUDA_MANAGED, 0)
    assert cuarray.mapped_array(2, "int8").__dlpack_device__() == (tensors.CUDA_HOST, 0)


def test_untaken_capsule_releases_array(driver):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    for version in (None, (1, 0)):
        capsule = array.__dlpack__(max_version=version)
        assert gc.is_tracked(array)
        del capsule
    del array
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_deleter_may_be_called_in_other_thread_without_the_gil(driver, version):
    array = cuarray.device_array(3)
    memory = weakref.ref(array.owner)
    capsule = array.__dlpack__(max_version=version)
    managed = tensors.content(capsule)
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_" + tensors.name(capsule))
    del array
    gc.collect()
    assert memory() is not None
    # ctypes calls the function without the GIL, and this is not the main thread.
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)
    thread = threading.Thread(target=delete, args=(ctypes.addressof(managed),))
    thread.start()
    thread.join()
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("host", [False, True])
def test_deleter_may_be_called_after_the_interpreter_has_ended(driver, version, host):
    # Functions registered with the C library run after the end of the interpreter.
    program = f"""
        import ctypes, cuarray, dlpack_tensors
        array = cuarray.device_array(3)
        array[:] = 1
        capsule = array.__dlpack__(max_version={version}, dl_device={(tensors.CPU, 0) if host else None})
        managed = dlpack_tensors.content(capsule)
        ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor")
        del array, capsule
        at_exit = ctypes.CDLL(None).__cxa_atexit
        assert at_exit(ctypes.c_void_p(managed.deleter), ctypes.c_void_p(ctypes.addressof(managed)), None) == 0
        print("done", flush=True)
        """
    assert driver_probe.run_python(textwrap.dedent(program)) == "done\n"


def test_read_only_flag_is_exported_or_export_is_refused(driver):
    desc = {**cuarray.device_array(2, "float32").__cuda_array_interface__}
    desc["data"] = (4096, True)
    desc["shape"] = (0,)
    array = cuarray.from_cuda_array_interface(desc)
    assert tensors.content(array.__dlpack__(max_version=(1, 0))).flags == tensors.READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__(max_version=(0, 8))


def test_copy_true_exports_flagged_copy(array):
    capsule = array.__dlpack__(copy=True, max_version=(1, 0))
    managed = tensors.content(capsule)
    assert managed.flags == tensors.IS_COPIED
    assert managed.tensor.data != array.ptr

    class Holds:
        def __dlpack__(self, **_):
            return capsule

    taken = cuarray.from_dlpack(Holds())
    assert taken.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert taken.owner.is_copy


@pytest.mark.parametrize("make", [cuarray.device_array, cuarray.managed_array, cuarray.mapped_array])
def test_exported_copy_is_on_the_reported_device(driver, make):
    array = make(3, "int8")
    array[:] = 1
    device = tensors.content(array.__dlpack__(copy=True, max_version=(1, 0))).tensor.device
    assert (device.device_type, device.device_id) == array.__dlpack_device__()


def test_dl_device_selects_host_copy_and_refuses_other_devices(array):
    host = np.from_dlpack(HostSide(array, copy=None))
    assert host.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(BufferError, match="copy is False"):
        array.__dlpack__(dl_device=(tensors.CPU, 0), copy=False)
    for elsewhere in ((tensors.ROCM, 0), (tensors.CPU, 1), (tensors.CUDA, 1)):
        with pytest.raises(BufferError, match="dl_device is"):
            array.__dlpack__(dl_device=elsewhere)
    assert tensors.content(array.__dlpack__(dl_device=(tensors.CUDA, 0))).tensor.data == array.ptr


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_host_copy_is_flagged_and_keeps_its_memory(array, version):
    capsule = array[:, ::2].__dlpack__(dl_device=(tensors.CPU, 0), max_version=version)
    managed = tensors.content(capsule)
    tensor, shape, strides = described(capsule)
    assert (tensor.device.device_type, tensor.device.device_id) == (tensors.CPU, 0)
    assert (shape, strides) == ([2, 2], [2, 1])
    assert version is None or managed.flags == tensors.IS_COPIED
    del array
    gc.collect()
    assert list((ctypes.c_float * 4).from_address(tensor.data)) == [0, 2, 3, 5]


def test_copy_of_read_only_array_is_writable(driver):
    memory = cuarray.to_device(np.arange(3, dtype="int16"))
    array = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    for arguments in ({"dl_device": (tensors.CPU, 0)}, {"copy": True}):
        assert tensors.content(array.__dlpack__(max_version=(1, 0), **arguments)).flags == tensors.IS_COPIED


def test_host_copy_waits_for_given_stream_and_validates_it(array):
    host = (tensors.CPU, 0)
    with pytest.raises(ValueError, match="stream is 0"):
        array.__dlpack__(dl_device=host, stream=0)
    with pytest.raises(TypeError, match="stream: '1' is a str"):
        array.__dlpack__(dl_device=host, stream="1")
    stream = cuarray.stream()
    array.setitem(slice(None), 9, stream=stream)
    capsule = array.__dlpack__(dl_device=host, stream=stream.handle, max_version=(1, 0))
    assert list((ctypes.c_float * 6).from_address(tensors.content(capsule).tensor.data)) == [9] * 6


class HostSide:
    """Requests a host copy, because NumPy passes no device by default."""

    def __init__(self, array, copy):
        self.array, self.copy = array, copy

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__(max_version=max_version, dl_device=(tensors.CPU, 0), copy=self.copy)

    def __dlpack_device__(self):
        return (tensors.CPU, 0)


@pytest.mark.parametrize("typestr", ["<M8[ns]", "|S4", "<U2", ">f4", "|V3"])
def test_export_of_types_without_dlpack_code_is_refused(driver, typestr):
    array = cuarray.device_array(2, typestr)
    for arguments in ({}, {"copy": True}, {"dl_device": (tensors.CPU, 0)}):
        with pytest.raises(BufferError, match="DLPack"):
            array.__dlpack__(**arguments)


def test_export_of_fractional_strides_or_masks_is_refused(driver):
    pairs = cuarray.device_array(4, np.dtype([("a", "<i2"), ("b", "<i4")]))
    desc = {**pairs.__cuda_array_interface__, "typestr": "<i4", "strides": (6,)}
    del desc["descr"]
    with pytest.raises(BufferError, match="no multiple"):
        cuarray.from_cuda_array_interface(desc, owner=pairs, sync=False).__dlpack__()
    masked = cuarray.to_device(np.ma.MaskedArray([1, 2], mask=[True, False]))
    for arguments in (
        {},
        {"copy": True},
        {"dl_device": (tensors.CPU, 0)},
        {"dl_device": (tensors.CPU, 0), "copy": True},
    ):
        with pytest.raises(BufferError, match="mask"):
            masked.__dlpack__(**arguments)
    for copy in (None, True):
        with pytest.raises(BufferError, match="mask"):
            cuarray.from_dlpack(masked, copy=copy)
    masked.data.__dlpack__()


@pytest.mark.parametrize("stream", [0, -2, -(2**63)])
def test_disallowed_streams_are_refused(array, stream):
    with pytest.raises(ValueError, match=f"stream is {stream}, which DLPack disallows"):
        array.__dlpack__(stream=stream)


def test_stream_argument_of_wrong_type_is_refused(array):
    with pytest.raises(TypeError, match="stream: '1' is a str"):
        array.__dlpack__(stream="1")


@pytest.mark.parametrize("name", ["max_version", "dl_device"])
@pytest.mark.parametrize("value", [1, (1,), (1, 2, 3), "1.0", (1.5, 0)])
def test_arguments_that_are_not_pairs_of_ints_are_refused(array, name, value):
    with pytest.raises(ValueError, match=f"{name} is .* a tuple of two ints is expected"):
        array.__dlpack__(**{name: value})


@pytest.mark.parametrize("name", SMALL)
def test_type_without_a_letter_keeps_its_code_bits_and_lanes(driver, name):
    code, bits, lanes = SMALL[name]
    memory = cuarray.to_device(np.arange(24, dtype="uint8"))
    producer = tensors.Producer(memory, dtype=(code, bits, lanes), shape=(2, 3), strides=(3, 1))
    array = cuarray.from_dlpack(producer)
    assert (array.typestr, array.itemsize) == (name, bits * lanes // 8)
    capsule = array[:, ::-2].__dlpack__(max_version=(1, 0))
    tensor, shape, strides = described(capsule)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (code, bits, lanes)
    assert (tensor.data, shape, strides) == (memory.ptr + 2 * array.itemsize, [2, 2], [3, -2])


@pytest.mark.parametrize("name", SMALL)
def test_type_without_a_letter_is_named_by_the_user(driver, name):
    made = cuarray.device_array(3, name)
    assert cuarray.from_dlpack(made).typestr == name
    void = foreign(cuarray.device_array(3, f"V{made.itemsize}"))
    tensor, _, _ = described(cuarray.as_cuda_array(void, dtype=name).__dlpack__())
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == SMALL[name]


def test_types_without_a_letter_round_trip_through_the_host(driver):
    for name in SMALL:
        array = cuarray.device_array(3, name)
        array.view("u1")[:] = 7
        capsule = array.__dlpack__(dl_device=(tensors.CPU, 0), max_version=(1, 0))

        class OnTheHost:
            def __dlpack__(self, **_):
                return capsule  # noqa: B023 - used only within the loop

            def __dlpack_device__(self):
                return (tensors.CPU, 0)

        back = cuarray.from_dlpack(OnTheHost(), copy=True)
        assert (back.typestr, back.view("u1").copy_to_host().tolist()) == (name, [7] * array.nbytes)


def test_consumer_stream_waits_for_home_stream_and_host_does_not(driver):
    home, consumer, elsewhere = cuarray.stream(), cuarray.stream(), cuarray.stream()
    array = cuarray.device_array(4, "int32", stream=home)
    with driver_probe.held(home.handle) as held:
        array.__dlpack__(stream=elsewhere.handle)
        array.__dlpack__(stream=consumer.handle)
        array.__dlpack__(stream=-1)
        assert not consumer.query()
        assert not elsewhere.query()
        held.release()
    consumer.synchronize()
    elsewhere.synchronize()


def test_consumer_stream_waits_for_pending_work_without_home_stream(driver):
    used, consumer = cuarray.stream(), cuarray.stream()
    array, source = cuarray.device_array(4, "int32"), cuarray.to_device(np.arange(4, dtype="int32"))
    with driver_probe.held(used.handle) as held:
        array.copy_to_device(source, stream=used)
        array.__dlpack__(stream=consumer.handle)
        assert not consumer.query()
        held.release()
    consumer.synchronize()
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (lambda a: a.reshape(1, 12)[::-1], (12, 1)),
        (lambda a: a.reshape(12, 1)[:, ::-1], (1, 1)),
        (lambda a: a.reshape(3, 1, 4)[::2, ::-1], (8, 4, 1)),
        (lambda a: a.reshape(3, 4)[::-1][:0], (4, 1)),
        (lambda a: a[5:6][::-1], (1,)),
    ],
)
def test_axes_of_one_element_are_exported_with_contiguous_strides(driver, view, expected):
    """mpi4py refuses a negative stride, of an axis with one element too."""
    array = view(cuarray.to_device(np.arange(12, dtype="int16")))
    tensor = tensors.content(array.__dlpack__(max_version=(1, 0))).tensor
    assert tuple(tensor.strides[: tensor.ndim]) == expected
    strides = array.__cuda_array_interface__["strides"]
    assert strides == (None if array.is_c_contiguous() else tuple(2 * each for each in expected))
