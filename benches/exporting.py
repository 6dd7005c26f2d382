"""Exporting: what each library takes to write `__cuda_array_interface__`."""

import peers

import cuarray

OURS = "cuarray.DeviceArray"


def arrays():
    """By the name of the column: a shape, and whether the array has a default stream."""
    return {"1-d": ((1000,), False), "3-d": ((10, 10, 10), False), "1-d, stream": ((1000,), True)}


def calls(form):
    shape, with_stream = form
    ours = cuarray.device_array(shape, "float32", stream=cuarray.stream() if with_stream else None)
    found = {OURS: ("array.__cuda_array_interface__", {"array": ours})}
    for name, make in peers.exporters().items():
        found[name] = ("array.__cuda_array_interface__", {"array": make(shape, with_stream)})
    return found
