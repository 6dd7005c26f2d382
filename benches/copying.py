"""Copies of strided arrays, beside one driver copy of the same bytes.

Each layout merges into one box, which the driver copies in one call. cuarray adds the plan of the copy, the synchronization with other
streams, and the import of the host array. That cost is constant, so the sizes show how large a copy must be for it to be negligible."""

from dataclasses import dataclass

import numpy as np
from driver_box import Driver
from measure import Call, side_by_side

import cuarray

SIZES = {"16 KiB": 1, "256 KiB": 16, "4 MiB": 256, "64 MiB": 4096}
ROUNDS = {"16 KiB": 101, "256 KiB": 101, "4 MiB": 51, "64 MiB": 15}
OWN, DRIVER = "cuarray", "one driver copy"
TO_NEW = "device to new host array"


def layouts(size):
    """Return the layouts by name: the shape of a `float32` array, and the slice to copy, `size` times 16 KiB."""
    root = int(size**0.5)
    return {
        "columns of 2-d": ((64 * root, 128 * root), np.s_[:, 32 * root : 96 * root]),
        "every other row": ((128 * root, 64 * root), np.s_[::2]),
        "block of 3-d": ((16, 32 * root, 16 * root), np.s_[:, 8 * root : 24 * root, : 16 * root]),
        "inner block of 3-d": ((16, 32 * root, 32 * root), np.s_[:, 8 * root : 24 * root, 8 * root : 24 * root]),
        "block of 4-d": ((4, 4, 32 * root, 32 * root), np.s_[:, :, : 16 * root, 16 * root :]),
    }


@dataclass(frozen=True)
class Box:
    """The contiguous runs of a view of an array."""

    width: int
    rows: int
    slices: int
    pitch: int
    slice_pitch: int

    @classmethod
    def of(cls, view):
        """Return the runs of a view that is dense in its last axis, after merging axes that continue each other."""
        axes = []
        for length, step in zip(view.shape, view.strides, strict=True):
            if axes and axes[-1][1] == length * step:
                axes[-1] = (axes[-1][0] * length, step)
            else:
                axes.append((length, step))
        (width, item), *outer = reversed(axes)
        (rows, pitch), (slices, slice_pitch) = (*outer, (1, 0), (1, 0))[:2]
        if len(outer) > 2 or item != view.itemsize:
            raise ValueError(f"strides {view.strides} of shape {view.shape} are not one box")
        return cls(width * item, rows, slices, pitch or width * item, slice_pitch or rows * pitch)

    def side(self, memory, address):
        return memory, address, self.pitch, self.slice_pitch

    def packed(self, memory, address):
        return memory, address, self.width, self.width * self.rows


def directions(driver, host, part):
    """Return pairs of a driver copy and cuarray's copy of the same bytes, by name."""
    whole = cuarray.to_device(host)
    view, host_view = whole[part], host[part]
    box = Box.of(host_view)
    offset = host_view.ctypes.data - host.ctypes.data
    dense, host_dense = cuarray.device_array(view.shape, "float32"), np.zeros(view.shape, "float32")
    strided, host_strided = box.side("device", whole.ptr + offset), box.side("host", host_view.ctypes.data)
    packed, host_packed = box.packed("device", dense.ptr), box.packed("host", host_dense.ctypes.data)

    def pair(dst, src, statement, **names):
        run = driver.copy(dst, src, box.width, box.rows, box.slices)
        return {DRIVER: Call("run()", {"run": run}), OWN: Call(statement, names)}

    def to_new():
        run = driver.copy(host_packed, strided, box.width, box.rows, box.slices)
        # Both sides allocate a new array each time; the cost is mostly that of its pages.
        names = {"run": run, "empty": np.empty, "shape": view.shape}
        statement = "b = empty(shape, 'float32'); run.box.dst_host = b.ctypes.data; run()"
        return {DRIVER: Call(statement, names), OWN: Call("b = a.copy_to_host()", {"a": view})}

    return {
        "host to device": pair(strided, host_packed, "a.copy_to_device(b)", a=view, b=host_dense),
        "strided host to device": pair(packed, host_strided, "a.copy_to_device(b)", a=dense, b=host_view),
        "device to host": pair(host_packed, strided, "a.copy_to_host(b)", a=view, b=host_dense),
        TO_NEW: to_new(),
        "device to device": pair(packed, strided, "a.copy_to_device(b)", a=dense, b=view),
    }


def measured():
    """Return the times of both copies for each size, layout and direction."""
    with Driver() as driver:
        for size, factor in SIZES.items():
            for layout, (shape, part) in layouts(factor).items():
                host = np.arange(np.prod(shape), dtype="float32").reshape(shape)
                for direction, calls in directions(driver, host, part).items():
                    yield size, layout, direction, side_by_side(calls, ROUNDS[size])
