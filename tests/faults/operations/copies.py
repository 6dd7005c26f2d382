"""Copies between the host and devices, and within devices."""

from __future__ import annotations

import numpy as np

import cuarray

from .table import Attempt, operation

SHAPE = (4, 6)


def _values() -> np.ndarray:
    return np.arange(24, dtype="i4").reshape(SHAPE)


@operation("DeviceArray.copy_to_host")
def copy_to_host() -> Attempt:
    array = cuarray.to_device(_values())
    return lambda: array.copy_to_host().tolist()


@operation("DeviceArray.copy_to_host, in the home stream", "DeviceArray.copy_to_host")
def copy_to_host_in_the_home_stream() -> Attempt:
    array = cuarray.to_device(_values(), stream=cuarray.stream())
    return lambda: array.copy_to_host().tolist()


@operation("DeviceArray.copy_to_host, in another stream", "DeviceArray.copy_to_host")
def copy_to_host_in_another_stream() -> Attempt:
    array, other, into = cuarray.to_device(_values(), stream=cuarray.stream()), cuarray.stream(), _values()

    def attempt() -> object:
        array.copy_to_host(into, stream=other)
        other.synchronize()
        return into.tolist()

    return attempt


@operation("DeviceArray.copy_to_host, of rows with gaps", "DeviceArray.copy_to_host")
def copy_to_host_of_rows() -> Attempt:
    array = cuarray.to_device(_values(), stream=cuarray.stream())[:, 1:4]
    return lambda: array.copy_to_host().tolist()


@operation("DeviceArray.copy_to_host, of single elements", "DeviceArray.copy_to_host")
def copy_to_host_of_elements() -> Attempt:
    array = cuarray.to_device(_values(), stream=cuarray.stream())[::2, ::-2]
    return lambda: array.copy_to_host().tolist()


@operation("DeviceArray.copy_to_host, of a masked array", "DeviceArray.copy_to_host")
def copy_to_host_of_a_masked_array() -> Attempt:
    array = cuarray.to_device(np.ma.MaskedArray(_values(), _values() % 2 == 0))
    return lambda: array.copy_to_host().filled(-1).tolist()


@operation("DeviceArray.copy_to_device, from the host", "DeviceArray.copy_to_device")
def copy_from_host() -> Attempt:
    array, source = cuarray.to_device(_values()), _values()
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, from the host in the home stream", "DeviceArray.copy_to_device")
def copy_from_host_in_the_home_stream() -> Attempt:
    array, source = cuarray.to_device(_values(), stream=cuarray.stream()), _values()
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, from pinned memory", "DeviceArray.copy_to_device")
def copy_from_pinned_memory() -> Attempt:
    array, source = cuarray.to_device(_values(), stream=cuarray.stream()), cuarray.pinned_array(SHAPE, "i4")
    source[...] = 1
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, from the host into rows", "DeviceArray.copy_to_device")
def copy_from_host_into_rows() -> Attempt:
    array, source = cuarray.to_device(_values(), stream=cuarray.stream())[:, 1:4], _values()[:, :3]
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, within the device", "DeviceArray.copy_to_device")
def copy_within_the_device() -> Attempt:
    array, source = cuarray.to_device(_values()), cuarray.to_device(_values())
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, between two streams", "DeviceArray.copy_to_device")
def copy_between_streams() -> Attempt:
    array = cuarray.to_device(_values(), stream=cuarray.stream())
    source = cuarray.to_device(_values() + 1, stream=cuarray.stream())

    def attempt() -> object:
        array.copy_to_device(source)
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.copy_to_device, between devices", "DeviceArray.copy_to_device")
def copy_between_devices() -> Attempt:
    array, source = cuarray.to_device(_values()), cuarray.to_device(_values(), device=1)
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, of overlapping memory", "DeviceArray.copy_to_device")
def copy_of_overlapping_memory() -> Attempt:
    base = cuarray.to_device(np.zeros(64, "i4"))
    array, source = base[8:40], base[:32]
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, of overlapping memory in a stream", "DeviceArray.copy_to_device")
def copy_of_overlapping_memory_in_a_stream() -> Attempt:
    base = cuarray.to_device(np.zeros(64, "i4"), stream=cuarray.stream())
    array, source = base[8:40], base[:32]
    return lambda: array.copy_to_device(source)


@operation("DeviceArray.copy_to_device, transposed", "DeviceArray.copy_to_device")
def copy_transposed() -> Attempt:
    array = cuarray.device_array((64, 64), "u1", stream=cuarray.stream())
    source = cuarray.to_device(np.arange(4096, dtype="u4").astype("u1").reshape(64, 64))

    def attempt() -> object:
        array.copy_to_device(source.T)
        return array.copy_to_host().tobytes()

    return attempt


@operation("DeviceArray.copy_to_device, transposed without a stream", "DeviceArray.copy_to_device")
def copy_transposed_without_a_stream() -> Attempt:
    array = cuarray.device_array((64, 64), "u1")
    source = cuarray.to_device(np.arange(4096, dtype="u4").astype("u1").reshape(64, 64))

    def attempt() -> object:
        array.copy_to_device(source.T)
        return array.copy_to_host().tobytes()

    return attempt


@operation("DeviceArray.__array__")
def to_numpy() -> Attempt:
    array = cuarray.to_device(_values())
    return lambda: np.asarray(array).tolist()


@operation("DeviceArray.host_view")
def host_view() -> Attempt:
    array = cuarray.managed_array(4, "i4", stream=cuarray.stream())
    array[:] = 1
    return lambda: array.host_view().tolist()


@operation("DeviceArray.filled")
def filled() -> Attempt:
    array = cuarray.to_device(np.ma.MaskedArray(_values(), _values() % 2 == 0))
    return lambda: array.filled(7).copy_to_host().tolist()
