"""Run mpi4py's own tests of buffers on arrays of a GPU library: `mpiexec -n 2 python mpi4py_suite.py DIRECTORY ARRAYS MODULE...`.

The tests loop over the kinds of arrays in the list `arrayimpl.ArrayBackends`. Here the list has one entry: ``numba`` (mpi4py's own
class for it) or ``cuarray`` (a similar class for arrays of cuarray). With Open MPI the tests skip operations that run on the host,
which must not read device memory: reductions and nonblocking collectives. The simulated driver allows it, so they run here.

Each rank writes a line for each module: its rank, the module's name, and the numbers of tests, of failures and of skipped tests.
"""

from __future__ import annotations

import importlib
import sys
import unittest

import numpy as np

import cuarray


class Flat:
    """The elements of an array. A write waits until it is done, since a test may have passed the address to MPI before."""

    def __init__(self, array: cuarray.DeviceArray, stream: cuarray.Stream) -> None:
        self._array, self._stream = array, stream

    def __iter__(self):
        return iter(self._array)

    def __getitem__(self, index):
        return self._array[index]

    def __setitem__(self, index, values) -> None:
        values = values._array if isinstance(values, Flat) else values
        self._array.setitem(index, values, stream=self._stream)
        self._stream.synchronize()


def array_class(arrayimpl, arrays: str) -> type:
    """Return the class of the arrays under test, with the interface of mpi4py's tests."""
    if arrays == "numba":
        # numba-cuda compiles a fill kernel for each type in each rank, which takes most of the time: test four types.
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

        @property
        def flat(self):
            return Flat(super().flat, stream)

        def as_raw(self):
            # MPI ignores streams, so the caller waits for pending work.
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
        # One write, since all ranks write to the same output.
        summary = f"{world.rank} {module} {result.testsRun} {len(bad)} {len(result.skipped)}\n"
        sys.stdout.write("".join([f"rank {world.rank}: {test}\n{trace}" for test, trace in bad]) + summary)
        sys.stdout.flush()
        if bad:
            # The other rank may be waiting for a message that the failed test did not send.
            world.Abort(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
