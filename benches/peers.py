"""What the peers that are installed offer to be measured; those that are not, with the reason.

Two of them are there for the figures alone and are not part of `make install`: Warp and PyCUDA (requirements/bench.txt). On
the simulated driver, Warp wraps memory and cannot allocate any itself, since it does that through a CUDA runtime of its own;
its arrays here are therefore imported ones, and that is all that importing and exporting need.
"""

import atexit
import os
import sys
import warnings
from contextlib import contextmanager
from functools import cache

from measure import Call


@cache
def load():
    """The modules of the peers by name, and why others are missing."""
    present, absent = {}, {}
    bringers = {"cuda.core": _cuda_core, "numba-cuda": _numba, "mpi4py": _mpi4py, "Warp": _warp, "PyCUDA": _pycuda}
    for name, bring in bringers.items():
        try:
            present[name] = bring()
        except Exception as error:
            absent[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return present, absent


def importers(obj):
    """A `Call` that makes an array, or a buffer, of each library's own from `obj`, by the name of its row."""
    present, _ = load()
    found = {}
    if "cuda.core" in present:
        found["cuda.core StridedMemoryView.from_cuda_array_interface(obj, -1)"] = Call(
            "take(obj, -1)", {"take": present["cuda.core"].from_cuda_array_interface, "obj": obj}
        )
    if "mpi4py" in present:
        found["mpi4py MPI.buffer(obj)"] = Call("take(obj)", {"take": present["mpi4py"].buffer, "obj": obj})
    if "Warp" in present:
        found["Warp array(obj, copy=False)"] = Call("make(obj)", {"make": _warp_array, "obj": obj})
    if "numba-cuda" in present:
        found["numba.cuda.as_cuda_array(obj, sync=False)"] = Call(
            "take(obj, sync=False)", {"take": present["numba-cuda"].as_cuda_array, "obj": obj}
        )
    return found


def default_importers(obj):
    """As `importers`, with the call that each library documents: those that heed streams wait for the producer."""
    present, _ = load()
    found = {}
    if "cuda.core" in present:
        from cuda.core import Device

        stream = Device().create_stream()
        found["cuda.core StridedMemoryView.from_cuda_array_interface(obj, stream)"] = Call(
            "take(obj, handle)",
            # The view keeps no stream, so the table of names does.
            {
                "take": present["cuda.core"].from_cuda_array_interface,
                "obj": obj,
                "handle": int(stream.handle),
                "kept": stream,
            },
        )
    if "mpi4py" in present:
        found["mpi4py MPI.buffer(obj), which ignores streams"] = Call(
            "take(obj)", {"take": present["mpi4py"].buffer, "obj": obj}
        )
    if "Warp" in present:
        found["Warp array(obj, copy=False), which ignores streams"] = Call(
            "make(obj)", {"make": _warp_array, "obj": obj}
        )
    if "numba-cuda" in present:
        found["numba.cuda.as_cuda_array(obj)"] = Call(
            "take(obj)", {"take": present["numba-cuda"].as_cuda_array, "obj": obj}
        )
    return found


def exporters():
    """By the name of the library: a function of a shape and whether there is a stream, that makes an array. Each writes its
    dictionary anew whenever it is asked, but for Warp, which keeps it.
    """
    present, _ = load()
    found = {}
    if "numba-cuda" in present:
        cuda = present["numba-cuda"]

        def numba_array(shape, with_stream):
            array = cuda.device_array(shape, "float32")
            return array.bind(cuda.stream()) if with_stream else array

        found["numba.cuda device array"] = numba_array
    if "PyCUDA" in present:
        # Its arrays know of no stream, and export None.
        found["PyCUDA GPUArray"] = lambda shape, with_stream: present["PyCUDA"].empty(shape, "float32")
    return found


def warp_exporter():
    """The same of Warp; `None` without it. Version 2, which has no stream."""
    present, _ = load()
    if "Warp" not in present:
        return None
    import cuarray

    return lambda shape, with_stream: _warp_array(cuarray.device_array(shape, "float32"))


def _warp_array(obj):
    warp = load()[0]["Warp"]
    return warp.array(obj, dtype=warp.float32, device="cuda:0", copy=False)


def _cuda_core():
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    Device().set_current()
    return StridedMemoryView


def _numba():
    from numba import cuda

    cuda.current_context()
    return cuda


def _mpi4py():
    import mpi4py

    # Nothing is sent here, and starting MPI would start processes of its own.
    mpi4py.rc.initialize = False
    from mpi4py import MPI

    return MPI


def _warp():
    import warp

    warp.config.log_level = warp.LOG_ERROR
    with _silent_errors():
        # It asks for more of the driver than it needs here, and says on standard error what it does not get.
        warp.init()
    warp.get_device("cuda:0")
    return warp


@contextmanager
def _silent_errors():
    """Nothing reaches standard error meanwhile, not what C code prints either."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _pycuda():
    from pycuda import driver

    driver.init()
    context = driver.Device(0).retain_primary_context()
    context.push()
    # PyCUDA ends the process where one of its contexts is current when it does.
    atexit.register(context.pop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pycuda import gpuarray

    return gpuarray
