"""Imports: the time of each library to make its own array from an object with a constant dictionary.

No library waits for a stream here. The cost is that of reading, checking and keeping the object."""

import peers
from measure import Call

import cuarray

FLOOR = "reading the attribute alone"
OWN = "cuarray.as_cuda_array(obj, sync=False)"
OURS_BY_DEFAULT = "cuarray.as_cuda_array(obj)"


class Plain:
    """An object with a constant interface."""

    def __init__(self, array, **entries):
        self._array = array
        self._interface = {**array.__cuda_array_interface__, **entries}

    @property
    def __cuda_array_interface__(self):
        return self._interface

    def __len__(self):
        # Warp reads an object without a length as a number.
        return self._interface["shape"][0]


def objects():
    """Return the imported objects by column."""
    stream = cuarray.stream()
    flat = cuarray.device_array(1000, "float32")
    block = cuarray.device_array((10, 10, 10), "float32")
    turned = cuarray.device_array((10, 10, 10), "float32", order="F")
    with_stream = {"stream": stream.handle}
    return {
        "1-d": Plain(flat),
        "3-d": Plain(block),
        "3-d, strides": Plain(turned),
        "1-d, stream": Plain(cuarray.device_array(1000, "float32", stream=stream), **with_stream),
        "3-d, stream": Plain(cuarray.device_array((10, 10, 10), "float32", stream=stream), **with_stream),
    }


def calls(obj):
    """Return a `Call` of each installed library."""
    return {
        FLOOR: Call("obj.__cuda_array_interface__", {"obj": obj}),
        OWN: Call("take(obj, sync=False)", {"take": cuarray.as_cuda_array, "obj": obj}),
        **peers.importers(obj),
    }


def default_objects():
    """The objects for the default calls: one without a stream, and one whose stream every consumer orders its work after."""
    made = objects()
    return {name: made[name] for name in ("3-d", "3-d, stream")}


def default_calls(obj):
    """A `Call` of each library as its documentation shows it."""
    return {
        FLOOR: Call("obj.__cuda_array_interface__", {"obj": obj}),
        OURS_BY_DEFAULT: Call("take(obj)", {"take": cuarray.as_cuda_array, "obj": obj}),
        **peers.default_importers(obj),
    }
