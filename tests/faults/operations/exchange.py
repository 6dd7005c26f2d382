"""Imports, exports and borrows."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuarray

from .table import Attempt, operation


class Foreign:
    """An array of another library over the memory of ``array``."""

    def __init__(self, array: cuarray.DeviceArray, **entries: Any) -> None:
        self.kept = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **entries}


class Tensor:
    """A DLPack tensor of another library."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.kept = array

    def __dlpack__(self, **named: Any) -> object:
        return self.kept.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kept.__dlpack_device__()


def _array(**named: Any) -> cuarray.DeviceArray:
    return cuarray.to_device(np.arange(6, dtype="i4"), **named)


@operation("as_cuda_array")
def import_without_a_stream() -> Attempt:
    array = Foreign(_array())
    return lambda: cuarray.as_cuda_array(array).copy_to_host().tolist()


@operation("as_cuda_array, with a stream", "as_cuda_array")
def import_with_a_stream() -> Attempt:
    stream = cuarray.stream()
    array = Foreign(_array(stream=stream))
    return lambda: cuarray.as_cuda_array(array).copy_to_host().tolist()


@operation("as_cuda_array, with bounds", "as_cuda_array")
def import_with_bounds() -> Attempt:
    array = Foreign(_array())
    return lambda: cuarray.as_cuda_array(array, bounds=True).shape


@operation("as_cuda_array, of a masked array", "as_cuda_array")
def import_of_a_masked_array() -> Attempt:
    values = cuarray.to_device(np.ma.MaskedArray(np.arange(4, dtype="i4"), [0, 1, 0, 1]))
    array = Foreign(values)
    return lambda: cuarray.as_cuda_array(array, mask="keep").copy_to_host().filled(9).tolist()


@operation("as_cuda_array, of a DLPack tensor", "as_cuda_array")
def import_of_a_tensor() -> Attempt:
    array = Tensor(_array(stream=cuarray.stream()))
    return lambda: cuarray.as_cuda_array(array).copy_to_host().tolist()


@operation("from_cuda_array_interface")
def import_of_a_dictionary() -> Attempt:
    owner = _array(stream=cuarray.stream())
    desc = owner.__cuda_array_interface__
    return lambda: cuarray.from_cuda_array_interface(desc, owner).copy_to_host().tolist()


@operation("from_dlpack")
def from_dlpack() -> Attempt:
    array = Tensor(_array(stream=cuarray.stream()))
    return lambda: cuarray.from_dlpack(array).copy_to_host().tolist()


@operation("from_dlpack, by a copy in a stream", "from_dlpack")
def from_dlpack_by_a_copy() -> Attempt:
    array, stream = Tensor(_array(stream=cuarray.stream())), cuarray.stream()
    return lambda: cuarray.from_dlpack(array, stream=stream, copy=True).copy_to_host().tolist()


@operation("interface", "interface", "is_cuda_array")
def read_interface() -> Attempt:
    array = Foreign(_array())
    return lambda: (str(cuarray.interface(array)), cuarray.is_cuda_array(array))


@operation("interface, with bounds", "interface")
def read_interface_with_bounds() -> Attempt:
    array = Foreign(_array())
    return lambda: str(cuarray.interface(array, bounds=True))


@operation("DeviceArray.__cuda_array_interface__")
def export() -> Attempt:
    array = _array(stream=cuarray.stream())
    return lambda: str(array.__cuda_array_interface__)


@operation("DeviceArray.__cuda_array_interface__, with pending work", "DeviceArray.__cuda_array_interface__")
def export_with_pending_work() -> Attempt:
    array, streams = _array(), [cuarray.stream(), cuarray.stream()]

    def attempt() -> object:
        for stream in streams:
            array.setitem(slice(None), 4, stream=stream)
        exported = array.__cuda_array_interface__["stream"] is not None
        return (exported, array.copy_to_host().tolist())

    return attempt


@operation(
    "DeviceArray.__cuda_array_interface__, with an event", "DeviceArray.__cuda_array_interface__", "Config.export_event"
)
def export_with_an_event() -> Attempt:
    array, config = _array(stream=cuarray.stream()), cuarray.config

    def attempt() -> object:
        config.export_event = True
        try:
            return array.__cuda_array_interface__.get("event") is not None
        finally:
            config.export_event = False

    return attempt


