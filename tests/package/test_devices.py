"""Two devices: allocation with `device=`, copies between devices, and the current context.

Each test is a program in its own process, because the number of devices is fixed when a process starts. The simulated driver
provides two devices.
"""

from __future__ import annotations

from collections.abc import Callable

import driver_probe
import pytest

BEGIN = """
import ctypes, threading
import cuarray, driver_probe
import numpy as np
from producers import describe, foreign
count = ctypes.c_int()
driver_probe.call("cuInit", 0)
driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
if count.value < 2:
    raise SystemExit("one device")

def refused(error, text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except error as raised:
        assert text in str(raised), raised
        return
    raise AssertionError(f"{error.__name__} was not raised")

def calls():
    from cuarray_sim import statistics
    return statistics()["calls"]

"""
END = """
assert driver_probe.current_context() is None, "a context was left current"
print("right")
"""


@pytest.fixture
def on_two_devices(driver_kind: str) -> Callable[[str], None]:
    """Runs a program with two devices, and checks that no context is left current."""

    def run(program: str) -> None:
        try:
            printed = driver_probe.run_python(BEGIN + program + END, CUARRAY_SIM_DEVICES="2")
        except AssertionError as error:
            if driver_kind == "real" and "one device" in str(error):
                pytest.skip("needs two devices")
            raise
        assert printed.strip() == "right"

    return run


def test_allocations_accept_device_argument(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
host = np.arange(6.0).reshape(2, 3)
for device in (0, 1, np.int64(1)):
    for array in (
        cuarray.device_array((2, 3), device=device),
        cuarray.to_device(host, device=device),
        cuarray.to_device(host.tolist(), device=device),
        cuarray.device_array_like(host, device=device),
    ):
        assert (array.device, array.shape) == (device, (2, 3))
    masked = cuarray.to_device(np.ma.MaskedArray(host, host > 2), device=device)
    assert (masked.device, masked.mask.device) == (device, device)
    assert np.array_equal(cuarray.to_device(host, device=device).copy_to_host(), host)
""")


def test_allocation_uses_current_device_by_default(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
assert cuarray.device_array(3).device == 0
assert cuarray.device_array(3, device=None).device == 0
for device in (0, 1):
    with driver_probe.primary_context(device) as context:
        assert cuarray.device_array(3).device == device
        assert cuarray.to_device([1, 2]).device == device
        assert cuarray.device_array(3, device=1 - device).device == 1 - device
        assert driver_probe.current_context() == context
""")


def test_invalid_device_argument_is_refused(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
for wrong in (-1, 2, 2**31 - 1, -2**31):
    for make in (cuarray.device_array, cuarray.to_device, cuarray.device_array_like):
        refused(ValueError, f"device is {wrong}; an int from 0 to 1 is expected", make, 3, device=wrong)
    refused(ValueError, f"device is {wrong}", cuarray.stream, device=wrong)
for wrong in ("1", 1.0, (1,)):
    refused(TypeError, "", cuarray.device_array, 3, device=wrong)
for wrong in (2**40, -(2**70)):
    refused(ValueError, f"device: {wrong} is out of range", cuarray.device_array, 3, device=wrong)
    refused(ValueError, f"device: {wrong} is out of range", cuarray.stream, device=wrong)
""")


def test_stream_determines_device_of_allocation(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
streams = [cuarray.stream(device=device) for device in (0, 1)]
for device, stream in enumerate(streams):
    array = cuarray.to_device(np.arange(3), stream=stream)
    assert (array.device, array.stream) == (device, stream)
    assert cuarray.to_device(np.arange(3), stream=stream, device=device).device == device
    text = f"device is {1 - device}, but the stream is of device {device}"
    refused(ValueError, text, cuarray.device_array, 3, stream=stream, device=1 - device)
    refused(ValueError, text, cuarray.to_device, [1], stream=stream, device=1 - device)
del array
""")


