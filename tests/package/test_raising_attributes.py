"""Exceptions of a producer's attributes are treated the same for all protocols.

An exception becomes the cause of a ``TypeError``. MemoryError, RecursionError and exceptions that are not an ``Exception`` pass through.
"""

from __future__ import annotations

from typing import Any

import pytest

import cuarray

PROTOCOLS = {
    "__cuda_array_interface__": "dict",
    "__cuda_array_c_interface__": "c",
    "__dlpack__": "dlpack",
    "__dlpack_c_exchange_api__": "dlpack",
}


def raising(name: str, error: BaseException) -> Any:
    """An object whose attribute ``name`` raises. The exchange table is an attribute of the type, so its metaclass raises."""

    def attribute(_: object) -> Any:
        raise error

    if name == "__dlpack_c_exchange_api__":
        return type("Meta", (type,), {name: property(attribute)})("Producer", (), {"__dlpack__": lambda self: None})()
    return type("Producer", (), {name: property(attribute)})()


def import_array(name: str, producer: Any) -> Any:
    if PROTOCOLS[name] == "dlpack":
        return cuarray.from_dlpack(producer)
    return cuarray.as_cuda_array(producer, protocol=PROTOCOLS[name])


@pytest.mark.parametrize("kind", [RuntimeError, KeyError, ValueError, BufferError, TypeError])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_exception_of_attribute_is_cause_of_type_error(name: str, kind: type[Exception]) -> None:
    error = kind("no array")
    with pytest.raises(
        TypeError, match=f"not a CUDA array: reading {name} of a .*(Producer|Meta) raised {kind.__name__}"
    ) as raised:
        import_array(name, raising(name, error))
    assert type(raised.value) is TypeError
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("kind", [MemoryError, RecursionError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_exception_about_the_process_passes_through(name: str, kind: type[BaseException]) -> None:
    error = kind("not about the object")
    with pytest.raises(kind) as raised:
        import_array(name, raising(name, error))
    assert raised.value is error


@pytest.mark.usefixtures("driver")
def test_exception_of_stream_attribute_is_cause_of_type_error() -> None:
    error = RuntimeError("no stream")
    with pytest.raises(
        TypeError, match=r"stream: reading __cuda_stream__ of a .*Producer raised RuntimeError"
    ) as raised:
        cuarray.external_stream(raising("__cuda_stream__", error))
    assert raised.value.__cause__ is error
