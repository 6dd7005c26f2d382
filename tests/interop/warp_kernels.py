"""Run one check of test_warp.py in a separate process: `python warp_kernels.py CHECK CACHE`.

The kernels are in a file because Warp reads their source from it.
"""

from __future__ import annotations

import sys

import numpy as np
import warp as wp

import cuarray


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def lengths(points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.length(points[i])


@wp.kernel
def add_rows(a: wp.array2d(dtype=wp.float64), sums: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(sums, i, a[i, j])


def imported(array, dtype):
    return wp.array(array, dtype=dtype, copy=False, device="cuda:0")


def numbers() -> None:
    x, y = cuarray.to_device(np.arange(1000, dtype="float32")), cuarray.to_device(np.ones(1000, "float32"))
    warp_y = imported(y, wp.float32)
    assert warp_y.ptr == y.ptr
    wp.launch(saxpy, dim=1000, inputs=[2.0, imported(x, wp.float32), warp_y], device="cuda:0")
    assert (y.copy_to_host() == 2 * np.arange(1000) + 1).all()


def vectors() -> None:
    points = cuarray.to_device(np.tile(np.array([3, 4, 12], "float32"), (500, 1)))
    out = cuarray.to_device(np.zeros(500, "float32"))
    wp.launch(lengths, dim=500, inputs=[imported(points, wp.vec3), imported(out, wp.float32)], device="cuda:0")
    assert (out.copy_to_host() == 13).all()


def strides() -> None:
    host = np.arange(60, dtype="float64").reshape(6, 10)
    a = cuarray.to_device(host)[::2, 1:9]
    sums = cuarray.to_device(np.zeros(3))
    wp.launch(add_rows, dim=(3, 8), inputs=[imported(a, wp.float64), imported(sums, wp.float64)], device="cuda:0")
    assert (sums.copy_to_host() == host[::2, 1:9].sum(axis=1)).all()


def streams() -> None:
    cuarray_stream, warp_stream = cuarray.stream(), wp.Stream("cuda:0")
    pinned = cuarray.pinned_array(1000, "float32")
    pinned[:] = 5
    x, y = cuarray.to_device(np.ones(1000, "float32")), cuarray.device_array(1000, "float32", stream=cuarray_stream)
    y.copy_to_device(pinned, stream=cuarray_stream)
    stream = cuarray.external_stream(warp_stream.cuda_stream)
    with cuarray.borrow(x, stream=stream, readonly=True) as bx, cuarray.borrow(y, stream=stream) as by:
        inputs = [2.0, wp.array(ptr=bx.ptr, shape=1000, dtype=wp.float32, device="cuda:0"), imported(by, wp.float32)]
        wp.launch(saxpy, dim=1000, inputs=inputs, stream=warp_stream)
    result = np.zeros(1000, "float32")
    y.copy_to_host(result, stream=cuarray_stream)
    cuarray_stream.synchronize()
    assert (result == 7).all()


if __name__ == "__main__":
    wp.config.quiet = True
    wp.config.cuda_output = "ptx"
    wp.config.kernel_cache_dir = sys.argv[2]
    wp.init()
    {"numbers": numbers, "vectors": vectors, "strides": strides, "streams": streams}[sys.argv[1]]()
    print("done")
