"""Functions that make arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuarray

from .table import Attempt, operation


def _making(name: str, *arguments: Any, **named: Any) -> None:
    for stream in (False, True):

        @operation(f"{name}, in a stream" if stream else name, name)
        def prepare(stream: bool = stream) -> Attempt:
            make, home = getattr(cuarray, name), {"stream": cuarray.stream()} if stream else {}
            return lambda: make(*arguments, **named, **home).shape


_making("device_array", (3, 4), "f4")
_making("mapped_array", (3, 4), "f4")
_making("managed_array", (3, 4), "f4")
_making("to_device", np.arange(12, dtype="f4").reshape(3, 4))
_making("device_array_like", np.zeros((3, 4), "f4"))


@operation("pinned_array")
def pinned_array() -> Attempt:
    return lambda: cuarray.pinned_array((3, 4), "f4").shape


@operation("device_array, on the second device", "device_array")
def device_array_on_the_second_device() -> Attempt:
    return lambda: cuarray.device_array(5, "f4", device=1).shape


@operation("to_device, of a device array", "to_device")
def to_device_of_a_device_array() -> Attempt:
    source = cuarray.to_device(np.arange(6, dtype="i4"))
    return lambda: cuarray.to_device(source).shape


@operation("to_device, from another device", "to_device")
def to_device_from_another_device() -> Attempt:
    source = cuarray.to_device(np.arange(6, dtype="i4"), device=1)
    return lambda: cuarray.to_device(source, device=0).shape


@operation("to_device, of a masked array", "to_device")
def to_device_of_a_masked_array() -> Attempt:
    source = np.ma.MaskedArray(np.arange(4, dtype="i4"), [0, 1, 0, 1])
    return lambda: cuarray.to_device(source).shape


@operation("device_array, allocated and used in a stream", "device_array", "DeviceArray.setitem")
def used_in_a_stream() -> Attempt:
    stream = cuarray.stream()

    def attempt() -> Any:
        array = cuarray.device_array(8, "i4", stream=stream)
        array.setitem(slice(None), 3, stream=stream)
        return array.copy_to_host().tolist()

    return attempt


@operation("device_array, dropped while another stream uses it", "device_array", "DeviceArray.record_stream")
def dropped_while_in_use() -> Attempt:
    stream = cuarray.stream()

    def attempt() -> Any:
        array = cuarray.device_array(8, "i4")
        array.setitem(slice(None), 3, stream=stream)
        array.record_stream(stream)
        return array.shape

    return attempt
