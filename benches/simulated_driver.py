"""The simulated driver through ctypes, with the primary context of device 0, for benchmarks that call it directly."""

import ctypes

import cuarray_sim


class Driver:
    """The driver; `library` has its functions."""

    def __init__(self):
        cuarray_sim.install()
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        """Call a function, which must succeed."""
        if result := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name} returned {result}")
