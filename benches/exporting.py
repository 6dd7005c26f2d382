"""Exporting: what each library takes to write `__cuda_array_interface__`.

Some libraries keep the dictionary, or the parts of it that never change, after the first time. So the first read of a new array
and a later one of the same array are timed apart: only the first can be compared with a library that keeps nothing. cuarray
keeps the constant entries and copies them into a new dictionary each time, since a stream may have to be added and a consumer may
change what it was given; Warp hands out one dictionary again and again.
"""

import peers
from measure import Call

import cuarray

FIRST, AGAIN = "first read", "read again"
OURS = "cuarray DeviceArray"
ARRAYS = 256


def forms():
    """By the name of the column: a shape, and whether the array has a default stream."""
    return {"1-d": ((1000,), False), "3-d": ((10, 10, 10), False), "1-d, stream": ((1000,), True)}


def calls(form):
    """The first read of an array, by library, and a later one."""
    shape, with_stream = form
    stream = cuarray.stream() if with_stream else None
    # All views of one array: allocating hundreds would be the same memory to export.
    ours = cuarray.device_array(shape, "float32", stream=stream)
    fresh = {OURS: lambda: ours[...]}
    again = {OURS: ours}
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
