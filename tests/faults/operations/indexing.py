"""Element access and assignment."""

from __future__ import annotations

import numpy as np

import cuarray

from .table import Attempt, operation


def _array(stream: bool = False) -> cuarray.DeviceArray:
    return cuarray.to_device(np.arange(24, dtype="i4").reshape(4, 6), stream=cuarray.stream() if stream else None)


@operation("DeviceArray.__getitem__, an element", "DeviceArray.__getitem__")
def element() -> Attempt:
    array = _array(stream=True)
    return lambda: int(array[1, 2])


@operation("DeviceArray.__getitem__, a slice", "DeviceArray.__getitem__")
def slice_of() -> Attempt:
    array = _array()
    return lambda: array[1:, ::2].shape


@operation("DeviceArray.getitem, in another stream", "DeviceArray.getitem")
def getitem() -> Attempt:
    array, stream = _array(stream=True), cuarray.stream()
    return lambda: int(array.getitem((1, 2), stream=stream))


@operation("DeviceArray.__setitem__, a number", "DeviceArray.__setitem__")
def set_number() -> Attempt:
    array = _array()

    def attempt() -> object:
        array[1:, 2:4] = 5
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.__setitem__, a number of eight bytes", "DeviceArray.__setitem__")
def set_wide_number() -> Attempt:
    array = cuarray.to_device(np.arange(24, dtype="f8"), stream=cuarray.stream())

    def attempt() -> object:
        array[1:] = 5.5
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.__setitem__, a host array", "DeviceArray.__setitem__")
def set_host_array() -> Attempt:
    array, value = _array(stream=True), np.arange(6, dtype="i4")

    def attempt() -> object:
        array[1] = value
        array[:, ::2] = 3
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.__setitem__, a device array", "DeviceArray.__setitem__")
def set_device_array() -> Attempt:
    array, value = _array(), cuarray.to_device(np.arange(6, dtype="i4"), stream=cuarray.stream())

    def attempt() -> object:
        array[1:3] = value
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.setitem, in another stream", "DeviceArray.setitem")
def setitem() -> Attempt:
    array, stream = _array(stream=True), cuarray.stream()

    def attempt() -> object:
        array.setitem((0, slice(None)), 9, stream=stream)
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.__delitem__")
def delitem() -> Attempt:
    array = _array()

    def attempt() -> object:
        try:
            del array[0]
        except NotImplementedError as error:
            return str(error)
        return None

    return attempt


@operation("DeviceArray.__iter__")
def iterate() -> Attempt:
    array = cuarray.to_device(np.arange(3, dtype="i4"))
    return lambda: [int(item) for item in array]


@operation("DeviceArray.__float__", "DeviceArray.__float__", "DeviceArray.__int__", "DeviceArray.__complex__")
def numbers() -> Attempt:
    array = cuarray.to_device(np.array(3, dtype="f4"), stream=cuarray.stream())
    return lambda: (float(array), int(array), complex(array))


@operation("DeviceArray.__bool__")
def truth() -> Attempt:
    array = cuarray.to_device(np.array([3], dtype="f4"))
    return lambda: bool(array)


@operation("DeviceArray.__eq__", "DeviceArray.__eq__", "DeviceArray.__ne__")
def compare() -> Attempt:
    array = cuarray.to_device(np.array([3], dtype="f4"))

    def attempt() -> object:
        found = []
        for compared in (lambda: array == array, lambda: array != array):
            try:
                found.append(str(type(compared())))
            except (TypeError, ValueError) as error:
                found.append(str(error))
        return found

    return attempt
