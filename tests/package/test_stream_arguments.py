"""`stream=` of methods that make a view or a copy: it is the result's home stream, and waits for pending work on the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuarray

RESULTS: dict[str, Callable[[cuarray.DeviceArray, Any], cuarray.DeviceArray]] = {
    "getitem": lambda a, stream: a.getitem(1, stream=stream),
    "ravel, a view": lambda a, stream: a.ravel(stream=stream),
    "ravel, a copy": lambda a, stream: a.ravel(order="F", stream=stream),
    "reshape, a view": lambda a, stream: a.reshape(4, 3, stream=stream),
    "reshape, a copy": lambda a, stream: a.T.reshape(12, stream=stream),
    "split": lambda a, stream: a.split(2, stream=stream)[1],
    "squeeze": lambda a, stream: a.reshape(3, 1, 4).squeeze(stream=stream),
}
EXPECTED: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "getitem": lambda a: a[1],
    "ravel, a view": lambda a: a.ravel(),
    "ravel, a copy": lambda a: a.ravel(order="F"),
    "reshape, a view": lambda a: a.reshape(4, 3),
    "reshape, a copy": lambda a: a.T.reshape(12),
    "split": lambda a: a[2:],
    "squeeze": lambda a: a,
}


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("name", RESULTS)
def test_result_has_given_home_stream_and_follows_pending_work(name: str) -> None:
    host = np.arange(12, dtype="f4").reshape(3, 4)
    home, other = cuarray.stream(), cuarray.stream()
    array = cuarray.device_array((3, 4), "f4", stream=home)
    array.copy_to_device(host, stream=home)
    result = RESULTS[name](array, other)
    assert result.stream == other
    assert array.stream == home
    # Waiting for `other` is enough, because it waits for `home`.
    values = result.copy_to_host(stream=other)
    other.synchronize()
    assert np.array_equal(values, EXPECTED[name](host))


@pytest.mark.usefixtures("driver")
def test_getitem_reads_element_in_given_stream() -> None:
    home, other = cuarray.stream(), cuarray.stream()
    array = cuarray.to_device(np.arange(4), stream=home)
    assert array.getitem(2, stream=other) == 2
    assert array.getitem(3) == 3


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("name", RESULTS)
def test_error_for_stream_of_wrong_type_shows_argument_and_value(name: str) -> None:
    array = cuarray.to_device(np.zeros((3, 4), "f4"))
    with pytest.raises(TypeError, match="stream: 'fast' is a str; a cuarray stream"):
        RESULTS[name](array, "fast")


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (-1, "stream: -1 is not a handle"),
        (2**64, f"stream: {2**64} is not a handle"),
    ],
)
def test_error_for_handle_out_of_range_shows_argument_and_value(stream: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cuarray.to_device([1, 2], stream=stream)


@pytest.mark.usefixtures("simulator")
def test_error_for_imported_stream_that_does_not_exist_shows_key_and_value() -> None:
    array = cuarray.to_device([1, 2])
    desc = {**array.__cuda_array_interface__, "stream": 0xDEAD}
    with pytest.raises(cuarray.CudaError, match=r"0xdead, of __cuda_array_interface__\['stream'\]"):
        cuarray.from_cuda_array_interface(desc, owner=array)
