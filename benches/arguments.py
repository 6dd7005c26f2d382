"""Arguments of extension modules: the cost of a typed GPU array for a Rust function, beside a typed host array of rust-numpy.

The functions of `benches/extension` take an array and return. cuarray reads and checks the interface; rust-numpy checks the type, the
number of axes, and that no other borrow writes the array. The floor is a function that takes any object."""

import arguments_bench
import numpy as np
from measure import Call

import cuarray

FLOOR = "a function that takes any object"
OWN = "cuarray DeviceView1<f32>"
WITH_STREAM = "cuarray DeviceView1<f32>, of an array with a stream"
THEIRS = "rust-numpy PyReadonlyArray1<f32>"
ATTRIBUTE = "reading the attribute alone"
HOME = "acquired in its own stream, and released"
ELSEWHERE = "acquired in another stream, and released"


class Array:
    """An array of another library, with a constant dictionary."""

    def __init__(self, interface, keeps):
        self.__cuda_array_interface__ = interface
        self.keeps = keeps


def calls():
    """Return the measured calls by name."""
    stream = cuarray.stream()
    memory = cuarray.to_device(np.zeros(1000, np.float32))
    device = Array(memory.__cuda_array_interface__, memory)
    streamed = Array({**memory.__cuda_array_interface__, "stream": stream.handle}, (memory, stream))
    host = np.zeros(1000, np.float32)
    worker = arguments_bench.Worker(cuarray.stream())
    return {
        ATTRIBUTE: Call("x.__cuda_array_interface__", {"x": device}),
        FLOOR: Call("f(x)", {"f": arguments_bench.anything, "x": device}),
        OWN: Call("f(x)", {"f": arguments_bench.device_view, "x": device}),
        WITH_STREAM: Call("f(x)", {"f": arguments_bench.device_view, "x": streamed}),
        THEIRS: Call("f(x)", {"f": arguments_bench.readonly_array, "x": host}),
        HOME: Call("f(x)", {"f": arguments_bench.at_home, "x": streamed}),
        ELSEWHERE: Call("f(x)", {"f": worker.acquire, "x": streamed}),
    }
