"""mpi4py's own tests of buffers, on arrays of a GPU library: `mpiexec -n 2 python mpi4py_suite.py DIRECTORY ARRAYS MODULE...`.

The tests loop over the kinds of arrays in the list `arrayimpl.ArrayBackends`, from `array.array` to those of CuPy and numba-cuda. Here the
list has one entry, ``numba`` (mpi4py's own class for it) or ``cuarray`` (the same around our arrays): the others have nothing to do with
CUDA. With Open MPI the tests pass over what it does on the host, where it must not read device memory: reductions, nonblocking
collectives. On the simulated driver it may, so these are run, too.

Each rank writes a line for each module: its number, the module's name, how many tests ran, how many of them failed, how many were skipped.
"""

from __future__ import annotations

import importlib
import sys
import unittest

import numpy as np

import cuarray


def array_class(arrayimpl, arrays: str) -> type:
    """The class of the arrays under test, in the form that mpi4py's tests want."""
    if arrays == "numba":
        # For each type numba-cuda compiles a kernel to fill arrays with, in each rank, which is what takes the time.
        types = arrayimpl.GPUArrayNumba.TypeMap
        arrayimpl.GPUArrayNumba.TypeMap = {code: types[code] for code in "?idD"}
        return arrayimpl.GPUArrayNumba

    stream = cuarray.stream()

    class GPUArrayCuarray(arrayimpl.GPUArrayNumba):
        backend = "cuarray"

        def __init__(self, arg, typecode, shape=None, readonly=False):
            values = np.asarray(arg).astype(typecode)
            self.array = cuarray.device_array(values.shape if shape is None else shape, typecode, stream=stream)
            self.array.setitem(..., values, stream=stream)

        def as_raw(self):
            # MPI knows nothing of streams: whoever hands it an array has waited for what is pending on it.
            stream.synchronize()
            return self.array

    return GPUArrayCuarray


def main(directory: str, arrays: str, *modules: str) -> None:
    sys.path.insert(0, directory)
    arrayimpl, mpiunittest = importlib.import_module("arrayimpl"), importlib.import_module("mpiunittest")
    arrayimpl.ArrayBackends[:] = [array_class(arrayimpl, arrays)]
    mpiunittest.is_mpi_gpu = lambda predicate, array: False
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for module in modules:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromName(module).run(result)
        bad = result.failures + result.errors
        # In one piece, since the ranks write to one place.
        told = f"{world.rank} {module} {result.testsRun} {len(bad)} {len(result.skipped)}\n"
        sys.stdout.write("".join([f"rank {world.rank}: {test}\n{trace}" for test, trace in bad]) + told)
        sys.stdout.flush()
        if bad:
            # The other rank may be waiting for what this one has not done.
            world.Abort(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
