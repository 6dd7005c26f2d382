"""Properties and views of arrays."""

from __future__ import annotations

import numpy as np

import cuarray

from .table import Attempt, operation


def _array(**named: object) -> cuarray.DeviceArray:
    return cuarray.to_device(np.arange(24, dtype="i4").reshape(4, 6), **named)


def _property(name: str) -> None:
    @operation(f"DeviceArray.{name}")
    def prepare() -> Attempt:
        array = _array(stream=cuarray.stream())
        return lambda: str(getattr(array, name))


PROPERTIES = "shape strides dtype typestr ndim size itemsize nbytes ptr readonly owner mask device is_managed is_host_accessible data T stream"
for _name in PROPERTIES.split():
    _property(_name)


def _method(name: str, *arguments: object, **named: object) -> None:
    @operation(f"DeviceArray.{name}")
    def prepare() -> Attempt:
        array = _array(stream=cuarray.stream())
        return lambda: str(getattr(array, name)(*arguments, **named))


_method("is_c_contiguous")
_method("is_f_contiguous")
_method("__len__")
_method("__hash__")
_method("__repr__")
_method("transpose", 1, 0)
_method("squeeze")
_method("view", "u1")
_method("split", 4)
_method("__dlpack_device__")


@operation("DeviceArray.__reduce__")
def reduce() -> Attempt:
    array = _array()

    def attempt() -> object:
        try:
            return array.__reduce__()
        except TypeError as error:
            return str(error)

    return attempt


@operation("DeviceArray.reshape")
def reshape() -> Attempt:
    array = _array()
    return lambda: array.reshape(6, 4).shape


@operation("DeviceArray.reshape, by a copy", "DeviceArray.reshape")
def reshape_by_a_copy() -> Attempt:
    array = _array(stream=cuarray.stream())
    return lambda: array.T.reshape(24, copy=True).copy_to_host().tolist()


@operation("DeviceArray.ravel, by a copy", "DeviceArray.ravel")
def ravel_by_a_copy() -> Attempt:
    array = _array()
    return lambda: array.T.ravel().copy_to_host().tolist()


@operation("DeviceArray.bind")
def bind() -> Attempt:
    array, stream = _array(), cuarray.stream()
    return lambda: array.bind(stream).copy_to_host().tolist()


@operation("DeviceArray.bind, to another stream", "DeviceArray.bind")
def bind_to_another_stream() -> Attempt:
    array, stream = _array(stream=cuarray.stream()), cuarray.stream()
    return lambda: array.bind(stream).copy_to_host().tolist()


@operation("DeviceArray.record_stream")
def record_stream() -> Attempt:
    array, stream = _array(stream=cuarray.stream()), cuarray.stream()

    def attempt() -> object:
        array.record_stream(stream)
        return array.copy_to_host().tolist()

    return attempt


@operation("DeviceArray.record_stream, of another library's stream", "DeviceArray.record_stream")
def record_foreign_stream() -> Attempt:
    array, stream = _array(), cuarray.stream()
    foreign = cuarray.external_stream(stream.handle)

    def attempt() -> object:
        array.record_stream(foreign)
        return (array.copy_to_host().tolist(), stream.query())

    return attempt


@operation("Memory", "Memory.__repr__", "Memory.kind", "Memory.nbytes", "Memory.ptr")
def memory() -> Attempt:
    owner = _array().owner
    return lambda: (repr(owner), owner.kind, owner.nbytes, owner.ptr)