def test_default_stream_handle_refers_to_device_of_the_array(on_two_devices: Callable[[str], None]) -> None:
    """The handles 1 and 2 name a default stream on each device; the array's device selects which."""
    on_two_devices("""
for default in (cuarray.legacy_default_stream(), cuarray.per_thread_default_stream(), 1, 2):
    with driver_probe.primary_context(0):
        array = cuarray.device_array(4, "u1", stream=default, device=1)
        with driver_probe.primary_context(1):
            driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(array.ptr), ctypes.c_ubyte(7), ctypes.c_size_t(4),
                              ctypes.c_void_p(array.stream.handle))
        assert array.copy_to_host().tolist() == [7] * 4
""")


def test_imported_default_stream_refers_to_device_of_the_memory(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
for handle in (1, 2):
    for sync in (True, False):
        memory = cuarray.to_device(np.zeros(4, "u1"), device=1)
        with driver_probe.primary_context(1):
            driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(memory.ptr), ctypes.c_ubyte(7), ctypes.c_size_t(4),
                              ctypes.c_void_p(handle))
        with driver_probe.primary_context(0):
            array = cuarray.as_cuda_array(foreign(memory, stream=handle), sync=sync)
            assert array.copy_to_host().tolist() == [7] * 4
            # Here the array is the source of a copy to the other device.
            with driver_probe.primary_context(1):
                driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(memory.ptr), ctypes.c_ubyte(8),
                                  ctypes.c_size_t(4), ctypes.c_void_p(handle))
            here = cuarray.device_array(4, "u1", device=0)
            here.copy_to_device(array)
            assert here.copy_to_host().tolist() == [8] * 4
""")


LAYOUTS = """
layouts = {
    "whole": lambda a: a, "part": lambda a: a[1:3, 1:, 2:], "steps": lambda a: a[::2, ::3, ::2],
    "reversed": lambda a: a[::-1, :, ::-1], "transposed": lambda a: a.transpose(2, 0, 1), "row": lambda a: a[1, 2],
    "element": lambda a: a[1:2, 1:2, 1:2], "column": lambda a: a[:, :, 1],
}
host = np.arange(4 * 5 * 6, dtype="<i2").reshape(4, 5, 6)
"""


def test_copies_between_devices_of_every_layout_match_numpy(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices(
        LAYOUTS
        + """
for name, part in layouts.items():
    for source_device in (0, 1):
        source = cuarray.to_device(host, device=source_device)
        shape = part(host).shape
        for order in "CF":
            target = cuarray.device_array(shape, "<i2", order=order, device=1 - source_device)
            target.copy_to_device(part(source))
            assert np.array_equal(target.copy_to_host(), part(host)), (name, order)
        whole = cuarray.to_device(np.zeros_like(host), device=1 - source_device)
        part(whole)[...] = part(source)
        expected = np.zeros_like(host)
        part(expected)[...] = part(host)
        assert np.array_equal(whole.copy_to_host(), expected), name
        copied = cuarray.to_device(part(source), device=1 - source_device)
        assert copied.device == 1 - source_device
        assert np.array_equal(copied.copy_to_host(), part(host)), name
"""
    )


def test_assignment_between_devices_broadcasts(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
row, column = np.arange(6), np.arange(5)[:, None]
for value in (row, column, np.int64(7)):
    there = cuarray.to_device(value, device=1)
    target = cuarray.device_array((4, 5, 6), "<i8", device=0)
    target[...] = there
    expected = np.empty((4, 5, 6), "<i8")
    expected[...] = value
    assert np.array_equal(target.copy_to_host(), expected)
    target[::-2, 1:, ::3] = there[..., ::3] if value is row else there[1:] if value is column else there
    assert np.array_equal(target.copy_to_host()[::-2, 1:, ::3], expected[::-2, 1:, ::3])
""")


