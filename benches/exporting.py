"""Exports: the time of each library to write `__cuda_array_interface__`.

Some libraries cache the dictionary or its constant parts at the first export. So the first export of a new array and a later one are
measured separately. Only the first is comparable with libraries that have no cache. cuarray copies its constant entries into a new
dictionary each time, as a stream may be added and a consumer may change its dictionary. Warp returns the same dictionary each time."""

import peers
from measure import Call

import cuarray

FIRST, AGAIN = "first read", "read again"
OWN = "cuarray DeviceArray"
ARRAYS = 256


def forms():
    """The shape of each column, and whether the array has a home stream."""
    return {"1-d": ((1000,), False), "3-d": ((10, 10, 10), False), "1-d, stream": ((1000,), True)}


def calls(form):
    """Return the times of the first export of an array and of a later one, by library."""
    shape, with_stream = form
    stream = cuarray.stream() if with_stream else None
    # All are views of one array, as the memory does not matter for an export.
    own = cuarray.device_array(shape, "float32", stream=stream)
    fresh = {OWN: lambda: own[...]}
    again = {OWN: own}
    for name, make in peers.exporters().items():
        array = make(shape, with_stream)
        again[name] = array
        fresh[name] = lambda array=array: array
    if make := peers.warp_exporter():
        array = make(shape, with_stream)
        again["Warp array"] = array
        fresh["Warp array"] = lambda make=make: make(shape, with_stream)
    found = {}
    for name, make in fresh.items():
        setup = "arrays = [make() for _ in range(count)]"
        statement = "for array in arrays: array.__cuda_array_interface__"
        found[f"{name}, {FIRST}"] = Call(statement, {"make": make, "count": ARRAYS}, setup, ARRAYS, once=True)
    for name, array in again.items():
        found[f"{name}, {AGAIN}"] = Call("array.__cuda_array_interface__", {"array": array})
    return found
