"""The measured calls of the installed peers, and the reasons why others are missing.

Warp and PyCUDA are installed only for the figures (requirements/bench.txt). On the simulated driver, Warp imports memory but cannot
allocate any, as it allocates through its own CUDA runtime. So its arrays here are imported ones, which suffices for imports and exports."""

import atexit
import os
import sys
import warnings
from contextlib import contextmanager
from functools import cache

from measure import Call


@cache
def load():
    """Return the modules of the peers by name, and the reasons why others are missing."""
    present, absent = {}, {}
    bringers = {"cuda.core": _cuda_core, "numba-cuda": _numba, "mpi4py": _mpi4py, "Warp": _warp, "PyCUDA": _pycuda}
    for name, bring in bringers.items():
        try:
            present[name] = bring()
        except Exception as error:
            absent[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return present, absent


def importers(obj):
    """Return a `Call` for each library that makes its array or buffer from `obj`, by row."""
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
    """As `importers`, with the call that each library documents: the calls that respect streams wait for the producer."""
    present, _ = load()
    found = {}
    if "cuda.core" in present:
        from cuda.core import Device

        stream = Device().create_stream()
        found["cuda.core StridedMemoryView.from_cuda_array_interface(obj, stream)"] = Call(
            "take(obj, handle)",
            # The view does not keep its stream alive, so this dictionary does.
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
    """Return functions that make an array with a shape, and a stream if requested, by library. Each array makes a new
    dictionary at each export, except Warp's, which caches the dictionary.
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
        # PyCUDA's arrays have no stream, so `with_stream` has no effect.
        found["PyCUDA GPUArray"] = lambda shape, with_stream: present["PyCUDA"].empty(shape, "float32")
    return found


def warp_exporter():
    """Return the function that makes Warp arrays, which export version 2 and no stream; `None` without Warp."""
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

    # No message is sent, and MPI would start processes.
    mpi4py.rc.initialize = False
    from mpi4py import MPI

    return MPI


def _warp():
    import warp

    warp.config.log_level = warp.LOG_ERROR
    with _silent_errors():
        # Warp loads driver functions that are not needed here, and prints the missing ones on standard error.
        warp.init()
    warp.get_device("cuda:0")
    return warp


@contextmanager
def _silent_errors():
    """Discard standard error, also that of C code."""
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
    # PyCUDA aborts the process if one of its contexts is current at exit.
    atexit.register(context.pop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pycuda import gpuarray

    return gpuarray