def test_copies_between_devices_use_peer_calls(on_two_devices: Callable[[str], None], simulator: str) -> None:
    """Peer copies work without peer access, which cuarray does not enable."""
    on_two_devices("""
here, there = cuarray.to_device(np.arange(30).reshape(5, 6)), cuarray.device_array((5, 6), "<i8", device=1)
stream = cuarray.stream(device=1)
start = calls()
there.copy_to_device(here)
there[1:, 2:].copy_to_device(here[1:, 2:])
there.copy_to_device(here, stream=stream)
there[1:, 2:].copy_to_device(here[1:, 2:], stream=stream)
stream.synchronize()
made = {name: count - start.get(name, 0) for name, count in calls().items() if count != start.get(name, 0)}
copies = {name: count for name, count in made.items() if name.startswith("cuMemcpy")}
peers = ("cuMemcpyPeer", "cuMemcpy3DPeer", "cuMemcpyPeerAsync", "cuMemcpy3DPeerAsync")
assert copies == dict.fromkeys(peers, 1), copies
assert "cuCtxEnablePeerAccess" not in calls()
assert np.array_equal(there.copy_to_host(), here.copy_to_host())

# Copies within a device, and from managed memory, are ordinary copies.
start = calls()
other, shared = cuarray.device_array((5, 6), "<i8", device=1), cuarray.managed_array((5, 6), "<i8")
other.copy_to_device(there)
shared.copy_to_device(there)
assert not any("Peer" in name and count != start.get(name, 0) for name, count in calls().items())
""")


def test_copy_between_devices_is_ordered_with_both_home_streams(on_two_devices: Callable[[str], None]) -> None:
    """The copy runs after pending work on the source, and before later work in its stream."""
    on_two_devices("""
streams = [cuarray.stream(device=device) for device in (0, 1)]
def fill(array, byte, stream, device):
    with driver_probe.primary_context(device):
        driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(array.ptr), ctypes.c_ubyte(byte),
                          ctypes.c_size_t(array.nbytes), ctypes.c_void_p(stream.handle))

for to, source in ((0, 1), (1, 0)):
    for given in (None, 0, 1):
        source_array = cuarray.device_array(64, "u1", stream=streams[source])
        target = cuarray.device_array(64, "u1", stream=streams[to])
        with driver_probe.held(streams[source].handle) as hold:
            fill(source_array, 5, streams[source], source)
            if given is None:
                hold.release_soon()
                target.copy_to_device(source_array)
            else:
                target.copy_to_device(source_array, stream=streams[given])
            fill(source_array, 6, streams[source], source)
        assert target.copy_to_host().tolist() == [5] * 64, (to, source, given)
        assert source_array.copy_to_host().tolist() == [6] * 64
del source_array, target
""")


def test_operations_keep_the_current_context(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
import contextlib
arrays = [cuarray.to_device(np.arange(12).reshape(3, 4), device=device) for device in (0, 1)]
def work():
    for array in arrays:
        array.copy_to_host()
        array[1:, ::2] = 5
        array.copy_to_device(np.zeros((3, 4), "<i8"))
        array.reshape(-1)[::-1].copy_to_host()
        array.T.reshape(-1)
        assert array.device is not None
        cuarray.as_cuda_array(foreign(array, stream=1), bounds=True).copy_to_host()
        cuarray.device_array_like(array, device=array.device)
        array.get_ipc_handle()
    arrays[0].copy_to_device(arrays[1])
    arrays[1][:] = arrays[0]
for device in (None, 0, 1):
    with contextlib.nullcontext() if device is None else driver_probe.primary_context(device):
        before = driver_probe.current_context()
        work()
        assert driver_probe.current_context() == before
""")


def test_derived_arrays_are_on_the_device_of_their_source(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
with driver_probe.primary_context(0):
    array = cuarray.to_device(np.ma.MaskedArray(np.arange(6).reshape(2, 3), [[0, 1, 0], [1, 0, 0]]), device=1)
    plain = array.data
    assert plain.T.reshape(-1).device == 1  # a copy
    assert plain.reshape(3, 2, copy=True).device == 1
    assert plain.T.ravel().device == 1
    filled = array.filled(-1)
    assert (filled.device, filled.copy_to_host().tolist()) == (1, [[0, -1, 2], [-1, 4, 5]])
    bits = cuarray.to_device(np.array([0b101], "u1"), device=1)
    masked = cuarray.as_cuda_array(foreign(plain[0], mask=bits), mask_format="bits")
    assert masked.mask.device == 1
    assert masked.copy_to_host().tolist() == [0, None, 2]
    assert [part.device for part in plain.split(1)] == [1, 1]
    bound = plain.bind(cuarray.stream(device=0))
    copied = bound.T.reshape(-1)  # by work in a stream of the other device
    assert (copied.device, copied.stream, copied.copy_to_host().tolist()) == (1, bound.stream, [0, 3, 1, 4, 2, 5])
""")