@operation("DeviceArray.__cuda_array_c_interface__", "DeviceArray.__cuda_array_c_interface__")
def export_c_interface() -> Attempt:
    array = _array(stream=cuarray.stream())
    return lambda: type(array.__cuda_array_c_interface__).__name__


@operation(
    "DeviceArray.__cuda_array_c_interface__, imported", "DeviceArray.__cuda_array_c_interface__", "as_cuda_array"
)
def import_c_interface() -> Attempt:
    class Exporter:
        def __init__(self, kept: cuarray.DeviceArray) -> None:
            self.kept = kept

        @property
        def __cuda_array_c_interface__(self) -> object:
            return self.kept.__cuda_array_c_interface__

    array = Exporter(_array(stream=cuarray.stream()))
    return lambda: cuarray.as_cuda_array(array, protocol="c").copy_to_host().tolist()


@operation("DeviceArray.__dlpack__")
def export_tensor() -> Attempt:
    array, stream = _array(stream=cuarray.stream()), cuarray.stream()
    return lambda: array.__dlpack__(stream=stream.handle) is not None


@operation("DeviceArray.__dlpack__, by a copy", "DeviceArray.__dlpack__")
def export_tensor_by_a_copy() -> Attempt:
    array = _array(stream=cuarray.stream())
    return lambda: array.__dlpack__(copy=True, max_version=(1, 0)) is not None


@operation("DeviceArray.__dlpack__, to the host", "DeviceArray.__dlpack__")
def export_tensor_to_the_host() -> Attempt:
    array = _array(stream=cuarray.stream())
    return lambda: np.from_dlpack(array, device="cpu").tolist()


@operation("DeviceArray.__dlpack_c_exchange_api__")
def exchange_table() -> Attempt:
    array = _array()
    return lambda: type(array).__dlpack_c_exchange_api__ is not None


@operation("borrow", "borrow", "Borrow.__enter__", "Borrow.__exit__", "Borrow.__repr__")
def borrow() -> Attempt:
    array, stream = Foreign(_array(stream=cuarray.stream())), cuarray.stream()

    def attempt() -> object:
        borrowing = cuarray.borrow(array, stream)
        text = repr(borrowing).split(" at ")[0]
        with borrowing as lent:
            return (text[:10], lent.shape)

    return attempt


@operation("borrow, of an array without a stream", "borrow")
def borrow_without_a_stream() -> Attempt:
    array, stream = Foreign(_array()), cuarray.stream()

    def attempt() -> object:
        with cuarray.borrow(array, stream) as lent:
            return lent.shape

    return attempt


@operation("borrow, of an array of cuarray with pending work", "borrow")
def borrow_with_pending_work() -> Attempt:
    array, first, second = _array(), cuarray.stream(), cuarray.stream()

    def attempt() -> object:
        array.setitem(slice(None), 4, stream=first)
        with cuarray.borrow(array, second) as lent:
            lent[:] = 5
        return array.copy_to_host().tolist()

    return attempt


@operation("borrow, for reading, after an event", "borrow")
def borrow_after_an_event() -> Attempt:
    array, stream, event = Foreign(_array(stream=cuarray.stream())), cuarray.stream(), cuarray.event()
    event.record(cuarray.external_stream(array.__cuda_array_interface__["stream"]))

    def attempt() -> object:
        with cuarray.borrow(array, stream, readonly=True, event=event) as lent:
            return lent.readonly

    return attempt


@operation("borrow, in a per-thread default stream", "borrow")
def borrow_in_a_per_thread_default_stream() -> Attempt:
    array, stream = Foreign(_array(stream=cuarray.stream())), cuarray.per_thread_default_stream()

    def attempt() -> object:
        with cuarray.borrow(array, stream) as lent:
            return lent.shape

    return attempt


@operation("borrow, without leaving the block", "borrow")
def borrow_dropped() -> Attempt:
    array, stream = Foreign(_array(stream=cuarray.stream())), cuarray.stream()

    def attempt() -> object:
        return cuarray.borrow(array, stream).__enter__().shape

    return attempt