def test_threads_with_different_current_devices_use_arrays_of_both(on_two_devices: Callable[[str], None]) -> None:
    """Ten threads with different current devices, or none, use arrays of both devices at the same time."""
    on_two_devices("""
import contextlib
shared = [cuarray.to_device(np.arange(100), device=device) for device in (0, 1)]
wrong = []
def work(number):
    device = (None, 0, 1)[number % 3]
    with contextlib.nullcontext() if device is None else driver_probe.primary_context(device):
        before = driver_probe.current_context()
        for turn in range(20):
            to = (number + turn) % 2
            own = cuarray.device_array(100, "<i8", device=to)
            own.copy_to_device(shared[1 - to])
            if own.copy_to_host().tolist() != list(range(100)) or own.device != to:
                wrong.append((number, turn))
        if driver_probe.current_context() != before:
            wrong.append((number, "context"))
threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
""")


def test_primary_context_is_retained_once_for_device_argument(
    on_two_devices: Callable[[str], None], simulator: str
) -> None:
    on_two_devices("""
for _ in range(5):
    cuarray.device_array(3, device=1)
assert calls()["cuDevicePrimaryCtxRetain"] == 1
""")


def test_from_dlpack_copies_tensor_of_other_device(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
memory = cuarray.to_device(np.arange(6, dtype="f4"), device=0)
array = cuarray.from_dlpack(memory, device=1)
assert (array.device, memory.device) == (1, 0)
assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4, 5]
assert cuarray.from_dlpack(memory, device=0).ptr == memory.ptr
stream = cuarray.stream(device=1)
assert cuarray.from_dlpack(memory, device=1, stream=stream).stream == stream
text = "on device 0, and copy=False forbids a copy to device 1"
refused(BufferError, text, cuarray.from_dlpack, memory, device=1, copy=False)
""")


def test_device_of_a_tensor_is_current_while_it_is_exported(on_two_devices: Callable[[str], None]) -> None:
    """PyTorch, for example, exports a tensor only while its device is current."""
    on_two_devices("""
class OnlyOfTheCurrentDevice:
    def __init__(self, array):
        self.array = array
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, **request):
        if driver_probe.current_context() != context:
            raise BufferError("another device is current")
        return self.array.__dlpack__(**request)

with driver_probe.primary_context(1):
    context = driver_probe.current_context()
with driver_probe.primary_context(0):
    before = driver_probe.current_context()
    producer = OnlyOfTheCurrentDevice(cuarray.to_device(np.arange(3), device=1))
    for arguments in ({}, {"copy": True}, {"copy": False}, {"stream": -1}, {"device": 1}):
        imported = cuarray.from_dlpack(producer, **arguments)
        assert imported.device == 1 and imported.copy_to_host().tolist() == [0, 1, 2]
        assert driver_probe.current_context() == before
    del imported, producer
""")


def test_array_without_elements_keeps_its_device(on_two_devices: Callable[[str], None]) -> None:
    on_two_devices("""
for array in (cuarray.to_device(np.arange(6).reshape(2, 3), device=1), cuarray.device_array((2, 0), device=1)):
    for empty in (array[:0], array[2:], array[::-1][:0, :1], array[:, 3:].T):
        assert empty.device == 1
        assert empty.__dlpack_device__() == (2, 1)
        assert cuarray.from_dlpack(empty).device == 1
        assert cuarray.as_cuda_array(empty, protocol="c").device == 1
""")
